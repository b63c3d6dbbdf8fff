//! One run of an agent.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot::{self, Receiver};
use tokio::task::JoinHandle;

use crate::codec;
use crate::connection::Connections;
use crate::entry::{Reply, Ticket};
use crate::error::Error;
use crate::model::{Call, Outcome, Record, Verdict};
use crate::options::{RunOptions, Settings};
use crate::session::{Phase, Session};
use crate::stream::{self, Link, Shared};
use crate::v1::{self, guard_request::Frame};

/// One run of an agent, opened by [`Client::open_run`](crate::Client::open_run). Its methods may be called by several
/// tasks at once.
///
/// When a future is dropped before the verdict is there, the calls are taken not to run, and the guard is told so. A run
/// that is dropped without [`Run::close`] stays at the guard for a while, and may be taken up by
/// [`RunOptions::resume`](crate::RunOptions::resume).
pub struct Run {
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    hashes: bool,
    task: Mutex<Option<Task>>,
}

/// A task that ends with its owner.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How long to wait for an answer.
enum Patience {
    Forever,
    For(Duration),
    /// There is no hope.
    None,
}

impl Run {
    pub(crate) async fn open(
        run_id: String,
        options: RunOptions,
        settings: Arc<Settings>,
        connections: Arc<Connections>,
    ) -> Result<Self, Error> {
        let request = v1::RunOpen { run_id, ..options.open };
        let mut session = Session::new(request, Arc::clone(&settings));
        let (opener, opened) = oneshot::channel();
        session.opener = Some(opener);
        let shared = Arc::new(Shared::new(session));
        let task = Task(tokio::spawn(stream::keep(Arc::clone(&shared), connections)));
        let run = Self { shared, settings, hashes: options.hashes, task: Mutex::new(Some(task)) };
        let patience = run.patience(&run.shared.lock(), false);
        match wait(opened, patience).await {
            Some(Err(error)) => Err(error),
            Some(Ok(_)) | None => Ok(run),
        }
    }

    /// The run's id.
    pub fn id(&self) -> String {
        self.shared.lock().session.request.run_id.clone()
    }

    /// The guard's newest answer to the opening of the run; `None` while the guard was never reached.
    pub fn opened(&self) -> Option<v1::Opened> {
        self.shared.lock().session.opened.clone()
    }

    /// How many calls were decided by the client because the guard was away.
    pub fn decided_unavailable(&self) -> u64 {
        self.shared.lock().session.decided
    }

    /// Asks about all calls of one model response before any of them runs, and returns one verdict a call.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidFrame`] for a batch that is refused, [`Error::RunRefused`] for a run that is, or that was opened
    /// elsewhere, [`Error::Closed`] for one that was closed.
    pub async fn judge(&self, calls: impl IntoIterator<Item = Call>) -> Result<Vec<Verdict>, Error> {
        self.exchange(codec::batch(self.prepared(calls), false)).await
    }

    /// Asks what [`Run::judge`] asks, without consequences.
    ///
    /// # Errors
    ///
    /// As [`Run::judge`].
    pub async fn check(&self, calls: impl IntoIterator<Item = Call>) -> Result<Vec<Verdict>, Error> {
        self.exchange(codec::batch(self.prepared(calls), true)).await
    }

    /// Tells how a call ended; the verdict may end the turn or the run.
    ///
    /// # Errors
    ///
    /// As [`Run::judge`].
    pub async fn report(&self, outcome: Outcome) -> Result<Verdict, Error> {
        let outcome = if self.hashes { outcome.hashed() } else { outcome };
        let verdicts = self.exchange(Frame::Outcome(outcome.into())).await?;
        Ok(verdicts.into_iter().next().unwrap_or_default())
    }

    /// Tells of calls that already happened; they are judged by nobody.
    ///
    /// # Errors
    ///
    /// As [`Run::judge`].
    pub async fn record(&self, records: impl IntoIterator<Item = Record>) -> Result<(), Error> {
        let hash = |record: Record| match self.hashes {
            true => Record { call: record.call.hashed(), outcome: record.outcome.hashed() },
            false => record,
        };
        let records = records.into_iter().map(|record| hash(record).into()).collect();
        self.exchange(codec::history(records)).await.map(drop)
    }

