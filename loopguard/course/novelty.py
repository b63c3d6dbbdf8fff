"""Tells whether a settled call brought news: the question behind every count of the balanced profile."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import TYPE_CHECKING, Final

from loopguard._facts import Counters
from loopguard.tool_class import ToolClass

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer
    from loopguard.facts import CallFacts, OutcomeFacts

#: How much of a run is remembered; the oldest is forgotten first. A loop comes back sooner.
_OUTCOMES: Final = 512
_ERRORS: Final = 128
_CHANGES: Final = 256
_FILES: Final = 32
_PIECES: Final = 16
_TRENDS: Final = 64
#: So many steps of a counter in one direction are no chance.
_STEPS: Final = 3
#: Shorter answers, in bytes, are mere values.
_VALUE: Final = 10
#: Longer ones are texts, of which what is masked is beside the point.
_TEXT: Final = 100


class News(Enum):
    """What a settled call brought."""

    #: Something that this run had not seen.
    NEWS = "news"
    #: New in form only: another text of a known error, other digits in a known answer. Neither resets nor repeats.
    WEAK = "weak"
    STALE = "stale"
    #: The model's own words: they go by.
    NOTE = "note"


class Recent:
    """The newest members of a set."""

    __slots__ = ("_limit", "_members")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._members: dict[int, None] = {}

    def meet(self, member: int) -> bool:
        """Remember a member. Returns whether it is new."""
        members = self._members
        if member in members:
            return False
        members[member] = None
        if len(members) > self._limit:
            del members[next(iter(members))]
        return True

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.words(self._members)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        self._members = dict.fromkeys(data.words())


class Trends:
    """Tells counters that move on in one direction from noise, call by call."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        #: For each call: newest counters, the direction they took, how many steps in it.
        self._calls: OrderedDict[tuple[int, int], tuple[Counters, int, int]] = OrderedDict()

    def goes_on(self, key: tuple[int, int], counters: Counters, only: int = 0) -> bool:
        """Take what a call counted. Returns whether it went on the same way (`only` one way counts) often enough."""
        calls = self._calls
        known = calls.pop(key, None)
        if known is None:
            calls[key] = (counters, 0, 0)
            if len(calls) > _TRENDS:
                calls.popitem(last=False)
            return False
        before, way, steps = known
        now = counters.moved_since(before)
        if now:
            steps = steps + 1 if now == way else 1
        calls[key] = (counters, now or way, steps)
        return bool(now) and steps >= _STEPS and only in (0, now)

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(len(self._calls))
        for key, (counters, way, steps) in self._calls.items():
            out.words(key)
            out.blob(counters.pack())
            out.number(way + 1)
            out.number(steps)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        for _ in range(data.count()):
            call, outcome = data.words()
            self._calls[call, outcome] = (Counters.unpack(data.blob()), data.small(2) - 1, data.number())


