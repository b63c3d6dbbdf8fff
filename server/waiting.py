"""Messages of a stream of many runs that wait for the store: of each run one after the other, and past all others."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

#: What a message that waits takes besides its bytes.
_MESSAGE_BYTES: Final = 4096


class Waiting:
    """What waits on one stream; for one event loop."""

    def __init__(self, most_bytes: int) -> None:
        """Begin with nothing; with so many bytes it is full."""
        self._most_bytes = most_bytes
        self._bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()
        #: The newest message of each run.
        self._newest: dict[str, asyncio.Task[None]] = {}

    def __bool__(self) -> bool:
        """Return whether anything waits."""
        return bool(self._tasks)

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be taken now."""
        return self._bytes >= self._most_bytes

    def has(self, run_ids: Collection[str]) -> bool:
        """Return whether a message of one of these runs waits."""
        return not self._newest.keys().isdisjoint(run_ids)

    def put(self, run_ids: Collection[str], size: int, take: Callable[[], Awaitable[None]]) -> None:
        """Have a message of so many bytes taken, behind those of its runs that wait already."""
        behind = {self._newest[run_id] for run_id in run_ids if run_id in self._newest}
        task = asyncio.create_task(_take(behind, take))
        self._tasks.add(task)
        self._newest.update(dict.fromkeys(run_ids, task))
        self._bytes += size + _MESSAGE_BYTES
        task.add_done_callback(partial(self._leave, run_ids, size))

    def _leave(self, run_ids: Collection[str], size: int, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._bytes -= size + _MESSAGE_BYTES
        for run_id in run_ids:
            if self._newest.get(run_id) is task:
                del self._newest[run_id]

    async def over(self) -> None:
        """Wait until all that waits now is taken."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def drop(self) -> None:
        """Give up what waits."""
        for task in self._tasks:
            task.cancel()


async def _take(behind: set[asyncio.Task[None]], take: Callable[[], Awaitable[None]]) -> None:
    if behind:
        await asyncio.wait(behind)
    await take()
