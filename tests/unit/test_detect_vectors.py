from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from loopguard.errors import Reason
from loopguard.model import Action, Flag, Level, Scope, Status
from tests.reference.vectors import failures, load, plain

FILE = Path(__file__).parents[2] / "conformance" / "detect.jsonl"
LINES = FILE.read_text(encoding="utf-8").splitlines()
VECTORS = [load(line) for line in LINES]
ROLLING = {
    "unknown_tool_repeat", "global_circuit_breaker", "known_poll_no_progress", "ping_pong", "argument_churn",
    "generic_repeat",
}  # fmt: skip
GUARDS = {"compaction_loop_persisted", "identical_error"}
#: Reasons that an engine can give; `INVALID_CONFIG` is `expectError`.
REASONS = {Reason.INVALID_FRAME, Reason.UNKNOWN_CALL, Reason.DUPLICATE_CALL, Reason.EMPTY_TOOL}
#: Rows of SEMANTICS' "Deliberate differences" that a vector can show; a check that crashes is not one.
DIFFERENCES = 16


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector.get("name")))
def test_reference_agrees(vector: Any) -> None:
    assert failures(vector) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"count": 4', '"count": 5'),
        ('"action": "WARN"', '"action": "ALLOW"'),
        ('"level": "warning"', '"level": "critical"'),
        ('"args": ["A", "A"', '"args": ["A", "B"'),
        ('"outcome": ["A", "A"', '"outcome": ["A", null'),
        ('"reason": "UNKNOWN_CALL"', '"reason": "EMPTY_TOOL"'),
        ('"key": "maxLoops"', '"key": "minLoops"'),
        ('"scope": "TURN"', '"scope": "RUN"'),
        ('"blockedBy": "c2"', '"blockedBy": "c1"'),
        ('"flags": ["BIGINT"]', '"flags": null'),
    ],
)
def test_a_wrong_expectation_is_noticed(before: str, after: str) -> None:
    line = next(line for line in LINES if before in line)

    assert failures(load(line.replace(before, after, 1)))


def test_names_are_unique_and_start_with_their_rule() -> None:
    names = [vector.get("name") for vector in VECTORS]

    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert [vector.get("name") for vector in VECTORS if vector.get("name").split("/")[0] != vector.get("rule")] == []
    assert len(names) >= 150


def test_every_detector_and_level_is_expected() -> None:
    seen = {(finding["detector"], finding["level"]) for finding in objects_with("detector")}

    critical_only = {"unknown_tool_repeat", "global_circuit_breaker", *GUARDS}
    expected = {(name, "critical") for name in ROLLING | GUARDS} | {
        (name, "warning") for name in ROLLING - critical_only
    }
    assert seen == expected - {("argument_churn", "critical")}
    assert {level.value for level in Level} == {level for _, level in seen}


def test_every_action_scope_status_and_flag_occurs() -> None:
    verdicts = objects_with("action")

    assert {verdict["action"] for verdict in verdicts if "tool" not in verdict} >= {action.value for action in Action}
    assert {verdict.get("scope") for verdict in verdicts} >= {scope.value for scope in Scope}
    statuses = set(re.findall(r'"status": "([A-Z_]+)"', "\n".join(LINES)))
    assert statuses >= {status.value for status in Status}
    flags = {flag for verdict in objects_with("flags") for flag in verdict["flags"] or []}
    # A text that is no JSON can't stand in a line of JSON.
    assert flags == {flag.name for flag in Flag} - {"OPAQUE"}


def test_every_reason_occurs() -> None:
    assert {error["reason"] for error in objects_with("reason")} >= {reason.value for reason in REASONS}
    assert sum(vector.get("expectError") is not None for vector in VECTORS) >= 30


def test_every_deliberate_difference_is_shown() -> None:
    assert sum(vector.get("rule") == "difference" for vector in VECTORS) >= DIFFERENCES


def test_both_sides_of_every_threshold_are_asked() -> None:
    """For each limit there is a vector one below it and one at it."""
    names = {vector.get("name") for vector in VECTORS}

    for below, reached in (
        ("generic/default-thresholds-9", "generic/default-thresholds-10"),
        ("generic/default-thresholds-19", "generic/default-thresholds-20"),
        ("generic/default-thresholds-29", "generic/default-thresholds-30"),
        ("generic/equal-outcomes-3", "generic/equal-outcomes-4"),
        ("generic/equal-outcomes-6", "generic/equal-outcomes-7"),
        ("generic/equal-outcomes-8", "generic/equal-outcomes-9"),
        ("poll/process-3", "poll/process-4"),
        ("poll/process-6", "poll/process-7"),
        ("poll/process-8", "poll/process-9"),
        ("wait/default-9", "wait/default-10"),
        ("wait/stricter-critical-threshold-6", "wait/stricter-critical-threshold-7"),
        ("unknown/4", "unknown/5"),
        ("unknown/default-threshold-9", "unknown/default-threshold-10"),
        ("pingpong/count-includes-the-call-3", "pingpong/count-includes-the-call-4"),
        ("pingpong/6", "pingpong/7"),
        ("pingpong/default-thresholds-19", "pingpong/default-thresholds-20"),
        ("churn/below-the-warning-threshold", "churn/at-the-warning-threshold"),
        ("execfail/below-the-critical-threshold", "execfail/at-the-critical-threshold"),
        ("execfail/below-the-breaker", "execfail/at-the-breaker"),
    ):
        assert {below, reached} <= names


def objects_with(key: str) -> list[Any]:
    """Return all objects in the expectations that have a key."""
    found = []
    waiting = [plain(vector.get("expect")) for vector in VECTORS]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if key in value:
                found.append(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found
