"""The schema for editors: every key, in the words of JSON schema, and strict where the loader is strict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loopguard import cli
from loopguard.balanced_limits import KEYS
from loopguard.config.loop_detection import FIELDS
from loopguard.rules.loader import parse_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What the schema is written with; any other word would be one that editors don't know.
WORDS = {
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "const", "default", "description", "enum",
    "exclusiveMinimum", "items", "maxItems", "maxProperties", "maximum", "minItems", "minLength", "minProperties",
    "minimum", "pattern", "properties", "required", "title", "type",
}  # fmt: skip
#: Others' keys may stand there too.
OPEN = {"", "tools", "agents", "agents.entries.*", "agents.entries.*.tools", "agents.list[]", "agents.list[].tools"}


@pytest.fixture(name="schema")
def _schema(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    cli.run(["config", "schema"])
    schema: dict[str, Any] = json.loads(capsys.readouterr().out)
    return schema


def nodes(node: dict[str, Any], root: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema with the path that it is about."""
    yield path, node
    if "$ref" in node:
        yield from nodes(root["$defs"][node["$ref"].removeprefix("#/$defs/")], root, path)
    for variant in node.get("anyOf", ()):
        yield from nodes(variant, root, path)
    for key, inner in node.get("properties", {}).items():
        yield from nodes(inner, root, f"{path}.{key}".removeprefix("."))
    if isinstance(node.get("items"), dict):
        yield from nodes(node["items"], root, f"{path}[]")
    if isinstance(node.get("additionalProperties"), dict):
        yield from nodes(node["additionalProperties"], root, f"{path}.*".removeprefix("."))


def test_it_uses_no_word_that_editors_do_not_know(schema: dict[str, Any]) -> None:
    assert {word for _, node in nodes(schema, schema) for word in node} - WORDS == set()


def test_it_is_strict_wherever_the_loader_is(schema: dict[str, Any]) -> None:
    lax = {
        path
        for path, node in nodes(schema, schema)
        if "properties" in node and node.get("additionalProperties") is not False
    }

    assert lax == OPEN


def test_it_has_every_key(schema: dict[str, Any]) -> None:
    paths = {path for path, _ in nodes(schema, schema)}

    for block in ("tools.loopDetection", "agents.entries.*.tools.loopDetection", "agents.list[].tools.loopDetection"):
        assert {f"{block}.{key}" for key in FIELDS} <= paths
    assert {f"loopguard.profiles.balanced.{key}" for key in (*KEYS, "classes")} <= paths
    assert paths >= {
        "loopguard.notes.*.warning",
        "loopguard.profile",
        "loopguard.rules[].values[].prune.beside",
        "loopguard.server.limits.historySize",
        "loopguard.store",
        "loopguard.tools.*.warningThreshold",
    }


def test_every_key_of_a_rule_is_one_that_the_loader_knows(schema: dict[str, Any]) -> None:
    keys = set(schema["$defs"]["RuleTable"]["properties"])
    refused = [key for key in keys if "unknown key" in refusal({key: None})]

    assert refused == []
    assert "unknown key `nonsense`" in refusal({"nonsense": None})
    assert {"name", "tools", "drop", "equal", "differ"} <= keys


def refusal(table: dict[str, Any]) -> str:
    with pytest.raises(ValueError, match=r"rule\[0\]") as refused:
        parse_rules([table], "f")
    return str(refused.value)
