"""One run frame by frame: ids, records, warnings by bucket, batches, recovery, aborts, checks."""

from __future__ import annotations

import pytest

from loopguard.errors import InvalidFrame, Reason
from loopguard.model import Action, CallBatch, Flag, History, Level, Outcome, Record, Scope, Signal, Status
from tests.unit.runs import FAILURE, SUCCESS, call, check, guarded, open_run, play, remember, seen


def reason_of(run: object, frame: object) -> Reason:
    with pytest.raises(InvalidFrame) as refusal:
        run.apply(frame)  # type: ignore[attr-defined]  # a run
    return refusal.value.reason


def test_frames_without_a_question_have_no_answer() -> None:
    run = guarded()

    answers = [run.apply(frame) for frame in (History([]), Signal.USER_MESSAGE, Signal.COMPACTION_RETRY, Signal.CLOSE)]

    assert answers == [None] * 4


def test_after_close_nothing_is_taken() -> None:
    run = guarded()
    run.apply(Signal.CLOSE)

    assert reason_of(run, Signal.USER_MESSAGE) is Reason.INVALID_FRAME


def test_calls_without_id_are_numbered_past_given_ones() -> None:
    run = guarded()

    ids = [verdict.call_id for verdict in run.judge([call(), call(call_id="c2"), call("b"), call("c", call_id="x")])]

    assert ids == ["c1", "c2", "c3", "x"]
    assert run.judge([call("d")])[0].call_id == "c4"


def test_a_check_uses_no_numbers_up() -> None:
    run = guarded()

    asked = [check(run).call_id, check(run).call_id, run.judge([call()])[0].call_id]

    assert asked == ["c1", "c1", "c1"]


def test_a_refused_batch_changes_nothing() -> None:
    run = guarded()
    run.judge([call(), call("b")])

    assert reason_of(run, CallBatch([call(), call(call_id="x"), call(call_id="x")])) is Reason.DUPLICATE_CALL
    assert reason_of(run, CallBatch([call(), call(" ")])) is Reason.EMPTY_TOOL
    assert reason_of(run, CallBatch([])) is Reason.INVALID_FRAME
    assert run.judge([call()])[0].call_id == "c3"
    assert (run.open_calls, run.calls_asked) == (3, 3)


def test_an_outcome_needs_an_open_call() -> None:
    run = guarded()
    play(run)

    assert reason_of(run, Outcome("c1")) is Reason.UNKNOWN_CALL
    assert reason_of(run, Outcome("nobody")) is Reason.UNKNOWN_CALL
    assert reason_of(run, Outcome()) is Reason.UNKNOWN_CALL


def test_pending_is_for_records_only() -> None:
    run = guarded()
    run.judge([call()])

    assert reason_of(run, Outcome("c1", Status.PENDING)) is Reason.INVALID_FRAME
    assert run.observe(Outcome("c1", Status.CANCELLED)).action is Action.ALLOW


def test_an_outcome_without_id_is_the_oldest_admitted_calls() -> None:
    run = guarded()
    remember(run, tool="loop", times=5)
    run.judge([call("loop")])
    run.judge([call(call_id="x"), call("b", call_id="y")])

    assert [run.observe(Outcome(**SUCCESS)).call_id for _ in "xy"] == ["x", "y"]


def test_an_id_used_again_means_the_newest_call() -> None:
    run = guarded()
    run.judge([call("a", call_id="x"), call("b", call_id="y")])
    run.judge([call("c", call_id="x")])

    assert run.open_calls == 2
    assert [run.observe(Outcome()).call_id for _ in "yx"] == ["y", "x"]


def test_beyond_1024_open_calls_the_oldest_is_forgotten() -> None:
    run = open_run()
    for number in range(1025):
        run.judge([call(f"t{number}")])

    assert run.open_calls == 1024
    assert reason_of(run, Outcome("c1")) is Reason.UNKNOWN_CALL
    assert run.observe(Outcome("c2")).call_id == "c2"


def test_an_outcome_keeps_the_place_of_its_call() -> None:
    run = guarded()
    run.judge([call(call_id="first")])
    remember(run, {"result": b'"other"'}, times=2)
    run.observe(Outcome("first", **SUCCESS))
    remember(run, times=2)

    # In order of completion the old outcome would belong to the streak.
    assert seen(check(run)) == (Action.WARN, "generic_repeat", 5)


def test_a_record_that_left_the_window_is_appended_again() -> None:
    run = guarded(historySize=8)
    run.judge([call("late", call_id="late")])
    for number in range(8):
        remember(run, tool=f"t{number}")
    remember(run, tool="late", times=4)

    run.observe(Outcome("late", **SUCCESS))

    assert seen(check(run, "late")) == (Action.BLOCK, "generic_repeat", 5)


def test_a_cancelled_call_stays_pending() -> None:
    run = guarded()
    remember(run, times=4)
    run.judge([call()])

    run.observe(Outcome("c1", Status.CANCELLED))

    # Its note was due before, at the call.
    assert seen(check(run)) == (Action.ALLOW, "generic_repeat", 5)


def test_a_blocked_call_that_ran_is_recorded() -> None:
    run = guarded()
    remember(run, times=5)
    run.judge([call()])

    run.observe(Outcome("c1", result=b'"changed"'))

    assert seen(check(run)) == (Action.WARN, "generic_repeat", 7)


