use std::time::Instant;

use super::*;
use crate::{Error, OnUnavailable};

const SHORT: Duration = Duration::from_millis(50);

/// An address at which nobody listens.
async fn nobody() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn a_call_without_answer_in_time_runs() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        guard.state().silent = true;
        // As if one before it had had no answer.
        run.shared().lock().session.late = true;
        assert_eq!(judge(&run).await.action, Action::Allow);
        assert_eq!(run.decided_unavailable(), 1);
        // The guard learns of it all the same, and of how many there were.
        guard.until(|state| state.runs["r"].last == 1).await;
        guard.state().silent = false;
        guard.state().after = Some(Box::new(|frame| (frame.seq == 2).then(|| tonic::Status::unavailable("cut"))));
        run.report(Outcome::new("c1", Status::Ok)).await.unwrap();
        guard.until(|state| state.opens.last().is_some_and(|open| open.resume)).await;
        assert_eq!(guard.state().opens.last().unwrap().decided_unavailable, 1);
        assert_eq!(guard.observed(), ["1 c1", "2 c1=STATUS_OK"]);
    });
}

#[test]
fn a_deadline_is_kept() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().silent = true;
        let run = open(Client::builder(&guard.address).deadline(SHORT)).await;
        let began = Instant::now();
        assert_eq!(judge(&run).await.action, Action::Allow);
        assert!(began.elapsed() < PLENTY / 2);
        assert_eq!(run.decided_unavailable(), 1);
    });
}

#[test]
fn a_call_without_guard_is_blocked() {
    within(async {
        let run = open(Client::builder(nobody().await).deadline(PLENTY).on_unavailable(OnUnavailable::Block)).await;
        assert!(run.opened().is_none());
        let verdict = judge(&run).await;
        assert_eq!((verdict.action, verdict.note.is_empty()), (Action::Block, false));
        assert_eq!(run.decided_unavailable(), 1);
        run.close().await;
    });
}

#[test]
fn a_guard_that_is_away_is_not_waited_for() {
    within(async {
        let run = open(Client::builder(nobody().await).deadline(PLENTY)).await;
        for _ in 0..20 {
            assert_eq!(judge(&run).await.action, Action::Allow);
        }
        assert_eq!(run.decided_unavailable(), 20);
        assert!(matches!(run.judge([]).await, Err(Error::InvalidFrame(_))));
        run.close().await;
    });
}

#[test]
fn a_guard_that_is_busy_is_waited_for() {
    for busy in [tonic::Status::cancelled, tonic::Status::resource_exhausted] as [fn(&'static str) -> _; 2] {
        within(async {
            let guard = FakeGuard::start().await;
            let mut left = 3;
            guard.state().begin = Some(Box::new(move || {
                left -= 1;
                (left >= 0).then(|| busy("busy"))
            }));
            let run = open(patient(&guard).on_unavailable(OnUnavailable::Block)).await;
            step(&run).await;
            assert_eq!(run.decided_unavailable(), 0);
        });
    }
}

#[test]
fn a_call_waits_for_the_guard() {
    within(async {
        let guard = FakeGuard::start().await;
        let mut left = 3;
        guard.state().before = Some(Box::new(move |frame| {
            left -= i32::from(frame.seq == 1);
            (frame.seq == 1 && left >= 0).then(|| tonic::Status::unavailable("cut"))
        }));
        let run =
            open(Client::builder(&guard.address).deadline(Duration::ZERO).on_unavailable(OnUnavailable::Wait)).await;
        step(&run).await;
        assert_eq!(run.decided_unavailable(), 0);
        assert_eq!(guard.observed(), ["1 c1", "2 c1=STATUS_OK"]);
    });
}

#[test]
fn a_batch_blocked_while_the_guard_is_away_is_only_asked() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().begin = Some(Box::new(|| Some(tonic::Status::unavailable("away"))));
        let run = open(patient(&guard).on_unavailable(OnUnavailable::Block)).await;
        assert_eq!(judge(&run).await.action, Action::Block);
        guard.state().begin = None;
        guard.until(|state| state.runs.get("r").is_some_and(|run| run.last == 1)).await;
        assert_eq!(guard.observed(), ["1 check"]);
        assert_eq!(guard.state().opens[0].decided_unavailable, 1);
    });
}

#[test]
fn a_stream_that_may_not_be_is_an_error() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().begin = Some(Box::new(|| Some(tonic::Status::unauthenticated("who are you?"))));
        let client = patient(&guard).build().unwrap();
        let Err(Error::RunRefused(refusal)) = client.open_run("r", RunOptions::default()).await else {
            panic!("it was opened")
        };
        assert_eq!((refusal.reason.as_str(), refusal.message.as_str()), ("UNAUTHENTICATED", "who are you?"));
    });
}

#[test]
fn a_run_that_is_closed_without_guard_is_not_waited_for() {
    within(async {
        let run = open(Client::builder(nobody().await).deadline(PLENTY)).await;
        run.close().await;
        assert_eq!(run.user_message().await, Err(Error::Closed("r".to_owned())));
    });
}

#[test]
fn a_caller_that_never_waits_does_not_keep_the_run_from_its_guard() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().begin = Some(Box::new(|| Some(tonic::Status::unavailable("away"))));
        let run = open(patient(&guard)).await;
        guard.state().begin = None;
        while run.opened().is_none() {
            judge(&run).await;
        }
        assert!(run.decided_unavailable() > 0);
    });
}
