use super::*;
use crate::OnUnavailable;

/// Plays a run at a guard that cuts streams, loses runs and misses frames at random, and returns what it should have seen.
async fn play(client: Client, run_id: String) -> Vec<String> {
    let run = client.open_run(&run_id, RunOptions::default()).await.unwrap();
    let mut seqs = 1..;
    let mut seen = Vec::new();
    for turn in 0..12 {
        let ids = [format!("c{}", 2 * turn + 1), format!("c{}", 2 * turn + 2)];
        let verdicts = run.judge([Call::new("a", "{}"), Call::new("b", "{}")]).await.unwrap();
        assert_eq!(verdicts.iter().map(|verdict| &verdict.call_id).collect::<Vec<_>>(), ids.each_ref());
        seen.push(format!("{} {}", seqs.next().unwrap(), ids.join("+")));
        // Both are under way together.
        let outcomes = ids.each_ref().map(|id| run.report(Outcome::new(id, Status::Ok)));
        let [first, second] = outcomes;
        let (first, second) = tokio::join!(first, second);
        assert_eq!([first.unwrap().call_id, second.unwrap().call_id], ids);
        seen.extend(ids.map(|id| format!("{} {id}=STATUS_OK", seqs.next().unwrap())));
    }
    assert_eq!(run.decided_unavailable(), 0);
    seen
}

/// Plays several runs at once.
async fn play_all(
    seed: u64,
    client: impl Fn(ClientBuilder) -> ClientBuilder,
) -> (FakeGuard, Vec<(String, Vec<String>)>) {
    let guard = FakeGuard::start().await;
    guard.state().unruly = Some(fastrand::Rng::with_seed(seed));
    let client = client(Client::builder(&guard.address).on_unavailable(OnUnavailable::Wait)).build().unwrap();
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..4 {
        let (client, run_id) = (client.clone(), format!("r{number}"));
        runs.spawn(async move { (run_id.clone(), play(client, run_id).await) });
    }
    (guard, runs.join_all().await)
}

#[test]
fn nothing_is_lost_or_seen_twice_whatever_happens() {
    for seed in 0..4 {
        within(async {
            let (guard, runs) = play_all(seed, |client| client).await;
            for (run_id, seen) in runs {
                let observed = guard.observed_of(&run_id);
                // The run may have been lost behind its last answer.
                assert!(observed.is_empty() || observed == seen, "seed {seed}, {run_id}: {observed:?}");
            }
        });
    }
}

#[test]
fn every_question_is_answered_though_runs_are_rebuilt() {
    for seed in 0..4 {
        within(async {
            let (guard, runs) = play_all(seed, |client| client.buffer(2, 1 << 20)).await;
            assert_eq!(runs.len(), 4);
            assert!(guard.state().opens.iter().any(|open| open.rebuild), "seed {seed}");
        });
    }
}
