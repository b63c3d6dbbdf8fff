//! A run's stream, through all its reconnects.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, TryFutureExt};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response};

use crate::connection::Connections;
use crate::error::{Error, is_final, reason, stream_refusal};
use crate::session::{Phase, Session};
use crate::v1::loop_guard_service_client::LoopGuardServiceClient;
use crate::v1::{GuardRequest, GuardResponse, guard_response::Answer};

/// By what a proxy keeps the streams of a run together, and how much of the run's id it holds.
const RUN_ID_METADATA: &str = "loopguard-run-id";
const RUN_ID_BYTES: usize = 256;
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How many frames wait for the connection to take them.
const FRAMES_AHEAD: usize = 16;

/// A run between its callers and its task.
pub(crate) struct Shared {
    link: Mutex<Link>,
    /// There may be something to write.
    pub changed: Notify,
}

impl Shared {
    pub fn new(session: Session) -> Self {
        let link = Link {
            session,
            is_down: false,
            streaming: false,
            answered: false,
            busy: false,
            leaving: false,
            node: None,
        };
        Self { link: Mutex::new(link), changed: Notify::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run with what is known of its stream.
pub(crate) struct Link {
    pub session: Session,
    /// The last try has failed.
    pub is_down: bool,
    pub streaming: bool,
    /// This stream has said something of the run.
    answered: bool,
    /// The server is there, but had no room for the stream.
    busy: bool,
    /// The server takes nothing more on this stream.
    leaving: bool,
    /// The node that the next stream goes to.
    node: Option<String>,
}

impl Link {
    fn connected(&mut self) {
        self.streaming = true;
        self.answered = false;
        self.busy = false;
        self.leaving = false;
        self.session.connected();
    }

    /// The next frame to write, if there is one now.
    fn take(&mut self) -> Option<GuardRequest> {
        if self.may_write() { self.session.next_frame() } else { None }
    }

    fn may_write(&self) -> bool {
        !self.leaving && !self.session.wants_stream && self.session.has_frame()
    }

    fn is_over(&self) -> bool {
        self.session.phase == Phase::Over
    }

    /// Takes an answer, and returns whether to go on with a new stream.
    fn receive(&mut self, response: GuardResponse) -> bool {
        self.leaving |= matches!(response.answer, Some(Answer::GoAway(_)));
        self.session.receive(response);
        self.answered |= self.session.phase == Phase::Opened || self.session.wants_stream;
        if self.session.phase == Phase::Opened {
            self.is_down = false;
            self.session.backoff.reset();
        }
        if self.session.wants_stream {
            self.node = self.session.moves_to.take();
            return true;
        }
        self.leaving && !self.is_over() && !self.session.is_in_flight()
    }

    /// Notes how the stream ended, `None` for without a complaint, and returns whether to try again.
    fn ended(&mut self, how: Option<tonic::Status>) -> bool {
        self.streaming = false;
        if let Some(status) = &how {
            let refusal = stream_refusal(status);
            self.busy = matches!(status.code(), Code::Cancelled | Code::ResourceExhausted);
            if is_final(status.code()) {
                self.session.end(Error::RunRefused(refusal));
            } else if refusal.reason == reason::TOO_LARGE {
                let message = "the server takes no message of this size";
                self.session.refuse_first(Error::invalid_frame(reason::TOO_LARGE, message));
            }
        }
        if self.is_over() {
            return false;
        }
        self.session.lost();
        // A guard that was there a moment ago is waited for.
        self.is_down = !self.answered && !self.busy && !self.leaving;
        if self.is_down && !self.session.settings.waits() {
            self.session.give_up_waiting();
        }
        true
    }
}

/// Keeps a run connected until it is over.
pub(crate) async fn keep(run: Arc<Shared>, connections: Arc<Connections>) {
    loop {
        let how = converse(&run, &connections).await;
        if let Some(status) = &how {
            tracing::debug!(%status, "the stream has ended");
        }
        let wait = {
            let mut link = run.lock();
            if !link.ended(how) {
                return;
            }
            link.session.backoff.next()
        };
        tokio::time::sleep(wait).await;
    }
}

/// Runs one stream to its end, and returns the server's complaint.
async fn converse(run: &Shared, connections: &Connections) -> Option<tonic::Status> {
    let (frames, receiver) = mpsc::channel(FRAMES_AHEAD);
    let (request, node) = {
        let mut link = run.lock();
        link.connected();
        // The run goes back to its client's address after this stream.
        (request_for(&link.session, receiver, connections), link.node.take())
    };
    let channel = match connections.to(node.as_deref()) {
        Ok(channel) => channel,
        Err(error) => return Some(tonic::Status::unavailable(error.to_string())),
    };
    let mut client = LoopGuardServiceClient::new((*channel).clone()).max_decoding_message_size(usize::MAX);
    // The server may begin its answer only with the first frame's: writing must not wait for it.
    let answers = async move { client.guard(request).await.map(Response::into_inner) }.try_flatten_stream();
    let mut answers = pin!(answers);
    let mut frames = Some(frames);
    loop {
        let (is_over, may_write) = {
            let link = run.lock();
            (link.is_over(), link.may_write())
        };
        if is_over && !may_write {
            // The server ends the stream once it has seen ours end.
            frames = None;
        }
        let writer = frames.clone().filter(|_| may_write);
        let permit = async move { writer?.reserve_owned().await.ok() };
        tokio::select! {
            answer = answers.next() => match answer {
                Some(Ok(response)) => if run.lock().receive(response) { return None },
                Some(Err(status)) => return Some(status),
                None => return None,
            },
            permit = permit, if may_write && frames.is_some() => match permit {
                Some(permit) => if let Some(frame) = run.lock().take() { drop(permit.send(frame)) },
                // The connection takes no more; why, the answers tell.
                None => frames = None,
            },
            () = run.changed.notified() => {}
        }
    }
}

fn request_for(
    session: &Session,
    frames: mpsc::Receiver<GuardRequest>,
    connections: &Connections,
) -> Request<ReceiverStream<GuardRequest>> {
    let mut request = Request::new(ReceiverStream::new(frames));
    let escaped: String = utf8_percent_encode(session.request.run_id.trim(), ESCAPED).collect();
    if let Ok(run_id) = escaped[..escaped.len().min(RUN_ID_BYTES)].parse() {
        request.metadata_mut().insert(RUN_ID_METADATA, run_id);
    }
    if let Some(authorization) = connections.authorization() {
        request.metadata_mut().insert("authorization", authorization.clone());
    }
    request
}
