//! What a run does about its stream: opening, answers, resuming and rebuilding.

use std::collections::VecDeque;

use crate::codec;
use crate::entry::{Entry, Reply, Ticket};
use crate::error::{Error, Refusal, classify, reason, refusal_of};
use crate::model::{Action, Verdict};
use crate::session::{MOST_REDIRECTS, Phase, Session};
use crate::v1::{self, GuardRequest, GuardResponse, RunEndReason, guard_request::Frame, guard_response::Answer};

/// The server's limits until `Opened` tells them.
pub(crate) const ASSUMED: v1::Limits = v1::Limits {
    message_bytes: 16 << 20,
    frame_bytes: 16 << 20,
    calls_per_batch: 256,
    in_flight: 16,
    history_size: 0,
    frames_per_message: 4096,
    records_per_history: 1024,
};

/// No run comes this far; numbers stay out of reach of an overflow whatever a server says.
const MOST_SEQ: u64 = 1 << 62;

/// Fills in what a server does not say.
fn or_assumed(told: v1::Limits) -> v1::Limits {
    let long = |told: u64, assumed| if told == 0 { assumed } else { told };
    let short = |told: u32, assumed| if told == 0 { assumed } else { told };
    v1::Limits {
        message_bytes: long(told.message_bytes, ASSUMED.message_bytes),
        frame_bytes: long(told.frame_bytes, ASSUMED.frame_bytes),
        calls_per_batch: short(told.calls_per_batch, ASSUMED.calls_per_batch),
        in_flight: short(told.in_flight, ASSUMED.in_flight),
        records_per_history: short(told.records_per_history, ASSUMED.records_per_history),
        ..told
    }
}

impl Session {
    /// Begins on a stream.
    pub fn connected(&mut self) {
        if self.phase == Phase::Over {
            return;
        }
        self.wants_stream = false;
        self.moves_to = None;
        self.phase = Phase::Opening;
        self.open_to_send = true;
    }

    /// Notes that the stream is gone; the run waits for another one.
    pub fn lost(&mut self) {
        if self.phase != Phase::Over {
            self.phase = Phase::Away;
            self.open_to_send = false;
        }
    }

    /// Lets those who wait decide for themselves: the guard can't be reached.
    pub fn give_up_waiting(&mut self) {
        self.resolve_open(Ok(Vec::new()));
        for entry in &mut self.kept {
            entry.resolve(Err(Error::unavailable("the guard can't be reached")));
        }
    }

    fn open_frame(&mut self) -> GuardRequest {
        self.told = self.untold;
        let mut open = self.request.clone();
        if self.opened.is_some() {
            open.resume = !self.rebuilding;
        }
        open.rebuild = self.rebuilding;
        open.decided_unavailable = self.told;
        GuardRequest { seq: 0, at: None, frame: Some(Frame::Open(open)) }
    }

    /// Whether a frame may be sent now.
    pub fn has_frame(&self) -> bool {
        let window = self.confirmed + u64::from(self.limits.in_flight);
        self.open_to_send || self.phase == Phase::Opened && self.next_send <= self.last() && self.next_send <= window
    }

    /// The next frame to send; it counts as sent.
    pub fn next_frame(&mut self) -> Option<GuardRequest> {
        if !self.has_frame() {
            return None;
        }
        if std::mem::take(&mut self.open_to_send) {
            return Some(self.open_frame());
        }
        let seq = self.next_send;
        let request = self.entry(seq)?.request(seq);
        self.next_send += 1;
        Some(request)
    }

    /// Whether an answer is outstanding on this stream.
    pub fn is_in_flight(&self) -> bool {
        self.phase == Phase::Opening || self.next_send > self.confirmed + 1
    }

    /// Gives a frame up that no server takes; something without effect is sent under its number.
    pub fn refuse(&mut self, seq: u64, error: Error) {
        let Some(entry) = self.entry(seq).filter(|entry| !entry.ticket.is_close()) else { return };
        entry.resolve(Err(error));
        self.replace(seq, codec::history(Vec::new()));
    }

    /// Gives the frame up for whose size the stream has ended; sent again, it would end the next one too.
    pub fn refuse_first(&mut self, error: Error) {
        match self.phase {
            Phase::Opened if self.next_send > self.confirmed + 1 => self.refuse(self.confirmed + 1, error),
            Phase::Opening => self.end(error),
            _ => {}
        }
    }

