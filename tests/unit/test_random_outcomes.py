"""Asks the engine and the slow reference model whether random calls and outcomes are the same.

`LOOPGUARD_WALKS` sets the number of examples as it does for the random walks.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidFrame
from loopguard.model import Call, CallBatch, Frame, History, Outcome, Record, RunOpen, Status
from tests.reference.run import ReferenceRun

WALKS = os.environ.get("LOOPGUARD_WALKS")
ORDINARY = settings(
    max_examples=int(WALKS or 300),
    derandomize=WALKS is None,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
#: Two equal outcomes are critical, two different ones a warning; one missing tool is critical at once.
CONFIG = {
    "enabled": True,
    "warningThreshold": 1,
    "criticalThreshold": 2,
    "globalCircuitBreakerThreshold": 9,
    "unknownToolThreshold": 9,
}
NONCES = ("a1b2c3d4e5f60718", "0f1e2d3c4b5a6978")
STATUSES = st.sampled_from([None, None, None, Status.OK, Status.ERROR, Status.DENIED, Status.INVALID_ARGUMENTS])


def agree(frames: list[Frame], **config: Any) -> None:
    """Tell both the frames and compare all answers."""
    opened = RunOpen("outcomes", config=CONFIG | config)
    found, expected = Engine(Configuration.empty()).open(opened), ReferenceRun(opened)
    for frame in frames:
        assert shown(found, frame) == shown(expected, frame), frames


def shown(run: Any, frame: Frame) -> Any:
    try:
        told = run.apply(frame)
    except InvalidFrame as refusal:
        return refusal.reason
    return [
        (verdict.action, verdict.flags, found and (found.detector, found.level, found.count))
        for verdict in (told if isinstance(told, list) else [told] if told else [])
        for found in [verdict.finding]
    ]


def asked(tool: str, args: bytes | None) -> Frame:
    return CallBatch([Call(tool, args)], dry_run=True)


def asking(tool: str, args: bytes | None, times: int) -> Frame:
    return CallBatch([Call(tool, args)] * times)


def text_of(value: Any) -> bytes:
    return json.dumps(value).encode()


WRAPPED = [f'<<<EXTERNAL_UNTRUSTED_CONTENT id="{n}">>>x<<<END_EXTERNAL_UNTRUSTED_CONTENT id="{n}">>>' for n in NONCES]
#: Each key and value that some rule of section 3 names, and a few that none does.
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, 2, 2.0, 2**60, "", " ", "a", " a\n", "\u00a0a\ufeff", "\u200ba", "\ud83d", "running",
     "completed", "failed", "approval-pending", "approval-unavailable", "blocked", "tool-loop", "queued", "out",
     "unknown tool fly",
     "(Command exited with code 2)", '{"results": [{"score": 1}]}', '{"results": [{"score": 2}]}', *WRAPPED]
)  # fmt: skip
KEYS = st.sampled_from(
    "status exitCode exitSignal timedOut aggregated tail pid cwd reason host command warningText changed deniedReason "  # noqa: SIM905 - a table
    "results debug score messageId ts runId MessageId id text direction senderId accountId conversation totalLines "
    "totalChars truncated isError _meta content type details structuredContent title action".split()
    + WRAPPED
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
PARTS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"type": st.sampled_from(["text", "note", 3]), "text": SCALARS}),
        st.sampled_from([{"text": "a"}, {"type": "image"}, "a", None]),
    ),
    max_size=2,
)
STATUS_WORDS = st.sampled_from(["running", "completed", "failed", "approval-pending", "blocked", "queued"])
HITS = st.lists(st.dictionaries(st.sampled_from(["score", "path"]), SCALARS), max_size=2)
TELLING = st.fixed_dictionaries(
    {}, optional={"status": STATUS_WORDS, "exitCode": st.integers(0, 2), "changed": st.booleans(), "results": HITS}
)
DETAILS = st.builds(lambda any_, telling: any_ | telling, st.dictionaries(KEYS, VALUES, max_size=5), TELLING)
RESULTS = st.one_of(
    st.fixed_dictionaries({"content": PARTS}, optional={"details": DETAILS, "isError": SCALARS}),
    st.fixed_dictionaries({}, optional={"details": DETAILS | SCALARS, "structuredContent": DETAILS, "_meta": SCALARS}),
    VALUES,
)
CALLS = st.sampled_from(
    [("exec", b'{"command": "a"}'), ("write", b"{}"), ("process", b'{"action": "poll"}'),
     ("process", b'{"action": "log"}'), ("process", b'{"action": "list"}'),
     ("message", b'{"action": "send"}'), ("message", b'{"action": "Send"}'),
     ("message", b'["send"]'), ("sessions_send", b"{}"), ("conversations_turn", b"1"), ("memory_search", b"{}"),
     ("weather", b"{}")]
)  # fmt: skip


@st.composite
def changed(draw: st.DrawFn, value: Any) -> Any:
    """Return the value with one thing in it changed, or none."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(value)))
        return value | {key: draw(changed(value[key]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        return [draw(changed(value[0])), *value[1:]]
    if isinstance(value, dict):
        return value | draw(st.dictionaries(KEYS, SCALARS, max_size=1))
    return draw(st.one_of(st.just(value), SCALARS))


@ORDINARY
@given(st.data(), CALLS, RESULTS, st.tuples(STATUSES, STATUSES))
def test_results_are_the_same_alike(
    data: st.DataObject, call: tuple[str, bytes], result: Any, statuses: tuple[Status | None, Status | None]
) -> None:
    tool, args = call
    results = [result, data.draw(changed(result))]
    records = [
        Record(tool, args, result=text_of(each), status=status) for each, status in zip(results, statuses, strict=True)
    ]

    told = [Outcome(call_id, status, text_of(result)) for call_id, status in zip(("c1", "c2"), statuses, strict=True)]
    agree([History(records), asked(tool, args), asked(tool, b'{"command": "b"}'), asking(tool, args, 2), *told])


@ORDINARY
@given(st.data(), CALLS, VALUES, st.sampled_from(["error", "private"]), STATUSES)
def test_errors_and_private_outcomes_are_the_same_alike(
    data: st.DataObject, call: tuple[str, bytes], value: Any, field: str, status: Status | None
) -> None:
    tool, args = call
    values = [value, data.draw(changed(value))]
    records = [
        Record(tool, args, status=status, error=text_of(each))
        if field == "error"
        else Record(tool, args, status=status, private=text_of(each))
        for each in values
    ]

    agree([History(records), asked(tool, args)])


WORDINGS = st.lists(
    st.sampled_from(
        ["unknown tool", "Unknown Tool", " id", "id", ":", " ", "\n", '"', "'", "`", "fly", "Fly.", "x-1", "..", "tool",
         "TOOL ", "not found", " is not available", "/", "\u00a0"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@ORDINARY
@given(WORDINGS, WORDINGS, st.sampled_from([Status.ERROR, None, Status.DENIED, Status.UNKNOWN_TOOL]), st.booleans())
def test_missing_tools_are_named_alike(one: str, two: str, status: Status | None, as_result: bool) -> None:
    def record(text: str) -> Record:
        if as_result:
            return Record("fly", status=status, result=text_of({"content": [{"type": "text", "text": text}]}))
        return Record("fly", status=status, error=text_of(text))

    agree([History([record(one)]), asked("fly", b"[1]")], unknownToolThreshold=1)
    agree([History([record(one), record(two)]), asked("fly", b"[1]")], unknownToolThreshold=2)


MARKERS = st.lists(
    st.builds(
        lambda kind, slashes, nonce: kind.replace("@", "\\" * slashes + '"' + nonce + "\\" * slashes + '"'),
        st.sampled_from(
            ["<<<EXTERNAL_UNTRUSTED_CONTENT id=@>>>", "<<<END_EXTERNAL_UNTRUSTED_CONTENT id=@>>>", "@", "\\", '"', "x",
             "<<<EXTERNAL_UNTRUSTED_CONTENT", "<<<END_EXTERNAL_UNTRUSTED_CONTENT ", "<<<"]
        ),
        st.sampled_from([0, 0, 0, 1, 1, 2, 3]),
        st.sampled_from(["ONE", "ONE", "ONE", "TWO", "ABC"]),
    ),
    max_size=6,
).map("".join)  # fmt: skip


@ORDINARY
@given(MARKERS, st.sampled_from(["weather", "exec"]))
def test_wrapper_nonces_are_neutral_alike(text: str, tool: str) -> None:
    def record(one: str, two: str) -> Record:
        return Record(tool, b"{}", result=text_of([{text.replace("ONE", one).replace("TWO", two): 1}]))

    agree([History([record(*NONCES), record("1" * 16, NONCES[1])]), asked(tool, b"{}")])


PIECES = st.lists(
    st.sampled_from(
        ["2031-04-05", "T", " ", "06:07:08", "6:07", ".5", ".1234567", "Z", "+02:00", "attempt", "Retry", "retries",
         "pid", "ppid", "12", "3", "7.5", " s", "ms", "us", "ns", "seconds", "minute", "hours", "min", "#", ":",
         "=", "x", "_", "-", "\n", "\u00e9", "\u0660", "\ufffc"]
    ),
    max_size=9,
).map("".join)  # fmt: skip


@ORDINARY
@given(PIECES, st.sampled_from(["completed", "failed"]), st.integers(0, 2), st.booleans())
def test_failures_have_one_identity_alike(text: str, status: str, exit_code: int, longer: bool) -> None:
    other = re.sub("[0-9]+", lambda run: "4" * (len(run.group()) + longer), text)

    def record(command: str, output: str) -> Record:
        details = {"status": status, "exitCode": exit_code, "aggregated": output}
        return Record("exec", text_of({"command": command}), result=text_of({"content": [], "details": details}))

    agree([History([record("one", text), record("two", other)]), asked("exec", b'{"command": "three"}')])


NUMBERS = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)
NAMES = st.sampled_from(["a", "b", "title", "\\u0061", "\\ud83d", "\\ud83d\\ude00", "\ue000"])
TEXTS = st.one_of(
    NUMBERS,
    st.lists(st.tuples(NAMES, NUMBERS), max_size=3).map(
        lambda pairs: "{" + ",".join(f'"{name}":{number}' for name, number in pairs) + "}"
    ),
    st.integers(250, 260).map(lambda depth: "[" * depth + "]" * depth),
    st.sampled_from(
        ["NaN", "-Infinity", "\ufeff1", "01", "1.", "[1,]", "{}x", '"\t"', '"\\x"', "", " ", '"\u2028"', "nul"]
    ),
)  # fmt: skip


@ORDINARY
@given(TEXTS, st.data(), st.sampled_from(["exec", "weather"]))
def test_arguments_are_the_same_alike(text: str, data: st.DataObject, tool: str) -> None:
    other = data.draw(st.one_of(st.just(text), st.just(f" {text}\n"), st.just(respelled(text)), TEXTS))

    agree([History([Record(tool, text.encode())]), asked(tool, text.encode()), asked(tool, other.encode())])


def respelled(text: str) -> str:
    """Write a decimal number as its double, or an integer with a fraction."""
    try:
        return repr(float(text)) if "." in text or "e" in text.lower() else text + ".0"
    except ValueError:
        return text
