use std::sync::{Arc, Mutex};

use tonic_types::{ErrorDetails, StatusExt as _};

use super::*;
use crate::v1::guard_request::Frame;
use crate::v1::guard_response::Answer;
use crate::v1::{GoAway, GuardRequest, NeedResend, RunEndReason, RunEnded};
use crate::{Error, OnUnavailable};

/// Does something at one frame, once.
fn once<T: Send + 'static>(seq: u64, what: T) -> fake::Hook<T> {
    let mut what = Some(what);
    Some(Box::new(move |frame: &GuardRequest| if frame.seq == seq { what.take() } else { None }))
}

/// Sends every run to a node.
fn sent_to(endpoint: String) -> impl FnMut(&GuardRequest) -> Option<Answer> + Send {
    move |_| {
        let (reason, endpoint) = (RunEndReason::WrongNode.into(), endpoint.clone());
        Some(Answer::RunEnded(RunEnded { reason, endpoint, status: None }))
    }
}

fn cut() -> tonic::Status {
    tonic::Status::unavailable("cut")
}

const STEPS: [&str; 4] = ["1 c1", "2 c1=STATUS_OK", "3 c2", "4 c2=STATUS_OK"];

#[test]
fn a_stream_cut_anywhere_is_resumed() {
    for seq in 1..=4 {
        for answered in [false, true] {
            within(async {
                let guard = FakeGuard::start().await;
                let run = open(patient(&guard)).await;
                let hook = once(seq, cut());
                if answered {
                    guard.state().after = hook
                } else {
                    guard.state().before = hook
                }
                step(&run).await;
                step(&run).await;
                assert_eq!(guard.observed(), STEPS, "cut at {seq}");
                assert_eq!(run.decided_unavailable(), 0);
                assert_eq!(run.opened().unwrap().epoch, 2);
                assert!(guard.state().opens[1].resume);
                run.close().await;
            });
        }
    }
}

#[test]
fn a_lost_run_is_told_again() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        guard.state().loses_at = Some(4);
        step(&run).await;
        step(&run).await;
        assert_eq!(guard.observed(), STEPS);
        let opens: Vec<_> = guard.state().opens.iter().map(|open| (open.resume, open.rebuild)).collect();
        assert_eq!(opens, [(false, false), (true, false)]);
        assert_eq!(run.opened().unwrap().epoch, 1);
        assert_eq!(run.decided_unavailable(), 0);
    });
}

#[test]
fn a_run_whose_frames_are_gone_is_rebuilt() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard).buffer(2, 1 << 20)).await;
        step(&run).await;
        step(&run).await;
        judge(&run).await;
        guard.state().loses_at = Some(6);
        let told = run.report(Outcome::new("c3", Status::Ok).with_result("3")).await.unwrap();
        assert_eq!(told.call_id, "c3");
        step(&run).await;
        assert_eq!(guard.observed(), ["1 history of 3", "2 c4", "3 c4=STATUS_OK"]);
        let state = guard.state();
        let opens: Vec<_> = state.opens.iter().map(|open| (open.resume, open.rebuild)).collect();
        assert_eq!(opens, [(false, false), (true, false), (false, true)]);
        assert!(run.opened().unwrap().rebuilt);
    });
}

#[test]
fn durable_frames_are_forgotten() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().durable = true;
        let run = open(patient(&guard)).await;
        step(&run).await;
        assert!(run.shared().lock().session.kept.is_empty());
        guard.state().before = once(3, cut());
        step(&run).await;
        assert_eq!(guard.observed(), STEPS);
    });
}

#[test]
fn a_frame_that_is_missed_is_sent_again() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        guard.state().instead = once(2, Answer::NeedResend(NeedResend { from_seq: 2 }));
        step(&run).await;
        step(&run).await;
        assert_eq!(guard.observed(), STEPS);
        assert_eq!(guard.state().opens.len(), 1);
    });
}

#[test]
fn a_run_left_by_another_client_is_taken_up() {
    within(async {
        let guard = FakeGuard::start().await;
        step(&open(patient(&guard)).await).await;
        let client = patient(&guard).build().unwrap();
        let run = client.open_run("r", RunOptions::default().resume()).await.unwrap();
        run.user_message().await.unwrap();
        assert_eq!(guard.observed(), ["1 c1", "2 c1=STATUS_OK", "3 user"]);
    });
}

#[test]
fn a_stream_that_is_cancelled_before_opened_is_tried_again() {
    within(async {
        let guard = FakeGuard::start().await;
        let mut left = 3;
        guard.state().begin = Some(Box::new(move || {
            left -= 1;
            (left >= 0).then(|| tonic::Status::cancelled("busy"))
        }));
        let run = open(patient(&guard).on_unavailable(OnUnavailable::Wait)).await;
        step(&run).await;
        assert_eq!(guard.state().metadata.len(), 4);
    });
}

#[test]
fn a_run_that_was_taken_over_is_not_taken_back() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        let ended = RunEnded { reason: RunEndReason::Superseded.into(), ..RunEnded::default() };
        guard.state().instead = once(1, Answer::RunEnded(ended));
        let Err(Error::RunRefused(refusal)) = run.judge([make()]).await else { panic!("it goes on") };
        assert_eq!(refusal.reason, "SUPERSEDED");
        assert!(matches!(run.judge([make()]).await, Err(Error::RunRefused(_))));
        run.close().await;
        assert_eq!(guard.state().opens.len(), 1);
    });
}

