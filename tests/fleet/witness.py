"""Sees every frame and answer of a client's run, and compares them with what the engine says of the same frames."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopguard.server.status import refusal_status

from loopguard import Engine, answer_codec, codec
from loopguard.errors import InvalidFrame
from loopguard.model import GoAway, NeedResend, Opened, RunEnded

if TYPE_CHECKING:
    from loopguard.client.session import RunSession
    from loopguard.model import Answer, RunOpen


@dataclass
class Counts:
    """What happened to the frames of some runs."""

    #: Different frames, without `open`.
    sent: int = 0
    #: Frames sent once more, and those of them that the server had seen.
    resent: int = 0
    deduplicated: int = 0
    #: How often a run came to a server again, and how often that one did not know it or all its frames.
    resumed: int = 0
    behind: int = 0
    #: Frames whose answer is missing or another one than the engine's.
    lost: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass
class Witness:
    """The frames and answers of one run by seq."""

    request: RunOpen
    counts: Counts = field(default_factory=Counts)
    mistakes: list[str] = field(default_factory=list)
    _frames: dict[int, bytes] = field(default_factory=dict)
    _answers: dict[int, Any] = field(default_factory=dict)
    _last_seq: int = 0

    def watch(self, session: RunSession) -> None:
        """See everything that passes a run's session from now on."""
        next_frame, receive = session.next_frame, session.receive

        def watched_frame() -> bytes:
            data = next_frame()
            self._send(data)
            return data

        def watched_receive(answer: Answer) -> None:
            self._receive(answer)
            receive(answer)

        session.next_frame = watched_frame  # type: ignore[method-assign]  # to look on is all that this is for
        session.receive = watched_receive  # type: ignore[method-assign]  # as above

    def _send(self, data: bytes) -> None:
        received = codec.decode_frame(data)
        assert received is not None
        seq = received[0]
        if seq == 0:
            return
        if seq not in self._frames:
            self.counts.sent += 1
            self._frames[seq] = data
            return
        self.counts.resent += 1
        self.counts.deduplicated += seq <= self._last_seq
        if data != self._frames[seq]:
            self.mistakes.append(f"frame {seq} was sent again as another one")

    def _receive(self, answer: Answer) -> None:
        body = answer.body
        if isinstance(body, Opened):
            self.counts.resumed += 1
            self.counts.behind += body.last_seq < max(self._answers, default=0)
            self._last_seq = body.last_seq
            if body.rebuilt:
                self.mistakes.append("the run was rebuilt")
        elif answer.seq in self._frames and not isinstance(body, NeedResend | RunEnded | GoAway):
            first = self._answers.setdefault(answer.seq, body)
            if body != first:
                self.mistakes.append(f"frame {answer.seq} was answered {first}, then {body}")

    def compare(self, engine: Engine) -> Counts:
        """Play the frames to the engine, note every answer that differs from its own, and return the counts."""
        run = engine.open(self.request)
        for seq in range(1, max(self._frames, default=0) + 1):
            expected = self._answer(run, seq) if seq in self._frames else "a frame"
            given = self._answers.get(seq)
            if given != expected:
                self.counts.lost += 1
                self.mistakes.append(f"frame {seq} was answered {given}, not {expected}")
        engine.close(self.request.run_id)
        return self.counts

    def _answer(self, run: Any, seq: int) -> Any:
        """Return what the engine says, as it comes out of the wire."""
        received = codec.decode_frame(self._frames[seq])
        assert received is not None
        _, at, frame = received
        try:
            if isinstance(frame, InvalidFrame):
                raise frame
            answer = run.apply(frame, at)
        except InvalidFrame as refusal:
            body = answer_codec.error_body(refusal_status(refusal))
        else:
            if isinstance(answer, list):
                body = answer_codec.verdicts_body(answer)
            else:
                body = answer_codec.ACK if answer is None else answer_codec.verdict_body(answer)
        return answer_codec.decode_answer(codec.encode_answer(seq, seq, 0, body)).body
