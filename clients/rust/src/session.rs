//! The protocol of one run: numbers, the frames kept for resending, what the client decides itself. No I/O.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;
use tokio::sync::oneshot;

use crate::backoff::Backoff;
use crate::codec;
use crate::entry::{Entry, Reply, Ticket};
use crate::error::{Error, reason};
use crate::journal::Journal;
use crate::options::Settings;
use crate::v1::{self, GuardRequest, guard_request::Frame};

/// How many calls are remembered until `Opened` tells the run's own number.
const HISTORY_SIZE: usize = 30;
/// Nodes that send a run to each other would do so for ever.
pub(crate) const MOST_REDIRECTS: u32 = 5;
/// What a frame's number takes at most.
const NUMBER_BYTES: usize = 11;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No stream, or none that has answered.
    Away,
    /// `RunOpen` is to be sent or was sent.
    Opening,
    Opened,
    /// Closed or refused for good.
    Over,
}

/// One run.
#[derive(Debug)]
pub(crate) struct Session {
    pub request: v1::RunOpen,
    pub settings: Arc<Settings>,
    began: Instant,
    pub phase: Phase,
    /// The guard's newest answer to the opening.
    pub opened: Option<v1::Opened>,
    /// Why the run is over.
    pub error: Option<Error>,
    pub limits: v1::Limits,
    /// Waits for `Opened`.
    pub opener: Option<oneshot::Sender<Reply>>,

    /// How many calls were decided here because the guard was away; those of them that it has not been told of; those
    /// that stand in the `RunOpen` under way.
    pub decided: u64,
    pub untold: u64,
    pub told: u64,
    /// The answer to a frame is overdue.
    pub late: bool,
    /// The stream can't go on with this run.
    pub wants_stream: bool,
    /// The endpoint at which the run goes on.
    pub moves_to: Option<String>,
    /// How often that was said since the run was opened last.
    pub redirects: u32,

    /// The frames kept for resending, numbered from `first` on.
    pub kept: VecDeque<Entry>,
    pub first: u64,
    pub kept_bytes: usize,
    /// The next frame to send on this stream, the last one answered on it, the last one answered on any.
    pub next_send: u64,
    pub confirmed: u64,
    pub answered: u64,
    pub abort_stands: bool,
    pub rebuilding: bool,
    pub open_to_send: bool,
    pub journal: Journal,
    tickets: u64,
    pub backoff: Backoff,
}

impl Session {
    pub fn new(request: v1::RunOpen, settings: Arc<Settings>) -> Self {
        Self {
            journal: Journal::new(HISTORY_SIZE, settings.buffer_bytes),
            request,
            settings,
            began: Instant::now(),
            phase: Phase::Away,
            opened: None,
            error: None,
            limits: crate::resume::ASSUMED,
            opener: None,
            decided: 0,
            untold: 0,
            told: 0,
            late: false,
            wants_stream: false,
            moves_to: None,
            redirects: 0,
            kept: VecDeque::new(),
            first: 1,
            kept_bytes: 0,
            next_send: 1,
            confirmed: 0,
            answered: 0,
            abort_stands: false,
            rebuilding: false,
            open_to_send: false,
            tickets: 0,
            backoff: Backoff::default(),
        }
    }

    /// The number of the newest frame.
    pub fn last(&self) -> u64 {
        self.first + self.kept.len() as u64 - 1
    }

    pub fn entry(&mut self, seq: u64) -> Option<&mut Entry> {
        let index = seq.checked_sub(self.first)?;
        self.kept.get_mut(usize::try_from(index).ok()?)
    }

    /// Wraps a frame that happens now.
    pub fn wrap(&mut self, frame: Frame, waiter: Option<oneshot::Sender<Reply>>) -> Entry {
        let at = to_wire(self.began.elapsed());
        self.tickets += 1;
        let request = GuardRequest { seq: 0, at: Some(at), frame: Some(frame) };
        let bytes = request.encoded_len();
        let frame = Arc::new(request.frame.unwrap_or(Frame::UserMessage(v1::UserMessage {})));
        Entry { ticket: Ticket { id: self.tickets, frame, report: None }, at, bytes, waiter, numbered_before: 0 }
    }