    /// Tells that the user wrote.
    ///
    /// # Errors
    ///
    /// As [`Run::judge`].
    pub async fn user_message(&self) -> Result<(), Error> {
        self.exchange(Frame::UserMessage(v1::UserMessage {})).await.map(drop)
    }

    /// Tells that the context was compacted and the run retries.
    ///
    /// # Errors
    ///
    /// As [`Run::judge`].
    pub async fn compaction_retry(&self) -> Result<(), Error> {
        self.exchange(Frame::CompactionRetry(v1::CompactionRetry {})).await.map(drop)
    }

    /// Ends the run. Does nothing for a run that is over, and does not wait for a guard that is away: that one forgets the
    /// run by itself.
    pub async fn close(&self) {
        // Over already, or the guard forgets the run by itself.
        let _ = self.exchange(Frame::Close(v1::RunClose {})).await;
        let is_streaming = {
            let mut link = self.shared.lock();
            let closed = link.session.closed();
            link.session.end(closed);
            link.streaming
        };
        self.shared.changed.notify_one();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut task) = task
            && is_streaming
        {
            // What does not end in time ends here.
            let _ = tokio::time::timeout(self.settings.close_wait(), &mut task.0).await;
        }
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn prepared(&self, calls: impl IntoIterator<Item = Call>) -> Vec<Call> {
        let calls = calls.into_iter();
        if self.hashes { calls.map(Call::hashed).collect() } else { calls.collect() }
    }

    /// Sends a frame and returns what answers it.
    async fn exchange(&self, frame: Frame) -> Reply {
        let closing = matches!(frame, Frame::Close(_));
        let (waiter, mut answer) = oneshot::channel();
        let (ticket, patience) = {
            let mut link = self.shared.lock();
            (link.session.submit(frame, waiter)?, self.patience(&link, closing))
        };
        self.shared.changed.notify_one();
        let abandoned = Abandoned { run: self, ticket: Some(ticket) };
        let reply = wait(&mut answer, patience).await;
        abandoned.settle(reply, answer)
    }

    fn patience(&self, link: &Link, closing: bool) -> Patience {
        let is_opened = link.session.phase == Phase::Opened;
        let waits = self.settings.waits();
        match closing {
            true if is_opened || waits => Patience::For(self.settings.close_wait()),
            true => Patience::None,
            false if waits => Patience::Forever,
            false if link.session.late || link.is_down && !is_opened => Patience::None,
            false => Patience::For(self.settings.deadline),
        }
    }
}

/// A frame whose caller waits: dropped meanwhile, its calls are taken not to run.
struct Abandoned<'a> {
    run: &'a Run,
    ticket: Option<Ticket>,
}

impl Abandoned<'_> {
    /// Returns the reply, or decides without one.
    fn settle(mut self, reply: Option<Reply>, mut answer: Receiver<Reply>) -> Reply {
        let mut link = self.run.shared.lock();
        let Some(ticket) = self.ticket.take() else { return Ok(Vec::new()) };
        match reply.or_else(|| answer.try_recv().ok()) {
            Some(Err(error @ Error::Unavailable(_))) if self.run.settings.waits() => return Err(error),
            Some(Err(Error::Unavailable(_))) => {}
            Some(reply) => return reply,
            // What was not answered in time is no reason to wait as long for the next one.
            None => link.session.late = true,
        }
        let verdicts = link.session.decide(&ticket);
        self.run.shared.changed.notify_one();
        Ok(verdicts)
    }
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.run.shared.lock().session.abandon(&ticket);
            self.run.shared.changed.notify_one();
        }
    }
}

/// Waits for a reply as long as patience lasts.
async fn wait(
    answer: impl Future<Output = Result<Reply, oneshot::error::RecvError>>,
    patience: Patience,
) -> Option<Reply> {
    match patience {
        Patience::Forever => answer.await.ok(),
        Patience::For(span) => tokio::time::timeout(span, answer).await.ok()?.ok(),
        Patience::None => {
            // A caller that asks in a loop leaves the run's task its turn.
            tokio::task::yield_now().await;
            None
        }
    }
}
