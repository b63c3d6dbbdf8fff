"""A small vocabulary of calls and outcomes, so that random runs repeat themselves."""

from __future__ import annotations

import json
from typing import Any

import xxhash

from loopguard.model import Call, Outcome, Record, Status

NONCES = ("a1b2c3d4e5f60718", "0f1e2d3c4b5a6978")
WRAPPED = [
    f'<<<EXTERNAL_UNTRUSTED_CONTENT id="{nonce}">>>page<<<END_EXTERNAL_UNTRUSTED_CONTENT id="{nonce}">>>'
    for nonce in NONCES
]

#: Tool, arguments as JSON text.
CALLS: list[tuple[str, str]] = [
    ("weather", '{"city": "Oslo"}'),
    ("weather", '{"city": "Rome"}'),
    (" Weather", '{"city":"Oslo"}'),
    ("ticket_get", '{"id": 9007199254740993}'),
    ("ticket_get", ""),
    ("exec", '{"command": "make"}'),
    ("bash", '{"command": "make", "title": "Build"}'),
    ("exec", '{"command": "make -k"}'),
    ("exec", '{"command": "make -B"}'),
    ("process", '{"action": "poll", "sessionId": "s"}'),
    ("process", '{"action": "log", "sessionId": "s"}'),
    ("process", '{"action": "kill", "sessionId": "s"}'),
    ("wait", '{"ms": 5}'),
    ("command_status", "[1]"),
    ("write", '{"path": "a"}'),
    ("write", '{"path": "b"}'),
    ("message", '{"action": "send", "to": "ops"}'),
    ("message", '{"action": "edit", "to": "ops"}'),
    ("sessions_send", '{"to": "ops"}'),
    ("memory_search", '{"query": "vpn"}'),
    ("fly", '{"n": 1}'),
    ("fly", '{"n": 2}'),
    ("weather", "{no json"),
    ("weather", '{"a": 1, "a": 1e999, "b": "\\ud83d"}'),
]
#: Where a digest stands for the arguments: tool, canonical arguments, action.
DIGESTED = [("process", '{"action":"poll","sessionId":"s"}', "poll"), ("weather", '{"city":"Oslo"}', "")]
WORDS = len(CALLS) + len(DIGESTED)
COMMANDS = (5, 6, 7, 8)
WAIT = 12
POLLS = (9, 10, WAIT, 13, 24)
WRITES = (14, 15)
MISSING = (20, 21)


def call_fields(word: int) -> dict[str, Any]:
    """Return the fields that `Call` and `Record` have in common."""
    if word >= len(CALLS):
        tool, text, action = DIGESTED[word - len(CALLS)]
        return {"tool": tool, "args_digest": xxhash.xxh3_128(text.encode()).digest(), "action": action}
    tool, text = CALLS[word]
    return {"tool": tool, "args": text.encode()}


def call_of(word: int, call_id: str = "") -> Call:
    return Call(call_id=call_id, **call_fields(word))


def shaped(text: str, **details: Any) -> bytes:
    return json.dumps({"content": [{"type": "text", "text": text}], "details": details}).encode()


