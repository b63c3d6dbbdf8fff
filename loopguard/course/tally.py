"""Counters that start anew with every stretch, by what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.facts import CallFacts
from loopguard.tool_class import ToolClass

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

#: Texts with hardly a word in common ask about different things.
_UNLIKE: Final = 0.1
#: What a counter is of: kinds and hashes.
Key = tuple[int, ...]
#: Within what it counts: the number of a stretch, or several.
Span = int | tuple[int, ...]

#: How many counters and first occurrences a run keeps, and how many calls each counter names as evidence.
_KEPT: Final = 512
_EVIDENCE: Final = 32

#: A first occurrence: step, turn, call id, where wordings are compared the call, the outcome before masking.
First = tuple[int, int, str, "CallFacts | None", int]


class Tally:
    """How often something came within a stretch, and where it came last before.

    A batch counts once: its calls were asked before any of them ran.
    """

    __slots__ = (
        "alike",
        "call_ids",
        "count",
        "earlier",
        "earlier_raw",
        "fresh",
        "moves",
        "newest",
        "raw",
        "raws",
        "repeats",
        "same",
        "span",
        "step",
        "targets",
        "turn",
    )

    def __init__(self, span: Span, first: First | None) -> None:
        self.span = span
        self.count = 0
        #: The step before the stretch at which it came, and the newest step at all; -1 is never.
        self.earlier = self.step = self.turn = -1
        self.call_ids: list[str] = []
        #: How often each outcome came as it was before anything was masked; the newest of them.
        self.raws: dict[int, int] = {}
        self.raw = self.earlier_raw = 0
        #: How many of the newest calls counted are worded alike, and whether one of them came twice.
        self.alike = 1
        self.repeats = False
        #: How many of the calls counted were about something else than all before.
        self.fresh = 0
        #: How many of them named another page or line than the one before.
        self.moves = 0
        self.newest: CallFacts | None = None
        self.same: set[int] = set()
        self.targets: set[int] = set()
        if first is not None:
            self.earlier, self.turn, call_id, self.newest, self.earlier_raw = first
            self.raw = self.earlier_raw
            self.call_ids.append(call_id)

    def begin(self, span: Span, *, earlier: bool) -> None:
        """Count anew in another span; `earlier` says whether what was counted so far may be its first occurrence."""
        self.earlier, self.earlier_raw = (self.step, self.raw) if earlier else (-1, 0)
        self.span = span
        self.count = self.fresh = self.moves = 0
        self.alike = 1
        self.repeats = False
        self.raws = {}
        self.same = set()
        self.targets = set()
        del self.call_ids[:-1]

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        if isinstance(self.span, tuple):
            out.flag(True)
            out.words(self.span)
        else:
            out.flag(False)
            out.word(self.span)
        for number in (self.count, self.earlier + 1, self.step + 1, self.turn + 1, self.alike):
            out.number(number)
        out.texts(self.call_ids)
        out.flag(self.repeats)
        _pack_call(self.newest, out)
        out.words(self.same)
        out.words(self.raws)
        for number in self.raws.values():
            out.number(number)
        out.word(self.raw)
        out.word(self.earlier_raw)
        out.number(self.fresh)
        out.number(self.moves)
        out.words(self.targets)

    @classmethod
    def unpack(cls, data: Reader) -> Tally:
        """Read one that was packed."""
        made = cls(tuple(data.words()) if data.flag() else data.word(), None)
        made.count, made.earlier, made.step = data.number(), data.number() - 1, data.number() - 1
        made.turn, made.alike = data.number() - 1, data.number()
        made.call_ids = data.texts()
        made.repeats = data.flag()
        made.newest = _unpack_call(data)
        made.same = set(data.words())
        made.raws = {raw: data.number() for raw in data.words()}
        made.raw, made.earlier_raw, made.fresh = data.word(), data.word(), data.number()
        made.moves = data.number()
        made.targets = set(data.words())
        return made


def _pack_call(call: CallFacts | None, out: Writer) -> None:
    out.flag(call is not None)
    if call is not None:
        call.pack(out)


def _unpack_call(data: Reader) -> CallFacts | None:
    return CallFacts.unpack(data) if data.flag() else None


class Tallies:
    """The counters of a run; the oldest is forgotten first."""

    __slots__ = ("_firsts", "_tallies")

    def __init__(self) -> None:
        self._tallies: dict[Key, Tally] = {}
        #: What came once so far; most things stay at that.
        self._firsts: dict[Key, First] = {}

    def pack(self, out: Writer) -> None:
        """Write them into a snapshot."""
        out.number(len(self._tallies))
        for key, tally in self._tallies.items():
            out.words(key)
            tally.pack(out)
        out.number(len(self._firsts))
        for key, (step, turn, call_id, call, raw) in self._firsts.items():
            out.words(key)
            out.number(step)
            out.number(turn)
            out.text(call_id)
            _pack_call(call, out)
            out.word(raw)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        self._tallies = {tuple(data.words()): Tally.unpack(data) for _ in range(data.count())}
        self._firsts = {
            tuple(data.words()): (data.number(), data.number(), data.text(), _unpack_call(data), data.word())
            for _ in range(data.count())
        }

    def note(self, key: Key, first: First) -> None:
        """Remember where something came that starts a stretch."""
        tally = self._tallies.get(key)
        if tally is not None:
            tally.step, tally.turn, call_id, tally.newest, tally.raw = first
            tally.call_ids = [call_id]
            return
        self._firsts[key] = first
        if len(self._firsts) > _KEPT:
            del self._firsts[next(iter(self._firsts))]

    def count(
        self,
        key: Key,
        span: Span,
        step: int,
        turn: int,
        call_id: str,
        *,
        raw: int | None = None,
        within: int | None = None,
    ) -> Tally:
        """Count something within a span; in another span, or more than `within` steps later, the count starts anew."""
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally(span, self._firsts.pop(key, None))
            if len(self._tallies) > _KEPT:
                del self._tallies[next(iter(self._tallies))]
        elif tally.span != span:
            tally.begin(span, earlier=True)
        elif within is not None and step - tally.step > within:
            tally.begin(span, earlier=False)
        if tally.turn != turn or tally.count == 0:
            tally.count += 1
            if raw is not None and len(tally.raws) < _EVIDENCE:
                tally.raws[raw] = tally.raws.get(raw, 0) + 1
        tally.step, tally.turn, tally.raw = step, turn, raw or 0
        tally.call_ids.append(call_id)
        if len(tally.call_ids) > _EVIDENCE:
            del tally.call_ids[0]
        return tally


def compare(tally: Tally, call: CallFacts, likeness: float, *, by_form: bool = False) -> bool:
    """Tell a counter which call raised it, so that it knows whether it is worded like the one before.

    Returns whether the call asks about something that none of those counted asked about; `by_form`: one form filled in
    with other words is enough for that.
    """
    before = tally.newest
    alike = before is not None and _likeness(before, call) >= likeness
    tally.alike = tally.alike + 1 if alike else 1
    tally.newest = call
    if before is not None:
        tally.moves += _names_other_page(before, call)
        tally.same.add(before.same)
        tally.targets.add(before.target)
    seen = call.same in tally.same
    tally.repeats = tally.repeats or seen
    fresh = not seen and before is not None and _asks_about_other(before, call, tally.targets, by_form)
    tally.fresh += fresh
    tally.same.add(call.same)
    return fresh


def _names_other_page(before: CallFacts, call: CallFacts) -> bool:
    return call.asked is not None and before.asked is not None and call.asked.numbers != before.asked.numbers


def _asks_about_other(before: CallFacts, call: CallFacts, targets: set[int], by_form: bool) -> bool:
    """Whether a call asks the same of something else: another target or arguments, other words in one place."""
    if call.asked is None or before.asked is None:
        return False
    if call.near != before.near:
        if not call.free_text:
            return True
        if call.target and call.target not in targets:
            return True
    if not (by_form and call.free_text):
        return False
    # A search is asked about one thing in many words; a tool that nobody knows may judge many texts.
    unlike = call.tool_class is ToolClass.OTHER and _likeness(before, call) < _UNLIKE
    return unlike or call.asked.fills_form(before.asked)


def _likeness(one: CallFacts, other: CallFacts) -> float:
    if one.asked is None or other.asked is None:
        return 1.0 if one.same == other.same else 0.0
    return one.asked.likeness(other.asked)
