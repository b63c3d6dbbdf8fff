"""Takes the frames of open runs: their order, the answers kept for resending, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard._intake import ShortWay
from loopguard._wire import allowed_call_body, allowed_outcome_body
from loopguard.answer_codec import ACK, error_body, need_resend_body, verdict_body, verdicts_body
from loopguard.codec import NoFrame, encode_answer
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import CallBatch, History, Outcome, RunOpen, Signal

from .limits import check_names
from .logs import log_failure
from .status import refusal_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.codec import Received
    from loopguard.model import Frame, Verdict

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


def _admit_history(session: Session, history: History, now: float) -> None:
    for record in history.records:
        check_names(record.tool, record.action)
    session.tenant.charge(len(history.records), now)


def _no_store(session: Session) -> None:
    """Leave a run as it is."""
    session.dirty = True


class Intake:
    """Takes frames in; `close` forgets a run that its client has closed."""

    def __init__(
        self, limits: Limits, tally: Tally, *, now: Callable[[], float], close: Callable[[Session], None]
    ) -> None:
        self._in_flight = limits.in_flight
        self._calls_per_batch = limits.calls_per_batch
        self._tally = tally
        self._now = now
        self._close = close
        #: Takes whole frames that are plain; what it declines goes to `receive`. Its `mark` is told of a run that has
        #: changed since its last snapshot; only where there is a store.
        self.short = ShortWay(limits.in_flight, now, tally, _no_store)

    def receive(self, session: Session, received: Received | None) -> bytes:
        """Take one frame of an open run and return its encoded answer; `None` is a message that can't be decoded."""
        seq = session.last_seq + 1
        if received is None:
            body = self.refuse(_NO_PROTOBUF)
        elif received[0] == seq:
            body = self._observe(session, received[2], received[1])
        else:
            return self._out_of_turn(session, received[0], received[2])
        session.last_seq = seq
        size = self._in_flight
        if seq <= size:
            session.answers.append(body)
        else:
            session.answers[(seq - 1) % size] = body
        if not session.dirty:
            self.short.mark(session)
        return encode_answer(seq, seq, session.durable_seq, body)

    def _out_of_turn(self, session: Session, seq: int, frame: Frame | RunOpen | InvalidFrame) -> bytes:
        last = session.last_seq
        if seq > last:
            body = need_resend_body(last + 1)
        elif seq == 0:
            misplaced = InvalidFrame(Reason.INVALID_FRAME, "seq 0 belongs to `open`")
            body = self.refuse(frame if isinstance(frame, NoFrame) else misplaced)
        elif seq <= last - self._in_flight:
            message = f"the answer to frame {seq} is no longer kept; the oldest is {last - self._in_flight + 1}"
            body = self.refuse(InvalidFrame(Reason.ANSWER_EXPIRED, message))
        else:
            body = session.answers[(seq - 1) % self._in_flight]
        return encode_answer(seq, last, session.durable_seq, body)

    def _observe(self, session: Session, frame: Frame | RunOpen | InvalidFrame, at: float | None) -> bytes:
        session.used_at = now = self._now()
        try:
            # In the order of how often they come: nearly all frames are calls and outcomes.
            if type(frame) is CallBatch:
                self._admit_batch(session, frame, now)
            elif type(frame) is not Outcome:
                frame = _expected(frame)
                if type(frame) is History:
                    _admit_history(session, frame, now)
                if frame is Signal.CLOSE:
                    self._close(session)
                    return ACK
            answer = session.run.answer(frame, now - session.opened_at if at is None else at)
        except InvalidFrame as refusal:
            return self.refuse(refusal)
        except Exception as failure:  # noqa: BLE001 - whatever fails in one frame, the run and its stream go on
            log_failure("judging a frame", failure, session.run.run_id)
            return self.refuse(InvalidFrame(Reason.INTERNAL, "judging this frame failed inside loopguard"))
        if isinstance(answer, str):
            if type(frame) is Outcome:
                return allowed_outcome_body(answer)
            self._tally.allowed += 1
            return allowed_call_body(answer)
        return self._encoded(answer)

    def _encoded(self, answer: list[Verdict] | Verdict | None) -> bytes:
        if answer is None:
            return ACK
        if isinstance(answer, list):
            self._tally.judge(answer)
            return verdicts_body(answer)
        self._tally.observe(answer)
        return verdict_body(answer)

    def _admit_batch(self, session: Session, batch: CallBatch, now: float) -> None:
        calls = len(batch.calls)
        if calls > self._calls_per_batch:
            message = f"{calls} calls in one batch; at most {self._calls_per_batch}"
            raise InvalidFrame(Reason.TOO_MANY_CALLS, message)
        for call in batch.calls:
            check_names(call.tool, call.call_id, call.action)
        session.tenant.charge(calls, now)

    def refuse(self, refusal: InvalidFrame) -> bytes:
        """Count a refusal and return it as the body of an answer."""
        self.count_refusal(refusal.reason)
        return error_body(refusal_status(refusal))

    def count_refusal(self, reason: Reason) -> None:
        """Count a refusal that is answered by something else than a `FrameError`."""
        self._tally.refusals[reason.value] += 1
