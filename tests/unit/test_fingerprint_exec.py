"""Outcomes of `exec` and its failure identity: SEMANTICS 3, rules 6 and 8, and 4.2."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loopguard import _core
from loopguard.fingerprints import OutcomePrint, default_fingerprinter
from loopguard.model import Call, Outcome

ROWS = {
    kind: re.compile(row, re.ASCII | re.IGNORECASE)
    for kind, row in {
        "timestamp": r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?\b",
        "clock": r"\b\d{1,2}:\d{2}:\d{2}(\.\d{1,6})?\b",
        "attempt": r"\b(attempt|retry)\b[\s#:=]*\d+",
        "duration": r"\b\d+(\.\d+)?\s?(ns|us|ms|s|seconds?|minutes?|hours?)\b",
        "process_id": r"\b(pid|ppid)\b[\s#:=]*\d+",
    }.items()
}


def seen(text: str = "", tool: str = "exec", action: str = "", **details: Any) -> OutcomePrint:
    result = {"content": [{"type": "text", "text": text}], "details": details}
    call = default_fingerprinter().call(Call(tool, json.dumps({"action": action}).encode()))
    return default_fingerprinter().outcome(call, Outcome(result=json.dumps(result).encode()))


def failure(output: str, **details: Any) -> bytes | None:
    return seen(**{"status": "failed", "exitCode": 1, "aggregated": output, **details}).identity


def test_running_counts_status_and_tail() -> None:
    found = seen("a", status="running", pid=1, sessionId="s", startedAt=5, cwd="/x")

    assert found.digest == seen("b", status="running", tail="").digest == seen(status="running", tail=None).digest
    assert found.digest != seen("a", status="running", tail="x").digest
    assert found.stripped == ("pid", "sessionId", "cwd", "startedAt")


def test_ended_counts_output_before_text() -> None:
    found = seen("p", status="completed", exitCode=0, aggregated="\u2003q\n")

    assert found.digest == seen("r", status="completed", exitCode=0.0, aggregated="q").digest
    assert found.digest == seen(" q", status="completed", exitCode=0, aggregated=" \ufeff").digest
    assert found.digest == seen("q", status="completed", exitCode=0, aggregated=5).digest
    assert found.digest != seen("q", status="failed", exitCode=0).digest
    assert found.identity is None


@pytest.mark.parametrize("code", ["0", None, True, [0]])
def test_an_exit_code_is_a_number(code: Any) -> None:
    assert seen("q", status="failed", exitCode=code).digest == seen("q", status="failed").digest
    assert seen("q", status="failed", exitCode=code).identity is None


def test_timed_out_is_exactly_true() -> None:
    plain = seen("q", status="failed", exitCode=1)

    assert seen("q", status="failed", exitCode=1, timedOut="true").digest == plain.digest
    assert seen("q", status="failed", exitCode=1, timedOut=True).digest != plain.digest
    assert seen("q", status="failed", exitCode=1, timedOut=True).identity is None


@pytest.mark.parametrize("status", ["approval-pending", "approval-unavailable"])
def test_approvals_count_five_strings(status: str) -> None:
    found = seen("a", status=status, host=5, approvalId="1")

    assert found.digest == seen("b", status=status, approvalId="2").digest
    for key in ("reason", "host", "command", "warningText"):
        assert seen(status=status, **{key: "x"}).digest != found.digest


def test_other_statuses_count_whole() -> None:
    for status in ({}, {"status": "odd"}, {"status": None}):
        assert seen("a", pid=1, **status).digest != seen("a", pid=2, **status).digest
        assert seen("a", **status).digest == seen("a", tool="fetch", **status).digest


def test_poll_and_log_count_different_details() -> None:
    def differs(action: str, key: str) -> bool:
        return seen("x", "process", action, **{key: 1}).digest != seen("x", "process", action, **{key: 2}).digest

    polled = {"status", "exitCode", "exitSignal", "aggregated"}
    logged = {"status", "totalLines", "totalChars", "truncated", "exitCode", "exitSignal"}
    every = polled | logged | {"pid", "sessionId", "durationMs", "tail"}
    assert {key for key in every if differs("poll", key)} == polled
    assert {key for key in every if differs("log", key)} == logged
    assert {key for key in every if differs("kill", key)} == every
    assert seen("x", "process", "poll").digest != seen("x", "process", "log").digest
    assert seen("x", "process", "poll").digest != seen("y", "process", "poll").digest


@pytest.mark.parametrize("output", ["", " ", "(Command exited with code 1)", " (Command exited with code 1)\n"])
def test_no_identity_without_output(output: str) -> None:
    assert failure(output) is None


def test_another_code_in_the_output_is_output() -> None:
    assert failure("(Command exited with code 2)") is not None
    assert failure("(Command exited with code 1)", exitCode=1.0) is None


def test_identity_counts_status_and_code() -> None:
    assert len({failure("x"), failure("x", status="completed"), failure("x", exitCode=2), failure("y")}) == 4


def test_an_output_that_is_json_counts_by_its_text() -> None:
    assert failure('{"a":1}') != failure('{"a": 1}')


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("at 2024-05-01T10:00:00.123456Z x", "at 2025-06-02 11:01:01+02:00 x"),
        ("9:00:00 x", "10:59:59.5 x"),
        ("attempt 1 x", "Attempt #: 22 x"),
        ("retry=1 x", "10 hours x"),
        ("took 0.5s x", "took 12 minutes x"),
        ("PID: 1 x", "ppid=22 x"),
        ("\npid 1 x", "\npid 2 x"),
    ],
)
def test_moving_parts_are_put_by(first: str, second: str) -> None:
    assert failure(first) == failure(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-05-01 x", "2024-05-02 x"),
        ("10:01 x", "10:02 x"),
        ("10:00:00,123 x", "10:00:00,124 x"),
        ("10:00:00.1234567 x", "10:00:00.1234568 x"),
        ("attempts 1", "attempts 2"),
        ("5 min", "6 min"),
        ("5 h", "6 h"),
        ("[123] x", "[124] x"),
        ("process 123", "process 124"),
        ("port 80", "port 81"),
        ("a.c:4: x", "a.c:9: x"),
        ("0x1f", "0x2f"),
        ("1714550400", "1714550401"),
        ("\u0661\u0662 s", "\u0663\u0664 s"),
        ("5\u00a0s", "6\u00a0s"),
    ],
)
def test_everything_else_counts(first: str, second: str) -> None:
    assert failure(first) != failure(second)


def test_nonces_go_first() -> None:
    pair = '<<<EXTERNAL_UNTRUSTED_CONTENT id="{0}">>>5 s<<<END_EXTERNAL_UNTRUSTED_CONTENT id="{0}">>>'

    assert failure(pair.format("0123456789abcdef")) == failure(pair.format("fedcba9876543210"))


#: Pieces that meet at every border the rows have.
PIECES = [
    *("2024-05-01", "T", "t", " ", "10:00:00", "1:2:33", "9:59:59", ".1", ".123456", ".1234567", "Z", "z", "+02:00"),
    *("-1:00", "attempt", "RETRY", "retries", "pid", "PPID", "ppids", "#", ":", "=", "\n", "\x0b", "\x1c", "\x85"),
    *("\u00a0", "_", "ns", "us", "ms", "s", "S", "second", "seconds", "minute", "hours", "5", "0.5", "12", "1.2.3"),
    *("-", ".", "x", "é", '"', "\\", "\ufffc", "\u017f", "\u212a", "\u0665", "\ud800"),
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("2024-05-01 10:00:00Zx")
@example("2024-05-01 10:00:00+02:001")
@example("1.5 s 1.2.3s 10:00:00.123s")
def test_blanking_is_that_of_the_expressions(text: str) -> None:
    expected = text
    kinds = []
    for kind, row in ROWS.items():
        expected, times = row.subn("\ufffc", expected)
        kinds += [kind] if times else []
    literal = _core.canonicalize(json.dumps(text).encode())

    found = _core.blank_moving_parts(literal)

    assert found == (expected.encode("utf-8", "surrogatepass"), tuple(kinds))
