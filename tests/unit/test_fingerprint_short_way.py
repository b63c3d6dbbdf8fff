"""The short way from bytes to a print says what the long way says."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard.fingerprints import CallPrint, Fingerprinter, OutcomePrint
from loopguard.model import Call, Outcome, Status
from loopguard.rules import load_rules

TOOLS = ("exec", "write", "process", "read", "message", "sessions_send", "memory_search", "wait", "Bash")
PROFILES = ("openclaw", "balanced")
NONCE = (
    '<<<EXTERNAL_UNTRUSTED_CONTENT id="a1b2c3d4e5f60718">>>x<<<END_EXTERNAL_UNTRUSTED_CONTENT id="a1b2c3d4e5f60718">>>'
)


def made_long(profile: str) -> Fingerprinter:
    """Return a fingerprinter that knows the long way alone."""
    long = Fingerprinter(load_rules(profile))
    with mock.patch("loopguard.fingerprints.fingerprinter.CallReader", return_value=None):
        for tool in TOOLS:
            long.call(Call(tool, b"{}"))
    return long


SHORT = {profile: Fingerprinter(load_rules(profile)) for profile in PROFILES}
LONG = {profile: made_long(profile) for profile in PROFILES}

texts = st.sampled_from(["", " ", "a", " a\n", "(no output)", "5", "null", NONCE, '{"results": []}', '{"output": "x"}'])
scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(allow_nan=False), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=5,
)
statuses = st.sampled_from(["running", "completed", "failed", "approval-pending", "blocked", "x", 3])
details = st.fixed_dictionaries(
    {},
    optional={
        "status": statuses,
        "deniedReason": st.sampled_from(["tool-loop", "x"]),
        "exitCode": st.sampled_from([0, 1, 127, None, "0", 1.5]),
        "timedOut": st.one_of(st.booleans(), st.none()),
        "aggregated": st.one_of(texts, st.none()),
        "changed": st.one_of(st.booleans(), st.just("false")),
        "results": values,
        "tail": values,
        "durationMs": st.integers(0, 9),
        "messageId": texts,
        "debug": values,
    },
)
parts = st.one_of(st.fixed_dictionaries({"type": st.just("text"), "text": texts}), values)
results = st.one_of(
    values,
    st.fixed_dictionaries(
        {},
        optional={
            "content": st.lists(parts, max_size=3),
            "details": st.one_of(details, values),
            "structuredContent": details,
            "isError": st.booleans(),
            "_meta": values,
            "other": values,
        },
    ),
)
arguments = st.one_of(
    values,
    st.fixed_dictionaries(
        {},
        optional={"action": st.one_of(st.sampled_from(["poll", "log", "send"]), values), "title": texts, "a": values},
    ),
)
noise = st.sampled_from([b"", b" ", b"{", b"\xff", b"1e400", b'{"a":1,"a":2}', b"12345678901234567890", b'"\\ud800"'])


def encoded(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def shown(made: CallPrint | OutcomePrint) -> dict[str, Any]:
    return {name: getattr(made, name) for name in dir(made) if not name.startswith("_")}


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(
    st.sampled_from(PROFILES),
    st.sampled_from(TOOLS),
    st.one_of(arguments, noise),
    st.one_of(results, noise),
    st.sampled_from([None, Status.OK]),
)
def test_both_ways_say_the_same(profile: str, tool: str, args: Any, result: Any, status: Status | None) -> None:
    call, outcome = Call(tool, encoded(args)), Outcome("", status, encoded(result))

    short, long = SHORT[profile].call(call), LONG[profile].call(call)

    assert shown(short) == shown(long)
    assert shown(SHORT[profile].outcome(short, outcome)) == shown(LONG[profile]._outcome(long, outcome))


def test_the_usual_outcomes_take_the_short_way() -> None:
    printer = SHORT["openclaw"]
    call = printer.call(Call("exec", b'{"command": "make"}'))
    done = {"content": [], "details": {"status": "completed", "exitCode": 0, "aggregated": "fine"}}

    with mock.patch.object(printer, "_outcome", side_effect=AssertionError):
        assert printer.outcome(call, Outcome("", Status.OK, encoded(done))).digest
        assert printer.outcome(printer.call(Call("Read", b"{}")), Outcome("", None, b'{"content": []}')).digest
