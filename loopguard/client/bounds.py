"""What a server takes, and what a client refuses by itself because no server would take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard import codec
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import History, Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard.model import Call, Record

#: Until `Opened` tells the server's own.
ASSUMED: Final = Limits(
    message_bytes=16 << 20,
    frame_bytes=16 << 20,
    calls_per_batch=256,
    in_flight=16,
    frames_per_message=4096,
    records_per_history=1024,
)


def or_assumed(limits: Limits) -> Limits:
    """Return a server's limits, with what it doesn't tell as it is assumed."""
    return Limits(
        limits.message_bytes or ASSUMED.message_bytes,
        limits.frame_bytes or ASSUMED.frame_bytes,
        limits.calls_per_batch or ASSUMED.calls_per_batch,
        limits.in_flight or ASSUMED.in_flight,
        limits.history_size,
        limits.frames_per_message or ASSUMED.frames_per_message,
        limits.records_per_history or ASSUMED.records_per_history,
    )


def check_batch(calls: Sequence[Call]) -> None:
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


def newest_that_fit(records: list[Record], count: int, frame_bytes: int) -> list[Record]:
    """Return the newest records, at most so many, that one `history` frame can carry."""
    fitting = records[-count:]
    while fitting and len(codec.encode_frame(0, History(fitting))) > frame_bytes:
        del fitting[0]
    return fitting