#[test]
fn a_run_is_followed_to_its_node() {
    within(async {
        let (wrong, right) = (FakeGuard::start().await, FakeGuard::start().await);
        wrong.state().instead = Some(Box::new(sent_to(right.address.clone())));
        let run = open(patient(&wrong)).await;
        step(&run).await;
        assert_eq!(right.observed(), STEPS[..2]);
        // After that stream the run begins at the client's own address again.
        right.state().before = once(3, cut());
        step(&run).await;
        assert_eq!(right.observed(), STEPS);
        assert_eq!(wrong.state().metadata.len(), 2);
    });
}

#[test]
fn nodes_that_send_a_run_round_for_ever_are_given_up() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().instead = Some(Box::new(sent_to(guard.address.clone())));
        let client = patient(&guard).on_unavailable(OnUnavailable::Wait).build().unwrap();
        let Err(Error::RunRefused(refusal)) = client.open_run("r", RunOptions::default()).await else {
            panic!("it was opened")
        };
        assert_eq!(refusal.reason, "WRONG_NODE");
        assert_eq!(guard.state().metadata.len(), 6);
    });
}

#[test]
fn a_call_waits_while_its_run_goes_elsewhere() {
    within(async {
        let (wrong, right) = (FakeGuard::start().await, FakeGuard::start().await);
        let run = open(patient(&wrong).on_unavailable(OnUnavailable::Block)).await;
        let mut send = sent_to(right.address.clone());
        wrong.state().instead = Some(Box::new(move |frame| if frame.seq == 1 { send(frame) } else { None }));
        step(&run).await;
        assert_eq!(right.observed(), STEPS[..2]);
        assert_eq!(run.decided_unavailable(), 0);
    });
}

#[test]
fn a_lost_runs_calls_are_told_once() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard).buffer(2, 1 << 20)).await;
        let open = judge(&run).await.call_id;
        step(&run).await;
        guard.state().loses_at = Some(4);
        step(&run).await;
        // The outcome of a call that the guard does not know is under way as a history when the run is lost once more.
        guard.state().loses_at = Some(4);
        run.report(Outcome::new(open, Status::Ok).with_result("1")).await.unwrap();
        step(&run).await;
        assert_eq!(guard.observed(), ["1 history of 3", "2 c4", "3 c4=STATUS_OK"]);
    });
}

#[test]
fn a_run_taken_up_late_is_rebuilt() {
    within(async {
        let guard = FakeGuard::start().await;
        step(&open(patient(&guard)).await).await;
        step(&open(patient(&guard)).await).await;
        guard.state().begin = Some(Box::new(|| Some(tonic::Status::unavailable("away"))));
        let client = patient(&guard).buffer(1, 1 << 20).build().unwrap();
        let run = client.open_run("r", RunOptions::default().resume()).await.unwrap();
        // More than is kept until the guard is there: the numbers that it gives tell nothing of what it lacks.
        run.user_message().await.unwrap();
        run.user_message().await.unwrap();
        guard.state().begin = None;
        guard.until(|state| state.opens.last().is_some_and(|open| open.rebuild)).await;
        guard.until(|state| state.runs["r"].last >= 1).await;
        assert!(guard.observed()[0].starts_with("1 history"), "{:?}", guard.observed());
    });
}

#[test]
fn a_run_goes_on_when_its_server_goes_away() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        guard.state().also = once(2, Answer::GoAway(GoAway::default()));
        step(&run).await;
        step(&run).await;
        assert_eq!(guard.observed(), STEPS);
        assert_eq!(guard.state().opens.len(), 2);
        assert_eq!(run.decided_unavailable(), 0);
    });
}

#[test]
fn a_resent_frame_keeps_its_time() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let times = Arc::clone(&seen);
        guard.state().before = Some(Box::new(move |frame| {
            let mut times = times.lock().unwrap();
            if !matches!(frame.frame, Some(Frame::Open(_))) {
                times.push(frame.at);
            }
            (times.len() == 1 && frame.seq == 1).then(cut)
        }));
        judge(&run).await;
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[0], seen[1]);
    });
}

#[test]
fn a_frame_for_whose_size_the_stream_ends_is_given_up() {
    within(async {
        let guard = FakeGuard::start().await;
        let run = open(patient(&guard)).await;
        let details = ErrorDetails::with_error_info("TOO_LARGE", "loopguard", []);
        let code = tonic::Code::ResourceExhausted;
        guard.state().before = once(1, tonic::Status::with_error_details(code, "too much", details));
        let Err(Error::InvalidFrame(refusal)) = run.judge([make()]).await else { panic!("it was taken") };
        assert_eq!(refusal.reason, "TOO_LARGE");
        step(&run).await;
        assert_eq!(guard.observed(), ["1 history of 0", "2 c2", "3 c2=STATUS_OK"]);
    });
}

#[test]
fn numbers_that_can_not_be_do_no_harm() {
    within(async {
        let guard = FakeGuard::start().await;
        guard.state().runs.entry("r".to_owned()).or_default().last = u64::MAX - 1;
        let client = Client::builder(&guard.address).deadline(Duration::from_millis(200)).build().unwrap();
        let run = client.open_run("r", RunOptions::default().resume()).await.unwrap();
        for from_seq in [0, u64::MAX] {
            guard.state().instead = Some(Box::new(move |frame| {
                let is_open = matches!(frame.frame, Some(Frame::Open(_)));
                (!is_open).then_some(Answer::NeedResend(NeedResend { from_seq }))
            }));
            assert_eq!(judge(&run).await.action, Action::Allow);
        }
    });
}
