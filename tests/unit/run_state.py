"""All that a run holds, as plain data to compare; whoever gives a run a new slot has to pack it too."""

from __future__ import annotations

from collections import deque
from enum import Enum
from types import GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from loopguard import _course, _facts
from loopguard._pack import Writer
from loopguard.balanced.run import BalancedRun
from loopguard.calls import OpenCall
from loopguard.config import LoopDetection
from loopguard.history import History

if TYPE_CHECKING:
    from loopguard.run import Run

#: Shared with other runs, of this process alone, or of the frame that is being taken.
_ELSEWHERE = frozenset({"_around", "_at", "_describer", "_judge", "_limits", "_packed", "_readers", "touched"})
#: Compiled, so what they hold is known by what they write.
_COMPILED = (
    _course.Pages,
    _course.Pauses,
    _course.Recent,
    _course.Rounds,
    _course.Tallies,
    _course.Trends,
    _course.Values,
    _course.Worked,
    _facts.CallFacts,
)


def state_of(thing: Any) -> Any:
    """Return an object with all its slots, one level below another, as tuples, lists and dictionaries."""
    if thing is None or isinstance(thing, int | float | str | bytes | Enum | LoopDetection):
        return thing
    if isinstance(thing, History):
        return [thing.record(place) for place in range(len(thing))], thing.pack()
    if isinstance(thing, _COMPILED):
        out = Writer()
        thing.pack(out)
        return type(thing).__name__, out.written()
    if isinstance(thing, dict):
        return [(state_of(key), state_of(value)) for key, value in thing.items()]
    if isinstance(thing, set | frozenset):
        return sorted(map(state_of, thing))
    if isinstance(thing, list | tuple | deque):
        return [state_of(one) for one in thing]
    return {type(thing).__name__: {name: _slot(thing, name) for name in _slots(thing)}}


def _slot(thing: Any, name: str) -> Any:
    value = getattr(thing, name)
    if isinstance(thing, OpenCall) and name in ("batch", "place"):
        # What an older batch waits for counts no more.
        return None
    return state_of(value)


def _slots(thing: Any) -> list[str]:
    members = {name: member for kind in type(thing).__mro__[:-1] for name, member in vars(kind).items()}
    names = {
        name for name, member in members.items() if isinstance(member, MemberDescriptorType | GetSetDescriptorType)
    }
    names |= set(getattr(thing, "__dict__", ()))
    assert names, f"{type(thing).__name__} has no slots"
    return sorted(name for name in names - _ELSEWHERE if not name.startswith("__"))


def assert_equal_runs(one: Run, other: Run) -> None:
    for run in (one, other):
        if isinstance(run, BalancedRun) and run._watch is not None and run._watch.asleep:
            run._watch.wake()
    assert state_of(one) == state_of(other)
