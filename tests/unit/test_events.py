"""When operators are told, and what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.model import Action, Level, Outcome, Scope
from tests.unit.runs import FAILURE, call, check, guarded, open_run, play, remember

if TYPE_CHECKING:
    import pytest

    from loopguard.events import Event


def told(events: list[Event]) -> list[tuple[str, Action, str]]:
    return [(event.detector, event.action, event.call_id) for event in events]


def test_a_warning_makes_an_event_when_its_note_is_due() -> None:
    events: list[Event] = []
    run = guarded(events=events)
    remember(run, times=3)

    check(run)
    run.judge([call()])
    run.judge([call()])

    assert told(events) == [("generic_repeat", Action.WARN, "c1")]
    event = events[0]
    assert (event.run_id, event.tool, event.level, event.count, event.threshold) == ("run", "read", Level.WARNING, 3, 3)
    assert (event.scope, event.paired_tool, event.log_level) == (None, "", "warning")
    assert event.note


def test_a_blocked_and_an_aborted_batch_make_one_event_each() -> None:
    events: list[Event] = []
    run = guarded(events=events)
    remember(run, times=5)

    run.judge([call("other"), call(), call()])
    run.judge([call()])
    run.judge([call()])

    assert told(events) == [("generic_repeat", Action.BLOCK, "c2"), ("generic_repeat", Action.ABORT, "c4")]
    assert [event.log_level for event in events] == ["error", "error"]
    assert events[1].scope is Scope.RUN


def test_each_guard_that_fires_makes_an_event() -> None:
    events: list[Event] = []
    run = open_run(events=events)
    run.compaction_retry()

    play(run, FAILURE, times=3)

    assert told(events) == [
        ("identical_error", Action.ABORT, "c3"),
        ("compaction_loop_persisted", Action.ABORT, "c3"),
    ]


def test_repeating_a_standing_abort_makes_none() -> None:
    events: list[Event] = []
    run = open_run(events=events)
    run.judge([call() for _ in range(5)])

    for number in range(1, 6):
        run.observe(Outcome(f"c{number}", **FAILURE))
    run.judge([call("next")])

    assert told(events) == [("identical_error", Action.ABORT, "c3")]


def test_an_event_names_agent_and_tenant_and_holds_no_arguments() -> None:
    events: list[Event] = []
    engine = Engine(Configuration.guarded(), on_event=events.append)
    run = engine.open("r", agent_id="a", tenant="t")
    secret = '{"password": "s3cret"}'
    remember(run, {"result": b'"t0ken"'}, args=secret, times=20)

    verdict = run.judge([call(args=secret)])[0]

    assert [(event.agent_id, event.tenant) for event in events] == [("a", "t")]
    assert "s3cret" not in f"{events}{verdict}"
    assert "t0ken" not in f"{events}{verdict}"


def test_a_listener_that_fails_changes_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Event) -> None:
        raise RuntimeError(event.tool)

    engine = Engine(Configuration.guarded(), on_event=fail)
    run = engine.open("r")
    remember(run, times=20)

    assert run.judge([call()])[0].action is Action.BLOCK
    assert engine.failures == 1
    assert "RuntimeError" in caplog.text
