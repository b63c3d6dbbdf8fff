//! Frames that are kept for resending.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::error::Error;
use crate::model::Verdict;
use crate::v1::{self, GuardRequest, guard_request::Frame};

pub(crate) type Reply = Result<Vec<Verdict>, Error>;

/// A frame that is kept for resending. It has no number of its own, because a rebuilt run is numbered anew.
#[derive(Debug)]
pub(crate) struct Entry {
    pub ticket: Ticket,
    pub at: prost_types::Duration,
    pub bytes: usize,
    pub waiter: Option<oneshot::Sender<Reply>>,
    /// How many calls had got an id before this batch.
    pub numbered_before: u64,
}

/// What a frame's caller keeps of it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub id: u64,
    pub frame: Arc<Frame>,
    /// The call whose outcome this tells.
    pub report: Option<String>,
}

impl Ticket {
    /// The call whose outcome this tells; empty for another frame.
    pub fn outcome_of(&self) -> String {
        match (&self.report, &*self.frame) {
            (Some(call_id), _) => call_id.clone(),
            (None, Frame::Outcome(outcome)) => outcome.call_id.clone(),
            _ => String::new(),
        }
    }

    /// The calls of a batch that counts.
    pub fn asked(&self) -> Option<&[v1::Call]> {
        match &*self.frame {
            Frame::Calls(batch) if !batch.dry_run => Some(&batch.calls),
            _ => None,
        }
    }

    pub fn is_close(&self) -> bool {
        matches!(&*self.frame, Frame::Close(_))
    }
}

impl Entry {
    pub fn resolve(&mut self, reply: Reply) {
        if let Some(waiter) = self.waiter.take() {
            // Whoever has given up hears nothing.
            let _ = waiter.send(reply);
        }
    }

    pub fn is_awaited(&self) -> bool {
        self.waiter.is_some()
    }

    /// The frame with its number.
    pub fn request(&self, seq: u64) -> GuardRequest {
        GuardRequest { seq, at: Some(self.at), frame: Some((*self.ticket.frame).clone()) }
    }
}
