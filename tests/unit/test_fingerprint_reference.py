"""Random calls and outcomes: the fingerprinter tells apart what the slow reference tells apart, and nothing more."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard.fingerprints import Kind, default_fingerprinter
from loopguard.model import Outcome, Record, Status
from tests.reference.outcome import action_of, settle, signature_of

NONCES = ("0123456789abcdef", "fedcba9876543210", "0123456789ABCDEF")
WRAPPED = [f'<<<EXTERNAL_UNTRUSTED_CONTENT id="{n}">>>x<<<END_EXTERNAL_UNTRUSTED_CONTENT id="{n}">>>' for n in NONCES]
TOOLS = (
    *("exec", "Bash ", "write", "process", "message", "sessions_send", "conversations_turn", "memory_search", "wait"),
    *("command_status", "fetch", "cron"),
)
WORDS = (
    *(
        "",
        " ",
        "a",
        " a\u00a0",
        "a\x1f",
        "\ufeffa",
        "Command exited",
        "(Command exited with code 1)",
        "took 3 s",
        "took 4 s",
    ),
    *("at 10:00:01", "at 10:00:02", "Unknown tool: Foo.", "tool 'bar' not found", "5", '{"results": [{"score": 1}]}'),
    *('{"results": [{"score": 2}], "debug": 1}', '{"results": 1}', "\ud800", *WRAPPED),
)
STATUSES = ("running", "completed", "failed", "approval-pending", "approval-unavailable", "blocked", "odd", None, 1)
KEYS = (
    *("id", "text", "direction", "conversation", "messageId", "ts", "TS", "score", "debug", "a", "results", "status"),
    *WRAPPED[:2],
)

scalars = st.one_of(st.sampled_from(WORDS), st.sampled_from([None, True, False, 0, 1, 1.0, -0.0, 2**60]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=8,
)
details = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(STATUSES),
        "deniedReason": st.sampled_from(["tool-loop", "policy"]),
        "exitCode": st.sampled_from([0, 1, 1.0, 2, None, "1"]),
        "timedOut": st.sampled_from([True, False, 1]),
        "changed": st.sampled_from([True, False, 0]),
        "aggregated": scalars,
        "tail": scalars,
        "pid": st.integers(1, 2),
        "totalLines": st.integers(1, 2),
        "exitSignal": st.sampled_from(["TERM", None]),
        "host": scalars,
        "results": values,
        "debug": scalars,
        "message": values,
    },
)
parts = st.lists(
    st.one_of(st.fixed_dictionaries({"type": st.sampled_from(["text", "md", 1]), "text": scalars}), scalars), max_size=3
)
shaped = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(parts, parts, scalars),
        "details": st.one_of(details, details, values),
        "structuredContent": st.one_of(details, values),
        "isError": st.sampled_from([True, False, 1]),
        "_meta": values,
    },
)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


texts = st.one_of(st.none(), values.map(as_json), st.sampled_from([b"", b"nan", b"{", b'"\xff"']))
results = st.one_of(shaped.map(as_json), shaped.map(as_json), texts)
outcomes = st.builds(
    Outcome,
    status=st.one_of(st.none(), st.sampled_from([None, Status.OK, Status.ERROR]), st.sampled_from(list(Status))),
    result=results,
    error=st.one_of(st.none(), st.none(), texts),
    private=st.one_of(st.none(), st.none(), texts),
)
arguments = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={
            "action": st.sampled_from(["poll", "log", "send", "reply", "Send", 1]),
            "title": scalars,
            "q": values,
        },
    ).map(as_json),
    texts,
)


def groups(keys: list[Any]) -> list[int]:
    """Return for each key the place of the first one that is equal."""
    return [keys.index(key) for key in keys]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TOOLS), arguments, st.lists(outcomes, min_size=2, max_size=6))
def test_outcomes(tool: str, args: bytes | None, several: list[Outcome]) -> None:
    fingerprinter = default_fingerprinter()
    record = Record(tool, args=args)
    (name, _), _ = signature_of(record)
    expected = [settle(name, action_of(record), outcome) for outcome in several]

    call = fingerprinter.call(record)
    found = [fingerprinter.outcome(call, outcome) for outcome in several]

    assert call.tool == name
    assert groups([one.digest for one in found]) == groups([one.digest for one in expected])
    assert groups([one.identity for one in found]) == groups([one.failure_identity for one in expected])
    for one, wanted in zip(found, expected, strict=True):
        assert one.kind is Kind[wanted.kind.upper()]
        assert (one.digest is None, one.identity is None) == (wanted.digest is None, wanted.failure_identity is None)
        assert (one.failed, one.stuck) == (wanted.failed, wanted.stuck)
        assert one.missing_tool == (wanted.missing_tool or "")


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(TOOLS), st.lists(arguments, min_size=2, max_size=6))
def test_calls(tool: str, several: list[bytes | None]) -> None:
    records = [Record(tool, args=args) for args in several]

    found = [default_fingerprinter().call(record) for record in records]

    assert groups([one.digest for one in found]) == groups([signature_of(record)[0][1] for record in records])
    assert [one.action for one in found] == [action_of(record) for record in records]
    assert [one.flags for one in found] == [int(signature_of(record)[1]) for record in records]
