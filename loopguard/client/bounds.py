"""What a server takes of a run, and what a client refuses by itself because no server would take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard import codec
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import History, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard.model import Call, Frame, Record

#: Until `Opened` tells the server's own.
ASSUMED: Final = Limits(
    message_bytes=16 << 20,
    frame_bytes=16 << 20,
    calls_per_batch=256,
    in_flight=16,
    frames_per_message=4096,
    records_per_history=1024,
)


#: What a frame's number takes at most, and what a message of many runs wraps around one run with one frame.
NUMBER_BYTES: Final = 11
_WRAPPING_BYTES: Final = 24


class Bounds:
    """What may go into a frame of one run."""

    def __init__(self, run_id: str, *, many: bool) -> None:
        """Assume what is usual, until a server tells its own."""
        self.limits = ASSUMED
        #: What a message of many runs has around this run's frames, at most.
        self.wrapping_bytes = len(run_id.encode()) + _WRAPPING_BYTES
        self._many = many
        self._is_told = False

    def learn(self, limits: Limits) -> None:
        """Take over a server's limits; what it doesn't tell is assumed."""
        self._is_told = True
        self.limits = Limits(
            limits.message_bytes or ASSUMED.message_bytes,
            limits.frame_bytes or ASSUMED.frame_bytes,
            limits.calls_per_batch or ASSUMED.calls_per_batch,
            limits.in_flight or ASSUMED.in_flight,
            limits.history_size,
            limits.frames_per_message or ASSUMED.frames_per_message,
            limits.records_per_history or ASSUMED.records_per_history,
        )

    @property
    def most_bytes(self) -> int:
        """The largest frame, without its number."""
        if not self._many:
            return self.limits.frame_bytes
        return min(self.limits.frame_bytes, self.limits.message_bytes - self.wrapping_bytes - NUMBER_BYTES)

    def check(self, frame: Frame, size: int) -> None:
        """Refuse a frame of so many bytes. Raises `InvalidFrame`."""
        if size > self.most_bytes:
            raise InvalidFrame(Reason.TOO_LARGE, f"a frame of {size} bytes; the server takes {self.most_bytes}")
        most = self.limits.records_per_history
        if isinstance(frame, History) and len(frame.records) > most:
            raise InvalidFrame(Reason.TOO_LARGE, f"{len(frame.records)} records; the server takes {most}")

    def check_batch(self, calls: Sequence[Call]) -> None:
        """Refuse what the guard would refuse, so that a mistake shows also while the guard is away.

        Raises `InvalidFrame`.
        """
        if not calls:
            raise InvalidFrame(Reason.INVALID_FRAME, "a batch without calls")
        for call in calls:
            if not call.tool.strip():
                raise InvalidFrame(Reason.EMPTY_TOOL, f"call `{call.call_id}` names no tool")
        if len({call.call_id for call in calls}) < len(calls):
            raise InvalidFrame(Reason.DUPLICATE_CALL, "one batch holds the same call id twice")
        most = self.limits.calls_per_batch
        if self._is_told and len(calls) > most:
            raise InvalidFrame(Reason.TOO_MANY_CALLS, f"{len(calls)} calls in one batch; the server takes {most}")


def newest_that_fit(records: list[Record], count: int, frame_bytes: int) -> list[Record]:
    """Return the newest records, at most so many, that one `history` frame can carry."""
    fitting = records[-count:]
    while fitting and len(codec.encode_frame(0, History(fitting))) > frame_bytes:
        del fitting[0]
    return fitting
