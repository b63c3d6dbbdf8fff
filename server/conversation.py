"""One run on a stream of its own, without the stream: a message in, its answer out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from loopguard import answer_codec, codec
from loopguard.codec import NoFrame, RefusedOpen
from loopguard.errors import InvalidFrame
from loopguard.model import EndReason, RunOpen

from .opening import NO_PROTOBUF, OPENS, before_open, check_open, claimed, encode_end, key_of, refuse_open
from .status import StreamEnd, evicted, out_of_order, superseded

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from loopguard.codec import Received

    from .claims import Key
    from .keeper import Keeper
    from .limits import Limits
    from .session import Session
    from .sessions import Sessions


class Outlet(Protocol):
    """Where a conversation says what answers no message."""

    def say(self, message: bytes, end: StreamEnd | None = None) -> None:
        """Send a message soon, then end the stream if `end` is given."""


class GuardConversation:
    """One run on a stream of its own."""

    def __init__(self, sessions: Sessions, limits: Limits, tenant: str, outlet: Outlet) -> None:
        self._sessions = sessions
        self._take_plain = sessions.intake.short.frame
        self._take = sessions.intake.receive
        self._frame_bytes = limits.frame_bytes
        self._records_per_history = limits.records_per_history
        self._tenant = tenant
        self._outlet = outlet
        self._session: Session | None = None
        self._ended = False

    def receive(self, data: bytes) -> bytes | Awaitable[bytes]:
        """Take a message and return its answer, or what to wait for where a store is asked first.

        Raises `StreamEnd` where the stream has to end.
        """
        session = self._session
        if session is not None and session.owner is self and len(data) <= self._frame_bytes:
            plain = self._take_plain(session, data)
            if plain is not None:
                return self._settled(session, plain)
        received = codec.decode_frame(data, self._records_per_history)
        if len(data) > self._frame_bytes:
            received = codec.limited(received, len(data), self._frame_bytes)
        if session is None:
            return self._open(received)
        if session.owner is not self:
            raise self._end_of(session)
        if received is not None and type(received[2]) in OPENS:
            raise out_of_order("a second `open`")
        answer = self._take(session, received)
        self._ended = session.owner is None
        return self._settled(session, answer)

    def _settled(self, session: Session, answer: bytes) -> bytes | Awaitable[bytes]:
        keeper = self._sessions.keeper
        return answer if keeper is None or not keeper.sync else self._settle(keeper, session, answer)

    async def _settle(self, keeper: Keeper, session: Session, answer: bytes) -> bytes:
        await keeper.settled()
        return codec.with_durable(answer, session.durable_seq)

    def _end_of(self, session: Session) -> StreamEnd:
        if self._ended:
            return out_of_order("a frame after `close`")
        return (evicted if session.evicted else superseded)(session.run.run_id)

    def _open(self, received: Received | None) -> bytes | Awaitable[bytes]:
        keeper = self._sessions.keeper
        key = None if keeper is None else claimed(self._sessions, self._tenant, received)
        if keeper is None or key is None:
            return self._open_here(received, {})
        return self._open_claimed(keeper, key, received)

    async def _open_claimed(self, keeper: Keeper, key: Key, received: Received | None) -> bytes:
        return self._open_here(received, await keeper.claim([key]))

    def _open_here(self, received: Received | None, granted: dict[Key, int]) -> bytes:
        if received is None:
            return refuse_open(self._sessions, NO_PROTOBUF)
        seq, _, frame = received
        if isinstance(frame, NoFrame):
            return refuse_open(self._sessions, frame)
        if not isinstance(frame, RunOpen | RefusedOpen):
            raise before_open()
        try:
            request = check_open(seq, frame)
            epoch = granted.get(key_of(self._tenant, request), 0)
            self._session, body = self._sessions.open(request, self._tenant, self, epoch)
        except InvalidFrame as refusal:
            return refuse_open(self._sessions, refusal)
        return codec.encode_answer(0, self._session.last_seq, self._session.durable_seq, body)

    def run_ended(self, session: Session, reason: EndReason, end: StreamEnd) -> None:
        """Tell the client that its run is gone, and end the stream."""
        self._outlet.say(encode_end(session.last_seq, reason, end), end)

    def go_away(self, grace_s: float) -> None:
        """Tell the client that the server will shut down."""
        last = self._session.last_seq if self._session else 0
        self._outlet.say(codec.encode_answer(last, last, 0, answer_codec.go_away_body(grace_s)))

    async def finish(self) -> None:
        """Do nothing: what was taken is answered."""

    def release(self) -> None:
        """Let go of the run; the stream is over."""
        if self._session is not None:
            self._sessions.release(self._session, self)
