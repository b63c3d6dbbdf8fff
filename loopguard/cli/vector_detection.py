"""Detection vectors: reads one with all its sugar spelled out, as frames and what is expected of their answers."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopguard.model import CallBatch, Flag, Outcome, Record, RunOpen
from loopguard.trace import (
    Place,
    TraceFrame,
    parse_array,
    parse_frame,
    parse_object,
    parse_outcome,
    parse_record,
    parse_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPEN_KEYS = ("agentId", "parentRunId", "config", "mode", "profile", "digestScheme")
_VECTOR_KEYS = frozenset(("name", "rule", "runId", "configFile", "expectError", "steps", "expect", *_OPEN_KEYS))
_VERDICT_KEYS = frozenset(("callId", "action", "finding", "note", "blockedBy", "scope", "flags", "error"))
_FINDING_KEYS = frozenset(
    (
        "detector",
        "level",
        "count",
        "threshold",
        "pairedTool",
        "callIds",
        "argsDigest",
        "outcomeDigest",
        "stripped",
        "clearedBy",
    )
)
#: A counter is written `$i`, or `$0Ni` with N digits; `"$#N"`, not as a key, is a number; `$hex16` is a fresh id.
_SUGAR = re.compile(rb'(?<!\\)"\$#(?P<number>\d+)"(?!\s*:)|\$hex16|\$(?:0(?P<digits>\d))?i')

Expected = Any


@dataclass(slots=True)
class CallsThenOutcome:
    """Calls and, for each one that is not blocked, its outcome."""

    calls: TraceFrame
    outcome: Outcome


@dataclass(slots=True)
class Records:
    """Records whose digests are compared with each other."""

    records: list[Record]


Act = TraceFrame | CallsThenOutcome | Records


@dataclass(slots=True)
class Step:
    """One step: what is done, once for each repetition, and what is expected each time; `None` is not asserted."""

    run_id: str
    acts: list[Act]
    expected: list[Expected]


@dataclass(slots=True)
class Vector:
    """A detection vector. `config_file` is the text of the service's configuration, `None` where it has none."""

    name: str
    open: RunOpen
    config_file: bytes | None
    expect_error: dict[str, Any] | None
    steps: list[Step] = field(default_factory=list)

    @property
    def streams(self) -> bool:
        """Whether any server can play it: it needs no configuration file and compares no digests of records."""
        return self.config_file is None and not any(
            isinstance(act, Records) for step in self.steps for act in step.acts
        )


def parse_vector(text: bytes, place: Place) -> Vector:
    """Read one vector. Raises `InvalidTrace` for anything that it does not know."""
    fields = parse_object(text, "a vector", _VECTOR_KEYS, place)
    for key in ("name", "steps", "expect"):
        if key not in fields:
            raise place.refuse(f"a vector needs `{key}`")
    name = parse_value(fields["name"], "name", place)
    expect_error = parse_value(fields["expectError"], "expectError", place) if "expectError" in fields else None
    if expect_error is not None and (not isinstance(expect_error, dict) or expect_error.keys() != {"key"}):
        raise place.refuse("`expectError` must be an object with `key`")
    vector = Vector(name, _open(fields, place), fields.get("configFile"), expect_error)
    steps = parse_array(fields["steps"], "`steps`", place)
    expected = parse_value(fields["expect"], "expect", place)
    if not isinstance(expected, list) or len(expected) != len(steps):
        raise place.refuse(f"`expect` must be an array with one entry for each of {len(steps)} steps")
    if not steps and expect_error is None:
        raise place.refuse("a vector without steps needs `expectError`")
    if steps and expect_error is not None:
        raise place.refuse("`expectError` says that the run is refused: `steps` must be empty")
    # Seeded by the name: fresh ids have to differ, not to be unpredictable.
    ids = random.Random(str(name))
    vector.steps = [_step(step, entry, vector, ids, place) for step, entry in zip(steps, expected, strict=True)]
    return vector


def _open(fields: dict[str, bytes], place: Place) -> RunOpen:
    run_id = fields.get("runId", fields["name"])
    given = b"".join(b', "%s": %s' % (key.encode(), fields[key]) for key in _OPEN_KEYS if key in fields)
    opened = parse_frame(b'{"open": {"runId": %s%s}}' % (run_id, given), place).open
    assert opened is not None
    return opened


