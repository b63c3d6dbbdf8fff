"""The guards that judge outcomes, and which answer wins where several are due."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from loopguard.model import Action, Outcome, Scope, Status
from tests.unit.runs import FAILURE, OTHER_FAILURE, SUCCESS, call, check, guarded, open_run, play, remember, seen

THIRD = (Action.ABORT, "identical_error", 3)
QUIET = (Action.ALLOW, "", 0)


@pytest.mark.parametrize("enabled", [None, True, False])
def test_three_equal_failures_end_the_turn(enabled: bool | None) -> None:
    run = open_run(enabled=enabled)
    first = play(run, FAILURE, times=2)

    verdict = play(run, FAILURE)

    assert (seen(first), seen(verdict), verdict.scope) == (QUIET, THIRD, Scope.TURN)
    assert verdict.finding is not None
    assert verdict.finding.call_ids == ("c1", "c2", "c3")
    assert verdict.finding.threshold == 3


@pytest.mark.parametrize("status", [Status.ERROR, Status.UNKNOWN_TOOL, Status.INVALID_ARGUMENTS, Status.DENIED])
def test_every_kind_of_failure_counts(status: Status) -> None:
    assert seen(play(open_run(), {"status": status, "error": b'"no"'}, times=3)) == THIRD


def test_a_success_of_any_call_sets_the_streak_to_zero() -> None:
    run = open_run()
    play(run, FAILURE, times=2)
    play(run, tool="other")

    assert seen(play(run, FAILURE, times=2)) == QUIET
    assert seen(play(run, FAILURE)) == THIRD


@pytest.mark.parametrize(
    ("ending", "args"), [(OTHER_FAILURE, "{}"), (FAILURE, '{"n": 1}')], ids=["other error", "other arguments"]
)
def test_another_failure_sets_the_streak_to_one(ending: dict[str, Any], args: str) -> None:
    run = open_run()
    play(run, FAILURE, times=2)

    assert seen(play(run, ending, args=args, times=2)) == QUIET
    assert seen(play(run, ending, args=args)) == THIRD


def test_vetoes_cancelled_calls_compaction_and_history_leave_the_streak_alone() -> None:
    run = open_run()
    play(run, FAILURE, times=2)
    play(run, {"status": Status.LOOP_VETO})
    play(run, {"status": Status.CANCELLED})
    run.compaction_retry()
    remember(run, SUCCESS)
    remember(run, OTHER_FAILURE)

    assert seen(play(run, FAILURE)) == THIRD


def test_a_user_message_sets_the_streak_to_zero_and_ends_the_abort() -> None:
    run = open_run()
    play(run, FAILURE, times=3)
    assert seen(check(run, "other")) == THIRD

    run.user_message()

    assert seen(play(run, FAILURE, times=2)) == QUIET


def test_outcomes_wait_for_earlier_calls_of_their_batch() -> None:
    run = open_run()
    run.judge([call(), call(), call()])

    told = [seen(run.observe(Outcome(call_id, **FAILURE))) for call_id in ("c3", "c2", "c1")]

    assert told == [QUIET, QUIET, THIRD]


def test_a_success_counts_in_the_order_of_calls() -> None:
    run = open_run()
    run.judge([call(), call(), call(), call()])
    run.observe(Outcome("c4", **FAILURE))
    run.observe(Outcome("c3", **FAILURE))
    run.observe(Outcome("c1", **FAILURE))
    run.observe(Outcome("c2", **SUCCESS))

    # Now c3 and c4 are two in a row.
    assert seen(play(run, FAILURE)) == THIRD


def test_a_cancelled_call_holds_nothing_up() -> None:
    run = open_run()
    run.judge([call(), call(), call(), call()])
    for call_id in ("c2", "c3", "c4"):
        run.observe(Outcome(call_id, **FAILURE))

    assert seen(run.observe(Outcome("c1", Status.CANCELLED))) == THIRD


def test_the_next_batch_passes_over_open_calls_and_carries_the_abort() -> None:
    run = open_run()
    run.judge([call("slow"), call(), call(), call()])
    for call_id in ("c2", "c3", "c4"):
        assert seen(run.observe(Outcome(call_id, **FAILURE))) == QUIET

    assert seen(check(run, "next")) == THIRD
    assert seen(check(run, "next")) == THIRD
    verdict = run.judge([call("next")])[0]

    assert (seen(verdict), verdict.scope) == (THIRD, Scope.TURN)
    assert seen(check(run, "next")) == THIRD


def test_a_late_outcome_counts_when_it_arrives() -> None:
    run = open_run()
    run.judge([call(), call("other")])
    run.judge([call("next")])
    run.observe(Outcome("c3", **FAILURE))
    play(run, FAILURE, times=2)

    assert seen(run.observe(Outcome("c1", **FAILURE))) == THIRD


def test_an_outcome_of_a_blocked_call_counts_when_it_arrives() -> None:
    run = guarded()
    play(run, FAILURE, times=2)
    remember(run, {"result": b'"same"'}, "loop", times=5)
    run.judge([call(), call("loop")])

    assert seen(run.observe(Outcome("c3", **FAILURE))) == THIRD


def test_the_count_at_which_it_fires_is_told() -> None:
    run = open_run()
    run.judge([call() for _ in range(5)])
    for call_id in ("c5", "c4", "c3", "c2"):
        run.observe(Outcome(call_id, **FAILURE))

    assert seen(run.observe(Outcome("c1", **FAILURE))) == THIRD


@pytest.mark.parametrize("enabled", [None, True])
def test_a_run_that_goes_on_as_before_a_compaction_is_aborted(enabled: bool | None) -> None:
    run = open_run(enabled=enabled)
    play(run)
    run.compaction_retry()
    assert run.armed
    play(run, times=2)

    verdict = play(run)

    assert (seen(verdict), verdict.scope) == ((Action.ABORT, "compaction_loop_persisted", 3), Scope.RUN)
    assert verdict.finding is not None
    assert (verdict.finding.threshold, verdict.finding.call_ids) == (3, ("c2", "c3", "c4"))
    assert not run.armed


def test_disabled_detection_has_no_guard_after_compaction() -> None:
    run = open_run(enabled=False)
    run.compaction_retry()

    assert not run.armed
    assert seen(play(run, times=9)) == QUIET


def test_one_other_outcome_within_the_window_saves_the_run() -> None:
    run = open_run()
    run.compaction_retry()
    play(run)
    play(run, {"result": b'"news"'})

    assert seen(play(run, times=5)) == QUIET
    assert not run.armed


def test_arming_again_starts_over() -> None:
    run = open_run()
    run.compaction_retry()
    play(run, times=2)
    run.compaction_retry()

    assert seen(play(run, times=2)) == QUIET
    assert seen(play(run))[1] == "compaction_loop_persisted"


def test_vetoes_and_cancelled_calls_take_no_slot_and_failures_do() -> None:
    run = open_run()
    run.compaction_retry()
    play(run, FAILURE)
    play(run, {"status": Status.LOOP_VETO})
    play(run, {"status": Status.CANCELLED})
    remember(run, OTHER_FAILURE)
    run.user_message()
    play(run, FAILURE)

    assert seen(play(run, FAILURE))[1] == "compaction_loop_persisted"


def test_a_window_of_one_fires_at_the_first_outcome() -> None:
    run = open_run(postCompactionGuard={"windowSize": 1})
    run.compaction_retry()

    assert seen(play(run)) == (Action.ABORT, "compaction_loop_persisted", 1)


def test_arming_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        open_run().compaction_retry()

    assert "post-compaction guard armed for 3 attempts" in caplog.messages


def test_the_wider_scope_is_the_answer_if_both_fire() -> None:
    run = open_run()
    run.compaction_retry()

    verdict = play(run, FAILURE, times=3)

    assert (seen(verdict)[1], verdict.scope) == ("compaction_loop_persisted", Scope.RUN)


def test_a_turn_abort_gives_way_to_a_new_run_abort() -> None:
    run = open_run(postCompactionGuard={"windowSize": 4})
    run.compaction_retry()
    run.judge([call() for _ in range(4)])
    told = [run.observe(Outcome(f"c{number}", **FAILURE)) for number in range(1, 5)]

    assert [verdict.scope for verdict in told] == [None, None, Scope.TURN, Scope.RUN]
    assert check(run, "next").scope is Scope.RUN


def test_a_run_abort_stays() -> None:
    run = guarded()
    remember(run, tool="loop", times=5)
    run.judge([call() for _ in range(3)])
    run.judge([call("loop")])
    run.judge([call("loop")])

    told = [seen(run.observe(Outcome(f"c{number}", **FAILURE))) for number in range(1, 4)]

    assert {detector for _, detector, _ in told} == {"generic_repeat"}


def test_a_turn_abort_stands_before_the_rolling_detectors() -> None:
    run = guarded()
    remember(run, times=5)
    play(run, FAILURE, "other", times=3)
    assert seen(check(run))[1] == "identical_error"

    run.user_message()

    assert seen(check(run)) == (Action.BLOCK, "generic_repeat", 5)
