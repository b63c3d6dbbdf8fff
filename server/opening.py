"""How the runs of both kinds of stream begin and end: what is asked, refused and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard import answer_codec, codec
from loopguard.codec import RefusedOpen
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import RunOpen
from loopguard.tool_name import BLANK

from .status import out_of_order

if TYPE_CHECKING:
    from loopguard.codec import Received
    from loopguard.model import EndReason

    from .claims import Key
    from .sessions import Sessions
    from .status import StreamEnd


def before_open(run_id: str = "") -> StreamEnd:
    """Return how a stream ends, or a run of many, that has a frame before its `open`."""
    return out_of_order(f"a frame of run `{run_id}` before its `open`" if run_id else "a frame before `open`")


# Asked of every frame, and a set of exact types answers in a fifth of the time that `isinstance` takes for a union.
OPENS: Final = frozenset((RunOpen, RefusedOpen))
NO_PROTOBUF = InvalidFrame(Reason.INVALID_FRAME, "a message that is no valid protobuf")


def refuse_open(sessions: Sessions, refusal: InvalidFrame) -> bytes:
    """Count a refusal and return it as the answer to an `open`."""
    return codec.encode_answer(0, 0, 0, sessions.intake.refuse(refusal))


def check_open(seq: int, frame: RunOpen | RefusedOpen) -> RunOpen:
    """Return what is asked for. Raises `InvalidFrame`."""
    if isinstance(frame, RefusedOpen):
        raise frame
    if seq != 0:
        raise InvalidFrame(Reason.INVALID_FRAME, f"`open` has seq {seq}, not 0")
    return frame


def key_of(tenant: str, request: RunOpen) -> Key:
    """Return what a store knows a run by."""
    return tenant, request.run_id.strip(BLANK)


def claimed(sessions: Sessions, tenant: str, received: Received | None) -> Key | None:
    """Return the run of an opening for which a store has to be asked first."""
    if received is None or received[0] != 0 or not isinstance(received[2], RunOpen):
        return None
    return key_of(tenant, received[2]) if sessions.claims(received[2], tenant) else None


def encode_end(last_seq: int, reason: EndReason, end: StreamEnd) -> bytes:
    """Return the message that tells of the end of a run."""
    return codec.encode_answer(last_seq, last_seq, 0, answer_codec.run_ended_body(reason, end.status))
