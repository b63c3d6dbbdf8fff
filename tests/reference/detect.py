"""The rolling detectors: section 5 of SEMANTICS, each rescanning the whole history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopguard.model import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.reference.configuration import Effective
    from tests.reference.outcome import Digest, Settled, Signature


@dataclass
class Entry:
    """One record of a run's history."""

    tool: str
    signature: Signature
    settled: Settled

    @property
    def is_veto(self) -> bool:
        return self.settled.kind == "veto"

    @property
    def is_pending(self) -> bool:
        return self.settled.kind == "pending"


@dataclass
class Asked:
    """The call that is judged."""

    tool: str
    signature: Signature
    action: str


History = list[Entry]
#: What a warning's bucket belongs to (section 6).
Key = tuple[object, ...]
Found = tuple[Finding, Key | None]


def detect(history: History, call: Asked, config: Effective) -> Found | None:
    """Return the first rule of the table that applies, all critical ones first, and for warnings the bucket's key."""
    found = next(critical_rules(history, call, config), None)
    return found or next(warning_rules(history, call, config), None)


def critical_rules(history: History, call: Asked, config: Effective) -> Iterator[Found]:
    def critical(detector: str, count: int, threshold: int, paired: str = "") -> Found:
        return Finding(detector, Level.CRITICAL, count, threshold, paired_tool=paired), None

    poll = is_poll(call)
    poll_limit = min(10, config.critical) if call.tool == "wait" else config.critical
    streak, _ = no_progress(history, call)
    unknown = unknown_tool_streak(history, call.tool)
    alternation = alternation_of(history, call.signature)
    # 1
    if unknown >= config.unknown:
        yield critical("unknown_tool_repeat", unknown, config.unknown)
    # 2
    if streak >= config.breaker:
        yield critical("global_circuit_breaker", streak, config.breaker)
    # 3
    if config.known_poll and poll and streak >= poll_limit:
        yield critical("known_poll_no_progress", streak, poll_limit)
    # 4
    if config.ping_pong and alternation and alternation.proof and alternation.count >= config.critical:
        yield critical("ping_pong", alternation.count, config.critical, alternation.other[0])
    # 5
    if config.generic_repeat and not poll and streak >= config.critical:
        yield critical("generic_repeat", streak, config.critical)


def warning_rules(history: History, call: Asked, config: Effective) -> Iterator[Found]:
    def warning(detector: str, count: int, key: Key, paired: str = "") -> Found:
        return Finding(detector, Level.WARNING, count, config.warning, paired_tool=paired), key

    poll = is_poll(call)
    streak, anchor = no_progress(history, call)
    alternation = alternation_of(history, call.signature)
    churn = churn_total(history, call)
    repeats = sum(entry.signature == call.signature for entry in history)
    # 6
    if config.known_poll and poll and call.tool != "wait" and streak >= config.warning:
        yield warning("known_poll_no_progress", streak, ("poll", call.signature, anchor))
    # 7
    if config.ping_pong and alternation and alternation.count >= config.warning:
        pair = frozenset({call.signature, alternation.other})
        yield warning("ping_pong", alternation.count, ("pair", pair), alternation.other[0])
    # 8
    if config.generic_repeat and not poll and churn >= config.warning:
        yield warning("argument_churn", churn, ("churn", call.tool))
    # 9
    if config.generic_repeat and not poll and repeats >= config.warning:
        yield warning("generic_repeat", repeats, ("generic", call.signature))


def is_poll(call: Asked) -> bool:
    return call.tool in ("command_status", "wait") or (call.tool == "process" and call.action in ("poll", "log"))


def no_progress(history: History, call: Asked) -> tuple[int, Digest | None]:
    """Section 5, "No-progress streak": "for `exec` it is the larger of that and the exec-failure streak"."""
    streak, anchor = signature_streak(history, call.signature)
    return (max(streak, exec_failure_streak(history, call.signature)) if call.tool == "exec" else streak), anchor


