"""Many runs: opening, finding, closing, evicting, and what keeps them apart."""

from __future__ import annotations

import pytest

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidConfig, InvalidFrame, Reason
from loopguard.model import Action, Mode, RunOpen
from tests.unit.runs import call, check, play, remember, seen


@pytest.mark.parametrize("blank", ["", "   ", "\t\n", "\u3000\ufeff"])
def test_a_blank_run_id_is_refused(blank: str) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        Engine().open(blank)

    assert refusal.value.key == "runId"


def test_a_run_id_is_trimmed() -> None:
    engine = Engine()

    run = engine.open("  r1 ")

    assert run.run_id == "r1"
    assert engine.run("r1") is engine.run(" r1") is run


def test_runs_share_nothing() -> None:
    engine = Engine(Configuration.guarded())
    one, two = engine.open("one"), engine.open("two")

    remember(one, times=12)

    assert seen(check(one)) == (Action.WARN, "generic_repeat", 12)
    assert seen(check(two)) == (Action.ALLOW, "", 0)


def test_tenants_have_runs_of_their_own() -> None:
    engine = Engine()

    mine, yours = engine.open("r", tenant="me"), engine.open("r", tenant="you")

    assert engine.run("r", "me") is mine
    assert engine.run("r", "you") is yours
    with pytest.raises(InvalidFrame):
        engine.run("r")


def test_opening_again_replaces_the_run() -> None:
    engine = Engine(Configuration.guarded())
    remember(engine.open("r"), times=12)

    again = engine.open("r")

    assert len(engine) == 1
    assert seen(check(again)) == (Action.ALLOW, "", 0)


def test_a_refused_opening_leaves_the_old_run() -> None:
    engine = Engine(Configuration.guarded())
    run = engine.open("r")
    remember(run, times=12)

    with pytest.raises(InvalidConfig):
        engine.open("r", config={"warningThreshold": 0})

    assert engine.run("r") is run
    assert not run.closed


def test_closing_frees_the_id() -> None:
    engine = Engine()
    run = engine.open("r")

    engine.close("r")
    engine.close("r")

    assert len(engine) == 0
    with pytest.raises(InvalidFrame):
        run.judge([call()])


def test_idle_runs_are_evicted() -> None:
    clock = [0.0]
    engine = Engine(now=lambda: clock[0])
    idle, busy = engine.open("idle"), engine.open("busy")
    clock[0] = 50.0
    play(busy)
    clock[0] = 101.0

    evicted = engine.evict(100)

    assert evicted == [idle]
    assert engine.run("busy") is busy
    assert idle.closed


def test_open_takes_a_frame_or_an_id_with_its_parts() -> None:
    engine = Engine()
    opened = RunOpen("r", agent_id="a", parent_run_id="p", config={"enabled": True}, mode=Mode.OBSERVE)

    by_frame, by_parts = (
        engine.open(opened),
        engine.open("s", agent_id="a", config={"enabled": True}, mode=Mode.OBSERVE),
    )

    assert (by_frame.agent_id, by_frame.parent_run_id, by_frame.mode) == ("a", "p", Mode.OBSERVE)
    assert (by_parts.agent_id, by_parts.mode) == ("a", Mode.OBSERVE)
    assert by_frame.config is by_parts.config
    assert by_frame.profile == "openclaw"


def test_the_agents_block_is_used() -> None:
    file = {"agents": {"entries": {"a": {"tools": {"loopDetection": {"enabled": True}}}}}}
    engine = Engine(Configuration(file))

    assert engine.open("r", agent_id="a").config.enabled is True
    assert engine.open("s", agent_id="b").config.enabled is None


def test_an_unknown_profile_or_scheme_is_refused() -> None:
    engine = Engine()

    with pytest.raises(InvalidConfig) as profile:
        engine.open(RunOpen("r", profile="nope"))
    with pytest.raises(InvalidFrame) as scheme:
        engine.open(RunOpen("r", digest_scheme=9))

    assert profile.value.key == "profile"
    assert scheme.value.reason is Reason.UNSUPPORTED_SCHEME


def test_the_default_profile_has_to_exist() -> None:
    with pytest.raises(InvalidConfig) as refusal:
        Engine(Configuration({"loopguard": {"profile": "nope"}}))

    assert refusal.value.key == "loopguard.profile"


def test_a_history_beyond_the_limit_is_refused() -> None:
    engine = Engine(history_limit=1000)

    with pytest.raises(InvalidConfig) as refusal:
        engine.open("r", config={"historySize": 1001})

    assert refusal.value.key == "historySize"
    assert engine.open("r", config={"historySize": 1000}).config.history_size == 1000


def test_another_configuration_holds_for_runs_opened_later() -> None:
    engine = Engine(Configuration.guarded())
    before = engine.open("before")

    engine.configure(Configuration.empty())

    assert before.config.enabled is True
    assert engine.open("after").config.enabled is None


def test_settings_of_single_tools() -> None:
    tools = {
        "free": {"exempt": True},
        "job": {"poll": True},
        "queue": {"poll": ["status"]},
        "BASH": {"warningThreshold": 2, "criticalThreshold": 3},
    }
    low = {"enabled": True, "warningThreshold": 4, "criticalThreshold": 6}
    run = Engine(Configuration({"tools": {"loopDetection": low}, "loopguard": {"tools": tools}})).open("r")
    status, push = '{"action": "status"}', '{"action": "push"}'

    for tool, args in (("free", "{}"), ("job", "{}"), ("queue", status), ("queue", push)):
        remember(run, tool=tool, args=args, times=4)
    remember(run, tool="exec", times=3)

    assert seen(check(run, "free")) == (Action.ALLOW, "", 0)
    assert seen(check(run, "job")) == (Action.WARN, "known_poll_no_progress", 4)
    assert seen(check(run, "queue", status)) == (Action.WARN, "known_poll_no_progress", 4)
    assert seen(check(run, "queue", push)) == (Action.WARN, "generic_repeat", 4)
    assert seen(check(run, "exec")) == (Action.BLOCK, "generic_repeat", 3)
