"""What a run's settled calls amount to: repeats since the last news, rows, rounds. Detectors have the thresholds.

Nothing is walked again: each settled call raises a few counters. Repeats are counted in the *stretch* since the last
news; whatever is equal there is evidence, in whatever order it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard._course import (
    ANSWER,
    EQUAL,
    ERROR,
    LIKE,
    NEAR,
    SHIFTING,
    SIGNATURE,
    SPREAD,
    Recent,
    Rounds,
    Tallies,
    Values,
    Worked,
)
from loopguard.course.moment import NONE, Count, Moment
from loopguard.course.novelty import News, Novelty
from loopguard.course.patience import Patience
from loopguard.course.rows import Cascade, Rejections, Row
from loopguard.tool_class import ToolClass

if TYPE_CHECKING:
    from loopguard._course import Tally
    from loopguard._facts import CallFacts, OutcomeFacts
    from loopguard._pack import Reader, Writer

#: Share of common words from which on two calls are worded alike: half of them.
LIKENESS: Final = 0.5
#: In a shorter stretch, what came just before it may be chance: it then does not count as the first occurrence.
_SETTLED_STRETCH: Final = 3
#: A text, in bytes: what volatile parts it has are beside the point.
_TEXT: Final = 100
#: No number of a step or a stretch is larger; counters go on from it for ever.
_LATEST: Final = 1 << 56
#: How many failed calls of a stretch are remembered, and how many that answered what was known.
_FAILED: Final = 64
_VARYING: Final = 64
#: From so many values on an answer varies; between two a loop may go to and fro.
_MANY: Final = 3
#: Texts with hardly a word in common ask about different things.
_UNLIKE: Final = 0.1
#: How many programs are remembered by how often they worked.
_PROGRAMS: Final = 128
#: A repeat further apart than this many steps is a new look, no evidence.
_WINDOW: Final = 20


class Course:
    """One run's counters. Not thread-safe."""

    __slots__ = (
        "_cascade",
        "_change_step",
        "_changes",
        "_edits",
        "_failed",
        "_move_step",
        "_moves",
        "_news_step",
        "_novelty",
        "_patience",
        "_plans",
        "_rejections",
        "_rounds",
        "_sends",
        "_since_news",
        "_stall",
        "_step",
        "_stretch",
        "_tallies",
        "_unknown",
        "_values",
        "_versions",
        "_worked",
    )

    def __init__(self) -> None:
        self._novelty = Novelty()
        self._tallies = Tallies()
        self._rounds = Rounds()
        self._patience = Patience()
        self._step = -1
        #: How many changes there were, and how many steps that may have been one.
        self._stretch = self._changes = self._moves = 0
        #: The steps that began the stretch, and that brought the newest change or what may be one.
        self._news_step = self._change_step = self._move_step = -1
        self._since_news = 0
        #: How often a program worked: a success ends its streak of failures.
        self._worked = Worked(_PROGRAMS)
        #: Calls that failed since the last news, for other reasons than a red test or what may pass by itself.
        self._failed = Recent(_FAILED)
        #: What each call answered since the last news, as far as it was known before.
        self._values = Values(_VARYING, _MANY)
        self._edits, self._versions, self._sends = Row(), Row(), Row()
        self._plans, self._unknown, self._stall = Row(), Row(), Row()
        self._cascade = Cascade()
        self._rejections = Rejections()

    def _rows(self) -> tuple[Row, ...]:
        return self._edits, self._versions, self._sends, self._plans, self._unknown, self._stall

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        for number in (self._step + 1, self._stretch, self._changes, self._moves, self._since_news):
            out.number(number)
        for step in (self._news_step, self._change_step, self._move_step):
            out.number(step + 1)
        self._tallies.pack(out)
        self._rounds.pack(out)
        self._novelty.pack(out)
        self._patience.pack(out)
        self._worked.pack(out)
        self._failed.pack(out)
        self._values.pack(out)
        self._cascade.pack(out)
        self._rejections.pack(out)
        rows = self._rows()
        begun = 0
        for place, row in enumerate(rows):
            if row.count:
                begun |= 1 << place
        out.number(begun)
        for place, row in enumerate(rows):
            if begun >> place & 1:
                row.pack(out)

    def unpack(self, data: Reader) -> None:
        """Take over in an empty course what was packed. Raises `ValueError`."""
        self._step = data.small(_LATEST) - 1
        self._stretch, self._changes, self._moves = (data.small(_LATEST) for _ in range(3))
        self._since_news = data.small(_LATEST)
        self._news_step, self._change_step, self._move_step = (data.small(_LATEST) - 1 for _ in range(3))
        self._tallies.unpack(data, max(self._step, 0))
        self._rounds.unpack(data)
        self._novelty.unpack(data)
        self._patience.unpack(data)
        self._worked.unpack(data)
        self._failed.unpack(data)
        self._values.unpack(data)
        self._cascade.unpack(data)
        self._rejections.unpack(data)
        rows = self._rows()
        begun = data.small((1 << len(rows)) - 1)
        for place, row in enumerate(rows):
            if begun >> place & 1:
                row.unpack(data)

    @property
    def stretch(self) -> int:
        """The number of the stretch: another one means that there was news."""
        return self._stretch

    def has_failed(self, call: CallFacts) -> bool:
        """Whether this very call failed since the last news."""
        return self._failed.has(call.same)

    def user_message(self) -> None:
        """Take a new intent of the user: what was repeated before is no evidence any more."""
        self._stretch += 1
        self._changes += 1
        self._moves += 1
        self._news_step = self._change_step = self._move_step = self._step
        self._since_news = 0
        self._worked.clear()
        self._failed.clear()
        self._values.clear()
        self._rounds.reset()
        for row in self._rows():
            row.reset()
        self._cascade.reset()
        self._rejections.reset()

    def settle(self, call: CallFacts, outcome: OutcomeFacts, turn: int, call_id: str, at: float | None) -> Moment:
        """Take a call that has ended; `turn` is the number of the response that asked for it, `at` when."""
        self._step += 1
        moment = Moment(call, outcome)
        if call.tool_class is ToolClass.REJECT or outcome.rejected:
            # Format is a matter of its own: such replies say nothing about the work between them.
            self._rejections.add(self._step, call_id)
            moment.rejections = Count(self._rejections.in_row, self._rejections.call_ids)
            moment.rejections_near = Count(self._rejections.near, self._rejections.call_ids)
            return moment
        news = moment.news = self._novelty.meet(call, outcome)
        if news is News.WEAK and outcome.acknowledged and call.tool_class is not ToolClass.MOVE:
            moment.batch = True
        patient = self._patience.take(call, self._stretch, at)
        if news is News.NEWS:
            self._begin_stretch(moment, turn, call_id, patient)
            self._add_to_rounds(moment, call_id, patient)
        else:
            self._count_repeats(moment, turn, call_id, patient)
            self._count_rounds(moment, call_id, patient)
            # Thoughts alone stall nothing, but they don't turn what stalls into news.
            if not (patient or moment.poll) and (moment.news is News.STALE or (call.note and self._stall.count)):
                moment.stall = self._stall.add(0, turn, call_id)
        if outcome.failed:
            self._remember_failure(call, outcome)
        elif not call.note:
            self._remember_success(call, news)
        self._count_rows(moment, turn, call_id, patient)
        if not (outcome.missing_tool or call.note or outcome.failed):
            self._unknown.reset()
        elif outcome.missing_tool:
            moment.unknown_tools = self._unknown.add(0, turn, call_id)
        return moment

    def _remember_failure(self, call: CallFacts, outcome: OutcomeFacts) -> None:
        if not (outcome.empty or outcome.verdict or outcome.transient):
            self._failed.meet(call.same)

    def _remember_success(self, call: CallFacts, news: News) -> None:
        self._worked.add(call)
        if call.changes and news is News.NEWS:
            self._worked.clear()

    def _begin_stretch(self, moment: Moment, turn: int, call_id: str, patient: int) -> None:
        call, outcome = moment.call, moment.outcome
        self._stretch += 1
        self._news_step = self._step
        self._since_news = 0
        self._failed.clear()
        self._values.clear()
        self._stall.reset()
        if call.changes and not outcome.failed:
            self._change_step = self._move_step = self._step
            self._changes += 1
            self._moves += 1
        elif call.tool_class in _MAY_MOVE and not outcome.failed:
            self._move_step = self._step
            self._moves += 1
        worked = self._worked.times(call)
        spreads = _spreads(moment, patient)
        self._tallies.note(call, outcome, worked, self._step, turn, call_id, spreads)

    def _count_repeats(self, moment: Moment, turn: int, call_id: str, patient: int) -> None:
        call, outcome = moment.call, moment.outcome
        tally = self._raise(EQUAL, moment, turn, call_id)
        equal = self._counted(tally, -patient)
        varies = moment.news is News.STALE and self._varies(call, outcome)
        if equal is not NONE and not varies:
            moment.equal = equal
            moment.firm = tally.firm(outcome.raw, equal.number)
        if outcome.raw != outcome.same and not outcome.failed and moment.news is News.STALE:
            moment.shifting = self._counted(self._raise(SHIFTING, moment, turn, call_id), -patient)
        if call.note or varies:
            return
        if outcome.failed or outcome.informative:
            self._count_likenesses(moment, turn, call_id, patient)
        if outcome.failed and not outcome.empty:
            self._count_failures(moment, turn, call_id, patient)
        elif not outcome.failed and outcome.informative and (not call.changes or call.tool_class is ToolClass.SPAWN):
            self._count_answers(moment, turn, call_id, patient)

    def _varies(self, call: CallFacts, outcome: OutcomeFacts) -> bool:
        """Whether a call is asked for what takes many values: dice, a random member, a sensor."""
        return not outcome.failed and outcome.informative and self._values.take(call, outcome) >= _MANY

    def _add_to_rounds(self, moment: Moment, call_id: str, patient: int) -> bool:
        """Add a step to the rounds. The model's own words and patient looks are no steps of one: they go by."""
        call = moment.call
        if call.note or patient:
            return False
        # Of batch work what differs is what it is about.
        self._rounds.add(call.same if moment.batch else call.near, call, moment.outcome, call_id)
        return True

    def _count_rounds(self, moment: Moment, call_id: str, patient: int) -> None:
        if not self._add_to_rounds(moment, call_id, patient):
            return
        self._since_news += 1
        rounds, call_ids = self._rounds.alike(self._since_news)
        if rounds:
            moment.rounds = Count(rounds, call_ids)
        rounds, call_ids = self._rounds.failing()
        if rounds:
            moment.failing_rounds = Count(rounds, call_ids)

    def _count_answers(self, moment: Moment, turn: int, call_id: str, patient: int) -> None:
        call, outcome = moment.call, moment.outcome
        tally = self._raise(ANSWER, moment, turn, call_id)
        fresh = _compare(tally, call, by_form=outcome.size < _TEXT)
        # One short answer to many things is batch work, unless it says that a step led nowhere; a long one can hardly
        # be right for all of them, but where it may tell of something done.
        may_do = call.tool_class is ToolClass.OTHER and not call.free_text
        batch = (may_do or not outcome.digitless) and not (outcome.vain and call.tool_class is ToolClass.MOVE)
        if batch and fresh and moment.news is News.STALE and not outcome.vain:
            moment.news, moment.batch = News.WEAK, True
        answers = self._counted(tally, -patient - (tally.fresh if batch else 0))
        if answers is not NONE and not moment.poll:
            moment.answers = answers
            # Structured arguments with other values may be a sweep.
            if not (tally.fresh and (batch or not call.free_text)):
                moment.alike_answers = Count(min(answers.number, tally.alike), tally.call_ids)

    def _count_likenesses(self, moment: Moment, turn: int, call_id: str, patient: int) -> None:
        call, outcome = moment.call, moment.outcome
        if not moment.poll and call.near != call.same:
            tally = self._raise(NEAR, moment, turn, call_id)
            _compare(tally, call, by_form=not outcome.failed and outcome.size < _TEXT)
            near = self._counted(tally, -patient - tally.fresh)
            if near is not NONE:
                moment.near = near
                moment.near_moves = tally.moves > 0
                moment.near_firm = tally.firm(outcome.raw, near.number)
        for likeness in _likenesses(outcome):
            # Numbers are all that moves in a job that is waited for.
            if likeness == outcome.digitless and moment.poll:
                continue
            found = self._counted(self._raise(LIKE, moment, turn, call_id, likeness), -patient)
            if found.number > moment.likely.number:
                moment.likely = found

    def _count_failures(self, moment: Moment, turn: int, call_id: str, patient: int) -> None:
        call, outcome = moment.call, moment.outcome
        worked = self._worked.times(call)
        tally = self._raise(ERROR, moment, turn, call_id, 0, worked)
        _compare(tally, call, by_form=True)
        failures = self._counted(tally, -patient)
        if failures is not NONE:
            moment.failures = failures
            # One form with ever other words asks about other things, so one more.
            spared = tally.fresh > 0 and not tally.repeats
            moment.alike_failures = Count(min(failures.number, tally.alike) - spared, tally.call_ids)
            moment.repeated_words = tally.repeats
        if not outcome.verdict:
            for signature in outcome.signatures:
                found = self._counted(self._raise(SIGNATURE, moment, turn, call_id, signature, worked), -patient)
                if found.number > moment.signatures.number:
                    moment.signatures = found

    def _count_rows(self, moment: Moment, turn: int, call_id: str, patient: int) -> None:
        call, outcome = moment.call, moment.outcome
        if moment.news is not News.NEWS and _spreads(moment, patient):
            self._count_spread(moment, turn, call_id)
        if outcome.failed and not outcome.empty and not outcome.verdict:
            moment.cascade = self._cascade.add(outcome.signatures, turn, call_id)
        elif not call.note:
            self._cascade.reset()
        if call.note:
            if "plan" in call.tool or "todo" in call.tool:
                moment.plans = self._plans.add(call.number, turn, call_id)
            return
        self._plans.reset()
        done = call.changes and not outcome.failed
        if done and call.tool_class in _EFFECTS:
            # Without a target the same words may mean another place, unless nothing new came between.
            mark = (call.same, 0 if call.target else self._stretch)
            moment.same_edits = self._edits.add(mark, turn, call_id)
        if done and call.tool_class is ToolClass.WRITE and call.target and call.whole:
            moment.versions = self._versions.add(call.target, turn, call_id)
        else:
            self._versions.reset()
        if done and call.tool_class is ToolClass.SEND and call.target and not outcome.informative:
            moment.sends = self._sends.add(call.target, turn, call_id)
        else:
            self._sends.reset()

    def _count_spread(self, moment: Moment, turn: int, call_id: str) -> None:
        call, outcome = moment.call, moment.outcome
        # What fails after all that was tried between fails still; what works may be part of what moves on.
        span, step = (self._changes, self._change_step) if outcome.failed else (self._moves, self._move_step)
        tally = self._tallies.count(SPREAD, call, outcome, 0, 0, span, self._step, turn, call_id, _WINDOW)
        number = tally.count + (tally.earlier > step)
        if number > 1:
            moment.spread = Count(number, tally.call_ids)

    def _raise(self, ground: int, moment: Moment, turn: int, call_id: str, detail: int = 0, worked: int = 0) -> Tally:
        return self._tallies.count(
            ground, moment.call, moment.outcome, detail, worked, self._stretch, self._step, turn, call_id
        )

    def _counted(self, tally: Tally, less: int = 0) -> Count:
        """Return a counter's number: its occurrences in the stretch, and the one before it where that counts too."""
        number = tally.count + less
        if tally.earlier > self._change_step and (
            tally.earlier == self._news_step or self._step - self._news_step >= _SETTLED_STRETCH
        ):
            number += 1
        return Count(number, tally.call_ids) if number > 1 else NONE


