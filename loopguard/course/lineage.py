"""The tasks that a run and the runs above it handed to sub-agents."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from loopguard.facts import CallFacts

#: How many tasks a run remembers, and how many runs up a task is looked for.
_TASKS: Final = 16
_RUNS: Final = 12
#: A task that was handed on keeps most of its words.
_LIKENESS: Final = 0.8


class Lineage:
    """One run's tasks and the runs above it. Shared with the runs it starts."""

    __slots__ = ("_parent", "_tasks")

    def __init__(self, parent: Lineage | None = None) -> None:
        self._parent = parent
        self._tasks: deque[CallFacts] = deque(maxlen=_TASKS)

    def hand_on(self, task: CallFacts) -> None:
        """Remember a task that was handed to a sub-agent."""
        self._tasks.append(task)

    def times_handed_on(self, task: CallFacts) -> int:
        """Return how many runs on the way up handed on this task, this one among them once it asks."""
        count, run, steps = 1, self._parent, 0
        while run is not None and steps < _RUNS:
            count += any(_alike(task, one) for one in run._tasks)
            run = run._parent
            steps += 1
        return count


def _alike(one: CallFacts, other: CallFacts) -> bool:
    if one.near == other.near:
        return True
    if one.asked is None or other.asked is None:
        return one.same == other.same
    return one.asked.likeness(other.asked) >= _LIKENESS
