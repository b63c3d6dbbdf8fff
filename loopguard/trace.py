"""The trace format: one agent run as JSON Lines, read into frames and written from them."""

from __future__ import annotations

import json
import math
from binascii import unhexlify
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loopguard._core import OPAQUE, fingerprint_flags, members, text_of
from loopguard.errors import InvalidTrace
from loopguard.model import Call, CallBatch, Frame, History, Mode, Outcome, Record, RunOpen, Signal, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

BLANK = b" \t\r\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

KINDS = ("open", "calls", "check", "outcome", "history", "userMessage", "compactionRetry", "close")
_SIGNALS = {signal.value: signal for signal in Signal}
_STATUSES = {status.value: status for status in Status}
_FRAME_KEYS = frozenset((*KINDS, "at"))
_OPEN_KEYS = frozenset(("runId", "agentId", "parentRunId", "config", "mode", "profile", "digestScheme"))
_CALL_KEYS = frozenset(("callId", "tool", "args", "argsDigest", "action"))
_ENDING_KEYS = ("status", "result", "resultDigest", "error", "private")
_OUTCOME_KEYS = frozenset(("callId", *_ENDING_KEYS))
_RECORD_KEYS = frozenset(("tool", "args", "argsDigest", "action", *_ENDING_KEYS))
_DIGEST_HEX_DIGITS = 32
_DIGITS = b"-0123456789"
_INTEGER_DIGITS_MAX = 300
#: Of what is read into Python's values; what is only compared may be as deep as it likes.
_DEPTH_MAX = 64
_LITERALS: dict[bytes, bool | None] = {b"true": True, b"false": False, b"null": None}


@dataclass(slots=True)
class TraceFrame:
    """A frame with its place.

    `line` counts from 1 in its file, `index` from 0 in its run, where `open` is 0. `at` is seconds since the run's
    start. Exactly one of `open` and `frame` is set.
    """

    line: int
    index: int
    at: float | None
    open: RunOpen | None
    frame: Frame | None


@dataclass(slots=True)
class Place:
    """Where in a file something stands."""

    source: str
    line: int

    def refuse(self, message: str) -> InvalidTrace:
        """Return the error that says what is wrong here."""
        return InvalidTrace(f"{self.source}:{self.line}: {message}")


def read_trace(lines: Iterable[bytes], source: str) -> Iterator[TraceFrame]:
    """Yield the frames of one file, one line at a time.

    Raises `InvalidTrace` for what is no frame, and for frames outside of a run: before an `open`, or after a `close`.
    """
    index, running = 0, False
    for number, line in enumerate(lines, 1):
        text = (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).strip(BLANK)
        if not text:
            continue
        frame = parse_frame(text, Place(source, number))
        if frame.open is not None:
            index, running = 0, True
        elif not running:
            raise Place(source, number).refuse("a frame outside of a run: `open` has to come first")
        else:
            index += 1
            running = frame.frame is not Signal.CLOSE
        frame.index = index
        yield frame


def parse_frame(text: bytes, place: Place) -> TraceFrame:
    """Read one frame; JSON values inside keep their exact text. Its `index` is 0."""
    fields = parse_object(text, "a frame", _FRAME_KEYS, place)
    at = _seconds(fields.pop("at"), place) if "at" in fields else None
    if len(fields) != 1:
        kinds = ", ".join(f"`{kind}`" for kind in fields) or "none"
        raise place.refuse(f"a frame has exactly one of {', '.join(KINDS)}; here: {kinds}")
    ((kind, value),) = fields.items()
    if kind == "open":
        return TraceFrame(place.line, 0, at, _open(value, place), None)
    return TraceFrame(place.line, 0, at, None, _frame(kind, value, place))


def parse_record(text: bytes, place: Place) -> Record:
    """Read one record as it stands in `history`."""
    fields = parse_object(text, "a record", _RECORD_KEYS, place)
    return Record(
        tool=_tool(fields, place),
        args=fields.get("args"),
        args_digest=_digest(fields, "args", place),
        action=_text(fields, "action", place),
        status=_status(fields, place),
        result=fields.get("result"),
        result_digest=_digest(fields, "result", place),
        error=fields.get("error"),
        private=fields.get("private"),
    )


def parse_outcome(text: bytes, place: Place) -> Outcome:
    """Read one outcome."""
    fields = parse_object(text, "an outcome", _OUTCOME_KEYS, place)
    return Outcome(
        call_id=_text(fields, "callId", place),
        status=_status(fields, place),
        result=fields.get("result"),
        result_digest=_digest(fields, "result", place),
        error=fields.get("error"),
        private=fields.get("private"),
    )


