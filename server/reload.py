"""Reads files anew when they change or when told to; what can't be read leaves the last good one in use."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from loopguard.errors import InvalidConfig

from .logs import log_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_log = logging.getLogger("loopguard.server")

T = TypeVar("T")

Appearance = tuple[int, int, int]
Seen = tuple["Appearance | None", ...]


class Part(Generic[T]):
    """Something read from files: `load` reads and checks it, `use` puts it into use."""

    def __init__(self, name: str, paths: Sequence[str], load: Callable[[], T], use: Callable[[T], None]) -> None:
        """Note how the files look now; changes are told from then on."""
        self.name = name
        self._paths = tuple(paths)
        self._load = load
        self._use = use
        #: How the files looked when they were last looked at.
        self.seen = self._look()

    def _look(self) -> Seen:
        return tuple(map(_appearance, self._paths))

    async def changed(self) -> bool:
        """Tell whether the files look different than at the last call."""
        before = self.seen
        self.seen = await asyncio.to_thread(self._look)
        return before != self.seen

    async def reload(self) -> None:
        """Read the files and use what is in them. Raises `InvalidConfig`, and what was in use still is."""
        self._use(await asyncio.to_thread(self._load))


def _appearance(path: str) -> Appearance | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


async def _reload(part: Part[object]) -> bool:
    try:
        await part.reload()
    except InvalidConfig as mistake:
        reported = {"what": part.name, "because": str(mistake), "in_use": "the last good one"}
        _log.error("reload failed", extra=reported)
        return False
    except Exception as failure:  # noqa: BLE001 - files have to be looked at for as long as the service runs
        log_failure(f"reading the {part.name} anew", failure)
        return False
    _log.info("reloaded", extra={"what": part.name})
    return True


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
                    self._tell(part.name, await _reload(part))

    async def watch(self, every_s: float) -> None:
        """Look for changes until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            await self.reload(only_changed=True)
