"""Mode OBSERVE: the same verdicts, nothing held against the run."""

from __future__ import annotations

from loopguard.model import Action, Mode, Outcome
from tests.unit.runs import FAILURE, SUCCESS, call, check, guarded, open_run, play, remember, seen


def test_a_block_is_only_told_and_never_becomes_an_abort() -> None:
    run = guarded(Mode.OBSERVE)
    remember(run, times=5)

    told = []
    for _ in range(3):
        told.append(seen(run.judge([call()])[0]))
        run.observe(Outcome(**SUCCESS))

    assert told == [(Action.BLOCK, "generic_repeat", count) for count in (5, 6, 7)]


def test_calls_of_a_blocked_batch_are_recorded_as_admitted() -> None:
    run = guarded(Mode.OBSERVE)
    remember(run, times=5)
    verdicts = run.judge([call("other"), call()])
    assert [verdict.action for verdict in verdicts] == [Action.BLOCK, Action.BLOCK]

    told = [run.observe(Outcome(result=b'"news"')).call_id for _ in verdicts]

    assert told == ["c1", "c2"]
    assert seen(check(run)) == (Action.WARN, "generic_repeat", 6)


def test_a_batch_with_a_critical_finding_spends_no_warning() -> None:
    run = guarded(Mode.OBSERVE)
    remember(run, times=5)
    remember(run, tool="other", times=3)

    run.judge([call("other"), call()])

    assert run.judge([call("other")])[0].action is Action.WARN


def test_identical_errors_are_told_each_time_and_nothing_stands() -> None:
    run = open_run(Mode.OBSERVE)
    play(run, FAILURE, times=2)

    assert seen(play(run, FAILURE)) == (Action.ABORT, "identical_error", 3)
    assert seen(play(run, FAILURE)) == (Action.ABORT, "identical_error", 4)
    assert seen(play(run)) == (Action.ALLOW, "", 0)


def test_what_waited_aborts_only_the_next_batch_and_its_calls_are_recorded() -> None:
    run = open_run(Mode.OBSERVE)
    run.judge([call("slow"), call(), call(), call()])
    for call_id in ("c2", "c3", "c4"):
        run.observe(Outcome(call_id, **FAILURE))

    assert seen(run.judge([call("next")])[0]) == (Action.ABORT, "identical_error", 3)
    assert seen(run.observe(Outcome("c5", **SUCCESS))) == (Action.ALLOW, "", 0)
    assert seen(run.judge([call("next")])[0]) == (Action.ALLOW, "", 0)


def test_the_guard_after_compaction_is_not_held() -> None:
    run = open_run(Mode.OBSERVE)
    run.compaction_retry()

    assert seen(play(run, times=3))[1] == "compaction_loop_persisted"
    assert seen(play(run)) == (Action.ALLOW, "", 0)


def test_the_evidence_of_an_endless_streak_has_an_end() -> None:
    run = open_run(Mode.OBSERVE)

    verdict = play(run, FAILURE, times=150)

    assert verdict.finding is not None
    assert verdict.finding.count == 150
    assert verdict.finding.call_ids[-1] == "c150"
    assert len(verdict.finding.call_ids) == 100