    /// Takes an answer of the server.
    pub fn receive(&mut self, response: GuardResponse) {
        if self.phase == Phase::Over {
            return;
        }
        let durable_seq = response.durable_seq;
        match response.answer {
            Some(Answer::Opened(opened)) => self.take_opened(opened),
            Some(Answer::RunEnded(ended)) => self.take_end(ended),
            Some(Answer::GoAway(_)) => {}
            Some(Answer::Error(refused)) if self.phase == Phase::Opening && response.seq == 0 => {
                self.take_refused_open(refused);
            }
            _ if self.phase == Phase::Opening => {}
            Some(Answer::NeedResend(missing)) => self.resend(missing.from_seq),
            answer if response.seq > 0 => self.take_answer(response.seq, answer),
            _ => {}
        }
        // A frame whose answer is still to come is asked for again after a lost stream, durable or not.
        self.forget_to(durable_seq.min(self.answered).min(self.next_send - 1));
    }

    /// Goes back to a frame that the server waits for.
    fn resend(&mut self, from: u64) {
        if from < self.first {
            self.start_rebuild();
        } else {
            self.next_send = from.min(self.last() + 1);
        }
    }

    fn take_refused_open(&mut self, refused: v1::FrameError) {
        let refusal = refusal_of(refused.status.as_ref());
        if refusal.reason == reason::SHUTTING_DOWN {
            // GoAway has the whole stream begin anew elsewhere.
            self.lost();
        } else {
            self.end(classify(refusal));
        }
    }

    fn take_end(&mut self, ended: v1::RunEnded) {
        match ended.reason() {
            reason @ (RunEndReason::Superseded | RunEndReason::Protocol) => {
                let mut refusal = refusal_of(ended.status.as_ref());
                if refusal.reason.is_empty() {
                    refusal.reason = reason.as_str_name().trim_start_matches("RUN_END_REASON_").to_owned();
                }
                self.end(Error::RunRefused(refusal));
            }
            RunEndReason::WrongNode if self.redirects == MOST_REDIRECTS => {
                let message = format!("sent from node to node {MOST_REDIRECTS} times");
                self.end(Error::RunRefused(Refusal { reason: "WRONG_NODE".to_owned(), key: None, message }));
            }
            reason => {
                self.lost();
                self.wants_stream = true;
                if reason == RunEndReason::WrongNode {
                    self.redirects += 1;
                    self.moves_to = Some(ended.endpoint).filter(|endpoint| !endpoint.is_empty());
                }
            }
        }
    }

    fn take_answer(&mut self, seq: u64, answer: Option<Answer>) {
        self.late = false;
        if seq > self.last() {
            return;
        }
        self.confirmed = self.confirmed.max(seq);
        if seq <= self.answered {
            return;
        }
        self.answered = seq;
        let Some(entry) = self.entry(seq) else { return };
        let waiter = entry.waiter.take();
        let (ticket, numbered_before) = (entry.ticket.clone(), entry.numbered_before);
        let reply = match answer {
            Some(Answer::Error(refused)) => {
                if let Some(calls) = ticket.asked() {
                    self.journal.unnumber(numbered_before, calls);
                }
                Err(classify(refusal_of(refused.status.as_ref())))
            }
            answer => Ok(self.take_accepted(&ticket, waiter.is_some(), answer)),
        };
        if let Some(waiter) = waiter {
            // Whoever has given up hears nothing.
            let _ = waiter.send(reply);
        } else if let Err(error) = reply {
            tracing::warn!(run_id = self.request.run_id, %error, "the guard refused a frame");
        }
        if ticket.is_close() {
            self.end(self.closed());
        }
    }