def parse_object(text: bytes, what: str, known: frozenset[str] | None, place: Place) -> dict[str, bytes]:
    """Return an object's members as JSON texts, refusing keys that are not `known` and keys that stand there twice."""
    found = members(text) if text.startswith(b"{") else None
    if found is None:
        problem = f"{what} is no valid JSON" if text.startswith(b"{") else f"{what} must be an object"
        raise place.refuse(problem)
    fields = {key: text[start:end] for key, start, end in found}
    if len(fields) != len(found):
        keys = [key for key, _, _ in found]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise place.refuse(f"key `{twice}` stands twice in {what}")
    if known is not None and not known.issuperset(fields):
        unknown = next(key for key in fields if key not in known)
        raise place.refuse(f"unknown key `{unknown}` in {what} (known: {', '.join(sorted(known)) or 'none'})")
    return fields


def parse_array(text: bytes, what: str, place: Place) -> list[bytes]:
    """Return an array's items as JSON texts."""
    found = members(text) if text.startswith(b"[") else None
    if found is None:
        problem = f"{what} is no valid JSON" if text.startswith(b"[") else f"{what} must be an array"
        raise place.refuse(problem)
    return [text[start:end] for _, start, end in found]


def parse_value(text: bytes, what: str, place: Place, depth: int = 0) -> Any:
    """Return a JSON text as Python's plain values; integers stay integers, whatever their length."""
    first = text[:1]
    if depth > _DEPTH_MAX:
        raise place.refuse(f"`{what}` is nested too deep")
    if first == b"{":
        members_ = parse_object(text, what, None, place)
        return {key: parse_value(value, key, place, depth + 1) for key, value in members_.items()}
    if first == b"[":
        return [parse_value(item, what, place, depth + 1) for item in parse_array(text, what, place)]
    if first == b'"':
        return text_of(text)
    if text in _LITERALS:
        return _LITERALS[text]
    if first and first in _DIGITS:
        if text.lstrip(b"-").isdigit():
            if len(text) > _INTEGER_DIGITS_MAX:
                raise place.refuse(f"the integer `{what}` has {len(text)} digits")
            return int(text)
        return float(text)
    raise place.refuse(f"`{what}` is no valid JSON")


def format_open(run: RunOpen, at: float | None = None) -> str:
    """Write an `open` frame as a line without its end."""
    optional = {
        "agentId": run.agent_id,
        "parentRunId": run.parent_run_id,
        "config": run.config,
        "mode": run.mode,
        "profile": run.profile,
        "digestScheme": run.digest_scheme,
    }
    fields = {"runId": run.run_id} | {key: value for key, value in optional.items() if value or value == {}}
    return _line("open", _quote(fields), at)


def format_frame(frame: Frame, at: float | None = None) -> str:
    """Write a frame as a line without its end; JSON values stand there as they are."""
    match frame:
        case CallBatch():
            return _line("check" if frame.dry_run else "calls", _join(map(_call_text, frame.calls), "[]"), at)
        case Outcome():
            return _line("outcome", _join(_members({"callId": frame.call_id}, frame), "{}"), at)
        case History():
            records = (_join((*_asked(record), *_members({}, record)), "{}") for record in frame.records)
            return _line("history", _join(records, "[]"), at)
        case Signal():
            return _line(frame.value, "{}", at)


def _open(text: bytes, place: Place) -> RunOpen:
    fields = parse_object(text, "`open`", _OPEN_KEYS, place)
    if "runId" not in fields:
        raise place.refuse("`open` needs `runId`")
    config = parse_value(fields["config"], "config", place) if "config" in fields else None
    if config is not None and not isinstance(config, dict):
        raise place.refuse("`config` must be an object")
    scheme = parse_value(fields["digestScheme"], "digestScheme", place) if "digestScheme" in fields else 0
    if type(scheme) is not int or not 0 <= scheme < 2**32:
        raise place.refuse("`digestScheme` must be a whole number")
    mode = _text(fields, "mode", place)
    if mode not in ("", *Mode):
        raise place.refuse(f"`mode` is `{mode}`, not one of {', '.join(Mode)}")
    return RunOpen(
        run_id=_text(fields, "runId", place),
        agent_id=_text(fields, "agentId", place),
        parent_run_id=_text(fields, "parentRunId", place),
        config=config,
        mode=Mode(mode) if mode else None,
        profile=_text(fields, "profile", place),
        digest_scheme=scheme,
    )