class Novelty:
    """What a run has seen, done and asked so far."""

    __slots__ = (
        "_asked",
        "_changes",
        "_done",
        "_errors",
        "_outcomes",
        "_read",
        "_trends",
        "_without_digits",
    )

    def __init__(self) -> None:
        self._outcomes = Recent(_OUTCOMES)
        self._without_digits = Recent(_ERRORS)
        self._errors = Recent(_ERRORS)
        self._asked = Recent(_OUTCOMES)
        self._changes = Recent(_CHANGES)
        self._done = Recent(_CHANGES)
        self._trends = Trends()
        self._read: OrderedDict[int, list[tuple[int, int]]] = OrderedDict()

    def _sets(self) -> tuple[Recent, ...]:
        return (self._outcomes, self._without_digits, self._errors, self._asked, self._changes, self._done)

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        for members in self._sets():
            members.pack(out)
        out.words(self._read)
        for pieces in self._read.values():
            out.words([line for piece in pieces for line in piece])
        self._trends.pack(out)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        for members in self._sets():
            members.unpack(data)
        self._read = OrderedDict()
        for target in data.words():
            lines = iter(data.words())
            self._read[target] = list(zip(lines, lines, strict=True))
        self._trends.unpack(data)

    def meet(self, call: CallFacts, outcome: OutcomeFacts) -> News:
        """Remember a settled call. Returns what it brought."""
        asked = self._asked.meet(call.near)
        if call.note:
            return News.NOTE
        if outcome.failed:
            return self._meet_failure(outcome, asked)
        if call.changes and not (call.tool_class is ToolClass.SPAWN and outcome.informative):
            # What a sub-agent says is an answer like any other.
            if self._changes.meet(call.same):
                self._forget_lines(call.target)
                self._outcomes.meet(outcome.same)
                return News.NEWS
            if call.tool_class is not ToolClass.SHELL:
                return News.STALE
        return self._meet_answer(call, outcome, asked) if outcome.informative else self._meet_nod(call, outcome, asked)

    def _meet_nod(self, call: CallFacts, outcome: OutcomeFacts, asked: bool) -> News:
        """Meet an outcome that is empty or a bare acknowledgement."""
        if call.tool_class is ToolClass.MOVE:
            # A step that answers nothing may have arrived somewhere; what it says may be where.
            return News.NEWS if outcome.acknowledged and self._outcomes.meet(outcome.same) else News.WEAK
        if asked or (outcome.acknowledged and self._outcomes.meet(outcome.same)):
            return News.NEWS
        # Equal but for numbers may be the next of many ids.
        return News.WEAK if outcome.acknowledged and self._done.meet(call.same) else News.STALE

    def _meet_answer(self, call: CallFacts, outcome: OutcomeFacts, asked: bool) -> News:
        fresh = self._outcomes.meet(outcome.same)
        in_digits_only = bool(outcome.digitless) and not self._without_digits.meet(outcome.digitless)
        if self._moves_on(call, outcome):
            return News.NEWS
        masked = outcome.raw != outcome.same
        if not fresh and masked and call.tool_class is ToolClass.MOVE:
            # What is masked may be where the step led to.
            return News.WEAK
        small = outcome.size < _VALUE or (masked and outcome.size < _TEXT)
        if not fresh and asked and small and not outcome.vain:
            # One value may be the answer to many questions, and what is masked of a short text may tell them apart.
            return News.WEAK
        if not fresh or (call.lines is not None and self._has_read(call.target, call.lines)):
            return News.STALE
        return News.WEAK if in_digits_only else News.NEWS

    def _moves_on(self, call: CallFacts, outcome: OutcomeFacts) -> bool:
        """Whether something counts on in answers to this call."""
        if outcome.digits is not None and self._trends.goes_on((call.same, outcome.digitless), outcome.digits):
            return True
        # In what a mask leaves out clocks and process numbers rise; what falls is counted down.
        return outcome.counters is not None and self._trends.goes_on((call.same, outcome.same), outcome.counters, -1)

    def _meet_failure(self, outcome: OutcomeFacts, asked: bool) -> News:
        if outcome.empty:
            return News.NEWS if asked else News.STALE
        fresh = self._outcomes.meet(outcome.same)
        if outcome.verdict:
            return News.NEWS if fresh else News.STALE
        # Both have to be remembered, so both are asked.
        unknown = [self._errors.meet(signature) for signature in outcome.signatures]
        if all(unknown):
            return News.NEWS
        return News.WEAK if fresh else News.STALE

    def _forget_lines(self, target: int) -> None:
        """Forget what was read of a target, since it was changed; without a target that may be any file."""
        if target:
            self._read.pop(target, None)
        else:
            self._read.clear()

    def _has_read(self, target: int, lines: tuple[int, int]) -> bool:
        """Remember lines of a file as read. Returns whether all of them were before."""
        pieces = self._read.pop(target, [])
        self._read[target] = pieces
        if len(self._read) > _FILES:
            self._read.popitem(last=False)
        first, end = lines
        if any(begin <= first and end <= behind for begin, behind in pieces):
            return True
        joined: list[tuple[int, int]] = []
        for begin, behind in sorted([*pieces, lines]):
            if joined and begin <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(behind, joined[-1][1]))
            else:
                joined.append((begin, behind))
        pieces[:] = joined[-_PIECES:]
        return False
