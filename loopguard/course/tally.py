"""Counters that start anew with every stretch, by what they count."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable

    from loopguard.facts import CallFacts

#: How many counters a run keeps, and how many calls each names as evidence.
_KEPT: Final = 512
_EVIDENCE: Final = 32


class Tally:
    """How often something came within a stretch, and where it came last before.

    A batch counts once: its calls were asked before any of them ran.
    """

    __slots__ = ("alike", "call_ids", "count", "earlier", "newest", "repeats", "same", "span", "step", "turn")

    def __init__(self) -> None:
        self.span: Hashable = None
        self.count = 0
        #: The step before the stretch at which it came, and the newest step at all; -1 is never.
        self.earlier = self.step = -1
        self.turn = -1
        self.call_ids: list[str] = []
        #: How many of the newest calls counted are worded alike, and whether one of them came twice.
        self.alike = 1
        self.repeats = False
        self.newest: CallFacts | None = None
        self.same: set[int] = set()


class Tallies:
    """The counters of a run; the one not touched for longest is forgotten first."""

    __slots__ = ("_tallies",)

    def __init__(self) -> None:
        self._tallies: OrderedDict[Hashable, Tally] = OrderedDict()

    def note(self, key: Hashable, step: int, turn: int, call_id: str, call: CallFacts | None = None) -> None:
        """Remember where something came that starts a stretch."""
        tally = self._get(key)
        tally.step, tally.turn = step, turn
        tally.call_ids = [call_id]
        tally.newest = call

    def count(
        self, key: Hashable, span: Hashable, step: int, turn: int, call_id: str, *, within: int | None = None
    ) -> Tally:
        """Count something within a span; in another span, or more than `within` steps later, the count starts anew."""
        tally = self._get(key)
        if tally.span != span or (within is not None and step - tally.step > within):
            tally.span = span
            tally.earlier = tally.step
            tally.count = 0
            tally.alike = 1
            tally.repeats = False
            tally.same = set()
            del tally.call_ids[:-1]
        if tally.turn != turn or tally.count == 0:
            tally.count += 1
        tally.step, tally.turn = step, turn
        tally.call_ids.append(call_id)
        del tally.call_ids[:-_EVIDENCE]
        return tally

    def _get(self, key: Hashable) -> Tally:
        tallies = self._tallies
        tally = tallies.get(key)
        if tally is None:
            tally = tallies[key] = Tally()
            if len(tallies) > _KEPT:
                tallies.popitem(last=False)
        else:
            tallies.move_to_end(key)
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
