use std::sync::{Arc, Mutex};

use tonic_types::{ErrorDetails, StatusExt as _};
use tracing::field::Field;
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};

use super::*;
use crate::v1::guard_request::Frame;
use crate::v1::guard_response::Answer;
use crate::v1::{self, FrameError};
use crate::{Digest, Error, Flags, Level, Mode, OnUnavailable, Payload, Record, Scope};

/// A refusal as the guard words it.
fn refused(reason: &str, key: Option<&str>) -> Answer {
    let mut details = ErrorDetails::with_error_info(reason, "loopguard", []);
    if let Some(key) = key {
        details.set_bad_request(vec![tonic_types::FieldViolation::new(key, "no")]);
    }
    let status = tonic::Status::with_error_details(tonic::Code::InvalidArgument, "it is wrong", details);
    let status = prost::Message::decode(status.details()).unwrap();
    Answer::Error(FrameError { status: Some(status) })
}

#[test]
fn a_run_from_open_to_close() {
    within(async {
        let guard = FakeGuard::start().await;
        let options = RunOptions::default()
            .agent("coder")
            .parent_run("parent")
            .profile("balanced")
            .mode(Mode::Observe)
            .config(v1::LoopDetectionConfig { enabled: Some(true), ..v1::LoopDetectionConfig::default() });
        let client = patient(&guard).token("secret").build().unwrap();
        let run = client.open_run(" r/é ", options).await.unwrap();
        assert_eq!(run.opened().unwrap().epoch, 1);
        run.record([Record { call: make(), outcome: Outcome::new("", Status::Ok) }]).await.unwrap();
        let verdicts = run.judge([make(), make().with_id("x")]).await.unwrap();
        assert_eq!(verdicts.iter().map(|v| v.call_id.as_str()).collect::<Vec<_>>(), ["c1", "x"]);
        assert_eq!(run.check([make()]).await.unwrap()[0].call_id, "c2");
        assert_eq!(run.report(Outcome::new("x", Status::Error)).await.unwrap().call_id, "x");
        run.compaction_retry().await.unwrap();
        run.user_message().await.unwrap();
        let frames = std::mem::take(&mut guard.state().runs.get_mut(" r/é ").unwrap().frames);
        assert_eq!(frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        let times: Vec<_> = frames.iter().map(|frame| frame.at.map(|at| (at.seconds, at.nanos)).unwrap()).collect();
        assert!(times.is_sorted());
        assert_eq!(run.decided_unavailable(), 0);
        run.close().await;
        assert_eq!(run.judge([make()]).await, Err(Error::Closed(" r/é ".to_owned())));
        run.close().await;

        let state = guard.state();
        let open = &state.opens[0];
        assert_eq!(
            (open.agent_id.as_str(), open.parent_run_id.as_str(), open.profile.as_str()),
            ("coder", "parent", "balanced")
        );
        assert_eq!((open.mode(), open.config.unwrap().enabled), (Mode::Observe, Some(true)));
        assert_eq!(state.metadata[0].get("loopguard-run-id").unwrap(), "r%2F%C3%A9");
        assert_eq!(state.metadata[0].get("authorization").unwrap(), "Bearer secret");
    });
}

#[test]
fn a_task_ends_with_its_run() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        let shared = Arc::clone(run.shared());
        run.close().await;
        assert_eq!(Arc::strong_count(&shared), 2);

        let run = open(patient(&guard)).await;
        let shared = Arc::clone(run.shared());
        drop(run);
        while Arc::strong_count(&shared) > 1 {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn mistakes_are_errors_and_the_run_goes_on() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        let nine = vec![make(); 9];
        let large = Call::new("exec", vec![b'1'; 70_000]);
        let cases = [
            (vec![], "INVALID_FRAME"),
            (vec![Call::new(" ", "{}")], "EMPTY_TOOL"),
            (vec![make().with_id("a"), make().with_id("a")], "DUPLICATE_CALL"),
            (nine, "TOO_MANY_CALLS"),
            (vec![large], "TOO_LARGE"),
        ];
        for (calls, reason) in cases {
            let Err(Error::InvalidFrame(refusal)) = run.judge(calls).await else { panic!("{reason} was taken") };
            assert_eq!(refusal.reason, reason);
        }
        assert_eq!(judge(&run).await.call_id, "c1");
        assert_eq!(guard.observed(), ["1 c1"]);
    });
}