def _step(text: bytes, entry: Expected, vector: Vector, ids: random.Random, place: Place) -> Step:
    fields = parse_object(text, "a step", None, place)
    run_id, times = vector.open.run_id, 1
    if "runId" in fields:
        run_id = parse_value(fields.pop("runId"), "runId", place)
        if not isinstance(run_id, str):
            raise place.refuse("`runId` must be a string")
    repeated = "repeat" in fields
    if repeated:
        times = parse_value(fields.pop("repeat"), "repeat", place)
        if type(times) is not int or times < 1:
            raise place.refuse("`repeat` must be a whole number of at least 1")
    rest = b"{%s}" % b", ".join(b'"%s": %s' % (key.encode(), value) for key, value in fields.items())
    texts = (_spell_out(rest, index, ids) for index in range(times)) if repeated else iter((rest,))
    acts = [_act(act, place) for act in texts]
    expected = list(_run_lengths(entry, times, place)) if repeated else [entry]
    for act, wanted in zip(acts, expected, strict=True):
        _check_expected(act, wanted, place)
    return Step(run_id, acts, expected)


def _spell_out(text: bytes, index: int, ids: random.Random) -> bytes:
    fresh = b"%016x" % ids.getrandbits(64)

    def replace(match: re.Match[bytes]) -> bytes:
        if match["number"] is not None:
            return b"%d" % (int(match["number"]) + index)
        if match[0] == b"$hex16":
            return fresh
        return b"%0*d" % (int(match["digits"] or 1), index)

    return _SUGAR.sub(replace, text)


def _act(text: bytes, place: Place) -> Act:
    fields = parse_object(text, "a step", None, place)
    if fields.keys() == {"fingerprint"}:
        records = parse_array(fields["fingerprint"], "`fingerprint`", place)
        return Records([parse_record(record, place) for record in records])
    if "run" not in fields:
        frame = parse_frame(text, place)
        if frame.open is not None:
            raise place.refuse("`open` is no step: a vector gives what it holds once")
        return frame
    if fields.keys() != {"run", "outcome"}:
        raise place.refuse("a step with `run` has `run` and `outcome`, and may have `repeat` and `runId`")
    calls = parse_frame(fields["run"], place)
    if not isinstance(calls.frame, CallBatch) or calls.frame.dry_run:
        raise place.refuse("`run` must be a frame with `calls`")
    return CallsThenOutcome(calls, parse_outcome(fields["outcome"], place))


def _run_lengths(entry: Expected, times: int, place: Place) -> Iterator[Expected]:
    if entry is None:
        yield from [None] * times
        return
    total = 0
    for run in entry if isinstance(entry, list) else [None]:
        if not isinstance(run, list) or len(run) != 2 or type(run[1]) is not int or run[1] < 1:
            raise place.refuse("what is expected of a repeated step must be a list of [verdict, n]")
        total += run[1]
        yield from [run[0]] * run[1]
    if total != times:
        raise place.refuse(f"`expect` is for {total} repetitions of a step that is repeated {times} times")


def _check_expected(act: Act, entry: Expected, place: Place) -> None:
    """Refuse what is expected if it could never be compared with an answer to this."""
    if entry is None:
        return
    if isinstance(act, Records):
        _check_letters(act, entry, place)
        return
    batch = act.calls.frame if isinstance(act, CallsThenOutcome) else act.frame
    several = isinstance(batch, CallBatch) and isinstance(entry, list)
    if several and len(entry) != len(batch.calls):  # type: ignore[union-attr]  # several says that it is a batch
        raise place.refuse(f"`expect` has {len(entry)} verdicts, the step {len(batch.calls)} calls")  # type: ignore[union-attr]
    for verdict in entry if several else [entry]:
        _check_verdict(verdict, place)


def _check_letters(act: Records, entry: Expected, place: Place) -> None:
    letters = entry.get("equal") if isinstance(entry, dict) and entry.keys() == {"equal"} else None
    if not isinstance(letters, dict) or not letters or not letters.keys() <= {"args", "outcome"}:
        raise place.refuse("what is expected of `fingerprint` must be `equal` with `args` or `outcome`")
    if any(not isinstance(row, list) or len(row) != len(act.records) for row in letters.values()):
        raise place.refuse(f"`equal` must have a letter for each of {len(act.records)} records")


def _check_verdict(verdict: Expected, place: Place) -> None:
    if verdict is None:
        return
    if not isinstance(verdict, dict):
        raise place.refuse(f"an expected verdict must be an object or null, not {verdict!r}")
    finding, error = verdict.get("finding") or {}, verdict.get("error") or {"reason": ""}
    if not isinstance(finding, dict) or not isinstance(error, dict) or error.keys() != {"reason"}:
        raise place.refuse("`finding` must be an object, and `error` one with `reason`")
    unknown = [*(verdict.keys() - _VERDICT_KEYS), *(finding.keys() - _FINDING_KEYS)]
    unknown += [flag for flag in verdict.get("flags") or () if flag not in Flag.__members__]
    if unknown:
        raise place.refuse(f"an expected verdict has `{unknown[0]}`, which is not known")
