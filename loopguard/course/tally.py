"""Counters that start anew with every stretch, by what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.facts import CallFacts

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

#: What a counter is of: kinds and hashes.
Key = tuple[int, ...]
#: Within what it counts: the number of a stretch, or several.
Span = int | tuple[int, ...]

#: How many counters and first occurrences a run keeps, and how many calls each counter names as evidence.
_KEPT: Final = 512
_EVIDENCE: Final = 32

#: A first occurrence: step, turn, call id, and, where wordings are compared, the call.
First = tuple[int, int, str, "CallFacts | None"]


class Tally:
    """How often something came within a stretch, and where it came last before.

    A batch counts once: its calls were asked before any of them ran.
    """

    __slots__ = ("alike", "call_ids", "count", "earlier", "newest", "repeats", "same", "span", "step", "turn")

    def __init__(self, span: Span, first: First | None) -> None:
        self.span = span
        self.count = 0
        #: The step before the stretch at which it came, and the newest step at all; -1 is never.
        self.earlier = self.step = self.turn = -1
        self.call_ids: list[str] = []
        #: How many of the newest calls counted are worded alike, and whether one of them came twice.
        self.alike = 1
        self.repeats = False
        self.newest: CallFacts | None = None
        self.same: set[int] = set()
        if first is not None:
            self.earlier, self.turn, call_id, self.newest = first
            self.call_ids.append(call_id)

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
        for key, (step, turn, call_id, call) in self._firsts.items():
            out.words(key)
            out.number(step)
            out.number(turn)
            out.text(call_id)
            _pack_call(call, out)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        self._tallies = {tuple(data.words()): Tally.unpack(data) for _ in range(data.count())}
        self._firsts = {
            tuple(data.words()): (data.number(), data.number(), data.text(), _unpack_call(data))
            for _ in range(data.count())
        }

    def note(self, key: Key, first: First) -> None:
        """Remember where something came that starts a stretch."""
        tally = self._tallies.get(key)
        if tally is not None:
            tally.step, tally.turn, call_id, tally.newest = first
            tally.call_ids = [call_id]
            return
        self._firsts[key] = first
        if len(self._firsts) > _KEPT:
            del self._firsts[next(iter(self._firsts))]

    def count(self, key: Key, span: Span, step: int, turn: int, call_id: str, *, within: int | None = None) -> Tally:
        """Count something within a span; in another span, or more than `within` steps later, the count starts anew."""
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally(span, self._firsts.pop(key, None))
            if len(self._tallies) > _KEPT:
                del self._tallies[next(iter(self._tallies))]
        elif tally.span != span or (within is not None and step - tally.step > within):
            tally.earlier = tally.step if tally.span != span else -1
            tally.span = span
            tally.count = 0
            tally.alike = 1
            tally.repeats = False
            tally.same = set()
            del tally.call_ids[:-1]
        if tally.turn != turn or tally.count == 0:
            tally.count += 1
        tally.step, tally.turn = step, turn
        tally.call_ids.append(call_id)
        if len(tally.call_ids) > _EVIDENCE:
            del tally.call_ids[0]
        return tally


def compare(tally: Tally, call: CallFacts, likeness: float) -> None:
    """Tell a counter which call raised it, so that it knows whether it is worded like the one before."""
    before = tally.newest
    alike = before is not None and _likeness(before, call) >= likeness
    tally.alike = tally.alike + 1 if alike else 1
    tally.newest = call
    if before is not None:
        tally.same.add(before.same)
    tally.repeats = tally.repeats or call.same in tally.same
    tally.same.add(call.same)


def _likeness(one: CallFacts, other: CallFacts) -> float:
    if one.asked is None or other.asked is None:
        return 1.0 if one.same == other.same else 0.0
    return one.asked.likeness(other.asked)
