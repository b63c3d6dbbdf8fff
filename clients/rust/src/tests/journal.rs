use crate::journal::Journal;
use crate::model::{Action, Call, Outcome, Status, Verdict};
use crate::v1;

fn calls(ids: &[&str]) -> Vec<v1::Call> {
    ids.iter().map(|id| Call::new(*id, "{}").with_id(*id).into()).collect()
}

fn verdicts(actions: &[Action]) -> Vec<Verdict> {
    actions.iter().map(|action| Verdict { action: *action, ..Verdict::default() }).collect()
}

fn ok(id: &str) -> v1::Outcome {
    Outcome::new(id, Status::Ok).with_result("1").into()
}

fn told(journal: &mut Journal) -> Vec<(String, Status)> {
    journal.lose().into_iter().map(|record| (record.tool.clone(), record.status())).collect()
}

#[test]
fn the_newest_calls_that_ended_are_told() {
    let mut journal = Journal::new(2, 1000);
    journal.ask(&calls(&["a", "b", "c", "d"]), &verdicts(&[Action::Allow; 4]));
    for id in ["d", "b", ""] {
        assert!(journal.settle(&ok(id)).is_some());
    }
    assert!(journal.settle(&ok("nobody")).is_none());
    // The oldest open call was a, which then was no longer among the newest two: c and d; it is told anew.
    assert_eq!(told(&mut journal), [("b".to_owned(), Status::Ok), ("a".to_owned(), Status::Ok)]);
    assert!(journal.settle(&ok("c")).is_some_and(|call| call.lost));
}

#[test]
fn of_a_blocked_batch_the_blocked_call_is_told() {
    let mut journal = Journal::new(10, 1000);
    let mut answers = verdicts(&[Action::Block, Action::Block]);
    answers[0].blocked_by = "b".to_owned();
    journal.ask(&calls(&["a", "b"]), &answers);
    assert_eq!(told(&mut journal), [("b".to_owned(), Status::LoopVeto)]);
    // It ran all the same.
    assert!(journal.settle(&ok("b")).is_some());
    assert_eq!(told(&mut journal), [("b".to_owned(), Status::LoopVeto), ("b".to_owned(), Status::Ok)]);
}

#[test]
fn payloads_are_limited() {
    let mut journal = Journal::new(10, 10);
    journal.ask(&calls(&["a", "b"]), &verdicts(&[Action::Allow; 2]));
    let long = |id: &str| Outcome::new(id, Status::Ok).with_result("123456").into();
    assert!(journal.settle(&long("a")).is_some());
    assert!(journal.settle(&long("b")).is_some());
    assert_eq!(told(&mut journal), [("b".to_owned(), Status::Ok)]);
}

#[test]
fn calls_without_id_are_numbered() {
    let mut journal = Journal::new(10, 1000);
    let mut batch = calls(&["", "c1", ""]);
    journal.number(&mut batch);
    assert_eq!(batch.iter().map(|call| call.call_id.as_str()).collect::<Vec<_>>(), ["c2", "c1", "c3"]);
    journal.unnumber(0, &calls(&["c2"]));
    assert_eq!(journal.numbered, 3);
    journal.unnumber(0, &batch);
    assert_eq!(journal.numbered, 0);
}
