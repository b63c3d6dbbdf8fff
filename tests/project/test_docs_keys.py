"""The documents name every key with its type and default, and every detector; both come from the code."""

import json
import re
from dataclasses import fields
from typing import Any

import pytest
from loopguard.server.limits import MIB, Limits
from pydantic.alias_generators import to_camel

from loopguard import cli
from loopguard.balanced_limits import KEYS
from loopguard.detectors import PROFILES
from loopguard.guards.compaction import NAME as COMPACTION
from loopguard.guards.identical_error import NAME as IDENTICAL_ERROR
from tests.project.documents import ROOT, read_tables

CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
LOOP_DETECTION = (ROOT / "docs" / "loop-detection.md").read_text(encoding="utf-8")


def documented() -> dict[str, tuple[str, str]]:
    """Return type and default of every key in the document."""
    rows = [
        row for table in read_tables(CONFIGURATION) if table[0][:3] == ["key", "type", "default"] for row in table[1:]
    ]
    assert len({row[0] for row in rows}) == len(rows)
    return {row[0].strip("`"): (row[1], row[2].strip("`")) for row in rows}


def described(schema: dict[str, Any]) -> tuple[str, str]:
    """Return type and default of a key as the document writes them."""
    variants = schema.get("anyOf", [schema])
    names = [variant.get("type", "object") for variant in variants]
    flat = [name for group in names for name in ([group] if isinstance(group, str) else group) if name != "null"]
    # Of two ways to write a value the simpler one stands first.
    types = " or ".join(sorted(flat, key=["boolean", "integer", "number", "string", "object", "array"].index))
    return types, "not set" if schema.get("default") is None else json.dumps(schema["default"])


def flat(schema: dict[str, Any], prefix: str) -> dict[str, dict[str, Any]]:
    """Return the schemas of all keys by path; an object with keys of its own is none."""
    keys: dict[str, dict[str, Any]] = {}
    for name, node in schema["properties"].items():
        keys |= flat(node, f"{prefix}{name}.") if "properties" in node else {f"{prefix}{name}": node}
    return keys


def test_every_key_is_documented_with_its_type_and_default(capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["config", "schema"])

    definitions = json.loads(capsys.readouterr().out)["$defs"]
    keys = (
        flat(definitions["LoopDetection"], "")
        | flat(definitions["LoopguardTable"], "loopguard.")
        | flat(definitions["ToolTable"], "loopguard.tools.<tool>.")
        | flat(definitions["NoteTable"], "loopguard.notes.<detector>.")
        | flat(definitions["ProfilesTable"], "loopguard.profiles.")
        | flat(definitions["RuleTable"], "loopguard.rules[].")
        | flat(definitions["ServerTable"], "loopguard.server.")
        | flat(definitions["StoreTable"], "loopguard.store.")
    )
    del keys["loopguard.profiles"]
    keys["loopguard.notes.<detector>"] = {
        "anyOf": definitions["LoopguardTable"]["properties"]["notes"]["additionalProperties"]["anyOf"]
    }
    tables = {"Balanced", "Loopguard", "Note", "Profiles", "Rule", "Server", "Store", "Tool"}
    assert definitions.keys() == {f"{name}Table" for name in tables} | {"LoopDetection"}
    assert documented() == {key: described(schema) for key, schema in keys.items()}


@pytest.mark.parametrize("text", [CONFIGURATION, LOOP_DETECTION], ids=["configuration", "loop-detection"])
def test_defaults_named_in_passing_are_right(text: str) -> None:
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    named = re.findall(r"`(\w+(?:\.\w+)*)` \((\d+|true|false)\)", prose)
    defaults = {key: default for key, (_, default) in documented().items()}

    assert [(key, value) for key, value in named if defaults.get(key) != value] == []


def test_every_detector_is_described() -> None:
    names = {detector.__globals__["NAME"] for detector in PROFILES["openclaw"]} | {
        COMPACTION,
        IDENTICAL_ERROR,
        "admission_failure",
    }
    rows = [row[0] for table in read_tables(LOOP_DETECTION) if table[0][0] == "guard" for row in table[1:]]

    assert {row.strip("`") for row in rows} == names


def test_every_threshold_of_balanced_is_described() -> None:
    detection = (ROOT / "docs" / "detection.md").read_text(encoding="utf-8")

    assert [
        key for key in (*KEYS, "classes") if not re.search(rf"`(loopguard\.profiles\.balanced\.)?{key}`", detection)
    ] == []


def test_every_limit_is_listed_with_its_default_and_what_goes_over_it() -> None:
    operating = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    (table,) = [table for table in read_tables(operating) if table[0][-1] == "what goes over it"]
    keys = {
        to_camel(field.name): field.default * (1 if "bytes" not in field.name else 1 / MIB) for field in fields(Limits)
    }

    # Those in brackets are no keys.
    listed = [row for row in table[1:] if row[0].startswith("`")]
    rows = {row[0].strip("`"): float(row[1].partition(" ")[0].replace(",", "")) for row in listed}

    assert rows == keys
    assert [row[0] for row in listed if "bytes" in row[0].lower() and "MiB" not in row[1]] == []
    assert [row[0] for row in table[1:] if not row[2]] == []


def test_limits_named_in_the_promises_are_right() -> None:
    security = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    limits = {to_camel(field.name): field.name for field in fields(Limits)}
    named = dict(re.findall(r"`(\w+)` \(([\d,]+)\)", security))

    assert len(named) >= 8
    assert named == {key: f"{getattr(Limits(), field):,.0f}" for key, field in limits.items() if key in named}
