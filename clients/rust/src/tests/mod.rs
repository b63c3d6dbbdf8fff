//! The client against a guard in the same process.

mod away;
mod chaos;
mod connection;
mod fake;
mod journal;
mod resume;
mod run;
mod tls;

use std::future::Future;
use std::time::Duration;

use fake::FakeGuard;

use crate::model::{Action, Call, Outcome, Status, Verdict};
use crate::{Client, ClientBuilder, Run, RunOptions};

/// More time than anything takes that happens at all, also on a busy machine.
const PLENTY: Duration = Duration::from_secs(60);

/// Runs a test to its end on a run-time of its own.
fn within<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PLENTY, test).await.expect("the test has to end") })
}

/// A client that gives a guard that is there all the time it needs.
fn patient(guard: &FakeGuard) -> ClientBuilder {
    Client::builder(&guard.address).deadline(PLENTY)
}

async fn open(client: ClientBuilder) -> Run {
    client.build().unwrap().open_run("r", RunOptions::default()).await.unwrap()
}

fn make() -> Call {
    Call::new("exec", r#"{"command":"make"}"#)
}

async fn judge(run: &Run) -> Verdict {
    let mut verdicts = run.judge([make()]).await.unwrap();
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0)
}

/// Asks about a call and tells its outcome.
async fn step(run: &Run) {
    let verdict = judge(run).await;
    assert_eq!(verdict.action, Action::Allow);
    run.report(Outcome::new(verdict.call_id, Status::Ok).with_result("1")).await.unwrap();
}
