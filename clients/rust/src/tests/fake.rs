//! A guard that answers as a server does, and can be told to misbehave.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::metadata::MetadataMap;
use tonic::transport::server::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::v1::guard_request::Frame;
use crate::v1::guard_response::Answer;
use crate::v1::loop_guard_service_server::{LoopGuardService, LoopGuardServiceServer};
use crate::v1::{
    Ack, Action, Call, FingerprintRequest, FingerprintResponse, GuardManyRequest, GuardManyResponse, GuardRequest,
    GuardResponse, Limits, LoopDetectionConfig, NeedResend, Opened, RunOpen, Verdict, Verdicts, WatchRequest,
    WatchResponse,
};

/// Looks at a frame and may do something about it.
pub type Hook<T> = Option<Box<dyn FnMut(&GuardRequest) -> Option<T> + Send>>;

#[derive(Default)]
pub struct State {
    pub runs: HashMap<String, FakeRun>,
    pub opens: Vec<RunOpen>,
    pub metadata: Vec<MetadataMap>,
    /// Ends a stream before it begins.
    pub begin: Option<Box<dyn FnMut() -> Option<Status> + Send>>,
    /// Ends the stream before a frame is observed.
    pub before: Hook<Status>,
    /// Ends the stream when the answer to a frame is still to be sent.
    pub after: Hook<Status>,
    /// Replaces the answer to a frame, which is then not observed.
    pub instead: Hook<Answer>,
    /// Is said after the answer to a frame.
    pub also: Hook<Answer>,
    /// Loses all runs at this frame, and the stream with them.
    pub loses_at: Option<u64>,
    /// Cuts streams, loses runs and misses frames at random.
    pub unruly: Option<fastrand::Rng>,
    /// Says nothing to a frame that was observed.
    pub silent: bool,
    /// Has every frame survive.
    pub durable: bool,
    pub verdict: Option<Verdict>,
}

/// What the fake knows of a run.
#[derive(Default)]
pub struct FakeRun {
    epoch: u64,
    pub last: u64,
    answers: HashMap<u64, GuardResponse>,
    /// The frames that were observed, in order.
    pub frames: Vec<GuardRequest>,
}

/// A fake with its server, which ends with it.
pub struct FakeGuard {
    pub address: String,
    service: Fake,
    task: JoinHandle<()>,
}

impl Drop for FakeGuard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeGuard {
    pub async fn start() -> Self {
        Self::serve(None).await
    }

