"""What the compiled facts make of identifiers, of JSON that speaks of itself, of statements and pauses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopguard import _facts
from loopguard.tool_class import ToolClass
from tests.unit.test_facts import FAILURE, SUCCESS, answered, asked, command


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("error: no lease 7f3a91c04b2e", "error: no lease 00c1d2e3f4a5"),
        ("error: bad token eyJ0eX4iOi8KV1q2", "error: bad token q9Zs3Lk4Xw0Pb7Tn"),
    ],
)
def test_an_error_is_known_without_random_identifiers(one: str, other: str) -> None:
    assert answered(one).last_error == answered(other).last_error


def test_an_error_is_known_without_what_the_call_named() -> None:
    signatures = set()
    for name in ("foo", "foo-lib", "bar"):
        call = _facts.CallFacts("bash", ToolClass.SHELL, b"")
        call.ask(asked(command(f"pip install {name}")), "")
        error = json.dumps(f"ERROR: No matching distribution found for {name}").encode()
        signatures.add(_facts.describe_outcome(error, True, FAILURE, True, call).last_error)

    assert len(signatures) == 1


@pytest.mark.parametrize("known", ["python3.11", "libx265", "utf8", "sha256sum", "web-1-2-3", "test_case_2031_05_06"])
def test_a_name_with_digits_is_no_random_identifier(known: str) -> None:
    assert answered(f"see {known} for it").digitless == 0


def test_an_answer_is_alike_but_for_random_identifiers() -> None:
    one, other = (answered(f'{{"handle": "{h}", "open": true}}') for h in ("a1b2c3d4e5", "0f9e8d7c6b"))

    assert one.bag != other.bag
    assert one.digitless == other.digitless != 0


@pytest.mark.parametrize("key", ["next_cursor", "nextPageToken", "commit_sha", "checksum"])
def test_an_identifier_that_matters_makes_an_answer_new(key: str) -> None:
    assert answered(f'{{"{key}": "a1b2c3d4e5"}}').digitless == 0


@pytest.mark.parametrize(
    ("result", "flag"),
    [
        ({"stdout": "", "stderr": "", "exit_code": 0}, _facts.EMPTY),
        ({"stdout": "", "stderr": "", "exit_code": 1}, _facts.EMPTY | _facts.FAILED),
        ({"ok": False, "error": "channel_not_found"}, _facts.FAILED),
        ({"success": False, "reason": "locked"}, _facts.FAILED),
        ({"status": "error", "code": 4}, _facts.FAILED),
        ({"content": [{"type": "text", "text": '{"ok": false}'}]}, _facts.FAILED),
        ({"id": 4, "state": "creating"}, _facts.PENDING),
        ({"job": {"phase": "UPDATE_IN_PROGRESS"}}, _facts.PENDING),
        ({"id": 4, "done": False}, _facts.PENDING),
        ({"id": 4, "progress": 40}, _facts.PENDING),
    ],
)
def test_what_a_json_answer_says_of_itself(result: dict[str, Any], flag: int) -> None:
    flags = _facts.describe_outcome(json.dumps(result).encode(), True, SUCCESS, False).flags

    assert flags & (_facts.EMPTY | _facts.FAILED | _facts.PENDING) == flag


@pytest.mark.parametrize(
    "result",
    [
        {"state": "failed", "job": 4},
        {"legal": False, "reason": "not your turn"},
        {"state": "missing"},
        {"status": "done", "progress": 100},
    ],
)
def test_what_a_json_answer_says_of_a_thing_is_an_answer(result: dict[str, Any]) -> None:
    flags = _facts.describe_outcome(json.dumps(result).encode(), True, SUCCESS, False).flags

    assert flags & (_facts.EMPTY | _facts.FAILED | _facts.PENDING) == 0


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("UPDATE orders\nSET state = 'paid' WHERE id = 4", True),
        ("insert into orders values (1)", True),
        ("DELETE FROM orders", True),
        ("alter table orders add x int", True),
        ("update on the orders project", False),
        ("delete account policy", False),
        ("SELECT * FROM orders", False),
    ],
)
def test_a_statement_that_changes_rows_is_a_change_whatever_runs_it(text: str, changes: bool) -> None:
    assert bool(asked({"query": text}, ToolClass.OTHER).flags & _facts.CHANGES) is changes


@pytest.mark.parametrize(
    ("args", "tool_class", "seconds"),
    [
        ({"seconds": 60}, ToolClass.POLL, 60),
        ({"timeout_ms": 45000}, ToolClass.POLL, 45),
        ({"id": 4, "wait_seconds": 40}, ToolClass.OTHER, 40),
        ({"seconds": 60}, ToolClass.OTHER, 0),
        ({"timeout": 60}, ToolClass.READ, 0),
    ],
)
def test_how_long_a_call_waits(args: Any, tool_class: ToolClass, seconds: int) -> None:
    assert asked(args, tool_class).pause_s == seconds
