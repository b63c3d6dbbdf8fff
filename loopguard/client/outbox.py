"""The frames of one run that were not sent yet or may have to be sent again, by their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from loopguard.model import Ack, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard.model import Frame


class Future(Protocol):
    """What a caller waits for; asyncio's and concurrent's both fit."""

    def done(self) -> bool:
        """Tell whether it has its result, or nobody waits any more."""

    def result(self) -> Any:
        """Return the result once it is there."""

    def set_result(self, result: Any, /) -> None:
        """Set the body of the answer, or the exception to raise."""


@dataclass(slots=True, eq=False)
class Entry:
    """A frame with its number; `data` is encoded without it, because a rebuilt run is numbered anew.

    `future` `None`: nobody waits for the answer. `report` is the id of a call whose outcome is sent as `history`.
    """

    frame: Frame
    data: bytes
    future: Future | None
    report: str | None = None
    numbered_before: int = 0

    @property
    def call_id(self) -> str:
        """The call whose outcome this tells, "" if it tells none or doesn't say which."""
        return self.report or (self.frame.call_id if isinstance(self.frame, Outcome) else "")

    def resolve(self, result: Any) -> None:
        """Give who waits, if anybody does, the body of the answer or the exception to raise."""
        if self.report is not None and isinstance(result, Ack):
            result = Verdict(self.report)
        future, self.future = self.future, None
        if future is not None and not future.done():
            future.set_result(result)


class Outbox:
    """Frames in the order of their numbers, up to so many and so many bytes.

    `last` is the newest number, `next` the next one to send on this stream, `confirmed` the newest that this stream has
    answered, `answered` the newest that any stream has.
    """

    def __init__(self, limit: int, limit_bytes: int) -> None:
        """Start empty."""
        self.entries: dict[int, Entry] = {}
        self.last = 0
        self.next = 1
        self.confirmed = 0
        self.answered = 0
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._bytes = 0

    def put(self, entry: Entry, *, streaming: bool) -> None:
        """Give a frame the next number.

        Where that is too much, the oldest go that nobody waits for, while `streaming` only those that were sent.
        """
        self.last += 1
        self.entries[self.last] = entry
        self._bytes += len(entry.data)
        while len(self.entries) > self._limit or self._bytes > self._limit_bytes:
            oldest = self.oldest
            if self.entries[oldest].future is not None or (streaming and oldest >= self.next):
                break
            self.forget_to(oldest)

    @property
    def oldest(self) -> int:
        """The number of the oldest frame that is kept; where none is, that of the next one to come."""
        return next(iter(self.entries), self.last + 1)

    @property
    def awaited(self) -> range:
        """The numbers of the frames that were sent on this stream and have no answer yet."""
        return range(self.confirmed + 1, self.next)

    def forget_to(self, seq: int) -> None:
        """Drop frames up to a number."""
        while self.entries and (oldest := next(iter(self.entries))) <= seq:
            self._bytes -= len(self.entries.pop(oldest).data)

    def change(self, entry: Entry, frame: Frame, data: bytes) -> None:
        """Send another frame under an entry's number."""
        self._bytes += len(data) - len(entry.data)
        entry.frame, entry.data = frame, data

    def number_of(self, entry: Entry) -> int:
        """Return an entry's number, 0 if it is not kept any more."""
        return next((seq for seq, kept in self.entries.items() if kept is entry), 0)

    def renumber(self, first: int, entries: Iterable[Entry]) -> None:
        """Keep these frames alone, from a number on; all of them are to be sent."""
        self.entries = dict(enumerate(entries, first))
        self._bytes = sum(len(entry.data) for entry in self.entries.values())
        self.last = first + len(self.entries) - 1
        self.next = first

    def resume(self, last_seq: int) -> bool:
        """Go on behind what the server has seen; False if a frame that it lacks is no longer kept."""
        start = min(self.answered, last_seq) + 1
        oldest = self.oldest
        if oldest > start:
            if oldest > last_seq + 1:
                return False
            start = oldest
        self.next = start
        return True
