"""One run's conversation with the guard: opened, resumed, rebuilt, over. No I/O in here."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from loopguard import codec
from loopguard.client.bounds import NUMBER_BYTES, Bounds
from loopguard.client.frames import Frames
from loopguard.client.opening import Opening
from loopguard.client.refusals import error_of
from loopguard.errors import GuardUnavailable, LoopguardError, Reason, RunRefused
from loopguard.model import (
    Answer,
    EndReason,
    Frame,
    NeedResend,
    Opened,
    Refusal,
    RunEnded,
    RunOpen,
    Signal,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loopguard.client.outbox import Entry, Future

#: What the frames kept for resending may come to; DESIGN's numbers.
BUFFER_FRAMES: Final = 1_000
BUFFER_BYTES: Final = 8 << 20
#: Nodes that send a run to each other would do so for ever.
_REDIRECTS: Final = 5


class Phase(Enum):
    """Where a run stands."""

    #: No stream, or none that has answered.
    AWAY = "away"
    #: `RunOpen` is to be sent or was sent.
    OPENING = "opening"
    OPEN = "open"
    #: Closed or refused for good.
    OVER = "over"


class RunSession:
    """The protocol of one run.

    Frames go in with `submit`, answers with `receive`; what is to be sent comes out of `next_frame`. Not thread-safe.
    """

    def __init__(
        self,
        run: RunOpen,
        *,
        now: Callable[[], float],
        many: bool = False,
        buffer_frames: int = BUFFER_FRAMES,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        # Refuses a configuration that the wire can't carry while the caller is still there to be told.
        codec.encode_open(run)
        self.request = run
        self.phase = Phase.AWAY
        #: The newest `Opened`.
        self.opened: Opened | None = None
        #: Why the run is over.
        self.error: LoopguardError | None = None
        #: The stream can't go on with this run; a new one has to be opened.
        self.wants_stream = False
        #: Where the server says that the run belongs; the stream goes there next.
        self.redirect = ""
        #: How often that was said since the run was opened last.
        self._redirects = 0
        #: The answer to a frame is overdue.
        self.late = False
        self.open_future: Future | None = None
        self.bounds = Bounds(run.run_id, many=many)
        self._many = many
        self._frames = Frames(run.run_id, self.bounds, now=now, buffer_frames=buffer_frames, buffer_bytes=buffer_bytes)
        self._outbox = self._frames.outbox
        self._opening = Opening(many=many)
        self._rebuilding = False

    # The caller's side

    def submit(self, frame: Frame, future: Future | None) -> Entry:
        """Take a frame for sending. Raises `InvalidFrame` for one too large, or the error that ended the run."""
        if self.error is not None:
            raise self.error
        return self._frames.submit(frame, future, streaming=self.phase is Phase.OPEN)

    def decide(self, entry: Entry, *, block: bool) -> list[Verdict] | Verdict | None:
        """Answer a frame here, because the guard is away; the frame is still sent, so that the guard learns of it."""
        return self._frames.decide(entry, block=block, streaming=self.phase is Phase.OPEN)

    @property
    def decided(self) -> int:
        """How many calls were decided here because the guard was away."""
        return self._frames.decided

    def give_up_waiting(self) -> None:
        """Let those who wait decide for themselves: the guard can't be reached."""
        self._resolve_open(None)
        self._frames.resolve_all(GuardUnavailable("the guard can't be reached"))

    def end(self, error: LoopguardError) -> None:
        """Give the run up; everybody who waits or comes later gets `error`."""
        if self.phase is Phase.OVER:
            return
        self.phase, self.error = Phase.OVER, error
        self._opening.stop()
        self._resolve_open(error)
        self._frames.resolve_all(error)
        self._outbox.entries.clear()

    def _resolve_open(self, result: Any) -> None:
        future, self.open_future = self.open_future, None
        if future is not None and not future.done():
            future.set_result(result)

    # The stream's side: what is sent

    def connected(self, opens_ahead: int = 0) -> None:
        """Begin on a stream, on which so many `open`s of the same run by others are still to be answered."""
        if self.phase is Phase.OVER:
            return
        self.wants_stream = False
        self.phase = Phase.OPENING
        self._opening.begin(self._open_frame(), opens_ahead)

    def _open_frame(self) -> bytes:
        known = self.opened is not None
        resume = self.request.resume if not known else not self._rebuilding
        decided = self._frames.tell_decided()
        return codec.encode_open(
            replace(self.request, resume=resume, rebuild=self._rebuilding, decided_unavailable=decided)
        )

    def lost(self) -> None:
        """Note that the stream is gone; the run waits for another one."""
        if self.phase is not Phase.OVER:
            self.phase = Phase.AWAY
            self._opening.stop()

    @property
    def opens_awaited(self) -> int:
        """How many `open`s of this run were sent on this stream and have no answer yet."""
        return self._opening.awaited

    @property
    def next_bytes(self) -> int:
        """How large the next frame that may be sent now is at most, 0 if there is none."""
        if self._opening.to_send:
            return len(self._opening.to_send[0])
        outbox = self._outbox
        if (
            self.phase is Phase.OPEN
            and outbox.next <= outbox.last
            and outbox.next - outbox.confirmed <= self.bounds.limits.in_flight
        ):
            return len(outbox.entries[outbox.next].data) + NUMBER_BYTES
        return 0

    def next_frame(self) -> bytes:
        """Return the next frame, which `next_bytes` has told of; it counts as sent."""
        if self._opening.to_send:
            return self._opening.next_frame()
        seq = self._outbox.next
        self._outbox.next += 1
        return codec.number_frame(seq, self._outbox.entries[seq].data)

    @property
    def awaited(self) -> range:
        """The numbers of the frames that were sent on this stream and have no answer yet."""
        return self._outbox.awaited

    @property
    def in_flight(self) -> bool:
        """Whether an answer is outstanding on this stream."""
        return self.phase is Phase.OPENING or bool(self._outbox.awaited)

    def refuse(self, numbers: Iterable[int], error: LoopguardError) -> None:
        """Give frames up that no server takes; something without effect is sent under their numbers."""
        self._frames.refuse(numbers, error)

    # The stream's side: what comes back

    def receive(self, answer: Answer) -> None:
        """Take an answer of the server."""
        body = answer.body
        if self.phase is Phase.OVER:
            return
        if self.phase is Phase.OPENING and self._opening.is_for_older(answer, is_new=self.opened is None):
            return
        if isinstance(body, Opened):
            self._take_opened(body)
        elif isinstance(body, RunEnded):
            self._take_end(body)
        elif self.phase is Phase.OPENING:
            if isinstance(body, Refusal) and answer.seq == 0:
                self._take_refused_open(body)
        elif isinstance(body, NeedResend):
            self._resend(body.from_seq)
        elif answer.seq:
            self._take_answer(answer)
        if answer.durable_seq:
            # A frame may be durable whose answer was lost with its stream: it is sent again for that.
            self._outbox.forget_to(min(answer.durable_seq, self._outbox.answered))

    def _take_refused_open(self, refusal: Refusal) -> None:
        if refusal.reason == Reason.SHUTTING_DOWN:
            # `GoAway` has the whole stream begin anew elsewhere.
            self.lost()
        else:
            self.end(error_of(refusal))

    def _take_end(self, ended: RunEnded) -> None:
        if ended.reason in (EndReason.SUPERSEDED, EndReason.PROTOCOL):
            refusal = ended.refusal
            self.end(RunRefused(refusal.reason if refusal else str(ended.reason), refusal.message if refusal else ""))
        elif ended.reason is EndReason.WRONG_NODE and self._redirects >= _REDIRECTS:
            self.end(RunRefused(str(ended.reason), f"sent from node to node {self._redirects} times"))
        else:
            self.lost()
            self.wants_stream = True
            if ended.reason is EndReason.WRONG_NODE:
                self._redirects += 1
                self.redirect = ended.endpoint

    def _take_answer(self, answer: Answer) -> None:
        self.late = False
        seq, outbox = answer.seq, self._outbox
        outbox.confirmed = max(outbox.confirmed, seq)
        if seq <= outbox.answered:
            return
        outbox.answered = seq
        entry = outbox.entries.get(seq)
        if entry is None:
            return
        self._frames.take(entry, answer.body)
        if entry.frame is Signal.CLOSE and not isinstance(answer.body, Refusal):
            self.end(RunRefused("", f"run `{self.request.run_id}` is closed"))

    # Resuming and rebuilding

    def _take_opened(self, opened: Opened) -> None:
        first, self.opened = self.opened is None, opened
        self._redirects = 0
        self._frames.note_told()
        self.bounds.learn(opened.limits)
        self._frames.remember(opened.config.get("historySize"))
        self.phase = Phase.OPEN
        self.late = False
        last = opened.last_seq
        outbox = self._outbox
        if first and outbox.oldest == 1:
            outbox.renumber(last + 1, outbox.entries.values())
            outbox.answered = last
        elif opened.rebuilt:
            self._rebuilding = False
            self._frames.tell_anew()
        # Numbers that were given before the server told its own mean nothing to a run that it knows.
        elif first or not outbox.resume(last):
            self._start_rebuild(last)
            return
        outbox.confirmed = outbox.next - 1
        self._frames.refuse_large()
        self._resolve_open(opened)

    def _resend(self, first: int) -> None:
        """Go back to a frame that the server waits for."""
        if first < self._outbox.oldest:
            self._start_rebuild(max(0, first - 1))
        else:
            self._outbox.next = min(first, self._outbox.last + 1)

    def _start_rebuild(self, last: int) -> None:
        """Ask for an empty run in place of the one that the server doesn't have and we can't repeat."""
        self._rebuilding = True
        if self._many:
            # On a stream of many runs an open run has to be closed before its id can be opened again.
            self.phase = Phase.OPENING
            self._opening.begin_behind(codec.encode_frame(last + 1, Signal.CLOSE), self._open_frame())
        else:
            self.lost()
            self.wants_stream = True
