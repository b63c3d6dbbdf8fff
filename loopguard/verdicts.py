"""Builds the answers to calls and outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.model import Action, Finding, Flag, Level, Scope, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard._pack import Reader, Writer
    from loopguard.fingerprints import CallPrint

#: The order in which snapshots know them.
_LEVELS: Final = (Level.WARNING, Level.CRITICAL)
_SCOPES: Final = (Scope.TURN, Scope.RUN)
_NO_FLAGS: Final = Flag(0)


class Abort:
    """An answer that ends the turn or the run."""

    __slots__ = ("finding", "note", "scope")

    def __init__(self, scope: Scope, finding: Finding, note: str) -> None:
        """Take what every answer repeats while the abort stands."""
        self.scope = scope
        self.finding = finding
        self.note = note

    def gives_way_to(self, other: Abort) -> bool:
        """Whether a new abort is wider."""
        return self.scope is Scope.TURN and other.scope is Scope.RUN

    def verdict(self, call_id: str, flags: int = 0) -> Verdict:
        """Answer a call or an outcome with it."""
        return Verdict(call_id, Action.ABORT, self.finding, self.note, scope=self.scope, flags=flags_of(flags))

    def verdicts(self, ids: Sequence[str], prints: Sequence[CallPrint | None]) -> list[Verdict]:
        """Answer a batch with it."""
        return [self.verdict(call_id, call.flags if call else 0) for call_id, call in zip(ids, prints, strict=True)]

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(_SCOPES.index(self.scope))
        pack_finding(self.finding, out)
        out.text(self.note)

    @classmethod
    def unpack(cls, data: Reader) -> Abort:
        """Read one that was packed."""
        return cls(_SCOPES[data.small(1)], unpack_finding(data), data.text())


def pack_finding(finding: Finding, out: Writer) -> None:
    """Write a finding into a snapshot."""
    out.name(finding.detector)
    out.number(_LEVELS.index(finding.level))
    out.number(finding.count)
    out.number(finding.threshold)
    out.name(finding.paired_tool)
    out.names(finding.call_ids)
    out.blob(finding.args_digest)
    out.blob(finding.outcome_digest)
    out.names(finding.stripped)
    out.name(finding.cleared_by)


def unpack_finding(data: Reader) -> Finding:
    """Read a finding that was packed."""
    return Finding(
        detector=data.name(),
        level=_LEVELS[data.small(1)],
        count=data.number(),
        threshold=data.number(),
        paired_tool=data.name(),
        call_ids=tuple(data.names()),
        args_digest=data.blob(),
        outcome_digest=data.blob(),
        stripped=tuple(data.names()),
        cleared_by=data.name(),
    )


def allow(ids: Sequence[str], prints: Sequence[CallPrint | None]) -> list[Verdict]:
    """Allow a batch."""
    verdicts = [Verdict(call_id) for call_id in ids]
    for place, call in enumerate(prints):
        if call is not None and call.flags:
            verdicts[place].flags = Flag(call.flags)
    return verdicts


def block(
    ids: Sequence[str],
    prints: Sequence[CallPrint | None],
    trigger: int,
    finding: Finding,
    notes: tuple[str, str],
    scope: Scope | None,
) -> list[Verdict]:
    """Block a batch, or abort with it where there is a scope; `notes` are the trigger's and its siblings'."""
    verdicts = allow(ids, prints)
    for place, verdict in enumerate(verdicts):
        verdict.action = Action.BLOCK if scope is None else Action.ABORT
        verdict.scope = scope
        if place == trigger:
            verdict.finding, verdict.note = finding, notes[0]
        else:
            verdict.blocked_by, verdict.note = ids[trigger], notes[1]
    return verdicts


def flags_of(flags: int) -> Flag:
    """Return flags; none is by far the most common."""
    return Flag(flags) if flags else _NO_FLAGS