#[test]
fn a_refused_frame_is_an_error() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        guard.state().instead = Some(Box::new(|frame| (frame.seq == 1).then(|| refused("UNKNOWN_CALL", None))));
        let Err(Error::InvalidFrame(refusal)) = run.report(Outcome::new("x", Status::Ok)).await else {
            panic!("it was taken")
        };
        assert_eq!((refusal.reason.as_str(), refusal.message.as_str()), ("UNKNOWN_CALL", "it is wrong"));
    });
}

#[test]
fn a_refused_run_is_an_error() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().instead = Some(Box::new(|_| Some(refused("INVALID_CONFIG", Some("historySize")))));
        let client = patient(&guard).build().unwrap();
        let Err(Error::InvalidConfig(refusal)) = client.open_run("r", RunOptions::default()).await else {
            panic!("it was opened")
        };
        assert_eq!(refusal.key.as_deref(), Some("historySize"));
    });
}

#[test]
fn a_verdict_arrives_whole() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        let finding = v1::Finding {
            detector: "generic_repeat".to_owned(),
            level: v1::Level::Critical.into(),
            count: 20,
            threshold: 20,
            call_ids: vec!["c1".to_owned()],
            ..v1::Finding::default()
        };
        guard.state().verdict = Some(v1::Verdict {
            action: v1::Action::Abort.into(),
            finding: Some(finding),
            note: "stop".to_owned(),
            scope: v1::Scope::Run.into(),
            flags: vec![v1::JsonFlag::Bigint.into(), v1::JsonFlag::Opaque.into(), 99],
            ..v1::Verdict::default()
        });
        let verdict = judge(&run).await;
        assert!(!verdict.is_allowed());
        assert_eq!((verdict.action, verdict.scope), (Action::Abort, Some(Scope::Run)));
        assert_eq!(verdict.flags, Flags::BIGINT | Flags::OPAQUE);
        let finding = verdict.finding.unwrap();
        assert_eq!((finding.level, finding.count, finding.call_ids.len()), (Level::Critical, 20, 1));
    });
}

/// Keeps the warnings that the client logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN && metadata.target().starts_with("loopguard")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = String::new();
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| text += &format!("{field}={value:?} "));
        self.0.lock().unwrap().push(text);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn an_unknown_action_allows_and_is_logged() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        guard.state().verdict = Some(v1::Verdict { action: 77, ..v1::Verdict::default() });
        assert_eq!(judge(&run).await.action, Action::Allow);
    });
    let said = log.0.lock().unwrap();
    assert!(said.len() == 1 && said[0].contains("action=77") && said[0].contains("c1"), "{said:?}");
}

#[test]
fn digests_travel_in_place_of_payloads() {
    within(async {
        let guard = FakeGuard::start().await;
        let client = patient(&guard).build().unwrap();
        let run = client.open_run("r", RunOptions::default().digests()).await.unwrap();
        run.judge([Call::new("process", r#"{"action": "poll"}"#)]).await.unwrap();
        run.report(Outcome::new("c1", Status::Ok).with_result(" 1.0 ")).await.unwrap();
        let state = guard.state();
        assert_eq!(state.opens[0].digest_scheme, 1);
        let Some(Frame::Calls(batch)) = &state.runs["r"].frames[0].frame else { panic!("no calls") };
        let hashed =
            Call { args: Some(Payload::Digest(Digest::of(br#"{"action":"poll"}"#))), ..Call::new("process", "") };
        assert_eq!(batch.calls[0], v1::Call::from(Call { action: "poll".to_owned(), ..hashed }.with_id("c1")));
        let Some(Frame::Outcome(outcome)) = &state.runs["r"].frames[1].frame else { panic!("no outcome") };
        assert_eq!(outcome.output, Some(v1::outcome::Output::ResultDigest(Digest::of(b"1").into())));
    });
}

#[test]
fn a_caller_that_gives_up_has_not_run_its_calls() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard).on_unavailable(OnUnavailable::Wait)).await;
        guard.state().silent = true;
        {
            let judging = run.judge([make()]);
            tokio::select! {
                _ = judging => panic!("nobody answers"),
                () = guard.until(|state| state.runs["r"].last == 1) => {}
            }
        }
        guard.until(|state| state.runs["r"].last == 2).await;
        assert_eq!(guard.observed(), ["1 c1", "2 c1=STATUS_CANCELLED"]);
    });
}
