"""Takes the frames of open runs: their order, the answers kept for resending, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard import answer_codec, codec
from loopguard.codec import NoFrame
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import CallBatch, History, Outcome, RunOpen, Signal

from .logs import log_failure
from .status import refusal_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.codec import Received
    from loopguard.model import Frame

    from .limits import Limits
    from .session import Session
    from .tally import Tally

_NO_PROTOBUF = InvalidFrame(Reason.INVALID_FRAME, "a message that is no valid protobuf")


def _expected(frame: Frame | RunOpen | InvalidFrame) -> Frame:
    if isinstance(frame, InvalidFrame):
        raise frame
    if isinstance(frame, RunOpen):
        raise InvalidFrame(Reason.INVALID_FRAME, "a second `open`")
    return frame


class Intake:
    """Takes frames in; `close` forgets a run that its client has closed."""

    def __init__(
        self, limits: Limits, tally: Tally, *, now: Callable[[], float], close: Callable[[Session], None]
    ) -> None:
        self._limits = limits
        self._tally = tally
        self._now = now
        self._close = close

    def receive(self, session: Session, received: Received | None) -> bytes:
        """Take one frame of an open run and return its encoded answer; `None` is a message that can't be decoded."""
        expected = session.last_seq + 1
        if received is None:
            seq, body = expected, self.refuse(_NO_PROTOBUF)
        else:
            seq, at, frame = received
            if seq != expected:
                return self._out_of_turn(session, seq, frame)
            body = self._observe(session, frame, at)
        session.last_seq = seq
        size = self._limits.in_flight
        if seq <= size:
            session.answers.append(body)
        else:
            session.answers[(seq - 1) % size] = body
        return codec.encode_answer(seq, seq, 0, body)

    def _out_of_turn(self, session: Session, seq: int, frame: Frame | RunOpen | InvalidFrame) -> bytes:
        last = session.last_seq
        if seq > last:
            body = answer_codec.need_resend_body(last + 1)
        elif seq == 0:
            misplaced = InvalidFrame(Reason.INVALID_FRAME, "seq 0 belongs to `open`")
            body = self.refuse(frame if isinstance(frame, NoFrame) else misplaced)
        elif seq <= last - self._limits.in_flight:
            message = f"the answer to frame {seq} is no longer kept; the oldest is {last - self._limits.in_flight + 1}"
            body = self.refuse(InvalidFrame(Reason.ANSWER_EXPIRED, message))
        else:
            body = session.answers[(seq - 1) % self._limits.in_flight]
        return codec.encode_answer(seq, last, 0, body)

    def _observe(self, session: Session, frame: Frame | RunOpen | InvalidFrame, at: float | None) -> bytes:
        session.used_at = now = self._now()
        try:
            # In the order of how often they come: nearly all frames are calls and outcomes.
            if type(frame) is CallBatch:
                if len(frame.calls) > self._limits.calls_per_batch:
                    raise self._too_many(len(frame.calls))
                session.tenant.charge(len(frame.calls), now)
            elif type(frame) is not Outcome:
                frame = _expected(frame)
                if type(frame) is History:
                    session.tenant.charge(len(frame.records), now)
                if frame is Signal.CLOSE:
                    self._close(session)
                    return answer_codec.ACK
            answer = session.run.apply(frame, now - session.opened_at if at is None else at)
        except InvalidFrame as refusal:
            return self.refuse(refusal)
        except Exception as failure:  # noqa: BLE001 - whatever fails in one frame, the run and its stream go on
            log_failure("judging a frame", failure, session.run.run_id)
            return self.refuse(InvalidFrame(Reason.INTERNAL, "judging this frame failed inside loopguard"))
        if answer is None:
            return answer_codec.ACK
        if isinstance(answer, list):
            self._tally.judge(answer)
            return answer_codec.verdicts_body(answer)
        self._tally.observe(answer)
        return answer_codec.verdict_body(answer)

    def _too_many(self, calls: int) -> InvalidFrame:
        limit = self._limits.calls_per_batch
        return InvalidFrame(Reason.TOO_MANY_CALLS, f"{calls} calls in one batch; at most {limit}")

    def refuse(self, refusal: InvalidFrame) -> bytes:
        """Count a refusal and return it as the body of an answer."""
        self.count_refusal(refusal.reason)
        return answer_codec.error_body(refusal_status(refusal))

    def count_refusal(self, reason: Reason) -> None:
        """Count a refusal that is answered by something else than a `FrameError`."""
        self._tally.refusals[reason.value] += 1
