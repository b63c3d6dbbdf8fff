"""Reads files anew when they change or when told to; what can't be read leaves the last good one in use."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_log = logging.getLogger("loopguard.server")

T = TypeVar("T")


class Part(Generic[T]):
    """Something read from files: `load` reads and checks it, `use` puts it into use."""

    def __init__(self, name: str, paths: Sequence[str], load: Callable[[], T], use: Callable[[T], None]) -> None:
        """Note how the files look now; changes are told from then on."""
        self.name = name
        self._paths = tuple(paths)
        self._load = load
        self._use = use
        self._seen = self._look()

    def _look(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(map(_appearance, self._paths))

    async def changed(self) -> bool:
        """Tell whether the files look different than at the last call."""
        before = self._seen
        self._seen = await asyncio.to_thread(self._look)
        return before != self._seen

    async def reload(self) -> bool:
        """Read the files and use what is in them; return whether that went well."""
        try:
            loaded = await asyncio.to_thread(self._load)
            self._use(loaded)
        except InvalidConfig as mistake:
            reported = {"what": self.name, "because": str(mistake), "in_use": "the last good one"}
            _log.error("reload failed", extra=reported)
            return False
        _log.info("reloaded", extra={"what": self.name})
        return True


def _appearance(path: str) -> tuple[int, int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Reloader:
    """Watches several parts. `tell` hears of each reload: what, and whether it went well."""

    def __init__(self, parts: Sequence[Part[object]], tell: Callable[[str, bool], None]) -> None:
        self._parts = parts
        self._tell = tell
        # A reload by a signal and one by a change must not overtake one another.
        self._reading = asyncio.Lock()

    async def reload(self, *, only_changed: bool = False) -> None:
        """Read everything, or what has changed."""
        async with self._reading:
            for part in self._parts:
                if await part.changed() or not only_changed:
                    self._tell(part.name, await part.reload())

    async def watch(self, every_s: float) -> None:
        """Look for changes until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            await self.reload(only_changed=True)