    pub async fn serve(tls: Option<ServerTlsConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = Fake::default();
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let serving = server
            .add_service(LoopGuardServiceServer::new(service.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        let task = tokio::spawn(async move { serving.await.unwrap() });
        Self { address, service, task }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.service.state.lock().unwrap()
    }

    /// Waits until something holds.
    pub async fn until(&self, mut holds: impl FnMut(&State) -> bool) {
        while !holds(&self.state()) {
            self.service.taken.notified().await;
        }
    }

    /// What was observed of the run "r", as words.
    pub fn observed(&self) -> Vec<String> {
        self.observed_of("r")
    }

    pub fn observed_of(&self, run_id: &str) -> Vec<String> {
        self.state().runs.get(run_id).map(|run| run.frames.iter().map(word).collect()).unwrap_or_default()
    }
}

fn word(request: &GuardRequest) -> String {
    let what = match request.frame.as_ref().unwrap() {
        Frame::Calls(batch) if batch.dry_run => "check".to_owned(),
        Frame::Calls(batch) => batch.calls.iter().map(|call| call.call_id.clone()).collect::<Vec<_>>().join("+"),
        Frame::Outcome(outcome) => format!("{}={}", outcome.call_id, outcome.status().as_str_name()),
        Frame::History(history) => format!("history of {}", history.records.len()),
        Frame::UserMessage(_) => "user".to_owned(),
        Frame::CompactionRetry(_) => "compaction".to_owned(),
        Frame::Close(_) => "close".to_owned(),
        Frame::Open(_) => "open".to_owned(),
    };
    format!("{} {what}", request.seq)
}

#[derive(Clone, Default)]
struct Fake {
    state: Arc<Mutex<State>>,
    taken: Arc<Notify>,
}

type Answers = ReceiverStream<Result<GuardResponse, Status>>;

#[tonic::async_trait]
impl LoopGuardService for Fake {
    type GuardStream = Answers;
    type GuardManyStream = ReceiverStream<Result<GuardManyResponse, Status>>;
    type WatchStream = ReceiverStream<Result<WatchResponse, Status>>;

    async fn guard(&self, request: Request<Streaming<GuardRequest>>) -> Result<Response<Answers>, Status> {
        {
            let mut state = self.state.lock().unwrap();
            state.metadata.push(request.metadata().clone());
            if let Some(status) = state.begin.as_mut().and_then(|begin| begin()) {
                return Err(status);
            }
            if state.happens(4) {
                return Err(Status::cancelled("busy"));
            }
        }
        let (sender, answers) = mpsc::channel(1);
        let fake = self.clone();
        tokio::spawn(async move {
            if let Err(status) = fake.converse(request.into_inner(), &sender).await {
                let _ = sender.send(Err(status)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(answers)))
    }

    async fn guard_many(
        &self,
        _: Request<Streaming<GuardManyRequest>>,
    ) -> Result<Response<Self::GuardManyStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn fingerprint(&self, _: Request<FingerprintRequest>) -> Result<Response<FingerprintResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn watch(&self, _: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

impl Fake {
    async fn converse(
        &self,
        mut frames: Streaming<GuardRequest>,
        answers: &mpsc::Sender<Result<GuardResponse, Status>>,
    ) -> Result<(), Status> {
        let mut run_id = String::new();
        while let Some(frame) = frames.message().await? {
            if let Some(Frame::Open(open)) = &frame.frame {
                run_id = open.run_id.clone();
            }
            let taken = self.state.lock().unwrap().take(&run_id, frame);
            self.taken.notify_one();
            for answer in taken? {
                let ends = matches!(answer.answer, Some(Answer::RunEnded(_)));
                if answers.send(Ok(answer)).await.is_err() {
                    return Ok(());
                }
                if ends {
                    return Err(Status::aborted("the run is elsewhere"));
                }
            }
        }
        Ok(())
    }
}

impl State {
    /// Takes one frame by the protocol's rules for numbers.
    fn take(&mut self, run_id: &str, frame: GuardRequest) -> Result<Vec<GuardResponse>, Status> {
        if self.loses_at == Some(frame.seq) {
            self.loses_at = None;
            self.runs.clear();
            return Err(Status::unavailable("lost"));
        }
        self.trouble(run_id)?;
        if let Some(status) = self.before.as_mut().and_then(|hook| hook(&frame)) {
            return Err(status);
        }
        if let Some(answer) = self.instead.as_mut().and_then(|hook| hook(&frame)) {
            return Ok(vec![response(frame.seq, answer)]);
        }
        if let Some(Frame::Open(open)) = frame.frame {
            return Ok(vec![self.open(open)]);
        }
        let from_seq = self.runs.get(run_id).map_or(1, |run| run.last + 1);
        if frame.seq == from_seq && self.happens(40) {
            return Ok(vec![response(frame.seq, Answer::NeedResend(NeedResend { from_seq }))]);
        }
        let answer = self.observe(run_id, &frame);
        self.trouble(run_id)?;
        if let Some(status) = self.after.as_mut().and_then(|hook| hook(&frame)) {
            return Err(status);
        }
        if self.silent {
            return Ok(Vec::new());
        }
        let more = self.also.as_mut().and_then(|hook| hook(&frame));
        Ok([answer].into_iter().chain(more.map(|answer| response(frame.seq, answer))).collect())
    }

    /// Whether something happens that does so once in so many times, where the fake is unruly.
    fn happens(&mut self, once_in: u32) -> bool {
        self.unruly.as_mut().is_some_and(|random| random.u32(..once_in) == 0)
    }

    fn trouble(&mut self, run_id: &str) -> Result<(), Status> {
        if self.happens(40) {
            return Err(Status::unavailable("cut"));
        }
        if self.happens(40) {
            self.runs.remove(run_id);
            return Err(Status::internal("lost"));
        }
        Ok(())
    }

    fn observe(&mut self, run_id: &str, frame: &GuardRequest) -> GuardResponse {
        let fresh = self.answer(frame);
        let run = self.runs.get_mut(run_id).expect("a run is opened first");
        let mut answer = match frame.seq {
            seq if seq > run.last + 1 => response(seq, Answer::NeedResend(NeedResend { from_seq: run.last + 1 })),
            seq if seq <= run.last => run.answers[&seq].clone(),
            seq => {
                run.last = seq;
                run.answers.insert(seq, fresh.clone());
                run.frames.push(frame.clone());
                fresh
            }
        };
        answer.acked_seq = run.last;
        answer.durable_seq = if self.durable { run.last } else { 0 };
        answer
    }

    fn open(&mut self, open: RunOpen) -> GuardResponse {
        let run = self.runs.entry(open.run_id.clone()).or_default();
        if !open.resume {
            *run = FakeRun { epoch: run.epoch, ..FakeRun::default() };
        }
        run.epoch += 1;
        let opened = Opened {
            run_id: open.run_id.clone(),
            epoch: run.epoch,
            last_seq: run.last,
            rebuilt: open.rebuild,
            config: Some(LoopDetectionConfig { history_size: Some(30), ..LoopDetectionConfig::default() }),
            limits: Some(Limits {
                message_bytes: 1 << 20,
                frame_bytes: 1 << 16,
                calls_per_batch: 8,
                in_flight: 4,
                records_per_history: 100,
                ..Limits::default()
            }),
            ..Opened::default()
        };
        self.opens.push(open);
        response(0, Answer::Opened(opened))
    }

    fn answer(&self, frame: &GuardRequest) -> GuardResponse {
        let verdict = |call_id: &str| {
            let allowed = Verdict { action: Action::Allow.into(), ..Verdict::default() };
            Verdict { call_id: call_id.to_owned(), ..self.verdict.clone().unwrap_or(allowed) }
        };
        let answer = match frame.frame.as_ref().expect("a frame has a body") {
            Frame::Calls(batch) => {
                let each = |call: &Call| verdict(&call.call_id);
                Answer::Verdicts(Verdicts { verdicts: batch.calls.iter().map(each).collect() })
            }
            Frame::Outcome(outcome) => Answer::Verdict(verdict(&outcome.call_id)),
            _ => Answer::Ack(Ack {}),
        };
        response(frame.seq, answer)
    }
}

fn response(seq: u64, answer: Answer) -> GuardResponse {
    GuardResponse { seq, answer: Some(answer), ..GuardResponse::default() }
}