def test_warnings_come_every_ten() -> None:
    run = guarded(criticalThreshold=25, globalCircuitBreakerThreshold=30)
    actions = []
    for _ in range(24):
        actions.append(run.judge([call()])[0].action)
        run.observe(Outcome(**SUCCESS))

    assert [count for count, action in enumerate(actions) if action is Action.WARN] == [3, 13, 23]


def test_a_warning_without_note_still_has_its_finding() -> None:
    run = guarded()
    remember(run, times=3)
    play(run)

    verdict = run.judge([call()])[0]

    assert (verdict.action, verdict.note) == (Action.ALLOW, "")
    assert verdict.finding is not None
    assert verdict.finding.level is Level.WARNING


def test_a_check_uses_no_warning_up() -> None:
    run = guarded()
    remember(run, times=3)

    assert [check(run).action, check(run).action, run.judge([call()])[0].action] == [Action.WARN] * 3


def test_a_batch_is_judged_as_if_earlier_siblings_were_vetoed() -> None:
    run = guarded()
    play(run)

    verdicts = run.judge([call() for _ in range(3)])

    assert [verdict.action for verdict in verdicts] == [Action.ALLOW, Action.ALLOW, Action.WARN]


def test_twenty_equal_calls_in_one_batch_are_blocked() -> None:
    verdicts = guarded().judge([call() for _ in range(20)])

    assert {verdict.action for verdict in verdicts} == {Action.BLOCK}
    assert seen(verdicts[5]) == (Action.BLOCK, "generic_repeat", 5)
    assert {verdict.blocked_by for verdict in verdicts} == {"", "c6"}
    assert all(verdict.note for verdict in verdicts)
    assert [verdict.call_id for verdict in verdicts if verdict.finding] == ["c6"]


def test_a_blocked_batch_leaves_vetoes_of_the_triggers_signature_only() -> None:
    run = guarded(detectors={"pingPong": False})
    remember(run, times=5)
    remember(run, tool="other", times=2)

    run.judge([call("other"), call(), call()])

    assert seen(check(run)) == (Action.ABORT, "generic_repeat", 7)
    assert seen(check(run, "other")) == (Action.ALLOW, "", 0)


def test_a_blocked_batch_spends_no_warning() -> None:
    run = guarded()
    remember(run, times=5)
    remember(run, tool="other", times=3)

    run.judge([call("other"), call()])

    assert run.judge([call("other")])[0].action is Action.WARN


def test_the_second_critical_batch_ends_the_run() -> None:
    run = guarded()
    remember(run, times=5)
    remember(run, tool="other", times=5)
    first = run.judge([call(), call("good")])
    play(run, tool="good")

    second = run.judge([call("good", '{"n": 1}'), call("other")])

    assert [verdict.scope for verdict in first] == [None, None]
    assert [(verdict.action, verdict.scope) for verdict in second] == [(Action.ABORT, Scope.RUN)] * 2
    assert [verdict.blocked_by for verdict in second] == [second[1].call_id, ""]


def test_a_user_message_gives_another_recovery() -> None:
    run = guarded()
    remember(run, times=5)
    run.judge([call()])
    run.judge([call()])
    assert check(run, "fresh").action is Action.ABORT

    run.user_message()

    assert check(run, "fresh").action is Action.ALLOW
    assert seen(run.judge([call()])[0]) == (Action.BLOCK, "generic_repeat", 7)


def test_a_standing_abort_answers_everything_and_records_only_admitted_calls() -> None:
    run = guarded()
    run.judge([call("running", call_id="r")])
    remember(run, times=5)
    run.judge([call()])
    run.judge([call()])

    told = run.observe(Outcome("r", **FAILURE))
    asked = run.judge([call("fresh", call_id="f")])[0]

    assert (told.action, told.scope, told.call_id) == (Action.ABORT, Scope.RUN, "r")
    assert seen(asked) == (Action.ABORT, "generic_repeat", 6)
    assert asked.note
    assert reason_of(run, Outcome("f")) is Reason.UNKNOWN_CALL


def test_a_check_answers_for_the_second_block_too() -> None:
    run = guarded()
    remember(run, times=5)
    run.judge([call()])

    assert [check(run).action, check(run).action] == [Action.ABORT, Action.ABORT]
    assert run.judge([call("good")])[0].action is Action.ALLOW


def test_flags_are_those_of_the_arguments_and_of_the_result() -> None:
    run = guarded()

    asked = run.judge([call("a", "no json"), call("b", "12345678901234567890")])
    told = run.observe(Outcome(asked[0].call_id, result=b"1e999"))

    assert [verdict.flags for verdict in asked] == [Flag.OPAQUE, Flag.BIGINT]
    assert told.flags is Flag.OVERFLOW


def test_with_rolling_detection_off_calls_are_still_tracked() -> None:
    run = open_run()
    remember(run, times=40)

    assert [seen(verdict) for verdict in run.judge([call() for _ in range(40)])] == [(Action.ALLOW, "", 0)] * 40
    assert run.observe(Outcome("c40")).call_id == "c40"


def test_records_are_taken_all_or_none() -> None:
    run = guarded()

    assert reason_of(run, History([Record("read", **SUCCESS)] * 5 + [Record("  ")])) is Reason.EMPTY_TOOL
    assert seen(check(run)) == (Action.ALLOW, "", 0)