    /// Notes what an answer means for the run, and returns it.
    fn take_accepted(&mut self, ticket: &Ticket, awaited: bool, answer: Option<Answer>) -> Vec<Verdict> {
        match answer {
            Some(Answer::Verdicts(verdicts)) => {
                let verdicts: Vec<Verdict> = verdicts.verdicts.into_iter().map(Verdict::from).collect();
                if let Some(calls) = ticket.asked() {
                    if awaited && !self.abort_stands {
                        self.journal.ask(calls, &verdicts);
                    }
                    self.abort_stands |= verdicts.iter().any(|verdict| verdict.action == Action::Abort);
                }
                verdicts
            }
            Some(Answer::Verdict(verdict)) => {
                let verdict = Verdict::from(verdict);
                self.abort_stands |= verdict.action == Action::Abort;
                vec![verdict]
            }
            _ => {
                if matches!(&*ticket.frame, Frame::UserMessage(_)) {
                    self.abort_stands = false;
                }
                vec![Verdict { call_id: ticket.outcome_of(), ..Verdict::default() }]
            }
        }
    }

    fn take_opened(&mut self, opened: v1::Opened) {
        let first = self.opened.is_none();
        let (last, rebuilt) = (opened.last_seq.min(MOST_SEQ), opened.rebuilt);
        self.limits = or_assumed(opened.limits.unwrap_or_default());
        if let Some(size) = opened.config.and_then(|config| config.history_size)
            && let Ok(size @ 1..) = usize::try_from(size)
        {
            self.journal.resize(size);
        }
        self.opened = Some(opened);
        self.untold -= self.told;
        self.told = 0;
        self.phase = Phase::Opened;
        self.late = false;
        self.redirects = 0;
        if first && self.first == 1 {
            let kept = std::mem::take(&mut self.kept);
            self.renumber(last + 1, kept);
            self.answered = last;
        } else if rebuilt {
            self.rebuild();
        } else if first || !self.resume(last) {
            // Numbers that were given before the server told its own mean nothing to a run that it knows.
            self.start_rebuild();
            return;
        }
        self.confirmed = self.next_send - 1;
        self.refuse_too_large();
        self.resolve_open(Ok(Vec::new()));
    }

    /// Gives up the frames that were taken before this server told what it takes.
    fn refuse_too_large(&mut self) {
        let most = self.most_bytes();
        for seq in self.next_send.max(self.first)..=self.last() {
            if self.entry(seq).is_some_and(|entry| entry.bytes > most) {
                self.refuse(seq, Error::invalid_frame(reason::TOO_LARGE, format!("a frame of over {most} bytes")));
            }
        }
    }

    /// Goes on after the last frame that the server has seen; false: it misses some that are not kept any more.
    fn resume(&mut self, last: u64) -> bool {
        let start = self.answered.min(last) + 1;
        if self.first > last + 1 {
            return false;
        }
        self.next_send = start.max(self.first);
        true
    }

    /// Asks for an empty run in place of the one that the server doesn't have and we can't repeat.
    fn start_rebuild(&mut self) {
        self.rebuilding = true;
        self.lost();
        self.wants_stream = true;
    }

    /// Tells an empty run what is remembered, and numbers on from there.
    fn rebuild(&mut self) {
        self.rebuilding = false;
        let mut records = self.journal.lose();
        let most = self.limits.records_per_history as usize;
        records.drain(..records.len().saturating_sub(most));
        let mut history = self.wrap(codec::history(records.clone()), None);
        while !records.is_empty() && history.bytes > self.most_bytes() {
            records.remove(0);
            history = self.wrap(codec::history(records.clone()), None);
        }
        let answered_here = self.answered.saturating_sub(self.first - 1);
        let mut kept = VecDeque::from([history]);
        for mut entry in self.kept.drain(..).skip(usize::try_from(answered_here).unwrap_or(usize::MAX)) {
            match &*entry.ticket.frame {
                // Its call belongs to a lost run, and the history tells of it.
                Frame::Outcome(_) => entry.resolve(told_again(&entry)),
                Frame::History(_) if entry.ticket.report.is_some() => entry.resolve(told_again(&entry)),
                Frame::Calls(_) if !entry.is_awaited() => {}
                _ => kept.push_back(entry),
            }
        }
        self.abort_stands = false;
        self.answered = 0;
        self.renumber(1, kept);
    }

    fn renumber(&mut self, first: u64, entries: VecDeque<Entry>) {
        self.kept_bytes = entries.iter().map(|entry| entry.bytes).sum();
        self.kept = entries;
        self.first = first;
        self.next_send = first;
    }
}

fn told_again(entry: &Entry) -> Reply {
    Ok(vec![Verdict { call_id: entry.ticket.outcome_of(), ..Verdict::default() }])
}