    /// Takes a frame for sending. The error is for one that the server would refuse, or the one that ended the run.
    pub fn submit(&mut self, frame: Frame, waiter: oneshot::Sender<Reply>) -> Result<Ticket, Error> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let entry = match frame {
            Frame::Calls(batch) => self.wrap_batch(batch, waiter)?,
            frame => {
                let mut entry = self.wrap(frame, Some(waiter));
                self.check_size(&entry)?;
                self.settle(&mut entry);
                entry
            }
        };
        let ticket = entry.ticket.clone();
        self.put(entry);
        Ok(ticket)
    }

    /// Notes whose outcome a frame tells; one of a call that the server does not know goes as a history.
    fn settle(&mut self, entry: &mut Entry) {
        let Frame::Outcome(outcome) = &*entry.ticket.frame else { return };
        let Some(told) = self.journal.settle(outcome) else { return };
        if told.lost {
            let waiter = entry.waiter.take();
            *entry = self.wrap(codec::history(vec![told.record()]), waiter);
        }
        entry.ticket.report = Some(told.call.call_id);
    }

    fn wrap_batch(&mut self, mut batch: v1::CallBatch, waiter: oneshot::Sender<Reply>) -> Result<Entry, Error> {
        let before = self.journal.numbered;
        self.journal.number(&mut batch.calls);
        let mistake = self.check_batch(&batch.calls);
        let dry_run = batch.dry_run;
        let mut entry = self.wrap(Frame::Calls(batch), Some(waiter));
        entry.numbered_before = before;
        let checked = mistake.and_then(|()| self.check_size(&entry));
        if checked.is_err() || dry_run {
            self.journal.numbered = before;
        }
        checked.map(|()| entry)
    }

    /// Gives a frame the next number, and forgets the oldest ones where there are too many.
    pub fn put(&mut self, entry: Entry) {
        self.kept_bytes += entry.bytes;
        self.kept.push_back(entry);
        while self.kept.len() > self.settings.buffer_frames || self.kept_bytes > self.settings.buffer_bytes {
            // A frame that is awaited, or is still to be sent to a guard that is there, is not given up.
            let is_due = self.phase == Phase::Opened && self.first >= self.next_send;
            if is_due || self.kept.front().is_none_or(Entry::is_awaited) {
                return;
            }
            self.forget_to(self.first);
        }
    }

    pub fn forget_to(&mut self, seq: u64) {
        while self.first <= seq
            && let Some(entry) = self.kept.pop_front()
        {
            self.kept_bytes -= entry.bytes;
            self.first += 1;
        }
    }

    /// Refuses what the guard would refuse, so that a mistake shows also while the guard is away.
    fn check_batch(&self, calls: &[v1::Call]) -> Result<(), Error> {
        if calls.is_empty() {
            return Err(Error::invalid_frame(reason::INVALID_FRAME, "a batch without calls"));
        }
        let mut ids = HashSet::new();
        for call in calls {
            if call.tool.trim().is_empty() {
                let message = format!("call {:?} names no tool", call.call_id);
                return Err(Error::invalid_frame(reason::EMPTY_TOOL, message));
            }
            if !ids.insert(&call.call_id) {
                let message = format!("one batch holds the call id {:?} twice", call.call_id);
                return Err(Error::invalid_frame(reason::DUPLICATE_CALL, message));
            }
        }
        let most = self.limits.calls_per_batch as usize;
        if self.opened.is_some() && calls.len() > most {
            let message = format!("{} calls in one batch; the server takes {most}", calls.len());
            return Err(Error::invalid_frame(reason::TOO_MANY_CALLS, message));
        }
        Ok(())
    }

    fn check_size(&self, entry: &Entry) -> Result<(), Error> {
        let most = self.most_bytes();
        if entry.bytes > most {
            let message = format!("a frame of {} bytes; the server takes {most}", entry.bytes);
            return Err(Error::invalid_frame(reason::TOO_LARGE, message));
        }
        let most = self.limits.records_per_history as usize;
        match &*entry.ticket.frame {
            Frame::History(history) if history.records.len() > most => {
                let message = format!("{} records; the server takes {most}", history.records.len());
                Err(Error::invalid_frame(reason::TOO_LARGE, message))
            }
            _ => Ok(()),
        }
    }

    /// The largest frame, without its number.
    pub fn most_bytes(&self) -> usize {
        let most = self.limits.frame_bytes.min(self.limits.message_bytes);
        usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(NUMBER_BYTES)
    }

    /// Gives the run up; everybody who waits or comes later gets the error.
    pub fn end(&mut self, error: Error) {
        if self.phase == Phase::Over {
            return;
        }
        self.phase = Phase::Over;
        self.open_to_send = false;
        self.resolve_open(Err(error.clone()));
        for mut entry in self.kept.drain(..) {
            entry.resolve(Err(error.clone()));
        }
        self.error = Some(error);
    }

    pub fn resolve_open(&mut self, reply: Reply) {
        if let Some(opener) = self.opener.take() {
            let _ = opener.send(reply);
        }
    }

    pub fn closed(&self) -> Error {
        Error::Closed(self.request.run_id.clone())
    }
}

fn to_wire(span: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(span.subsec_nanos()).unwrap_or(0),
    }
}
