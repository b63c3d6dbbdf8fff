"""The `loopguard` table, places of mistakes in the text, and the schema for editors."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard.config import Configuration
from loopguard.config_file import json_schema
from loopguard.config_places import duplicate_keys, place_of
from loopguard.errors import InvalidConfig
from loopguard.loop_detection import FIELDS


def refused(table: object) -> InvalidConfig:
    with pytest.raises(InvalidConfig) as refusal:
        Configuration({"loopguard": table})
    return refusal.value


def message_of(text: str) -> str:
    with pytest.raises(InvalidConfig) as refusal:
        Configuration.from_text(text, "f.json5")
    return str(refusal.value)


def test_without_the_table_there_are_defaults() -> None:
    configuration = Configuration.empty()

    assert (configuration.server, configuration.profile, configuration.store) == ({}, "openclaw", "memory")


def test_the_table_is_kept() -> None:
    configuration = Configuration(
        {"loopguard": {"server": {"address": "x"}, "profile": "openclaw", "store": "sqlite:x", "profiles": {"b": {}}}}
    )

    assert configuration.server == {"address": "x"}
    assert (configuration.store, configuration.profiles) == ("sqlite:x", {"b": {}})


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"servers": {}}, "loopguard.servers"),
        ({"profile": 5}, "loopguard.profile"),
        ({"server": []}, "loopguard.server"),
        ({"tools": {"a": {"exempt": 1}}}, "loopguard.tools.a.exempt"),
        ({"tools": {"a": {"exmpt": True}}}, "loopguard.tools.a.exmpt"),
        ({"tools": {"a": {"warningThreshold": "5"}}}, "loopguard.tools.a.warningThreshold"),
        ({"tools": {"a": {"warningThreshold": True}}}, "loopguard.tools.a.warningThreshold"),
        ({"tools": {"a": {"warningThreshold": 0}}}, "loopguard.tools.a.warningThreshold"),
        ({"tools": {"a": {"warningThreshold": 20}}}, "loopguard.tools.a.warningThreshold"),
        ({"tools": {"a": {"criticalThreshold": 10}}}, "loopguard.tools.a.criticalThreshold"),
        ({"tools": {"str": {"poll": [1]}}}, "loopguard.tools.str.poll.0"),
        ({"rules": 5}, "loopguard.rules"),
        ({"notes": {"generic_repeat": "{secret}"}}, "loopguard.notes.generic_repeat"),
        ({"notes": {"generic_repeat": {"loud": "x"}}}, "loopguard.notes.generic_repeat.loud"),
        ([], "loopguard"),
    ],
)
def test_mistakes_in_the_table_are_refused_with_their_path(table: Any, key: str) -> None:
    assert refused(table).key == key


def test_a_whole_float_is_its_integer_here_too() -> None:
    configuration = Configuration({"loopguard": {"tools": {"a": {"warningThreshold": 5.0}}}})

    limits = configuration.effective().tools["a"].limits

    assert limits is not None
    assert (limits.warning_threshold, limits.critical_threshold) == (5, 20)


def test_a_runs_thresholds_reach_the_single_tools() -> None:
    configuration = Configuration({"loopguard": {"tools": {"a": {"warningThreshold": 5}}}})

    with pytest.raises(InvalidConfig) as refusal:
        configuration.effective("", {"criticalThreshold": 5, "warningThreshold": 4})

    assert refusal.value.key == "loopguard.tools.a.criticalThreshold"


def test_a_mistake_is_told_with_line_and_column() -> None:
    text = "{\n  tools: {\n    loopDetection: {\n      enabled: true,\n      warningThreshold: '5',\n    },\n  },\n}"

    assert message_of(text).startswith("f.json5:5:7: `warningThreshold` must be an integer")


def test_a_mistake_in_an_agent_is_found() -> None:
    text = "{agents: {list: [\n{id: 'a'},\n{id: 'b', tools: {loopDetection: {maxLoops: 1}}}]}}"

    assert message_of(text).startswith("f.json5:3:35: unknown key `maxLoops`")


def test_a_mistake_in_the_merged_result_is_found() -> None:
    assert message_of("{tools: {loopDetection: {\ncriticalThreshold: 8}}}").startswith("f.json5:2:1: ")


@pytest.mark.parametrize(
    "text", ["{a: 1,\n  b: }", "{", "", "{a: 1} b", "nope", '{"a": ' + "[" * 100 + "]" * 100 + "}"]
)
def test_what_is_no_json5_is_refused(text: str) -> None:
    assert message_of(text).startswith("f.json5")


@pytest.mark.parametrize("text", ["[]", "5", "null", "'x'"])
def test_a_configuration_is_an_object(text: str) -> None:
    assert "an object" in message_of(text)


def test_duplicate_keys_are_found_with_their_place() -> None:
    text = "{\n  a: {b: 1,\n  'b': 2},\n  c: [{d: 1, d: 2}]}"

    assert duplicate_keys(text) == [("a.b", (3, 3)), ("c.0.d", (4, 14))]


def test_a_place_inside_of_what_is_not_there_is_its_parents() -> None:
    assert place_of("{a: {\nb: {}}}", ("a", "b", "c")) == (2, 1)
    assert place_of("{a: 1}", ("x",)) is None
    assert place_of("{not json5", ("x",)) is None


def test_the_schema_knows_every_key() -> None:
    schema = json_schema()

    block = schema["$defs"]["LoopDetection"]
    for path in FIELDS:
        node = block
        for step in path.split("."):
            assert node["additionalProperties"] is False
            node = node["properties"][step]
    assert schema["$defs"]["LoopguardTable"]["additionalProperties"] is False
    assert set(schema["$defs"]["LoopguardTable"]["properties"]) == {
        "notes",
        "profile",
        "profiles",
        "rules",
        "server",
        "store",
        "tools",
    }