_EFFECTS: Final = frozenset({ToolClass.WRITE, ToolClass.SEND, ToolClass.SPAWN})
#: News of these may be a change, of the world or of where the agent stands.
_MAY_MOVE: Final = frozenset({ToolClass.OTHER, ToolClass.MOVE})


def _spreads(moment: Moment, patient: int) -> bool:
    """Whether a repeat with other work between says anything."""
    call, outcome = moment.call, moment.outcome
    moves = call.tool_class is ToolClass.MOVE or call.bare
    # A bare "ok" may tell of a step each time, and of a tool that nobody knows so may saying nothing.
    empty_nod = call.tool_class is ToolClass.OTHER and outcome.empty
    nods = not outcome.failed and call.tool_class is not ToolClass.SHELL and (outcome.acknowledged or empty_nod)
    # What changes something may be due again after news; where nothing came of it, it is the same effect.
    acts = call.changes and not outcome.failed
    return not (outcome.transient or moment.poll or call.note or moves or nods or acts or patient)


def _compare(tally: Tally, call: CallFacts, *, by_form: bool) -> bool:
    # A search is asked about one thing in many words; a tool that nobody knows may judge many texts.
    return tally.compare(call, LIKENESS, by_form, _UNLIKE if call.tool_class is ToolClass.OTHER else 0.0)


def _likenesses(outcome: OutcomeFacts) -> tuple[int, ...]:
    digitless = (outcome.digitless,) if outcome.digitless else ()
    return digitless + outcome.signatures if outcome.failed and not outcome.verdict else digitless
