//! What a run decides without the guard.

use crate::entry::Ticket;
use crate::model::{Action, Verdict};
use crate::options::OnUnavailable;
use crate::session::{Phase, Session};
use crate::v1::{self, guard_request::Frame};

impl Session {
    /// Answers a frame here, because the guard is away. The frame is still sent, so that the guard learns of it.
    pub fn decide(&mut self, ticket: &Ticket) -> Vec<Verdict> {
        self.stop_waiting(ticket);
        let Frame::Calls(batch) = &*ticket.frame else {
            return vec![Verdict { call_id: ticket.outcome_of(), ..Verdict::default() }];
        };
        let blocks = self.settings.on_unavailable == OnUnavailable::Block;
        let verdict = |call: &v1::Call| Verdict {
            call_id: call.call_id.clone(),
            action: if blocks { Action::Block } else { Action::Allow },
            note: if blocks { "The loop guard can't be reached.".to_owned() } else { String::new() },
            ..Verdict::default()
        };
        let verdicts: Vec<Verdict> = batch.calls.iter().map(verdict).collect();
        if batch.dry_run {
            return verdicts;
        }
        self.decided += verdicts.len() as u64;
        self.untold += verdicts.len() as u64;
        if blocks {
            self.withdraw(ticket);
        } else {
            self.journal.ask(&batch.calls, &verdicts);
        }
        verdicts
    }

    /// Gives up on the answer to a frame: calls that were asked are taken not to run.
    pub fn abandon(&mut self, ticket: &Ticket) {
        self.stop_waiting(ticket);
        if self.phase != Phase::Over && ticket.asked().is_some() {
            self.withdraw(ticket);
        }
    }

    fn stop_waiting(&mut self, ticket: &Ticket) {
        if let Some(entry) = self.kept.iter_mut().rev().find(|entry| entry.ticket.id == ticket.id) {
            entry.waiter = None;
        }
    }

    /// Makes the guard see that the calls of a batch did not run.
    fn withdraw(&mut self, ticket: &Ticket) {
        let Frame::Calls(batch) = &*ticket.frame else { return };
        let position = self.kept.iter().rposition(|entry| entry.ticket.id == ticket.id);
        match position.map(|index| self.first + index as u64) {
            Some(seq) if seq >= self.next_send => {
                let asked = v1::CallBatch { calls: batch.calls.clone(), dry_run: true };
                self.replace(seq, Frame::Calls(asked));
            }
            _ => {
                for call in &batch.calls {
                    let status = v1::Status::Cancelled.into();
                    let cancelled = v1::Outcome { call_id: call.call_id.clone(), status, ..v1::Outcome::default() };
                    let entry = self.wrap(Frame::Outcome(cancelled), None);
                    self.put(entry);
                }
            }
        }
        self.journal.block(&batch.calls);
    }

    /// Puts another frame under the number of one that is kept.
    pub fn replace(&mut self, seq: u64, frame: Frame) {
        let mut fresh = self.wrap(frame, None);
        let Some(entry) = self.entry(seq) else { return };
        fresh.at = entry.at;
        fresh.waiter = entry.waiter.take();
        fresh.ticket.id = entry.ticket.id;
        let (before, after) = (entry.bytes, fresh.bytes);
        *entry = fresh;
        self.kept_bytes = self.kept_bytes - before + after;
    }
}
