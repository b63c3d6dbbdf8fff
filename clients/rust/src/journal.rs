//! What a run remembers of its calls.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::codec::{arguments_of, payload_bytes, recorded};
use crate::model::Verdict;
use crate::v1;

/// How many calls may be open; the oldest one is forgotten first, as the server does.
const OPEN_CALLS: usize = 1024;

/// A call with what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub call: v1::Call,
    outcome: Option<v1::Outcome>,
    vetoed: bool,
    /// The server knows nothing of it.
    pub lost: bool,
    /// Whether it is among the newest.
    kept: bool,
}

impl Told {
    fn new(call: v1::Call, vetoed: bool, lost: bool) -> Self {
        Self { call, outcome: None, vetoed, lost, kept: false }
    }

    fn bytes(&self) -> usize {
        payload_bytes(&self.call, self.outcome.as_ref())
    }

    /// The call as a record of a history.
    pub fn record(&self) -> v1::Record {
        let status = if self.vetoed { v1::Status::LoopVeto } else { v1::Status::Pending };
        let assumed = v1::Outcome { status: status.into(), ..v1::Outcome::default() };
        recorded(&self.call, self.outcome.as_ref().unwrap_or(&assumed))
    }
}

/// The newest calls of a run, so that a lost run can be told again, and those still open. Its calls are numbered in the
/// order in which they were asked.
#[derive(Debug)]
pub(crate) struct Journal {
    size: usize,
    limit_bytes: usize,
    bytes: usize,
    newest: VecDeque<u64>,
    open: HashMap<String, u64>,
    calls: HashMap<u64, Told>,
    asked: u64,
    /// How many calls got an id here.
    pub numbered: u64,
}

impl Journal {
    pub fn new(size: usize, limit_bytes: usize) -> Self {
        Self {
            size,
            limit_bytes,
            bytes: 0,
            newest: VecDeque::new(),
            open: HashMap::new(),
            calls: HashMap::new(),
            asked: 0,
            numbered: 0,
        }
    }

    pub fn resize(&mut self, size: usize) {
        self.size = size;
        self.trim();
    }

    /// Gives the calls without id the next `cN`.
    pub fn number(&mut self, calls: &mut [v1::Call]) {
        let taken: HashSet<String> = calls.iter().map(|call| call.call_id.clone()).collect();
        for call in calls.iter_mut().filter(|call| call.call_id.is_empty()) {
            while call.call_id.is_empty() || taken.contains(&call.call_id) {
                self.numbered += 1;
                call.call_id = format!("c{}", self.numbered);
            }
        }
    }

    /// Gives the numbers of a refused batch back, if no later batch has taken any.
    pub fn unnumber(&mut self, before: u64, calls: &[v1::Call]) {
        let last = format!("c{}", self.numbered);
        if calls.iter().any(|call| call.call_id == last) {
            self.numbered = before;
        }
    }

    /// Notes a batch with what was said of it.
    pub fn ask(&mut self, calls: &[v1::Call], verdicts: &[Verdict]) {
        let is_trigger = |verdict: &Verdict| !verdict.is_allowed() && verdict.blocked_by.is_empty();
        let trigger = calls.iter().zip(verdicts).find(|(_, verdict)| is_trigger(verdict)).map(|(call, _)| call);
        for call in calls {
            let order = self.wait_for(Told::new(call.clone(), trigger.is_some(), false));
            if trigger.is_none_or(|trigger| is_same(call, trigger)) {
                self.append(order);
            }
        }
    }

    /// Notes a batch that did not run and that the guard must not hear of, unless it runs all the same.
    pub fn block(&mut self, calls: &[v1::Call]) {
        for call in calls {
            self.wait_for(Told::new(call.clone(), true, true));
        }
    }

    fn wait_for(&mut self, told: Told) -> u64 {
        self.asked += 1;
        let order = self.asked;
        let older = self.open.insert(told.call.call_id.clone(), order);
        self.calls.insert(order, told);
        if let Some(older) = older {
            self.drop_unused(older);
        }
        if self.open.len() > OPEN_CALLS
            && let Some(id) = self.oldest(|_| true)
            && let Some(order) = self.open.remove(&id)
        {
            self.drop_unused(order);
        }
        order
    }

    /// The id of the oldest open call that fits.
    fn oldest(&self, fits: impl Fn(&Told) -> bool) -> Option<String> {
        let open = self.open.iter().filter(|(_, order)| self.calls.get(*order).is_some_and(&fits));
        open.min_by_key(|(_, order)| **order).map(|(id, _)| id.clone())
    }

    /// Notes how a call ended and returns it; `None` if no such call is open.
    pub fn settle(&mut self, outcome: &v1::Outcome) -> Option<Told> {
        let id = match outcome.call_id.as_str() {
            "" => self.oldest(|told| !told.vetoed)?,
            id => id.to_owned(),
        };
        let mut order = self.open.remove(&id)?;
        let told = self.calls.get(&order)?;
        if told.vetoed {
            // It ran all the same: that is another record than the veto.
            let ran = Told::new(told.call.clone(), false, told.lost);
            self.drop_unused(order);
            self.asked += 1;
            order = self.asked;
            self.calls.insert(order, ran);
        }
        let told = self.calls.get_mut(&order)?;
        let before = told.bytes();
        told.outcome = Some(outcome.clone());
        let settled = told.clone();
        if settled.kept {
            self.bytes += settled.bytes() - before;
            self.trim();
        } else {
            self.append(order);
        }
        Some(settled)
    }

    /// Notes that the server knows nothing of all this, and returns what it has to be told.
    pub fn lose(&mut self) -> Vec<v1::Record> {
        for order in self.open.values() {
            if let Some(told) = self.calls.get_mut(order) {
                told.lost = true;
            }
        }
        let newest = self.newest.iter().filter_map(|order| self.calls.get(order));
        newest.filter(|told| told.outcome.is_some() || told.vetoed).map(Told::record).collect()
    }

    fn append(&mut self, order: u64) {
        if let Some(told) = self.calls.get_mut(&order) {
            told.kept = true;
            self.bytes += told.bytes();
            self.newest.push_back(order);
            self.trim();
        }
    }

    fn trim(&mut self) {
        while self.newest.len() > self.size || self.bytes > self.limit_bytes {
            let Some(oldest) = self.newest.pop_front() else { return };
            if let Some(told) = self.calls.get_mut(&oldest) {
                told.kept = false;
                self.bytes -= told.bytes();
            }
            self.drop_unused(oldest);
        }
    }

    /// Forgets a call that is neither among the newest nor open.
    fn drop_unused(&mut self, order: u64) {
        let Some(told) = self.calls.get(&order) else { return };
        if !told.kept && self.open.get(&told.call.call_id) != Some(&order) {
            self.calls.remove(&order);
        }
    }
}

fn is_same(a: &v1::Call, b: &v1::Call) -> bool {
    a.tool == b.tool && arguments_of(a) == arguments_of(b)
}
