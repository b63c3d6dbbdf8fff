"""Tells whether a settled call brought news: the question behind every count of the balanced profile."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from loopguard._course import Pages, Recent, Trends
from loopguard.tool_class import ToolClass

if TYPE_CHECKING:
    from loopguard._facts import CallFacts, OutcomeFacts
    from loopguard._pack import Reader, Writer

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


class Novelty:
    """What a run has seen, done and asked so far."""

    __slots__ = (
        "_asked",
        "_changes",
        "_done",
        "_errors",
        "_outcomes",
        "_pages",
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
        self._trends = Trends(_TRENDS)
        self._pages = Pages(_FILES, _PIECES)

    def _parts(self) -> tuple[Recent | Pages | Trends, ...]:
        sets = (self._outcomes, self._without_digits, self._errors, self._asked, self._changes, self._done)
        return *sets, self._pages, self._trends

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        for part in self._parts():
            part.pack(out)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        for part in self._parts():
            part.unpack(data)

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
                self._pages.forget(call.target)
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
        if not fresh or self._pages.read(call):
            return News.STALE
        return News.WEAK if in_digits_only else News.NEWS

    def _moves_on(self, call: CallFacts, outcome: OutcomeFacts) -> bool:
        """Whether something counts on in answers to this call."""
        trends = self._trends
        if outcome.digits is not None and abs(trends.take(call.same, outcome.digitless, outcome.digits)) >= _STEPS:
            return True
        # In what a mask leaves out clocks and process numbers rise; what falls is counted down.
        return outcome.counters is not None and trends.take(call.same, outcome.same, outcome.counters) <= -_STEPS

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
