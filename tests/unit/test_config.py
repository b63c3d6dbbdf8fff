"""Merging, every refusal with its key, and the configuration file as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from loopguard.config import Configuration, LoopDetection, load_configuration
from loopguard.errors import InvalidConfig, Reason

if TYPE_CHECKING:
    from pathlib import Path


def refused(config: object) -> InvalidConfig:
    with pytest.raises(InvalidConfig) as refusal:
        Configuration.empty().effective(run_config=config)  # type: ignore[arg-type]  # wrong types are what is tested
    assert refusal.value.reason is Reason.INVALID_CONFIG
    return refusal.value


def refused_file(data: dict[str, Any]) -> str:
    with pytest.raises(InvalidConfig) as refusal:
        Configuration(data)
    return refusal.value.key


def test_defaults() -> None:
    assert Configuration.empty().effective() == LoopDetection(
        enabled=None,
        history_size=30,
        warning_threshold=10,
        critical_threshold=20,
        unknown_tool_threshold=10,
        global_circuit_breaker_threshold=30,
        generic_repeat=True,
        known_poll_no_progress=True,
        ping_pong=True,
        window_size=3,
        fail_open=False,
    )


def test_guarded_is_the_default_with_the_detectors_on() -> None:
    assert Configuration.guarded().effective() == LoopDetection(enabled=True)


def test_the_run_beats_the_agent_and_that_the_file_key_by_key() -> None:
    file = {
        "tools": {
            "loopDetection": {
                "enabled": True,
                "warningThreshold": 2,
                "criticalThreshold": 15,
                "detectors": {"pingPong": False, "genericRepeat": False},
            }
        },
        "agents": {
            "entries": {
                "a": {"tools": {"loopDetection": {"criticalThreshold": 16, "detectors": {"genericRepeat": True}}}}
            }
        },
    }
    run = {"warningThreshold": 3, "postCompactionGuard": {"windowSize": 5}}

    effective = Configuration(file).effective("a", run)

    assert effective == LoopDetection(
        enabled=True, warning_threshold=3, critical_threshold=16, ping_pong=False, window_size=5
    )


@pytest.mark.parametrize("in_file", [None, True, False])
@pytest.mark.parametrize("in_agent", [None, True, False])
def test_the_table_of_enabled(in_file: bool | None, in_agent: bool | None) -> None:
    agent = {"tools": {"loopDetection": {"enabled": in_agent}}}
    file = {"tools": {"loopDetection": {"enabled": in_file}}, "agents": {"list": [{"id": "a", **agent}]}}

    assert Configuration(file).effective("a").enabled is (in_file if in_agent is None else in_agent)


def test_an_unknown_agent_gets_the_global_values() -> None:
    configuration = Configuration({"tools": {"loopDetection": {"enabled": True}}, "agents": {"entries": {"a": {}}}})

    assert configuration.effective("stranger").enabled is True
    assert configuration.agents == ["a"]


@pytest.mark.parametrize(
    "config", [None, {}, {"enabled": None, "warningThreshold": None, "detectors": None, "postCompactionGuard": None}]
)
def test_null_is_absent(config: dict[str, Any] | None) -> None:
    file = {"tools": {"loopDetection": None}, "agents": None, "loopguard": None}

    assert Configuration(file).effective("", config) == LoopDetection()


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"maxLoops": 3}, "maxLoops"),
        ({"maxLoops": None}, "maxLoops"),
        ({"detectors": {"x": True}}, "detectors.x"),
        ({"detectors.pingPong": True}, "detectors.pingPong"),
        ({"postCompactionGuard": {"size": 3}}, "postCompactionGuard.size"),
        ({"detectors": ["pingPong"]}, "detectors"),
        ({"detectors": {"pingPong": 1}}, "detectors.pingPong"),
        ({"enabled": "yes"}, "enabled"),
        ({"enabled": 1}, "enabled"),
        ({"failOpen": 0}, "failOpen"),
        ({"warningThreshold": "5"}, "warningThreshold"),
        ({"warningThreshold": True}, "warningThreshold"),
        ({"warningThreshold": 2.5}, "warningThreshold"),
        ({"warningThreshold": [3]}, "warningThreshold"),
        ({"warningThreshold": float("nan")}, "warningThreshold"),
        ({"historySize": float("inf")}, "historySize"),
        ({"historySize": 1e300}, "historySize"),
        ({"historySize": 2**60}, "historySize"),
        ({"historySize": 0}, "historySize"),
        ({"warningThreshold": -3}, "warningThreshold"),
        ({"warningThreshold": 0.0}, "warningThreshold"),
        ({"enabled": False, "unknownToolThreshold": -1}, "unknownToolThreshold"),
        ({"postCompactionGuard": {"windowSize": 0}}, "postCompactionGuard.windowSize"),
        # Unknown keys come before wrong types, and those before integers below 1.
        ({"warningThreshold": "5", "maxLoops": 3}, "maxLoops"),
        ({"warningThreshold": 0, "enabled": 1}, "enabled"),
        # A block before the merged result.
        ({"criticalThreshold": 8, "historySize": 0}, "historySize"),
        ("on", "config"),
        ([], "config"),
    ],
)
def test_refusals_inside_a_block(config: object, key: str) -> None:
    assert refused(config).key == key


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"criticalThreshold": 10}, "criticalThreshold"),
        ({"warningThreshold": 20}, "warningThreshold"),
        ({"warningThreshold": 30, "criticalThreshold": 25}, "criticalThreshold"),
        ({"criticalThreshold": 30}, "criticalThreshold"),
        ({"globalCircuitBreakerThreshold": 20}, "globalCircuitBreakerThreshold"),
        ({"enabled": True, "historySize": 29}, "historySize"),
        ({"enabled": True, "globalCircuitBreakerThreshold": 31}, "globalCircuitBreakerThreshold"),
        ({"enabled": True, "unknownToolThreshold": 31}, "unknownToolThreshold"),
        ({"enabled": True, "historySize": 40, "unknownToolThreshold": 41}, "historySize"),
    ],
)
def test_refusals_of_the_merged_result(config: dict[str, Any], key: str) -> None:
    assert refused(config).key == key


@pytest.mark.parametrize("config", [{"historySize": 5}, {"enabled": False, "unknownToolThreshold": 99}])
def test_a_short_history_is_fine_while_the_detectors_are_off(config: dict[str, Any]) -> None:
    Configuration.empty().effective(run_config=config)


def test_a_whole_float_is_its_integer() -> None:
    assert Configuration.empty().effective(run_config={"warningThreshold": 5.0}).warning_threshold == 5


def test_a_message_names_key_value_and_rule() -> None:
    assert str(refused({"warningThreshold": "5"})) == '`warningThreshold` must be an integer, not "5"'
    assert "`warningThreshold` (10) must be below `criticalThreshold` (8)" in str(refused({"criticalThreshold": 8}))


def test_the_key_of_a_pair_is_looked_for_in_all_blocks() -> None:
    assert refused_file({"tools": {"loopDetection": {"criticalThreshold": 8}}}) == "criticalThreshold"
    with pytest.raises(InvalidConfig) as refusal:
        Configuration({"tools": {"loopDetection": {"criticalThreshold": 18}}}).effective("", {"warningThreshold": 19})
    assert refusal.value.key == "criticalThreshold"


def test_every_agent_of_a_file_is_checked_at_load() -> None:
    agent = {"tools": {"loopDetection": {"criticalThreshold": 8}}}

    assert refused_file({"agents": {"entries": {"a": {}, "b": agent}}}) == "criticalThreshold"


@pytest.mark.parametrize(
    "agents",
    [
        {"entries": {"a": {}}, "list": [{"id": "a"}]},
        {"list": [{"id": "a"}, {"id": "b"}, {"id": "a"}]},
        {"list": [{"tools": {"loopDetection": {"enabled": True}}}]},
        [],
    ],
)
def test_an_agent_stands_in_a_file_once_and_has_an_id(agents: object) -> None:
    assert refused_file({"agents": agents}) == "agents"


@pytest.mark.parametrize(
    ("data", "key"),
    [
        ({"tools": []}, "tools"),
        ({"agents": {"entries": []}}, "agents.entries"),
        ({"agents": {"list": {}}}, "agents.list"),
        ({"agents": {"entries": {"a": 5}}}, "agents.entries.a"),
        ({"agents": {"entries": {"a": "x"}}}, "agents.entries.a"),
        ({"agents": {"list": [{}, []]}}, "agents.list.1"),
        ({"tools": {"loopDetection": 5}}, "tools.loopDetection"),
    ],
)
def test_tables_of_another_shape_are_refused(data: dict[str, Any], key: str) -> None:
    assert refused_file(data) == key


def test_keys_of_others_are_ignored_and_top_level_ones_listed() -> None:
    data = {
        "gateway": {"port": 1},
        "tools": {"exec": {"host": "x"}, "loopDetection": {"enabled": True}},
        "agents": {"defaults": {"model": "m"}, "list": [{"name": "no id"}, None]},
    }

    configuration = Configuration(data)

    assert configuration.ignored == ["gateway"]
    assert configuration.effective().enabled is True


def test_equal_results_are_one_object() -> None:
    configuration = Configuration.guarded()

    one = configuration.effective("", {"warningThreshold": 5})

    assert configuration.effective("agent", {"warningThreshold": 5.0}) is one


def test_origins() -> None:
    agent = {"tools": {"loopDetection": {"enabled": True, "criticalThreshold": 16}}}
    file = {"tools": {"loopDetection": {"warningThreshold": 8}}, "agents": {"entries": {"a": agent}}}

    origins = Configuration(file).origins("a", {"enabled": False})

    assert (origins["enabled"], origins["criticalThreshold"], origins["warningThreshold"]) == ("run", "agent", "global")
    assert origins["detectors.pingPong"] == "default"
    assert len(origins) == 11


def test_a_file_is_read_as_json5(tmp_path: Path) -> None:
    file = tmp_path / "guard.json5"
    file.write_text("\ufeff// as OpenClaw writes it\n{tools: {loopDetection: {enabled: true, historySize: 0x28,},},}\n")

    configuration = load_configuration(file)

    assert configuration.effective() == LoopDetection(enabled=True, history_size=40)
    assert configuration.source == str(file)


def test_a_file_that_can_not_be_read_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")

    for name in ("absent", "bytes", "."):
        with pytest.raises(InvalidConfig, match=str(tmp_path)):
            load_configuration(tmp_path / name)
