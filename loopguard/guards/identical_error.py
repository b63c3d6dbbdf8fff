"""The guard against failures that repeat exactly: the same call, the same error, three times in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.fingerprints import Kind, Streak
from loopguard.fingerprints.packed import pack_call, pack_outcome, unpack_call, unpack_outcome
from loopguard.model import Finding, Level

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer
    from loopguard.calls import OpenCall
    from loopguard.fingerprints import CallPrint, OutcomePrint

NAME: Final = "identical_error"
THRESHOLD: Final = 3
#: A streak grows without end where nobody stops it; its evidence doesn't.
_EVIDENCE: Final = 100


class Report:
    """An outcome in the order of calls."""

    __slots__ = ("call", "call_id", "outcome")

    def __init__(self, call_id: str, call: CallPrint, outcome: OutcomePrint) -> None:
        self.call_id = call_id
        self.call = call
        self.outcome = outcome

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.text(self.call_id)
        pack_call(self.call, out)
        pack_outcome(self.outcome, out)

    @classmethod
    def unpack(cls, data: Reader) -> Report:
        """Read one that was packed."""
        return cls(data.text(), unpack_call(data), unpack_outcome(data))


class WaitingBatch:
    """A batch whose outcomes are counted in the order of its calls: each waits until all earlier ones are there."""

    __slots__ = ("_counted", "_reports")

    def __init__(self, size: int) -> None:
        self._reports: list[Report | None] = [None] * size
        self._counted = 0

    def add(self, place: int, report: Report) -> list[Report]:
        """Put an outcome in its place. Returns what need not wait any longer, in order."""
        self._reports[place] = report
        ready = []
        while self._counted < len(self._reports) and (report_ := self._reports[self._counted]) is not None:
            ready.append(report_)
            self._counted += 1
        return ready

    def rest(self) -> list[Report]:
        """Return what still waits behind calls without outcome, in order."""
        return [report for report in self._reports[self._counted :] if report is not None]

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(len(self._reports))
        for report in self._reports:
            _pack_report(report, out)
        out.number(self._counted)

    @classmethod
    def unpack(cls, data: Reader) -> WaitingBatch:
        """Read one that was packed."""
        made = cls(0)
        made._reports = [_unpack_report(data) for _ in range(data.count())]
        made._counted = data.small(made.size)
        return made

    @property
    def size(self) -> int:
        """How many calls the batch has."""
        return len(self._reports)


class IdenticalErrors(Streak):
    """Counts consecutive failures with the same call and the same outcome.

    `batch` is the newest batch of several calls; outcomes of older ones are counted as they come.
    """

    __slots__ = ("_call_ids", "_last")

    def __init__(self) -> None:
        self._last: Report | None = None
        self._call_ids: tuple[str, ...] = ()

    def twin(self) -> IdenticalErrors:
        """Return a copy to ask what would happen."""
        twin = IdenticalErrors()
        twin.streak, twin.batch = self.streak, self.batch
        twin._last, twin._call_ids = self._last, self._call_ids
        return twin

    def reset(self) -> None:
        """Forget the streak; what waits goes on waiting."""
        self.streak = 0
        self._last = None
        self._call_ids = ()

    def take(self, call_id: str, call: OpenCall, outcome: OutcomePrint) -> Finding | None:
        """Take a reported outcome. Returns the finding if the guard fires."""
        batch = call.batch
        if batch is None or batch is not self.batch:
            if not outcome.failed and self._last is None:
                return None
            return self._count(Report(call_id, call.print, outcome))
        return self._count_all(batch.add(call.place, Report(call_id, call.print, outcome)))

    def pass_over(self) -> Finding | None:
        """Wait no longer for calls that are still open: count what waited behind them.

        Returns the finding if the guard fires.
        """
        if self.batch is None:
            return None
        waited = self.batch.rest()
        self.batch = None
        return self._count_all(waited)

    def begin(self, size: int) -> WaitingBatch:
        """Keep the order of the calls of a new batch; a single call has no order to keep."""
        self.batch = WaitingBatch(size)
        return self.batch

    def _count_all(self, reports: list[Report]) -> Finding | None:
        fired = None
        for report in reports:
            found = self._count(report)
            fired = fired or found
        return fired

    def _count(self, report: Report) -> Finding | None:
        outcome, last = report.outcome, self._last
        if outcome.kind is Kind.VETO or outcome.kind is Kind.PENDING:
            return None
        if not outcome.failed:
            if last is not None:
                self.reset()
            return None
        if last is None or not _same(last, report):
            self.streak = 0
            self._call_ids = ()
        self.streak += 1
        self._last = report
        self._call_ids = (*self._call_ids[1 - _EVIDENCE :], report.call_id)
        if self.streak < THRESHOLD:
            return None
        return Finding(
            NAME,
            Level.CRITICAL,
            self.streak,
            THRESHOLD,
            call_ids=self._call_ids,
            args_digest=report.call.digest,
            outcome_digest=outcome.digest or b"",
            stripped=tuple(outcome.stripped),
            cleared_by="a call that succeeds or fails differently, or a user message",
        )

    @property
    def tool(self) -> str:
        """The tool of the newest failure."""
        return self._last.call.tool if self._last else ""

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.flag(self.batch is not None)
        if self.batch is not None:
            self.batch.pack(out)
        out.number(self.streak)
        _pack_report(self._last, out)
        out.texts(self._call_ids)

    @classmethod
    def unpack(cls, data: Reader) -> IdenticalErrors:
        """Read one that was packed."""
        made = cls()
        made.batch = WaitingBatch.unpack(data) if data.flag() else None
        made.streak = data.number()
        made._last = _unpack_report(data)
        made._call_ids = tuple(data.texts())
        return made


def _pack_report(report: Report | None, out: Writer) -> None:
    out.flag(report is not None)
    if report is not None:
        report.pack(out)


def _unpack_report(data: Reader) -> Report | None:
    return Report.unpack(data) if data.flag() else None


def _same(one: Report, other: Report) -> bool:
    return (
        one.outcome.digest == other.outcome.digest
        and one.call.digest == other.call.digest
        and one.call.tool == other.call.tool
    )
