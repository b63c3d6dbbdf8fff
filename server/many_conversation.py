"""Many runs on one stream, without the stream: a message in, its answers out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from loopguard import answer_codec, codec
from loopguard.codec import NoFrame, RefusedOpen
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import EndReason, RunOpen
from loopguard.tool_name import BLANK

from .limits import CALLS_PER_MESSAGE
from .logs import log_failure
from .opening import NO_PROTOBUF, OPENS, before_open, check_open, claimed, encode_end, key_of, refuse_open
from .status import StreamEnd, evicted, out_of_order, superseded
from .waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from loopguard.codec import Received

    from .claims import Key
    from .conversation import Outlet
    from .keeper import Keeper
    from .limits import Limits
    from .session import Session
    from .sessions import Sessions

    #: What a message holds of one run.
    Told = tuple[str, Sequence[Received | None]]


class ManyConversation:
    """Many runs on one stream; what ends one of them is said to that one alone."""

    def __init__(self, sessions: Sessions, limits: Limits, tenant: str, outlet: Outlet) -> None:
        self._sessions = sessions
        self._limits = limits
        self._take_plain = sessions.intake.short.runs
        self._decode = partial(codec.decode_frame, records=limits.records_per_history)
        self._tenant = tenant
        self._outlet = outlet
        self._runs: dict[str, Session] = {}
        #: Epochs that a store has granted for the message at hand.
        self._granted: dict[Key, int] = {}
        #: Messages with runs that are resumed, until the store has said whose they are.
        self._waiting = Waiting(limits.message_bytes)

    def receive(self, data: bytes) -> bytes | Awaitable[bytes | None] | None:
        """Take a message and return its answers, run by run in the order of the message, or what to wait for.

        Where a store is asked first, returns `None`, and the answers are said later; messages of other runs are taken
        meanwhile. Raises `StreamEnd` where the stream has to end.
        """
        if self._waiting.is_full:
            return self._receive_later(data)
        if len(data) > self._limits.message_bytes:
            raise StreamEnd(Reason.TOO_LARGE, f"a message of {len(data)} bytes; at most {self._limits.message_bytes}")
        most = self._limits.frames_per_message
        if (count := codec.count_frames(data)) > most:
            raise StreamEnd(Reason.TOO_LARGE, f"a message of {count} frames; at most {most}")
        # A call takes two bytes at least, so only a large message has to be looked through.
        if len(data) > 2 * CALLS_PER_MESSAGE and (count := codec.count_calls(data)) > CALLS_PER_MESSAGE:
            message = f"a message of {count} calls and records in all; at most {CALLS_PER_MESSAGE}"
            raise StreamEnd(Reason.TOO_LARGE, message)
        keeper = self._sessions.keeper
        # No frame can be too large in a message that isn't. Where there is a store, a run that is not held here may
        # have to be claimed before anything is taken, and answers may have to wait.
        if len(data) <= self._limits.frame_bytes and (keeper is None or not (keeper.sync or self._waiting)):
            answer = self._take_plain(data, self._runs, self, keeper is not None, self._decode, self._take)
            if answer is not None:
                return answer
        told = codec.decode_runs(data, self._limits.frame_bytes, self._limits.records_per_history)
        if keeper is not None:
            told = list(told)
            if keeper.sync:
                return self._take_written(keeper, told)
            run_ids = {run_id.strip() for run_id, _ in told}
            if self._waiting.has(run_ids) or self._to_claim(told):
                self._waiting.put(run_ids, len(data), partial(self._take_claimed, keeper, told))
                return None
        return self._take_all(told)

    def _take_all(self, told: Iterable[Told]) -> bytes:
        take, encode = self._take, codec.encode_run
        runs = []
        for run_id, frames in told:
            answers = []
            for received in frames:
                answers.append(take(run_id, received))  # noqa: PERF401 - for two frames a comprehension costs more
            runs.append(encode(run_id, answers))
        return b"".join(runs)

    async def _receive_later(self, data: bytes) -> bytes | None:
        await self._waiting.over()
        answer = self.receive(data)
        return answer if answer is None or isinstance(answer, bytes) else await answer

    async def _take_claimed(self, keeper: Keeper, told: Sequence[Told]) -> None:
        """Take the frames of a message behind its claims, and say the answers."""
        try:
            claims = self._to_claim(told)
            self._granted = await keeper.claim(claims) if claims else {}
            self._outlet.say(self._take_all(told))
        except Exception as failure:  # noqa: BLE001 - whatever it was, the client must not wait for ever
            log_failure("resuming runs", failure)
            self._outlet.say(b"", StreamEnd(Reason.INTERNAL, "resuming runs failed inside loopguard"))

    def _to_claim(self, told: Iterable[Told]) -> list[Key]:
        claims: list[Key] = []
        for run_id, frames in told:
            session = self._runs.get(run_id.strip())
            if session is None or session.owner is not self:
                keys = (claimed(self._sessions, self._tenant, received) for received in frames)
                claims += [key for key in keys if key is not None and key[1] == run_id.strip(BLANK)]
        return claims

    async def _take_written(self, keeper: Keeper, told: Sequence[Told]) -> bytes:
        """Take the frames of a message behind its claims, and answer when they are written."""
        claims = self._to_claim(told)
        self._granted = await keeper.claim(claims) if claims else {}
        answered = [(run_id, [self._take(run_id, received) for received in frames]) for run_id, frames in told]
        sessions = {run_id: self._runs.get(run_id) for run_id, _ in answered}
        await keeper.settled()
        for run_id, answers in answered:
            session = sessions[run_id]
            if session is not None:
                answers[:] = [codec.with_durable(answer, session.durable_seq) for answer in answers]
        return b"".join(codec.encode_run(run_id, answers) for run_id, answers in answered)

    def _take(self, run_id: str, received: Received | None) -> bytes:
        session = self._runs.get(run_id)
        if session is not None and session.owner is self:
            if received is not None and type(received[2]) in OPENS:
                return self._end_by_second_open(run_id, session)
            answer = self._sessions.intake.receive(session, received)
            if session.owner is None:
                del self._runs[run_id]
            return answer
        if run_id != (trimmed := run_id.strip()):
            return self._take(trimmed, received)
        if received is None:
            return refuse_open(self._sessions, NO_PROTOBUF)
        seq, _, frame = received
        if isinstance(frame, RunOpen | RefusedOpen):
            return self._open(run_id, seq, frame)
        if isinstance(frame, NoFrame):
            return refuse_open(self._sessions, frame)
        if session is None:
            return self._protocol(seq, 0, before_open(run_id))
        if session.evicted:
            # The client has been told already; told again, it would open the run a second time.
            return codec.encode_answer(seq, 0, 0, answer_codec.error_body(evicted(run_id).status))
        return encode_end(session.last_seq, EndReason.SUPERSEDED, superseded(run_id))

    def _end_by_second_open(self, run_id: str, session: Session) -> bytes:
        del self._runs[run_id]
        self._sessions.release(session, self)
        last = session.last_seq
        return self._protocol(last, last, out_of_order(f"a second `open` of run `{run_id}`"))

    def _protocol(self, seq: int, acked_seq: int, end: StreamEnd) -> bytes:
        self._sessions.intake.count_refusal(end.reason)
        return codec.encode_answer(seq, acked_seq, 0, answer_codec.run_ended_body(EndReason.PROTOCOL, end.status))

    def _open(self, run_id: str, seq: int, frame: RunOpen | RefusedOpen) -> bytes:
        try:
            request = check_open(seq, frame)
            if request.run_id.strip() != run_id:
                raise InvalidFrame(Reason.INVALID_FRAME, f"`open` of run `{request.run_id}` among run `{run_id}`'s")
            granted = self._granted.pop(key_of(self._tenant, request), 0)
            session, body = self._sessions.open(request, self._tenant, self, granted)
        except InvalidFrame as refusal:
            return refuse_open(self._sessions, refusal)
        self._runs[run_id] = session
        return codec.encode_answer(0, session.last_seq, session.durable_seq, body)

    def run_ended(self, session: Session, reason: EndReason, end: StreamEnd) -> None:
        """Tell the client that one run is gone; the others stay."""
        run_id = session.run.run_id
        self._outlet.say(codec.encode_run(run_id, [encode_end(session.last_seq, reason, end)]))

    def go_away(self, grace_s: float) -> None:
        """Tell the client that the server will shut down."""
        self._outlet.say(answer_codec.many_go_away(grace_s))

    async def finish(self) -> None:
        """Wait until all that was taken is answered."""
        await self._waiting.over()

    def release(self) -> None:
        """Let go of all runs; the stream is over."""
        self._waiting.drop()
        for session in self._runs.values():
            self._sessions.release(session, self)
