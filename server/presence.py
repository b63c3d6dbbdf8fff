"""Whether the store is in use, and for how long it has not been."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

#: How long a store may be away before runs that are resumed don't wait for it any more.
_PATIENCE_S: Final = 10.0
#: How long they wait for one that has been away for longer: until it was tried once more. A process that was frozen
#: does not know that the store is back.
_ONE_TRY_S: Final = 3.0


class Presence:
    """What the keeper last saw of the store; for one event loop."""

    def __init__(self) -> None:
        """Begin without store."""
        self._here = asyncio.Event()
        self._left_at: float | None = None

    @property
    def up(self) -> bool:
        """Whether the store did what it was asked last."""
        return self._here.is_set()

    def come(self) -> None:
        """Note that the store answers."""
        self._here.set()

    def leave(self) -> None:
        """Note that it did not."""
        if self.up or self._left_at is None:
            self._left_at = asyncio.get_running_loop().time()
        self._here.clear()

    async def returned(self) -> bool:
        """Wait for the store, unless it has been away for long; return whether it is in use."""
        if self._left_at is not None:
            left_s = self._left_at + _PATIENCE_S - asyncio.get_running_loop().time()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._here.wait(), max(_ONE_TRY_S, left_s))
        return self.up
