"""What a run answers when loopguard itself fails, and that nothing secret is told then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidFrame, Reason
from loopguard.fingerprints import default_fingerprinter
from loopguard.model import Action, Call, History, Mode, Outcome, Record, Scope
from tests.unit.runs import SUCCESS, call, check, remember, seen

if TYPE_CHECKING:
    from loopguard.fingerprints import CallPrint, OutcomePrint
    from loopguard.run import Run

SECRET = "s3cret"


class Faulty:
    """Fails on the tool `bad`, and on outcomes of the tool `worse`."""

    readers = None

    def __init__(self) -> None:
        self._sound = default_fingerprinter()

    def call(self, call: Call | Record) -> CallPrint:
        if call.tool == "bad":
            raise RuntimeError(f"can't read {SECRET}")
        return self._sound.call(call)

    def outcome(self, call: CallPrint, outcome: Outcome | Record) -> OutcomePrint:
        if call.tool == "worse":
            raise RuntimeError(f"can't read {SECRET}")
        return self._sound.outcome(call, outcome)


def faulty_engine() -> Engine:
    return Engine(Configuration.guarded(), fingerprinter=Faulty())  # type: ignore[arg-type]  # it stands in for one


def faulty_run(mode: Mode = Mode.ENFORCE, **keys: object) -> Run:
    return faulty_engine().open("run", config=keys, mode=mode)


def test_a_batch_that_can_not_be_judged_is_blocked_and_then_aborted() -> None:
    run = faulty_run()

    first = run.judge([call("good"), call("bad")])
    second = run.judge([call("bad")])

    assert [seen(verdict) for verdict in first] == [(Action.BLOCK, "admission_failure", 1), (Action.BLOCK, "", 0)]
    assert first[1].blocked_by == "c1"
    assert (seen(second[0]), second[0].scope) == ((Action.ABORT, "admission_failure", 1), Scope.RUN)


def test_it_leaves_no_vetoes() -> None:
    run = faulty_run(warningThreshold=1)
    run.judge([call("good"), call("bad")])
    run.user_message()

    assert seen(check(run, "good")) == (Action.ALLOW, "", 0)


def test_it_counts_for_recovery() -> None:
    run = faulty_run()
    remember(run, times=20)
    run.judge([call("bad")])

    assert seen(run.judge([call()])[0]) == (Action.ABORT, "generic_repeat", 20)


def test_fail_open_allows_every_call_without_finding() -> None:
    run = faulty_run(failOpen=True)

    verdicts = run.judge([call("good"), call("bad")])

    assert [seen(verdict) for verdict in verdicts] == [(Action.ALLOW, "", 0)] * 2
    assert run.observe(Outcome("c1", **SUCCESS)).action is Action.ALLOW


def test_failures_are_counted_and_logged_without_their_text(caplog: pytest.LogCaptureFixture) -> None:
    engine = faulty_engine()

    engine.open("run").judge([call("bad")])

    assert engine.failures > 0
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text


def test_a_detector_that_fails_is_an_admission_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    run = faulty_run()
    remember(run, times=20)
    # Thresholds that can't be compared stand for any mistake in a detector.
    monkeypatch.setattr(run._judge, "_limits", None)  # there is no other way in

    assert seen(run.judge([call()])[0]) == (Action.BLOCK, "admission_failure", 1)


def test_observe_records_what_could_not_be_judged() -> None:
    run = faulty_run(Mode.OBSERVE)

    assert run.judge([call("good"), call("bad")])[0].action is Action.BLOCK
    assert run.judge([call("bad")])[0].action is Action.BLOCK
    assert run.observe(Outcome("c1", **SUCCESS)).action is Action.ALLOW


def test_an_outcome_that_can_not_be_taken_leaves_the_record_pending() -> None:
    run = faulty_run()
    run.judge([call("worse")])

    with pytest.raises(InvalidFrame) as refusal:
        run.observe(Outcome("c1", **SUCCESS))

    assert refusal.value.reason is Reason.INTERNAL
    assert SECRET not in str(refusal.value)
    assert run.open_calls == 1


def test_records_that_can_not_be_taken_are_refused() -> None:
    run = faulty_run(warningThreshold=1)

    with pytest.raises(InvalidFrame) as refusal:
        run.apply(History([Record("good", **SUCCESS), Record("worse", **SUCCESS)]))

    assert refusal.value.reason is Reason.INTERNAL
    assert seen(check(run, "good")) == (Action.ALLOW, "", 0)
