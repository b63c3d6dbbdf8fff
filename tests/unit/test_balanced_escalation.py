"""From a word to a block to the end of the run, what news pays back, and what switches are obeyed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidConfig
from loopguard.model import Action, Level, Mode, Outcome, RunOpen, Scope, Status
from tests.unit.balanced_runs import Step, call, check, ending, open_balanced, play

if TYPE_CHECKING:
    from loopguard.events import Event

SAME: Step = ("lookup", {"q": 1}, "x")


def test_first_a_word_then_a_block() -> None:
    told = play(open_balanced(Mode.ENFORCE), [SAME] * 5)

    assert told == ["ALLOW", "ALLOW", "WARN repeat", "WARN repeat", "BLOCK repeat"]


def test_who_goes_on_asking_for_what_is_blocked_is_stopped() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 4)

    told = [run.judge([call(*SAME[:2])])[0] for _ in range(4)]

    assert [verdict.action for verdict in told] == ["BLOCK"] * 3 + ["ABORT"]
    assert told[-1].scope is Scope.RUN


def test_an_observed_run_is_never_ended() -> None:
    told = play(open_balanced(Mode.OBSERVE), [SAME] * 12)

    assert set(told[4:]) == {"BLOCK repeat"}


def test_others_run_on_beside_a_blocked_call() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 4)

    told = run.judge([call(*SAME[:2]), call("lookup", {"q": 2})])

    assert [verdict.action for verdict in told] == ["BLOCK", "ALLOW"]


def test_of_many_attempts_that_failed_alike_those_that_come_again_are_blocked() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [("db", {"id": n}, "!permission denied for role app") for n in range(4)])

    assert check(run, "db", {"id": 2}) is Action.BLOCK
    assert check(run, "db", {"id": 9}) is Action.WARN


def test_what_may_pass_by_itself_may_be_tried_again() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [("db", {"id": n}, "!503 service unavailable") for n in range(8)])

    assert check(run, "db", {"id": 2}) is Action.WARN


def test_news_pays_back() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 4)

    play(run, [("lookup", {"q": 2}, "something else")])

    assert check(run, *SAME[:2]) is Action.ALLOW


def test_a_user_message_is_a_new_intent() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 4)

    run.user_message()

    assert play(run, [SAME] * 2) == ["ALLOW", "ALLOW"]


def test_a_user_message_ends_an_abort() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 8)

    run.user_message()

    assert check(run, *SAME[:2]) is Action.ALLOW


def test_a_check_changes_nothing() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 4)

    asked = [check(run, *SAME[:2]) for _ in range(9)]

    assert set(asked) == {Action.BLOCK}


def test_a_client_that_runs_a_blocked_call_may_tell() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 4)
    blocked = run.judge([call(*SAME[:2])])[0]

    told = run.observe(Outcome(blocked.call_id, **ending("new at last")))

    assert told.action is Action.ALLOW
    assert check(run, *SAME[:2]) is Action.ALLOW


@pytest.mark.parametrize("status", [Status.CANCELLED, Status.LOOP_VETO])
def test_what_never_ran_is_no_evidence(status: Status) -> None:
    run = open_balanced()

    for _ in range(6):
        asked = run.judge([call(*SAME[:2])])[0]
        run.observe(Outcome(asked.call_id, status=status))

    assert check(run, *SAME[:2]) is Action.ALLOW


def test_a_verdict_explains_itself() -> None:
    run = open_balanced()
    play(run, [SAME] * 2)
    asked = run.judge([call(*SAME[:2])])[0]

    told = run.observe(Outcome(asked.call_id, **ending("x")))

    assert told.finding is not None
    assert (told.finding.level, told.finding.count, told.finding.threshold) == (Level.WARNING, 3, 3)
    assert told.finding.call_ids == ("c1", "c2", "c3")
    assert len(told.finding.args_digest) == 16
    assert told.finding.cleared_by
    assert "lookup" in told.note


def test_a_block_says_what_to_do_instead() -> None:
    run = open_balanced(Mode.ENFORCE)
    play(run, [SAME] * 4)

    told = run.judge([call(*SAME[:2])])[0]

    assert told.finding is not None
    assert told.finding.level is Level.CRITICAL
    assert "blocked" in told.note


def test_operators_hear_of_it_once_a_step() -> None:
    events: list[Event] = []
    run = Engine(on_event=events.append).open(RunOpen("run", profile="balanced"))

    play(run, [SAME] * 5)

    assert [event.action for event in events] == ["WARN", "WARN", "BLOCK"]


@pytest.mark.parametrize(("enabled", "told"), [(None, "WARN repeat"), (True, "WARN repeat"), (False, "ALLOW")])
def test_it_is_on_unless_switched_off(enabled: bool | None, told: str) -> None:
    config = {} if enabled is None else {"enabled": enabled}
    run = Engine().open(RunOpen("run", profile="balanced", config=config))

    assert play(run, [SAME] * 3)[-1] == told


def test_an_exempt_tool_is_left_alone() -> None:
    table = {"loopguard": {"profile": "balanced", "tools": {"lookup": {"exempt": True}}}}
    run = Engine(Configuration(table)).open("run")

    assert set(play(run, [SAME] * 9)) == {"ALLOW"}


def test_a_tool_can_be_declared_a_poll() -> None:
    table = {"loopguard": {"profile": "balanced", "tools": {"lookup": {"poll": True}}}}
    run = Engine(Configuration(table)).open("run")

    assert play(run, [SAME] * 6) == ["ALLOW"] * 5 + ["WARN repeat"]


def test_a_tool_can_be_given_a_class() -> None:
    run = open_balanced(classes={"look*": "poll"})

    assert play(run, [SAME] * 6) == ["ALLOW"] * 5 + ["WARN repeat"]


def test_after_a_compaction_the_old_loop_ends_the_run() -> None:
    run = open_balanced(Mode.ENFORCE)
    run.compaction_retry()

    assert play(run, [SAME] * 3)[-1] == "ABORT compaction_loop_persisted"


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"repet": 3}, "repet"),
        ({"repeat": 0}, "repeat"),
        ({"repeat": "3"}, "repeat"),
        ({"repeat": True}, "repeat"),
        ({"repeat": 5}, "blockAttempt"),
        ({"classes": ["poll"]}, "classes"),
        ({"classes": {"look": "polls"}}, "classes.look"),
    ],
)
def test_a_mistake_is_refused_by_its_key(table: dict[str, object], key: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        Configuration({"loopguard": {"profiles": {"balanced": table}}})

    assert refusal.value.key == f"loopguard.profiles.balanced.{key}"


def hand_on(engine: Engine, names: list[str], tasks: list[str]) -> list[Action]:
    told = []
    parent = ""
    for name, task in zip(names, tasks, strict=True):
        run = open_balanced(Mode.ENFORCE, engine=engine, run_id=name, parent=parent)
        told.append(run.judge([call("task", {"prompt": task})])[0].action)
        parent = name
    return told


def test_a_task_handed_from_agent_to_agent_goes_round() -> None:
    told = hand_on(Engine(), ["a", "b", "c"], ["find out why the build of module seven fails on the new host"] * 3)

    assert told == ["ALLOW", "WARN", "BLOCK"]


def test_a_task_that_is_divided_does_not() -> None:
    told = hand_on(Engine(), ["a", "b", "c"], ["mend the build", "look at the log of module seven", "search for `E7`"])

    assert told == ["ALLOW"] * 3


def test_a_verdict_tells_what_was_left_out() -> None:
    run = open_balanced()
    for clock in ("10:00:01", "10:00:02", "10:00:03", "10:00:04", "10:00:05"):
        asked = run.judge([call(*SAME[:2])])[0]
        told = run.observe(Outcome(asked.call_id, **ending(f"2031-01-01 {clock} INFO all is as it was")))

    assert told.finding is not None
    assert told.finding.stripped == ("timestamp",)


def test_a_missing_tool_is_told_by_its_error_too() -> None:
    told = play(open_balanced(), [(f"magic_{n}", {}, f"!Unknown tool: magic_{n}") for n in range(3)])

    assert told[-1] == "WARN unknown_tools"


def test_keys_that_a_rule_calls_volatile_do_not_count() -> None:
    run = open_balanced()
    told = []
    for number in range(3):
        asked = run.judge([call("message", {"action": "send", "to": "x", "text": "hello"})])[0]
        details = {"ok": True, "messageId": f"m{number}"}
        result = json.dumps({"content": [{"type": "text", "text": f"sent as m{number}"}], "details": details})
        told.append(run.observe(Outcome(asked.call_id, result=result.encode())).action)

    assert told[-1] is Action.WARN