FAILED = {"status": Status.ERROR, "error": b'"no route"'}
CANCELLED = {"status": Status.CANCELLED}
COMMON: list[dict[str, Any]] = [
    {"result": shaped("4 degrees")},
    FAILED,
    {"result": shaped("5 degrees")},
    {"error": b'"gone"'},
    CANCELLED,
    {"status": Status.INVALID_ARGUMENTS, "error": b'"city?"'},
    {"status": Status.DENIED},
    {"status": Status.UNKNOWN_TOOL},
    {"status": Status.ERROR, "error": b'"Unknown tool id: fly."'},
    {"status": Status.ERROR, "result": shaped("tool fly not found")},
    {"status": Status.LOOP_VETO},
    {"result": shaped("no", status="blocked", deniedReason="tool-loop")},
    {"result": shaped("no", status="blocked")},
    {"result": b'{"isError": true, "structuredContent": {"a": 1}}'},
    {"result": b'{"rows": [1, 1.0, 18446744073709551616]}'},
    {},
    {"status": Status.OK, "result": b"null"},
    {"result": b"{no json"},
    {"status": Status.ERROR, "error": b"{no json"},
    {"error": b'{"b": 1, "a": {"c": "x"}}'},
    {"error": b'"{\\"a\\":{\\"c\\":\\"x\\"},\\"b\\":1}"'},
    {"result": b'"a"', "private": b'{"v": 1}'},
    {"result": b'"b"', "private": b'{"v": 1.0}'},
    {"result_digest": b"\1" * 16},
    {"result_digest": b"\1" * 16, "status": Status.ERROR},
    *({"result": shaped(text)} for text in WRAPPED),
    *({"result": json.dumps([{text: text}]).encode()} for text in WRAPPED),
    *({"error": json.dumps(text).encode()} for text in WRAPPED),
]
EXEC: list[dict[str, Any]] = [
    {"result": shaped("boom after 3 s", status="completed", exitCode=2)},
    {"result": shaped("boom after 12 s", status="completed", exitCode=2, aggregated=" ")},
    {"result": shaped("", status="completed", exitCode=2, aggregated="boom after pid 7\n")},
    {"result": shaped("other trouble", status="completed", exitCode=2)},
    {"result": shaped("boom after 3 s", status="failed", exitCode=2), "status": Status.ERROR},
    {"result": shaped("fine", status="completed", exitCode=0, pid=1)},
    {"result": shaped("pid 3", status="running", tail="t", pid=3)},
    {"result": shaped("pid 4", status="running", tail="t", pid=4)},
    {"result": shaped("(Command exited with code 1)", status="completed", exitCode=1)},
    {"result": shaped("slow", status="completed", exitCode=1, timedOut=True)},
    {"result": shaped("", status="approval-pending", reason="r", host="h", id=4)},
    {"result": shaped("", status="approval-pending", reason="r", host="h", id=5)},
]
SPECIAL: dict[str, list[dict[str, Any]]] = {
    "exec": EXEC,
    "bash": EXEC,
    "process": [
        {"result": shaped("busy", status="running", cwd="/a")},
        {"result": shaped("busy", status="running", cwd="/b")},
        {"result": shaped("busy", status="running", totalLines=2)},
    ],
    "write": [{"result": shaped("same", changed=False)}, {"result": shaped("written", changed=True)}],
    "message": [{"result": shaped(f"sent {n}", messageId=n, to="ops")} for n in (1, 2)],
    "sessions_send": [
        {"result": shaped(f"sent {n}", echo={"id": str(n), "text": "hi", "senderId": "u"})} for n in (1, 2)
    ],
    "memory_search": [
        {"result": shaped("", results=[{"path": "a", "score": n}], debug=n)} for n in (1, 2)
    ] + [{"result": shaped(f'{{"results": [{{"score": {n}}}]}}')} for n in (1, 2)],
    "fly": [{"status": Status.UNKNOWN_TOOL}, {"status": Status.ERROR, "error": b'"unknown tool: walk"'}],
}  # fmt: skip


def outcome_fields(word: int, choice: int) -> dict[str, Any]:
    """Return one of the outcomes that a call may have; low choices are what its tool usually returns."""
    fields = call_fields(word)
    own = SPECIAL.get(fields["tool"], [])
    return (own + COMMON)[choice % (len(own) + len(COMMON))]


def outcome_of(word: int, choice: int, call_id: str = "") -> Outcome:
    return Outcome(call_id=call_id, **outcome_fields(word, choice))


#: Choices below 0, for records only.
UNSETTLED: list[dict[str, Any]] = [
    {"status": Status.INVALID_ARGUMENTS, "error": b'"city?"'},
    {"status": Status.LOOP_VETO},
    {"status": Status.PENDING},
]


def record_of(word: int, choice: int) -> Record:
    return Record(**call_fields(word), **(UNSETTLED[choice] if choice < 0 else outcome_fields(word, choice)))
