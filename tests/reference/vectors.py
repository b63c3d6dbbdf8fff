"""Plays vector files (TRACE_FORMAT, "Vector files") on the reference model."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from loopguard.errors import InvalidConfig, InvalidFrame
from loopguard.model import Call, CallBatch, History, Mode, Outcome, Record, RunOpen, Signal, Status, Verdict
from tests.reference.outcome import action_of, normal_tool, settle, signature_of
from tests.reference.run import ReferenceRun

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNALS = {signal.value: signal for signal in Signal}


class Token(str):
    """A number by its own text, so that none passes through a double."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """An object's members, duplicate keys kept."""

    def get(self, name: str) -> Any:
        return next((value for key, value in self if key == name), None)


def load(line: str) -> Members:
    members = json.loads(line, parse_int=Token, parse_float=Token, object_pairs_hook=Members)
    assert isinstance(members, Members)
    return members


def text(value: Any) -> str:
    """Write a loaded value with its numbers and duplicate keys as they stood."""
    if isinstance(value, Token):
        return str(value)
    if isinstance(value, Members):
        return "{" + ",".join(f"{json.dumps(key)}:{text(item)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    return json.dumps(value)


def plain(value: Any) -> Any:
    """Return a loaded value as `json.loads` would."""
    return json.loads(text(value))


def failures(vector: Members) -> list[str]:
    """Return what went otherwise than the vector expects."""
    return list(mismatches(vector))


def mismatches(vector: Members) -> Iterator[str]:
    runs: dict[str, ReferenceRun] = {}
    own_id = vector.get("name") if vector.get("runId") is None else vector.get("runId")
    expected_error = plain(vector.get("expectError"))
    if expected_error:
        key = refused_key(vector, own_id)
        if key != expected_error["key"]:
            yield f"refused for {key}" if key else "not refused"
        return
    for index, (step, expected) in enumerate(zip(vector.get("steps"), plain(vector.get("expect")), strict=True)):
        run_id = step.get("runId") or own_id
        if run_id not in runs:
            runs[run_id] = open_run(vector, run_id)
        repeat = step.get("repeat")
        entries = unrolled(expected, int(repeat)) if repeat else [expected]
        for turn, entry in enumerate(entries):
            answer = play(runs[run_id], filled(step, turn) if repeat else step)
            if entry is not None and not fits(entry, answer):
                yield f"step {index}.{turn}: expected {entry}, got {answer}"


def refused_key(vector: Members, run_id: str) -> str:
    try:
        open_run(vector, run_id)
    except InvalidConfig as refusal:
        return refusal.key
    return ""


def open_run(vector: Members, run_id: str) -> ReferenceRun:
    opened = RunOpen(
        run_id=run_id,
        agent_id=vector.get("agentId") or "",
        config=plain(vector.get("config")),
        mode=Mode(vector.get("mode")) if vector.get("mode") else None,
    )
    return ReferenceRun(opened, plain(vector.get("configFile")))


def unrolled(runs: list[Any] | None, times: int) -> list[Any]:
    entries = [None] * times if runs is None else [entry for entry, count in runs for _ in range(count)]
    assert len(entries) == times, f"{len(entries)} answers for {times} frames"
    return entries


def filled(value: Any, turn: int) -> Any:
    """Replace the sugar of a repeated frame."""
    if isinstance(value, Token):
        return value
    if isinstance(value, Members):
        return Members((key, filled(item, turn)) for key, item in value)
    if isinstance(value, list):
        return [filled(item, turn) for item in value]
    if not isinstance(value, str):
        return value
    if re.fullmatch(r"\$#\d+", value):
        return Token(int(value[2:]) + turn)
    value = value.replace("$hex16", f"{turn + 1:016x}")
    return re.sub(r"\$(?:0(\d))?i", lambda found: f"{turn:0{found.group(1) or 1}d}", value)


def play(run: ReferenceRun, step: Members) -> Any:
    """Return the step's answer as plain JSON."""
    kinds = {key: value for key, value in step if key not in ("repeat", "runId", "at")}
    try:
        match kinds:
            case {"fingerprint": records}:
                return letters([record_of(record) for record in records])
            case {"run": frame, "outcome": outcome}:
                return play_run(run, frame, outcome)
            case {"calls": calls}:
                return answer_of(run.apply(CallBatch([call_of(call) for call in calls])))
            case {"check": calls}:
                return answer_of(run.apply(CallBatch([call_of(call) for call in calls], dry_run=True)))
            case {"history": records}:
                return answer_of(run.apply(History([record_of(record) for record in records])))
            case {"outcome": outcome}:
                return answer_of(run.apply(outcome_of(outcome)))
        (kind,) = kinds
        return answer_of(run.apply(SIGNALS[kind]))
    except InvalidFrame as refusal:
        return {"error": {"reason": refusal.reason.value}}


def play_run(run: ReferenceRun, frame: Members, outcome: Members) -> Any:
    verdicts = run.apply(CallBatch([call_of(call) for call in frame.get("calls")]))
    assert isinstance(verdicts, list)
    for verdict in verdicts:
        if verdict.action in ("ALLOW", "WARN"):
            told = outcome_of(outcome)
            told.call_id = verdict.call_id
            run.apply(told)
    return verdict_text(verdicts[0])


def letters(records: list[Record]) -> Any:
    """Return equal letters for equal signatures and for equal outcome digests."""
    outcomes = [settle(normal_tool(record.tool), action_of(record), record).digest for record in records]
    return {"equal": {"args": [signature_of(record)[0] for record in records], "outcome": outcomes}}


def same_grouping(expected: list[Any], values: list[Any]) -> bool:
    pairs = list(zip(expected, values, strict=True))
    return all(
        (letter is None) == (value is None) and all((letter == other) == (value == its) for other, its in pairs)
        for letter, value in pairs
    )


def answer_of(answer: list[Verdict] | Verdict | None) -> Any:
    if isinstance(answer, list):
        return [verdict_text(verdict) for verdict in answer]
    return None if answer is None else verdict_text(answer)


def verdict_text(verdict: Verdict) -> dict[str, Any]:
    """Write a verdict as TRACE_FORMAT does; what is absent is left out."""
    finding = verdict.finding
    shown = finding and {
        "detector": finding.detector, "level": finding.level.value, "count": finding.count,
        "threshold": finding.threshold, "pairedTool": finding.paired_tool,
    }  # fmt: skip
    fields = {
        "callId": verdict.call_id, "action": verdict.action.value, "finding": shown, "note": verdict.note,
        "blockedBy": verdict.blocked_by, "scope": verdict.scope and verdict.scope.value,
        "flags": [flag.name for flag in verdict.flags],
    }  # fmt: skip
    return present(fields)


def present(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: present(value) if isinstance(value, dict) else value for key, value in fields.items() if value}


def fits(expected: Any, answer: Any) -> bool:
    """Compare only what the expected answer names."""
    if isinstance(expected, list):
        return len(expected) == len(answer) and all(map(fits, expected, answer))
    if "equal" in expected:
        return all(same_grouping(groups, answer["equal"][side]) for side, groups in expected["equal"].items())
    return all(fits_field(key, value, answer.get(key)) for key, value in expected.items())


def fits_field(key: str, expected: Any, value: Any) -> bool:
    if key == "action" and isinstance(expected, list):
        return value in expected
    if isinstance(expected, dict):
        return isinstance(value, dict) and fits(expected, value)
    return bool(expected == value)


def json_bytes(members: Members, key: str) -> bytes | None:
    """Return a member's text; an explicit `null` is `null`, not absent."""
    found = [value for name, value in members if name == key]
    return text(found[0]).encode() if found else None


def digest_bytes(members: Members, key: str) -> bytes | None:
    return bytes.fromhex(members.get(key)) if members.get(key) else None


def status_of(members: Members) -> Status | None:
    return Status(members.get("status")) if members.get("status") else None


def call_of(members: Members) -> Call:
    refuse_unknown(members, {"callId", "tool", "args", "argsDigest", "action"})
    return Call(
        tool=members.get("tool"), args=json_bytes(members, "args"), call_id=members.get("callId") or "",
        args_digest=digest_bytes(members, "argsDigest"), action=members.get("action") or "",
    )  # fmt: skip


def outcome_of(members: Members) -> Outcome:
    refuse_unknown(members, {"callId", "status", "result", "resultDigest", "error", "private"})
    return Outcome(
        call_id=members.get("callId") or "", status=status_of(members), result=json_bytes(members, "result"),
        result_digest=digest_bytes(members, "resultDigest"), error=json_bytes(members, "error"),
        private=json_bytes(members, "private"),
    )  # fmt: skip


def record_of(members: Members) -> Record:
    refuse_unknown(
        members, {"tool", "args", "argsDigest", "action", "status", "result", "resultDigest", "error", "private"}
    )
    return Record(
        tool=members.get("tool"), args=json_bytes(members, "args"), args_digest=digest_bytes(members, "argsDigest"),
        action=members.get("action") or "", status=status_of(members), result=json_bytes(members, "result"),
        result_digest=digest_bytes(members, "resultDigest"), error=json_bytes(members, "error"),
        private=json_bytes(members, "private"),
    )  # fmt: skip


def refuse_unknown(members: Members, known: set[str]) -> None:
    unknown = {key for key, _ in members} - known
    assert not unknown, f"unknown keys {unknown}"
