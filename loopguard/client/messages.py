"""The messages of a stream of many runs: what goes into one, and which have no answer yet. No I/O in here."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from loopguard import codec
from loopguard.client.session import Phase
from loopguard.errors import InvalidFrame, Reason

if TYPE_CHECKING:
    from loopguard.client.session import RunSession

#: How much goes into one message, at most. A call or record takes five bytes at least, so that there are never more of
#: them in it than a server takes.
MESSAGE_FRAMES: Final = 512
MESSAGE_BYTES: Final = 256 << 10
#: What goes before each frame of a run in such a message, at most.
_FRAME_WRAPPING_BYTES: Final = 6


class _Written(NamedTuple):
    """A message that was sent: how many frames it has, and their numbers by run; none for an `open`."""

    frames: int
    parts: list[tuple[RunSession, range]]

    @property
    def is_awaited(self) -> bool:
        """Whether frames of it have no answer yet."""
        return any(
            session.phase is not Phase.OVER
            and (numbers[-1] in session.awaited if numbers else session.opens_awaited > 0)
            for session, numbers in self.parts
        )


class Messages:
    """Puts what many runs have to send into messages that a server takes."""

    def __init__(self) -> None:
        """Begin without messages."""
        self._written: deque[_Written] = deque()
        #: How many frames go into a message; fewer where a server refuses more.
        self._most_frames = MESSAGE_FRAMES

    def begin(self) -> None:
        """Begin on a new stream."""
        self._written.clear()

    def take(self, ready: dict[RunSession, None]) -> bytes | None:
        """Return the next message to write, `None` if there is none; runs with nothing more to send leave `ready`."""
        parts, frames, size, most = [], 0, 0, self._most_frames
        written: list[tuple[RunSession, range]] = []
        while ready and frames < most and size < MESSAGE_BYTES:
            session = next(iter(ready))
            limits, wrapping_bytes = session.bounds.limits, session.bounds.wrapping_bytes
            most = min(most, limits.frames_per_message)
            room = limits.message_bytes - wrapping_bytes
            outgoing: list[bytes] = []
            first, full = session.awaited.stop, False
            while next_bytes := session.next_bytes:
                # One that doesn't fit into any message goes alone, for the server to refuse.
                full = frames >= most or size >= MESSAGE_BYTES or (frames > 0 and size + next_bytes > room)
                if full:
                    break
                outgoing.append(session.next_frame())
                size += len(outgoing[-1]) + _FRAME_WRAPPING_BYTES
                frames += 1
            if outgoing:
                size += wrapping_bytes
                written.append((session, range(first, session.awaited.stop)))
                parts.append(codec.encode_run(session.request.run_id, outgoing))
            if full:
                break
            del ready[session]
        while self._written and not self._written[0].is_awaited:
            self._written.popleft()
        if written:
            self._written.append(_Written(frames, written))
        return b"".join(parts) or None

    def shrink(self) -> None:
        """Make smaller messages than the one for whose size the stream has ended.

        A single frame is given up; sent again, it would end the next stream too.
        """
        message = next((one for one in self._written if one.is_awaited), None)
        if message is None:
            return
        if message.frames > 1:
            self._most_frames = message.frames // 2
            return
        self._most_frames = MESSAGE_FRAMES
        ((session, numbers),) = message.parts
        error = InvalidFrame(Reason.TOO_LARGE, "the server takes no message of this size")
        if numbers:
            session.refuse(numbers, error)
        else:
            session.end(error)
