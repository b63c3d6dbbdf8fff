"""The `open` of a run on one stream: what goes before all else, and whose the answers are. No I/O in here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.model import EndReason, Opened, Refusal, RunEnded

if TYPE_CHECKING:
    from loopguard.model import Answer


class Opening:
    """What is sent to open a run on a stream.

    On a stream of many runs others may have opened the same run before; the newest has to have it in the end. The
    server answers an `open` of a run that the stream has by taking it away, and then takes another one.
    """

    def __init__(self, *, many: bool) -> None:
        """Begin with nothing to send."""
        #: The frames to send next.
        self.to_send: list[bytes] = []
        self._many = many
        self._open = b""
        self._ahead = 0
        self._is_sent = False
        self._may_repeat = False

    def begin(self, frame: bytes, ahead: int = 0) -> None:
        """Send `open` on a new stream, on which so many of the same run by others are still to be answered."""
        self._open, self.to_send = frame, [frame]
        self._ahead, self._is_sent = ahead, False
        self._may_repeat = self._many

    def begin_behind(self, close: bytes, frame: bytes) -> None:
        """Send `close` and then another `open` on the stream that has the run."""
        self._open, self.to_send = frame, [close, frame]

    def stop(self) -> None:
        """Send nothing more."""
        self.to_send = []

    @property
    def awaited(self) -> int:
        """How many `open`s of this run were sent on this stream and have no answer yet."""
        return self._ahead + self._is_sent

    def next_frame(self) -> bytes:
        """Return the first frame of `to_send`; it counts as sent."""
        self._is_sent = len(self.to_send) == 1
        return self.to_send.pop(0)

    def is_for_older(self, answer: Answer, *, is_new: bool) -> bool:
        """Sort out, while the run is being opened, what is said to those who had it on this stream before.

        `is_new`: this client has never had it.
        """
        body = answer.body
        if not self._many:
            return False
        if isinstance(body, RunEnded) and body.reason is not EndReason.PROTOCOL:
            return is_new and (not self._is_sent or self._ahead > 0)
        if not isinstance(body, Opened | RunEnded) and not (isinstance(body, Refusal) and answer.seq == 0):
            return False
        if self._ahead:
            self._ahead -= 1
            return True
        self._is_sent = False
        if isinstance(body, RunEnded) and self._may_repeat:
            self._may_repeat = False
            self.to_send = [self._open]
            return True
        return False