def signature_streak(history: History, signature: Signature) -> tuple[int, Digest | None]:
    """Section 5, "No-progress streak" of one signature, and its anchor."""
    anchor: Digest | None = None
    count = put_by = 0
    for entry in reversed(history):
        if entry.signature != signature or entry.is_pending:
            continue
        if entry.is_veto:
            put_by += 1
            continue
        if anchor is None:
            anchor = entry.settled.digest
        if entry.settled.digest != anchor:
            break
        count += 1 + put_by
        put_by = 0
    return (put_by, None) if anchor is None else (count, anchor)


def exec_failure_streak(history: History, signature: Signature) -> int:
    """Section 5, "exec-failure streak"."""
    anchor: Settled | None = None
    met_another = False
    count = 0
    for entry in reversed(history):
        if entry.settled.kind in ("veto", "reject") or (entry.tool == "exec" and entry.is_pending):
            continue
        if entry.tool != "exec" or entry.settled.failure_identity is None:
            break
        if entry.signature == signature and met_another:
            break
        anchor = anchor or entry.settled
        same_digest = entry.settled.digest == anchor.digest
        if not same_digest and entry.settled.failure_identity != anchor.failure_identity:
            break
        met_another = met_another or entry.signature != signature
        count += 1
    return count


def unknown_tool_streak(history: History, tool: str) -> int:
    """Section 5, "Unknown-tool streak"."""
    missing: str | None = None
    count = 0
    for entry in reversed(history):
        if entry.is_veto:
            continue
        missing = missing or entry.settled.missing_tool
        if entry.tool != tool or not missing or entry.settled.missing_tool != missing:
            break
        count += 1
    return count


@dataclass
class Alternation:
    count: int
    other: Signature
    proof: bool


@dataclass
class Step:
    """One step of an alternation: at most one record that is no veto, and the vetoes next to it."""

    signature: Signature
    record: Entry | None


def alternation_of(history: History, x: Signature) -> Alternation | None:
    """Section 5, "Alternation"."""
    # 1
    others = [entry.signature for entry in history if not entry.is_veto and entry.signature != x]
    if not others:
        return None
    y = others[-1]
    # 2
    steps = steps_of([entry for entry in history if not entry.is_veto or entry.signature in (x, y)])
    # 3
    if steps[-1].signature == x and steps[-1].record is None:
        steps.pop()
    # 4
    suffix: list[Step] = []
    for index, step in enumerate(reversed(steps)):
        if step.signature != (y, x)[index % 2]:
            break
        suffix.append(step)
    if len(suffix) < 2:
        return None
    # 5
    digests: dict[Signature, set[Digest | None]] = {x: set(), y: set()}
    for step in suffix:
        if step.record:
            digests[step.signature].add(step.record.settled.digest)
    proof = all(len(seen) == 1 and None not in seen for seen in digests.values())
    return Alternation(len(suffix) + 1, y, proof)


def steps_of(entries: History) -> list[Step]:
    """Make one step of a record and the vetoes next to it that have its signature."""
    steps: list[Step] = []
    for entry in entries:
        beside = steps[-1] if steps and steps[-1].signature == entry.signature else None
        if beside and entry.is_veto:
            continue
        if beside and beside.record is None:
            beside.record = entry
        else:
            steps.append(Step(entry.signature, None if entry.is_veto else entry))
    return steps


def churn_total(history: History, call: Asked) -> int:
    """Section 5, "Churn"."""
    walked: list[Entry] = []
    newer: dict[Signature, Digest | None] = {}
    for entry in reversed(history):
        if entry.is_veto:
            continue
        if entry.tool != call.tool:
            break
        if entry.is_pending:
            continue
        if not entry.settled.stuck or newer.get(entry.signature, entry.settled.digest) != entry.settled.digest:
            break
        newer[entry.signature] = entry.settled.digest
        walked.append(entry)
    signatures = [entry.signature for entry in walked]
    if (
        len(set(signatures)) >= 2
        and all(signatures.count(signature) >= 3 for signature in signatures)
        and len({entry.settled.digest for entry in walked}) == 1
        and call.signature in signatures
    ):
        return len(walked)
    return 0
