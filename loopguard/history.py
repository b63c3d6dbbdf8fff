"""One run's newest records, and the facts about them that detectors ask for."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Final

from loopguard.fingerprint import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard.fingerprint import CallPrint, OutcomePrint


class Trail(Enum):
    """Which records a count is made of."""

    RECORDS = "records"
    STREAK = "streak"
    UNKNOWN = "unknown"
    ALTERNATION = "alternation"
    CHURN = "churn"


class Entry:
    """One record."""

    __slots__ = (
        "call_id",
        "digest",
        "failed",
        "identity",
        "kind",
        "missing_tool",
        "outcome",
        "stripped",
        "stuck",
        "tool",
    )

    def __init__(self, call: CallPrint, call_id: str) -> None:
        self.tool = call.tool
        self.digest = call.digest
        self.call_id = call_id
        self.kind = Kind.PENDING
        self.outcome: bytes | None = None
        self.identity: bytes | None = None
        self.missing_tool: str | None = None
        self.failed = self.stuck = False
        self.stripped: tuple[str, ...] = ()

    def settle(self, outcome: OutcomePrint) -> None:
        self.kind = outcome.kind
        self.outcome, self.identity = outcome.digest, outcome.identity
        self.failed, self.stuck = outcome.failed, outcome.stuck
        self.missing_tool, self.stripped = outcome.missing_tool, outcome.stripped


class Evidence:
    """The records behind a count: their calls, oldest first, and what their outcomes have in common."""

    __slots__ = ("call_ids", "failed", "outcome_digest", "same_arguments", "stripped")

    def __init__(self, entries: list[Entry]) -> None:
        outcomes = {entry.outcome for entry in entries if entry.outcome is not None}
        self.call_ids = tuple(entry.call_id for entry in entries if entry.call_id)
        self.outcome_digest = outcomes.pop() if len(outcomes) == 1 else b""
        self.same_arguments = len({entry.digest for entry in entries}) == 1
        self.failed = any(entry.failed for entry in entries)
        self.stripped = tuple(sorted({kind for entry in entries for kind in entry.stripped}))


class Facts:
    """What the history says about a call that is about to run."""

    __slots__ = (
        "_trails",
        "alternation",
        "anchor",
        "call",
        "churn",
        "exec_failures",
        "missing_tool",
        "no_progress",
        "paired_digest",
        "paired_tool",
        "peak",
        "poll",
        "proven",
        "records",
        "unknown",
        "variants",
        "wait",
    )  # fmt: skip

    def __init__(self, history: History, call: CallPrint) -> None:
        self.call = call
        self.poll: bool = call.poll
        self.wait: bool = call.wait
        self._trails: dict[Trail, list[Entry]] = {}
        entries = history.newest_first()
        self._count_no_progress(entries)
        self._count_unknown(entries)
        self._count_alternation(entries)
        self._count_churn(entries)
        counts = (self.records, self.no_progress, self.exec_failures, self.unknown, self.alternation, self.churn)
        #: The highest of all counts.
        self.peak = max(counts)

    @property
    def streak(self) -> int:
        """The no-progress streak, or, where it is longer, the streak of failed commands."""
        return max(self.no_progress, self.exec_failures)

    def evidence(self, trail: Trail) -> Evidence:
        """Return the records behind a count."""
        return Evidence(self._trails[trail][::-1])

    def _own(self, entry: Entry) -> bool:
        return entry.digest == self.call.digest and entry.tool == self.call.tool

    def _count_no_progress(self, entries: list[Entry]) -> None:
        own = [entry for entry in entries if self._own(entry)]
        #: Records with the call's signature, of any kind.
        self.records = len(own)
        self._trails[Trail.RECORDS] = own
        #: The outcome that the streak is made of; empty if there is none.
        self.anchor = b""
        counted: list[Entry] = []
        put_by: list[Entry] = []
        for entry in own:
            if entry.kind is Kind.VETO:
                put_by.append(entry)
            elif entry.kind is not Kind.PENDING:
                assert entry.outcome is not None
                self.anchor = self.anchor or entry.outcome
                if entry.outcome != self.anchor:
                    break
                counted += [*put_by, entry]
                put_by = []
        if not self.anchor:
            counted = put_by
        self.no_progress = len(counted)
        failures = _exec_failures(entries, self.call) if self.call.tool == "exec" else []
        self.exec_failures = len(failures)
        self._trails[Trail.STREAK] = counted if len(counted) >= len(failures) else failures

    def _count_unknown(self, entries: list[Entry]) -> None:
        streak: list[Entry] = []
        self.missing_tool = ""
        for entry in entries:
            if entry.kind is Kind.VETO:
                continue
            self.missing_tool = self.missing_tool or entry.missing_tool or ""
            if entry.tool != self.call.tool or not entry.missing_tool or entry.missing_tool != self.missing_tool:
                break
            streak.append(entry)
        self.unknown = len(streak)
        self._trails[Trail.UNKNOWN] = streak

    def _count_alternation(self, entries: list[Entry]) -> None:
        other = next((entry for entry in entries if entry.kind is not Kind.VETO and not self._own(entry)), None)
        self.paired_tool, self.paired_digest = (other.tool, other.digest) if other else ("", b"")
        self.alternation = 0
        self.proven = False
        steps = list(_alternating_steps(entries, self.call, other)) if other else []
        if len(steps) >= 2:
            self.alternation = len(steps) + 1
            self.proven = all(_constant(steps[side::2]) for side in (0, 1))
        self._trails[Trail.ALTERNATION] = [entry for step in steps for entry in step]

    def _count_churn(self, entries: list[Entry]) -> None:
        walked: list[Entry] = []
        for entry in entries:
            if entry.kind is Kind.VETO:
                continue
            if entry.tool != self.call.tool:
                break
            if entry.kind is Kind.PENDING:
                continue
            if not entry.stuck or any(e.digest == entry.digest and e.outcome != entry.outcome for e in walked):
                break
            walked.append(entry)
        variants = [entry.digest for entry in walked]
        self.variants = len(set(variants))
        same_outcome = len({entry.outcome for entry in walked}) == 1
        often = all(variants.count(variant) >= 3 for variant in variants)
        holds = self.variants >= 2 and often and same_outcome and self.call.digest in variants
        self.churn = len(walked) if holds else 0
        self._trails[Trail.CHURN] = walked


class History:
    """The newest `size` records of a run, in the order of the calls."""

    __slots__ = ("_appended", "_entries")

    def __init__(self, size: int) -> None:
        self._entries: deque[Entry] = deque(maxlen=size)
        self._appended = 0

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, call: CallPrint, call_id: str = "") -> int:
        """Append a pending record and return its number; the oldest one falls out of a full history."""
        self._entries.append(Entry(call, call_id))
        self._appended += 1
        return self._appended

    def append_veto(self, call: CallPrint, call_id: str = "") -> None:
        """Append the record of a call that was blocked."""
        self.append(call, call_id)
        self._entries[-1].kind = Kind.VETO

    def append_settled(self, call: CallPrint, outcome: OutcomePrint, call_id: str = "") -> None:
        """Append a complete record."""
        self.append(call, call_id)
        self._entries[-1].settle(outcome)

    def settle(self, number: int, outcome: OutcomePrint) -> bool:
        """Write an outcome into a record. Returns whether the record is still there."""
        index = len(self._entries) - 1 - (self._appended - number)
        if index < 0:
            return False
        self._entries[index].settle(outcome)
        return True

    def copy(self) -> History:
        """Return a history to try vetoes on; its records are shared."""
        twin = History.__new__(History)
        twin._entries = self._entries.copy()
        twin._appended = self._appended
        return twin

    def facts(self, call: CallPrint) -> Facts:
        """Return what the records say about a call that is about to run."""
        return Facts(self, call)

    def newest_first(self) -> list[Entry]:
        """Return the records from new to old."""
        return list(reversed(self._entries))


def _exec_failures(entries: list[Entry], call: CallPrint) -> list[Entry]:
    """The newest failed commands with one and the same failure, over any arguments."""
    failures: list[Entry] = []
    met_another = False
    for entry in entries:
        if entry.kind in _TRANSPARENT_TO_EXEC or (entry.kind is Kind.PENDING and entry.tool == "exec"):
            continue
        own = entry.digest == call.digest
        if entry.tool != "exec" or entry.identity is None or (own and met_another):
            break
        newest = failures[0] if failures else entry
        if entry.outcome != newest.outcome and entry.identity != newest.identity:
            break
        met_another = met_another or not own
        failures.append(entry)
    return failures


_TRANSPARENT_TO_EXEC: Final = (Kind.VETO, Kind.REJECT)


def _alternating_steps(entries: list[Entry], call: CallPrint, other: Entry) -> Iterator[list[Entry]]:
    """Yield the steps of the longest suffix Y, X, Y, X, … from new to old; a step is a record and the vetoes at it."""
    signatures = ((other.tool, other.digest), (call.tool, call.digest))
    step: list[Entry] = []
    turn = -1
    for entry in entries:
        signature = (entry.tool, entry.digest)
        veto = entry.kind is Kind.VETO
        if veto and (signature not in signatures or (turn < 0 and signature == signatures[1])):
            continue
        if step and signature == signatures[turn % 2]:
            if not veto and any(part.kind is not Kind.VETO for part in step):
                break
            step.append(entry)
            continue
        if signature != signatures[(turn + 1) % 2]:
            break
        if step:
            yield step
        turn += 1
        step = [entry]
    if step:
        yield step


def _constant(steps: list[list[Entry]]) -> bool:
    """Whether the records of one side have one and the same outcome, none of them being without."""
    outcomes = {entry.outcome for step in steps for entry in step if entry.kind is not Kind.VETO}
    return len(outcomes) == 1 and None not in outcomes
