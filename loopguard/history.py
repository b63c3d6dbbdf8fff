"""One run's newest records, and the facts about them that detectors ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from loopguard._ring import Ring
from loopguard.fingerprints import settle

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer
    from loopguard.fingerprints import CallPrint, Kind, OutcomePrint


#: Which records a count is made of.
Trail = Literal["records", "no_progress", "exec_failures", "unknown", "alternation", "churn"]

_BY_IDENTITY: Final = "exec_failures"

#: What was left out of an outcome: of its digest, and of its identity besides. Empty where that is nothing.
_LeftOut = tuple[tuple[str, ...], ...]
#: As `Ring.record` returns it.
_Record = tuple[str, bytes, str, int, "bytes | None", bool, bool, str, _LeftOut]


class History(Ring):
    """The newest records of a run, in the order of the calls."""

    __slots__ = ()

    def append_call(self, call: CallPrint, call_id: str, kind: Kind) -> int:
        """Append a record without outcome and return its number."""
        return self.append(call.tool, call.digest, call_id, kind)

    def append_complete(self, call: CallPrint, outcome: OutcomePrint, call_id: str = "") -> None:
        """Append a record with its outcome."""
        self.settle_call(self.append(call.tool, call.digest, call_id), outcome)

    def settle_call(self, number: int, outcome: OutcomePrint) -> bool:
        """Write an outcome into the record of that number; False if it has left the history."""
        return settle(self, number, outcome)

    def facts(self, call: CallPrint, lowest: int) -> Facts | None:
        """Return what the records say about a call that is about to run; `None` if no count reaches `lowest`."""
        counts = self.survey(call.tool, call.digest, call.tool == "exec", lowest)
        return None if counts is None else Facts(self, call, counts)

    def write(self, out: Writer) -> None:
        """Write it into a snapshot."""
        texts, left_out, records = self.pack()
        out.texts(texts)
        out.number(len(left_out))
        for stripped, moving in left_out:
            out.texts(stripped)
            out.texts(moving)
        out.blob(records)

    @classmethod
    def read(cls, data: Reader) -> History:
        """Read one that was written."""
        texts = data.texts()
        left_out: list[_LeftOut] = [(tuple(data.texts()), tuple(data.texts())) for _ in range(data.count())]
        return cls.unpack(texts, left_out, data.blob())


class Facts:
    """What the history says about a call that is about to run.

    `records`: those with the call's signature, of any kind. `no_progress`, `exec_failures`, `unknown`, `alternation`
    and `churn` are the counts of the detectors' rules, `variants` the sets of arguments behind `churn`, `proven` says
    that both calls of the alternation have a constant outcome.
    """

    __slots__ = (
        "_anchor",
        "_history",
        "_newest",
        "_paired",
        "alternation",
        "call",
        "churn",
        "exec_failures",
        "no_progress",
        "poll",
        "proven",
        "records",
        "unknown",
        "variants",
        "wait",
    )

    def __init__(self, history: History, call: CallPrint, counts: tuple[int, ...]) -> None:
        """Take the counts of a survey."""
        self._history = history
        self.call = call
        self.poll: bool = call.poll
        self.wait: bool = call.wait
        self.records, self.no_progress, self.exec_failures, self.unknown = counts[:4]
        self.alternation, proven, self.churn, self.variants = counts[4:8]
        self.proven = bool(proven)
        self._anchor, self._paired, self._newest = counts[8:]

    @property
    def streak(self) -> int:
        """The no-progress streak, or, where it is longer, the streak of failed commands."""
        return max(self.no_progress, self.exec_failures)

    @property
    def streak_trail(self) -> Trail:
        """What `streak` is made of."""
        return "no_progress" if self.no_progress >= self.exec_failures else "exec_failures"

    @property
    def anchor(self) -> bytes:
        """The outcome of the no-progress streak; empty where it consists of vetoes."""
        return b"" if self._anchor < 0 else self._history.record(self._anchor)[4] or b""

    @property
    def missing_tool(self) -> str:
        """The tool that the newest record missed."""
        return "" if self._newest < 0 else self._history.record(self._newest)[7]

    @property
    def paired(self) -> tuple[str, bytes]:
        """Tool and arguments digest of the other call of the alternation."""
        return ("", b"") if self._paired < 0 else self._history.record(self._paired)[:2]

    def evidence(self, trail: Trail) -> Evidence:
        """Return the records behind a count."""
        positions = self._history.trail(trail, self.call.tool, self.call.digest)
        return Evidence([self._history.record(position) for position in positions], by_identity=trail == _BY_IDENTITY)


class Evidence:
    """The records behind a count: their calls, oldest first, and what they have in common.

    `outcome_digest` is empty where outcomes differ, `same_arguments` false where arguments do; `failed`: all of those
    that have an outcome failed; `stripped`: what was left out of any of the outcomes to find them equal.
    """

    __slots__ = ("call_ids", "failed", "outcome_digest", "same_arguments", "stripped")

    def __init__(self, records: list[_Record], *, by_identity: bool) -> None:
        """Sum up records of the ring; `by_identity`: where digests differ, failures were compared by their identity."""
        settled = [record for record in records if record[4] is not None]
        outcomes = {record[4] for record in settled}
        self.call_ids = tuple(record[2] for record in records if record[2])
        self.outcome_digest = (next(iter(outcomes)) or b"") if len(outcomes) == 1 else b""
        self.same_arguments = len({record[1] for record in records}) == 1
        self.failed = bool(settled) and all(record[5] for record in settled)
        groups = 2 if by_identity and len(outcomes) > 1 else 1
        self.stripped = tuple(sorted({kind for record in records for kinds in record[8][:groups] for kind in kinds}))
