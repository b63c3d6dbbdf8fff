"""The tasks that a run and the runs above it handed to sub-agents."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from loopguard._facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from loopguard._pack import Reader, Writer

#: How many tasks a run remembers, and how many runs up a task is looked for.
_TASKS: Final = 16
_RUNS: Final = 12
#: A task that was handed on keeps most of its words.
_LIKENESS: Final = 0.8


class Lineage:
    """One run's tasks and the runs above it. Shared with the runs it starts."""

    __slots__ = ("_parent", "_tasks", "run_id")

    def __init__(self, run_id: str = "", parent: Lineage | None = None) -> None:
        self.run_id = run_id
        self._parent = parent
        self._tasks: deque[CallFacts] = deque(maxlen=_TASKS)

    def hand_on(self, task: CallFacts) -> None:
        """Remember a task that was handed to a sub-agent."""
        self._tasks.append(task)

    def times_handed_on(self, task: CallFacts) -> int:
        """Return how many runs on the way up handed on this task, this one among them once it asks."""
        return 1 + sum(any(_alike(task, one) for one in run._tasks) for run in self._above())

    def _above(self) -> Iterator[Lineage]:
        run, steps = self._parent, 0
        while run is not None and steps < _RUNS:
            yield run
            run = run._parent
            steps += 1

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot, with the runs above it: they may have ended, or be elsewhere."""
        runs = [self, *self._above()]
        out.number(len(runs))
        for run in runs:
            out.name(run.run_id)
            out.number(len(run._tasks))
            for task in run._tasks:
                task.pack(out)

    @staticmethod
    def unpack(data: Reader, tenant: str, known: MutableMapping[tuple[str, str], Lineage]) -> Lineage:
        """Read one that was packed, above it those of the `known` runs that there are; they are added to those.

        What is known of a run above is newer than what its child's snapshot says.
        """
        told = [(data.name(), [CallFacts.unpack(data) for _ in range(data.count())]) for _ in range(data.count())]
        if not told:
            raise ValueError("a lineage without its run")
        (run_id, tasks), *above = told
        parent: Lineage | None = None
        for name, handed_on in reversed(above):
            run = known.get((tenant, name))
            if run is None:
                run = known[tenant, name] = Lineage(name, parent)
                run._tasks.extend(handed_on)
            parent = run
        # Runs below may look at this very object already.
        own = known.setdefault((tenant, run_id), Lineage(run_id))
        own._parent = parent
        own._tasks.clear()
        own._tasks.extend(tasks)
        return own


def _alike(one: CallFacts, other: CallFacts) -> bool:
    return one.near == other.near or one.likeness(other) >= _LIKENESS