def _frame(kind: str, text: bytes, place: Place) -> Frame:
    if kind in ("calls", "check"):
        calls = [_call(item, place) for item in parse_array(text, f"`{kind}`", place)]
        return CallBatch(calls, dry_run=kind == "check")
    if kind == "outcome":
        return parse_outcome(text, place)
    if kind == "history":
        return History([parse_record(item, place) for item in parse_array(text, "`history`", place)])
    parse_object(text, f"`{kind}`", frozenset(), place)
    return _SIGNALS[kind]


def _call(text: bytes, place: Place) -> Call:
    fields = parse_object(text, "a call", _CALL_KEYS, place)
    return Call(
        tool=_tool(fields, place),
        args=fields.get("args"),
        call_id=_text(fields, "callId", place),
        args_digest=_digest(fields, "args", place),
        action=_text(fields, "action", place),
    )


def _tool(fields: Mapping[str, bytes], place: Place) -> str:
    if "tool" not in fields:
        raise place.refuse("`tool` is missing")
    return _text(fields, "tool", place)


def _text(fields: Mapping[str, bytes], key: str, place: Place) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    text = text_of(value)
    if text is None:
        raise place.refuse(f"`{key}` must be a string")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise place.refuse(f"`{key}` holds half of a surrogate pair")
    return text


def _status(fields: Mapping[str, bytes], place: Place) -> Status | None:
    if "status" not in fields:
        return None
    text = _text(fields, "status", place)
    status = _STATUSES.get(text)
    if status is None:
        raise place.refuse(f"`status` is `{text}`, not one of {', '.join(Status)}")
    return status


def _digest(fields: Mapping[str, bytes], key: str, place: Place) -> bytes | None:
    name = f"{key}Digest"
    if name not in fields:
        return None
    if key in fields:
        raise place.refuse(f"`{key}` and `{name}` exclude each other")
    text = _text(fields, name, place)
    try:
        if len(text) == _DIGEST_HEX_DIGITS:
            return unhexlify(text)
    except ValueError:
        pass
    raise place.refuse(f"`{name}` must be {_DIGEST_HEX_DIGITS} hex digits")


def _seconds(text: bytes, place: Place) -> float:
    seconds = float(text) if text[:1] in _DIGITS else math.inf
    if math.isinf(seconds):
        raise place.refuse("`at` must be a number of seconds")
    return seconds


def _line(kind: str, body: str, at: float | None) -> str:
    return f'{{"{kind}": {body}}}' if at is None else f'{{"at": {at!r}, "{kind}": {body}}}'


def _quote(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _join(parts: Iterable[str], brackets: str) -> str:
    return brackets[0] + ", ".join(parts) + brackets[1]


def _call_text(call: Call) -> str:
    first = [f'"callId": {_quote(call.call_id)}'] if call.call_id else []
    return _join((*first, *_asked(call)), "{}")


def _asked(call: Call | Record) -> Iterator[str]:
    yield f'"tool": {_quote(call.tool)}'
    if call.args_digest is not None:
        yield f'"argsDigest": "{call.args_digest.hex()}"'
    elif call.args:
        yield f'"args": {_inline(call.args)}'
    if call.action:
        yield f'"action": {_quote(call.action)}'


def _members(texts: Mapping[str, str], ending: Outcome | Record) -> Iterator[str]:
    for key, text in texts.items():
        if text:
            yield f'"{key}": {_quote(text)}'
    if ending.status is not None:
        yield f'"status": "{ending.status.value}"'
    if ending.result_digest is not None:
        yield f'"resultDigest": "{ending.result_digest.hex()}"'
    for key, value in (("result", ending.result), ("error", ending.error), ("private", ending.private)):
        if value and not (key == "result" and ending.result_digest is not None):
            yield f'"{key}": {_inline(value)}'


def _inline(text: bytes) -> str:
    """Return JSON text on one line; what is no JSON is written as a string, equal texts as equal strings."""
    if fingerprint_flags(text)[1] & OPAQUE and not _is_deep(text):
        return _quote(text.decode(errors="backslashreplace"))
    # Between tokens a line break is as good as a space, and inside a string none can be.
    return text.decode().replace("\n", " ").replace("\r", " ")


def _is_deep(text: bytes) -> bool:
    """Whether a value is opaque for its depth alone, so that it can stand in a line as it is."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return len(members(b"[%b]" % text) or ()) == 1
