"""Profile `balanced` at work on one run: facts in, standing hits out; WARN first, then BLOCK, then ABORT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard._facts import CallFacts
from loopguard._pack import Reader, Writer
from loopguard.balanced.standing import Register, Standing
from loopguard.course import Count, Course
from loopguard.course.novelty import News
from loopguard.detectors.balanced import BALANCED, About, Hit
from loopguard.model import Finding, Level
from loopguard.tool_class import ToolClass

if TYPE_CHECKING:
    from loopguard._facts import OutcomeFacts
    from loopguard.course.lineage import Lineage
    from loopguard.detectors.balanced import Limits


#: No number of a response in a snapshot is larger; counters go on from it for ever.
LATEST_TURN: Final = 1 << 56


class Asked:
    """A call that waits for its outcome: facts, number of its response, when it was asked, whether it was warned of."""

    __slots__ = ("at", "call", "digest", "told", "turn")

    def __init__(self, call: CallFacts, digest: bytes, turn: int, at: float | None) -> None:
        self.call = call
        self.digest = digest
        self.turn = turn
        self.at = at
        self.told = False

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        self.call.pack(out)
        out.blob(self.digest)
        out.number(self.turn)
        out.flag(self.at is not None)
        out.real(self.at or 0.0)
        out.flag(self.told)

    @classmethod
    def unpack(cls, data: Reader) -> Asked:
        """Read one that was packed."""
        call, digest, turn = CallFacts.unpack(data), data.blob(), data.small(LATEST_TURN)
        timed, at = data.flag(), data.real()
        made = cls(call, digest, turn, at if timed else None)
        made.told = data.flag()
        return made


class Watch:
    """One run's detectors and what they hold against it. Not thread-safe."""

    __slots__ = ("_course", "_limits", "_packed", "_register", "_stretch", "_vetoes", "asleep", "lineage")

    def __init__(self, limits: Limits, lineage: Lineage) -> None:
        self._limits = limits
        self.lineage = lineage
        self._course = Course()
        self._register = Register()
        #: Course and register as bytes, as long as nothing of them changes; most are written more often than they do.
        self._packed: bytes | None = None
        #: Whether they are there as bytes only.
        self.asleep = False
        self._stretch = 0
        #: Blocked batches since the last news.
        self._vetoes = 0

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(self._stretch)
        out.number(self._vetoes)
        if self._packed is None:
            own = Writer()
            self._course.pack(own)
            self._register.pack(own)
            self._packed = own.written()
        out.blob(self._packed)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed; it has to be woken before it is asked or told anything."""
        self._stretch = data.number()
        self._vetoes = data.number()
        self._packed = data.blob()
        self.asleep = True

    def wake(self) -> None:
        """Read what was packed, which a run that nobody goes on with is spared.

        Raises `ValueError` for bytes that can't have been packed; it has forgotten everything then.
        """
        packed, self.asleep = self._packed, False
        if packed is None:
            return
        data = Reader(packed)
        try:
            self._course.unpack(data)
            self._register.unpack(data)
            data.finish()
        except ValueError:
            self._course, self._register, self._packed = Course(), Register(), None
            raise

    def ask(self, call: CallFacts) -> tuple[Standing, bool] | None:
        """Return what stands against a call about to run, and whether it stops it. Changes nothing."""
        if call.tool_class is ToolClass.SPAWN:
            count = self.lineage.times_handed_on(call)
            if count >= self._limits.handed_on:
                return self._handed_on(call, count)
        return self._register.find(call, failed=self._course.has_failed(call))

    def tell(self, standing: Standing) -> None:
        """Remember that the model was told of a hit."""
        standing.told = standing.finding.count
        self._packed = None

    def admit(self, call: CallFacts) -> None:
        """Take a call that runs."""
        if call.tool_class is ToolClass.SPAWN:
            self.lineage.hand_on(call)

    def veto(self) -> bool:
        """Count a blocked batch. Returns whether it was one too many."""
        self._vetoes += 1
        return self._vetoes > self._limits.abort_blocks

    @property
    def out_of_patience(self) -> bool:
        """Whether the next blocked batch ends the run."""
        return self._vetoes >= self._limits.abort_blocks

    def settle(self, asked: Asked, outcome: OutcomeFacts, call_id: str, outcome_digest: bytes) -> Standing | None:
        """Take a call that has ended. Returns what to tell the model about it."""
        call = asked.call
        self._packed = None
        moment = self._course.settle(call, outcome, asked.turn, call_id, asked.at)
        if moment.unknown_tools.number or not outcome.failed:
            self._register.learn(call.number, missing=outcome.failed)
        if self._course.stretch != self._stretch:
            self._stretch = self._course.stretch
            self._vetoes = 0
            self._register.clear()
        if moment.is_plain:
            self._register.end_rows()
            return None
        first: Standing | None = None
        rows = False
        for detector in BALANCED:
            hit = detector(moment, self._limits)
            if hit is None:
                continue
            rows = rows or hit.about in (About.TARGET, About.TOOL)
            standing = self._register.enter(hit, _finding(hit, asked, outcome, outcome_digest), call)
            first = first or standing
        if not rows and moment.news is not News.NOTE:
            self._register.end_rows()
        if first is None or (first.told >= first.finding.count and not first.stops):
            return None
        return first

    def user_message(self) -> None:
        """Take a new intent of the user."""
        self._packed = None
        self._course.user_message()
        self._stretch = self._course.stretch
        self._vetoes = 0
        self._register.clear_all()

    def _handed_on(self, call: CallFacts, count: int) -> tuple[Standing, bool]:
        limits = self._limits
        stops = count > limits.handed_on
        level = Level.CRITICAL if stops else Level.WARNING
        finding = Finding("handed_on", level, count, limits.handed_on, cleared_by="another task")
        return Standing(finding, call, stops), stops


def _finding(hit: Hit, asked: Asked, outcome: OutcomeFacts, outcome_digest: bytes) -> Finding:
    one_call = hit.about is About.CALL
    return Finding(
        hit.detector,
        Level.WARNING,
        hit.count.number,
        hit.threshold,
        call_ids=_ids(hit.count),
        args_digest=asked.digest if one_call else b"",
        outcome_digest=outcome_digest if one_call and hit.detector == "repeat" else b"",
        stripped=outcome.stripped,
        cleared_by=hit.cleared_by,
    )


def _ids(count: Count) -> tuple[str, ...]:
    return tuple(call_id for call_id in count.call_ids if call_id)
