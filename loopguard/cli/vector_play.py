"""Plays detection vectors over a road to the guard (the library, a server) and compares the answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from loopguard.cli.vector_detection import CallsThenOutcome, Records, Step, Vector
from loopguard.errors import InvalidConfig, InvalidFrame
from loopguard.model import Action, CallBatch, Finding, Frame, Record, RunOpen, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.trace import TraceFrame

Answer = list[Verdict] | Verdict | None


class OpenRun(Protocol):
    """A run that takes frames. Refused frames raise `InvalidFrame`."""

    def apply(self, frame: Frame, at: float | None = None) -> Answer:
        """Take one frame and return the verdicts that answer it."""


class Road(Protocol):
    """A way to a guard."""

    def open(self, run: RunOpen) -> OpenRun:
        """Open a run. Raises `InvalidConfig` if it is refused."""

    def digests(self, records: list[Record], profile: str) -> list[tuple[object, object]]:
        """Return for every record the identity of its call and of its outcome; `None`: it has no outcome digest."""


@dataclass(slots=True)
class Mismatch:
    """A step whose answer is not the expected one."""

    step: int
    repetition: int | None
    expected: object
    got: object

    def __str__(self) -> str:
        """Return it as a line for people."""
        where = f"step {self.step}" if self.repetition is None else f"step {self.step}, repetition {self.repetition}"
        return f"{where}: expected {self.expected}, got {self.got}"


def play_vector(vector: Vector, connect: Callable[[bytes | None], Road]) -> list[Mismatch]:
    """Play one vector over the road that `connect` makes for its configuration file; return what differs."""
    try:
        road = connect(vector.config_file)
        player = _Player(road, vector)
    except InvalidConfig as error:
        refused = {"key": error.key}
        if vector.expect_error == refused:
            return []
        return [Mismatch(-1, None, vector.expect_error or "the run to be opened", f"{refused} ({error})")]
    if vector.expect_error is not None:
        return [Mismatch(-1, None, vector.expect_error, "the run was opened")]
    return [mismatch for index, step in enumerate(vector.steps) for mismatch in player.play(index, step)]


class _Player:
    def __init__(self, road: Road, vector: Vector) -> None:
        self.road = road
        self.open = vector.open
        self.runs = {vector.open.run_id: road.open(vector.open)}

    def play(self, index: int, step: Step) -> list[Mismatch]:
        if step.run_id not in self.runs:
            self.runs[step.run_id] = self.road.open(replace(self.open, run_id=step.run_id))
        run = self.runs[step.run_id]
        found: list[Mismatch] = []
        for repetition, (act, expected) in enumerate(zip(step.acts, step.expected, strict=True)):
            got: object
            if isinstance(act, Records):
                got = self._letters(act, expected)
            elif isinstance(act, CallsThenOutcome):
                got = _run_calls(run, act)
            else:
                got = _answer(run, act)
            if expected is not None and not matches(expected, got):
                found.append(Mismatch(index, repetition if len(step.acts) > 1 else None, expected, got))
        return found

    def _letters(self, act: Records, expected: Any) -> object:
        if expected is None:
            return None
        calls, outcomes = zip(*self.road.digests(act.records, self.open.profile), strict=True)
        rows = {"args": calls, "outcome": outcomes}
        return {"equal": {key: letter(rows[key], row) for key, row in expected["equal"].items()}}


def letter(digests: tuple[object, ...], names: list[str | None]) -> list[str | None]:
    """Name equal digests by one letter, by the expected one where the two agree; no digest is `None`."""
    by_digest: dict[object, str] = {}
    for digest, name in zip(digests, names, strict=True):
        if digest is not None and digest not in by_digest:
            free = name is not None and name not in by_digest.values()
            by_digest[digest] = name if name is not None and free else f"another ({len(by_digest)})"
    return [None if digest is None else by_digest[digest] for digest in digests]


def matches(expected: Any, got: Any) -> bool:
    """Tell whether an answer has all that is expected of it; `None` under a name says that the name is absent."""
    if isinstance(expected, list):
        if not isinstance(got, list) or len(expected) != len(got):
            return False
        return all(wanted is None or matches(wanted, one) for wanted, one in zip(expected, got, strict=True))
    if isinstance(got, list) and len(got) == 1:
        got = got[0]
    return isinstance(got, dict) and all(_member_matches(key, wanted, got.get(key)) for key, wanted in expected.items())


def _member_matches(key: str, wanted: Any, value: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and matches(wanted, value)
    if key == "action" and isinstance(wanted, list):
        return value in wanted
    if key == "flags":
        return sorted(value or ()) == sorted(wanted or ())
    return bool(value == wanted)


def verdict_fields(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as the trace format writes it."""
    fields: dict[str, Any] = {"callId": verdict.call_id, "action": verdict.action.value}
    if verdict.finding is not None:
        fields["finding"] = _finding_fields(verdict.finding)
    if verdict.note:
        fields["note"] = verdict.note
    if verdict.blocked_by:
        fields["blockedBy"] = verdict.blocked_by
    if verdict.scope is not None:
        fields["scope"] = verdict.scope.value
    if verdict.flags:
        fields["flags"] = [flag.name for flag in verdict.flags]
    return fields


def _finding_fields(finding: Finding) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "detector": finding.detector,
        "level": finding.level.value,
        "count": finding.count,
        "threshold": finding.threshold,
    }
    more = {
        "pairedTool": finding.paired_tool,
        "callIds": list(finding.call_ids),
        "argsDigest": finding.args_digest.hex(),
        "outcomeDigest": finding.outcome_digest.hex(),
        "stripped": list(finding.stripped),
        "clearedBy": finding.cleared_by,
    }
    return fields | {key: value for key, value in more.items() if value}


def _answer(run: OpenRun, act: TraceFrame) -> object:
    frame = act.frame
    assert frame is not None  # vectors hold no `open` frames
    try:
        answer = run.apply(frame, act.at)
    except InvalidFrame as error:
        return {"error": {"reason": error.reason.value}}
    if isinstance(answer, Verdict):
        return verdict_fields(answer)
    return [verdict_fields(verdict) for verdict in answer or ()]


def _run_calls(run: OpenRun, act: CallsThenOutcome) -> object:
    got = _answer(run, act.calls)
    assert isinstance(act.calls.frame, CallBatch)
    if not isinstance(got, list):
        return got
    admitted = [verdict["callId"] for verdict in got if verdict["action"] in (Action.ALLOW, Action.WARN)]
    for call_id in admitted if not act.outcome.call_id else admitted[:1]:
        run.apply(replace(act.outcome, call_id=act.outcome.call_id or call_id), act.calls.at)
    return got
