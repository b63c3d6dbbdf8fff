"""The `loopguard` table, and places of mistakes in the text."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard.config import Configuration
from loopguard.config.places import duplicate_keys, place_of
from loopguard.errors import InvalidConfig


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

    assert (configuration.server, configuration.profile, configuration.rules) == ({}, "openclaw", [])


def test_the_table_is_kept() -> None:
    configuration = Configuration(
        {"loopguard": {"server": {"address": "x"}, "profile": "balanced", "profiles": {"balanced": {"repeat": 4}}}}
    )

    assert configuration.server == {"address": "x"}
    assert (configuration.profile, configuration.profiles) == ("balanced", {"balanced": {"repeat": 4}})


def test_tools_are_known_by_the_name_that_their_calls_have() -> None:
    configuration = Configuration({"loopguard": {"tools": {" Bash ": {"exempt": True}}}})

    assert configuration.effective().tools["exec"].exempt


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"servers": {}}, "loopguard.servers"),
        ({"profile": 5}, "loopguard.profile"),
        ({"profile": "opnclaw"}, "loopguard.profile"),
        ({"profiles": {"balnced": {}}}, "loopguard.profiles.balnced"),
        ({"profiles": {"openclaw": {}}}, "loopguard.profiles.openclaw"),
        ({"profiles": {"balanced": {"repeat": 0}}}, "loopguard.profiles.balanced.repeat"),
        ({"store": 7}, "loopguard.store"),
        ({"store": {"address": "memory", "durability": "never"}}, "loopguard.store.durability"),
        ({"store": {"path": "x"}}, "loopguard.store.path"),
        ({"tools": {"Bash": {}, "exec": {}}}, "loopguard.tools.exec"),
        ({"tools": {"": {}}}, "loopguard.tools."),
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
        ({"rules": {}}, "loopguard.rules"),
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

    assert message_of(text).startswith("f.json5:3:35: unknown key `maxLoops` in `agents.list[1].tools.loopDetection`")


def test_a_mistake_in_the_merged_result_is_found() -> None:
    assert message_of("{tools: {loopDetection: {\ncriticalThreshold: 8}}}").startswith("f.json5:2:1: ")


def test_two_names_of_one_tool_are_both_named() -> None:
    text = "{loopguard: {tools: {\n Bash: {exempt: true},\n exec: {}}}}"

    assert message_of(text) == (
        "f.json5:3:2: `loopguard.tools.exec`: `Bash` and `exec` are one tool, `exec`; write it once"
    )


def test_a_mistake_between_an_agent_and_everybody_names_the_agent() -> None:
    everybody = "tools: {loopDetection: {enabled: true}}"
    text = f"{{{everybody}, agents: {{list: [{{id: 'a', tools: {{loopDetection: {{\nhistorySize: 9}}}}}}]}}}}"

    assert message_of(text) == (
        "f.json5:2:1: `globalCircuitBreakerThreshold` (30) must be at most `historySize` (9) for the agent `a`"
    )


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("{a: 1,\n  b: }", "2:6", "a value is missing before `}`"),
        ("{\n a: {b: 1,", "2:5", "the object that starts here is never closed"),
        ("[1,\n 2", "1:1", "the array that starts here is never closed"),
        ("", "1:1", "there is nothing in it"),
        ("{a: 1}  // one\n b", "2:2", "something follows behind the end of the configuration"),
        ("{a: 1}}", "1:7", "something follows behind the end of the configuration"),
        ("nope", "1:1", "an unknown word; texts stand in quotes"),
        ("{a: tru}", "1:5", "an unknown word; texts stand in quotes"),
        ("{a 1}", "1:4", "a colon is missing before `1`"),
        ("{a: 1\n b: 2}", "2:2", "a comma or `}` is missing before `b`"),
        ("{a: [1}", "1:7", "a comma or `]` is missing before `}`"),
        ("{a: 'x\n'}", "1:5", "the text that starts here has no closing quote on its line"),
        ("{a: 1,,}", "1:7", "a comma too many"),
        ("{a: 1e}", "1:5", "the number that starts here is not complete"),
        ("{a: 1e400}", "1:5", "the number that starts here is too large"),
        ("{a: " + "9" * 5_000 + "}", "1:5", "the number that starts here is too large"),
        ("{\n/* a: 1}", "2:1", "the comment that starts here is never closed"),
        ("{1a: 2}", "1:2", "a key without quotes can't start with `1`"),
        ("{a: '\\u12'}", "1:7", "an escape is not complete: a hexadecimal digit is missing"),
        ("{a: \x01}", "1:5", "a value is missing before U+0001"),
        ("{a: " + "[" * 100 + "]" * 100 + "}", "1:36", "too many objects and arrays inside one another"),
    ],
)
def test_what_is_no_json5_is_refused_in_plain_words(text: str, place: str, words: str) -> None:
    assert message_of(text) == f"f.json5:{place}: not JSON5: {words}"


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


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{tools: 5}", "1:2: `tools` must be an object, not 5"),
        ("{agents: {entries: {a: {}, b: 'x'}}}", '1:28: `agents.entries.b` must be an object, not "x"'),
        ("{agents: {entries: {a: {tools: [1]}}}}", "1:25: `agents.entries.a.tools` must be an object, not [1]"),
        ("{agents: {list: {a: 1}}}", '1:11: `agents.list` must be an array, not {"a": 1}'),
        ("{agents: {list: [null, true]}}", "1:24: `agents.list[1]` must be an object, not true"),
        (
            "{agents: {list: [{id: 5, tools: {loopDetection: {enabled: true}}}]}}",
            "1:18: `agents.list[0]` has a loopDetection but no `id` that is a text, but 5",
        ),
        (
            "{loopguard: {profiles: {balanced: {repeats: 5}}}}",
            "1:36: unknown key `loopguard.profiles.balanced.repeats` (value 5)",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_value(text: str, complaint: str) -> None:
    assert message_of(text) == f"f.json5:{complaint}"
