"""Counters that start anew with every stretch, by what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from loopguard.facts import CallFacts

#: How many counters and first occurrences a run keeps, and how many calls each counter names as evidence.
_KEPT: Final = 512
_EVIDENCE: Final = 32

#: A first occurrence: step, turn, call id, call.
First = tuple[int, int, str, "CallFacts"]


class Tally:
    """How often something came within a stretch, and where it came last before.

    A batch counts once: its calls were asked before any of them ran.
    """

    __slots__ = ("alike", "call_ids", "count", "earlier", "newest", "repeats", "same", "span", "step", "turn")

    def __init__(self, span: Hashable, first: First | None) -> None:
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


class Tallies:
    """The counters of a run; the oldest is forgotten first."""

    __slots__ = ("_firsts", "_tallies")

    def __init__(self) -> None:
        self._tallies: dict[Hashable, Tally] = {}
        #: What came once so far; most things stay at that.
        self._firsts: dict[Hashable, First] = {}

    def note(self, key: Hashable, first: First) -> None:
        """Remember where something came that starts a stretch."""
        tally = self._tallies.get(key)
        if tally is not None:
            tally.step, tally.turn, call_id, tally.newest = first
            tally.call_ids = [call_id]
            return
        self._firsts[key] = first
        if len(self._firsts) > _KEPT:
            del self._firsts[next(iter(self._firsts))]

    def count(
        self, key: Hashable, span: Hashable, step: int, turn: int, call_id: str, *, within: int | None = None
    ) -> Tally:
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
