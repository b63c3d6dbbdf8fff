"""A tenant's newest events, numbered; bounded in number and in bytes, and read by any number of watchers."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: What the kept events of a tenant may take together; the newest is kept also where it alone takes more.
KEPT_BYTES: Final = 4 << 20
#: What an event takes without its texts.
_EVENT_BYTES: Final = 400


class Told:
    """An event as it was told. It is encoded when somebody wants to read it, so that others cost next to nothing."""

    __slots__ = ("_source", "agent_id", "event_id", "is_finding", "run_id", "size")

    def __init__(
        self, run_id: str, agent_id: str, is_finding: bool, source: Callable[[], bytes] | Any, text_bytes: int
    ) -> None:
        """Take what returns the encoded event, or what it is encoded to already."""
        self.run_id = run_id
        self.agent_id = agent_id
        self.is_finding = is_finding
        self.event_id = 0
        self.size = _EVENT_BYTES + len(run_id) + len(agent_id) + text_bytes
        self._source = source

    @property
    def encoded(self) -> Any:
        """The event's encoding."""
        if callable(self._source):
            self._source = self._source()
        return self._source


_ID = attrgetter("event_id")


class EventLog:
    """The events of one tenant. What was dropped on the way to it shows as a gap in the numbers.

    Readers remember an index into all that was ever added, which may have been dropped since.
    """

    def __init__(self, events: int, kept_bytes: int = KEPT_BYTES) -> None:
        self._events = events
        self._bytes_most = kept_bytes
        self._bytes = 0
        self._kept: deque[Told] = deque()
        self._dropped = 0
        #: The number of the newest event, kept or not.
        self.last_id = 0

    def add(self, told: Told, skipped: int = 0) -> None:
        """Give an event its number and keep it; `skipped` are those lost on the way before it."""
        told.event_id = self.last_id = self.last_id + 1 + skipped
        self.append(told)

    def append(self, told: Told) -> None:
        """Keep an event that has its number, which is higher than any before."""
        self.last_id = told.event_id
        kept = self._kept
        kept.append(told)
        self._bytes += told.size
        while len(kept) > self._events or (self._bytes > self._bytes_most and len(kept) > 1):
            self._bytes -= kept.popleft().size
            self._dropped += 1

    @property
    def begin(self) -> int:
        """The index of the oldest event that is kept."""
        return self._dropped

    @property
    def end(self) -> int:
        """The index of the next event that will come."""
        return self._dropped + len(self._kept)

    def index_after(self, event_id: int) -> int:
        """Return the index of the first kept event with a higher number."""
        return self._dropped + bisect_right(self._kept, event_id, key=_ID)

    def at(self, index: int) -> Told:
        """Return a kept event."""
        return self._kept[index - self._dropped]

    def __len__(self) -> int:
        return len(self._kept)
