"""One run as its client sees it: numbers, the frames kept for resending, resume and rebuild. No I/O in here."""

from __future__ import annotations

import logging
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from loopguard import codec
from loopguard.client.bounds import ASSUMED, check_batch, newest_that_fit, or_assumed
from loopguard.client.journal import Journal
from loopguard.client.outbox import Entry, Outbox
from loopguard.client.refusals import error_of
from loopguard.errors import GuardUnavailable, InvalidFrame, LoopguardError, Reason, RunRefused
from loopguard.model import (
    Ack,
    Action,
    Answer,
    CallBatch,
    EndReason,
    Frame,
    History,
    NeedResend,
    Opened,
    Outcome,
    Refusal,
    RunEnded,
    RunOpen,
    Signal,
    Status,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loopguard.client.outbox import Future


_log = logging.getLogger("loopguard.client")

#: What the frames kept for resending may come to; DESIGN's numbers.
BUFFER_FRAMES: Final = 1_000
BUFFER_BYTES: Final = 8 << 20
_HISTORY_SIZE = 30
#: Nodes that send a run to each other would do so for ever.
_REDIRECTS: Final = 5
#: What a frame's number takes at most, and what a message of many runs wraps around one run with one frame.
_NUMBER_BYTES: Final = 11
_WRAPPING_BYTES: Final = 24


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

    Frames go in with `submit`, answers with `receive`; what is to be sent comes out of `outgoing`. Not thread-safe.
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
        #: Calls decided here because the guard was away, and how many of them it has not been told of.
        self.decided = 0
        self._untold = 0
        self._told = 0
        #: The stream can't go on with this run; a new one has to be opened.
        self.wants_stream = False
        #: Where the server says that the run belongs; the stream goes there next.
        self.redirect = ""
        #: How often that was said since the run was opened last.
        self._redirects = 0
        #: The answer to a frame is overdue.
        self.late = False
        self.open_future: Future | None = None
        self._now = now
        self._many = many
        self._opened_at = now()
        #: What the server takes.
        self.limits = ASSUMED
        self._outbox = Outbox(buffer_frames, buffer_bytes)
        self._abort_stands = False
        self._rebuilding = False
        self._to_send: list[bytes] = []
        self._journal = Journal(_HISTORY_SIZE, buffer_bytes)
        self._opens_ahead = 0
        self._opening_sent = False
        self._may_reopen = False

    # The stream's side

    def connected(self, opens_ahead: int = 0) -> None:
        """Begin on a stream, on which so many `open`s of the same run by others are still to be answered."""
        if self.phase is Phase.OVER:
            return
        self.wants_stream = False
        self.phase = Phase.OPENING
        self._opens_ahead, self._opening_sent = opens_ahead, False
        self._may_reopen = self._many
        self._to_send = [self._open_frame()]

    @property
    def opens_awaited(self) -> int:
        """How many `open`s of this run were sent on this stream and have no answer yet."""
        return self._opens_ahead + self._opening_sent

    def _open_frame(self) -> bytes:
        self._told = self._untold
        known = self.opened is not None
        resume = self.request.resume if not known else not self._rebuilding
        return codec.encode_open(
            replace(self.request, resume=resume, rebuild=self._rebuilding, decided_unavailable=self._told)
        )

    def lost(self) -> None:
        """Note that the stream is gone; the run waits for another one."""
        if self.phase is not Phase.OVER:
            self.phase = Phase.AWAY
            self._to_send = []

    def give_up_waiting(self) -> None:
        """Let those who wait decide for themselves: the guard can't be reached."""
        self._resolve_open(None)
        for entry in self._outbox.entries.values():
            self._resolve(entry, GuardUnavailable("the guard can't be reached"))

    def end(self, error: LoopguardError) -> None:
        """Give the run up; everybody who waits or comes later gets `error`."""
        if self.phase is Phase.OVER:
            return
        self.phase, self.error = Phase.OVER, error
        self._to_send = []
        self._resolve_open(error)
        for entry in self._outbox.entries.values():
            self._resolve(entry, error)
        self._outbox.entries.clear()

    @property
    def next_bytes(self) -> int:
        """How large the next frame that may be sent now is at most, 0 if there is none."""
        if self._to_send:
            return len(self._to_send[0])
        outbox = self._outbox
        if (
            self.phase is Phase.OPEN
            and outbox.next <= outbox.last
            and outbox.next - outbox.confirmed <= self.limits.in_flight
        ):
            return len(outbox.entries[outbox.next].data) + _NUMBER_BYTES
        return 0

    def next_frame(self) -> bytes:
        """Return the next frame, which `next_bytes` has told of; it counts as sent."""
        if self._to_send:
            self._opening_sent = len(self._to_send) == 1
            return self._to_send.pop(0)
        seq = self._outbox.next
        self._outbox.next += 1
        return codec.number_frame(seq, self._outbox.entries[seq].data)

    @property
    def awaited(self) -> range:
        """The numbers of the frames that were sent on this stream and have no answer yet."""
        return self._outbox.awaited

    def refuse(self, numbers: Iterable[int], error: LoopguardError) -> None:
        """Give frames up that no server takes; something without effect is sent under their numbers."""
        for seq in numbers:
            entry = self._outbox.entries.get(seq)
            if entry is None or entry.frame is Signal.CLOSE:
                continue
            self._resolve(entry, error)
            nothing = History([])
            self._outbox.change(entry, nothing, codec.encode_frame(0, nothing, self.at))

    @property
    def in_flight(self) -> bool:
        """Whether an answer is outstanding on this stream."""
        return self.phase is Phase.OPENING or bool(self._outbox.awaited)

    def receive(self, answer: Answer) -> None:
        """Take an answer of the server."""
        body = answer.body
        if self.phase is Phase.OVER or self._is_of_older(answer):
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

    def _resend(self, first: int) -> None:
        """Go back to a frame that the server waits for."""
        if first < self._outbox.oldest:
            self._start_rebuild(max(0, first - 1))
        else:
            self._outbox.next = min(first, self._outbox.last + 1)

    def _take_refused_open(self, refusal: Refusal) -> None:
        if refusal.reason == Reason.SHUTTING_DOWN:
            # `GoAway` has the whole stream begin anew elsewhere.
            self.lost()
        else:
            self.end(error_of(refusal))

    def _is_of_older(self, answer: Answer) -> bool:
        """Sort out what is said to those who had the run on this stream before; the newest has to have it in the end.

        The server answers an `open` of a run that the stream has by taking it away, and then takes another one.
        """
        body = answer.body
        if not self._many or self.phase is not Phase.OPENING:
            return False
        if isinstance(body, RunEnded) and body.reason is not EndReason.PROTOCOL:
            return self.opened is None and (not self._opening_sent or self._opens_ahead > 0)
        if not isinstance(body, Opened | RunEnded) and not (isinstance(body, Refusal) and answer.seq == 0):
            return False
        if self._opens_ahead:
            self._opens_ahead -= 1
            return True
        self._opening_sent = False
        if isinstance(body, RunEnded) and self._may_reopen:
            self._may_reopen = False
            self._to_send = [self._open_frame()]
            return True
        return False

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
        seq, body = answer.seq, answer.body
        outbox = self._outbox
        outbox.confirmed = max(outbox.confirmed, seq)
        if seq <= outbox.answered:
            return
        outbox.answered = seq
        entry = outbox.entries.get(seq)
        if entry is None:
            return
        frame = entry.frame
        if isinstance(body, Refusal):
            self._take_refusal(entry, body)
            return
        if isinstance(frame, CallBatch) and isinstance(body, list) and not frame.dry_run:
            if entry.future is not None:
                self._journal.ask(frame.calls, body, standing_abort=self._abort_stands)
            self._abort_stands |= any(verdict.action is Action.ABORT for verdict in body)
        elif isinstance(body, Verdict):
            self._abort_stands |= body.action is Action.ABORT
        elif frame is Signal.USER_MESSAGE:
            self._abort_stands = False
        elif frame is Signal.CLOSE:
            self._resolve(entry, body)
            self.end(RunRefused("", f"run `{self.request.run_id}` is closed"))
            return
        self._resolve(entry, body)

    def _take_refusal(self, entry: Entry, refusal: Refusal) -> None:
        if isinstance(entry.frame, CallBatch) and not entry.frame.dry_run:
            self._journal.unnumber(entry.numbered_before, entry.frame.calls)
        if entry.future is None:
            _log.warning("a frame of run %r was refused: %s", self.request.run_id, refusal.message)
        self._resolve(entry, error_of(refusal))

    # Resuming

    def _take_opened(self, opened: Opened) -> None:
        first, self.opened = self.opened is None, opened
        self._redirects = 0
        self._untold -= self._told
        self._told = 0
        self.limits = or_assumed(opened.limits)
        self._journal.resize(int(opened.config.get("historySize", _HISTORY_SIZE)))
        self.phase = Phase.OPEN
        self.late = False
        last = opened.last_seq
        outbox = self._outbox
        if first and outbox.oldest == 1:
            outbox.renumber(last + 1, outbox.entries.values())
            outbox.answered = last
        elif opened.rebuilt:
            self._rebuild()
        # Numbers that were given before the server told its own mean nothing to a run that it knows.
        elif first or not outbox.resume(last):
            self._start_rebuild(last)
            return
        outbox.confirmed = outbox.next - 1
        # Taken before this server told what it takes.
        large = [seq for seq, entry in outbox.entries.items() if len(entry.data) > self._most_bytes]
        self.refuse(large, InvalidFrame(Reason.TOO_LARGE, f"a frame of over {self._most_bytes} bytes"))
        self._resolve_open(opened)

    def _start_rebuild(self, last: int) -> None:
        """Ask for an empty run in place of the one that the server doesn't have and we can't repeat."""
        self._rebuilding = True
        if self._many:
            # On a stream of many runs an open run has to be closed before its id can be opened again.
            self.phase = Phase.OPENING
            self._to_send = [codec.encode_frame(last + 1, Signal.CLOSE), self._open_frame()]
        else:
            self.lost()
            self.wants_stream = True

    def _rebuild(self) -> None:
        self._rebuilding = False
        records = newest_that_fit(self._journal.lose(), self.limits.records_per_history, self._most_bytes)
        outbox = self._outbox
        unanswered = [entry for seq, entry in outbox.entries.items() if seq > outbox.answered]
        kept = [self._entry(History(records), None)]
        for entry in unanswered:
            if isinstance(entry.frame, Outcome) or entry.report is not None:
                # Its call belongs to a lost run, and the history tells of it.
                call_id = entry.frame.call_id if isinstance(entry.frame, Outcome) else ""
                self._resolve(entry, Verdict(entry.report or call_id))
            elif entry.future is not None or not isinstance(entry.frame, CallBatch):
                kept.append(entry)
        self._abort_stands = False
        outbox.answered = 0
        outbox.renumber(1, kept)

    # The caller's side

    @property
    def at(self) -> float:
        """Seconds since the run's start."""
        return self._now() - self._opened_at

    def submit(self, frame: Frame, future: Future | None) -> Entry:
        """Take a frame for sending. Raises `InvalidFrame` for one too large, or the error that ended the run."""
        if self.error is not None:
            raise self.error
        entry = self._note_batch(frame, future) if isinstance(frame, CallBatch) else self._entry(frame, future)
        if not isinstance(frame, CallBatch):
            self._check_size(entry)
        if isinstance(frame, Outcome):
            entry = self._note_outcome(frame, entry)
        self._put(entry)
        return entry

    def _put(self, entry: Entry) -> None:
        self._outbox.put(entry, streaming=self.phase is Phase.OPEN)

    def _note_batch(self, batch: CallBatch, future: Future | None) -> Entry:
        calls = self._journal.number(batch.calls)
        entry = self._entry(CallBatch(calls, batch.dry_run), future)
        check_batch(calls)
        most = self.limits.calls_per_batch
        if self.opened is not None and len(calls) > most:
            raise InvalidFrame(Reason.TOO_MANY_CALLS, f"{len(calls)} calls in one batch; the server takes {most}")
        self._check_size(entry)
        if not batch.dry_run:
            entry.numbered_before = self._journal.use_numbers(batch.calls, calls)
        return entry

    def _note_outcome(self, outcome: Outcome, entry: Entry) -> Entry:
        call = self._journal.settle(outcome)
        if call is None:
            return entry
        if call.lost:
            entry = self._entry(History([call.record()]), entry.future)
        entry.report = call.call.call_id
        return entry

    @property
    def wrapping_bytes(self) -> int:
        """What a message of many runs has around this run's frames, at most."""
        return len(self.request.run_id.encode()) + _WRAPPING_BYTES

    @property
    def _most_bytes(self) -> int:
        """The largest frame, without its number."""
        if not self._many:
            return self.limits.frame_bytes
        return min(self.limits.frame_bytes, self.limits.message_bytes - self.wrapping_bytes - _NUMBER_BYTES)

    def _check_size(self, entry: Entry) -> None:
        size, limit = len(entry.data), self._most_bytes
        if size > limit:
            raise InvalidFrame(Reason.TOO_LARGE, f"a frame of {size} bytes; the server takes {limit}")
        most = self.limits.records_per_history
        if isinstance(entry.frame, History) and len(entry.frame.records) > most:
            raise InvalidFrame(Reason.TOO_LARGE, f"{len(entry.frame.records)} records; the server takes {most}")

    def _entry(self, frame: Frame, future: Future | None) -> Entry:
        return Entry(frame, codec.encode_frame(0, frame, self.at), future)

    def decide(self, entry: Entry, *, block: bool) -> list[Verdict] | Verdict | None:
        """Answer a frame here, because the guard is away; the frame is still sent, so that the guard learns of it."""
        entry.future = None
        frame = entry.frame
        if isinstance(frame, Outcome) or entry.report is not None:
            return Verdict(entry.report or (frame.call_id if isinstance(frame, Outcome) else ""))
        if not isinstance(frame, CallBatch):
            return None
        action, note = (Action.BLOCK, "The loop guard can't be reached.") if block else (Action.ALLOW, "")
        verdicts = [Verdict(call.call_id, action, note=note) for call in frame.calls]
        if not frame.dry_run:
            self.decided += len(verdicts)
            self._untold += len(verdicts)
            if block:
                self._withdraw(entry, frame)
                self._journal.block(frame.calls)
            else:
                self._journal.ask(frame.calls, verdicts, standing_abort=False)
        return verdicts

    def _withdraw(self, entry: Entry, batch: CallBatch) -> None:
        """Make the guard see that calls blocked here did not run."""
        if self._outbox.number_of(entry) >= self._outbox.next:
            question = CallBatch(batch.calls, dry_run=True)
            self._outbox.change(entry, question, codec.encode_frame(0, question, self.at))
        else:
            for call in batch.calls:
                self._put(self._entry(Outcome(call.call_id, Status.CANCELLED), None))

    def _resolve(self, entry: Entry, result: Any) -> None:
        if entry.report is not None and isinstance(result, Ack):
            result = Verdict(entry.report)
        future, entry.future = entry.future, None
        if future is not None and not future.done():
            future.set_result(result)

    def _resolve_open(self, result: Any) -> None:
        future, self.open_future = self.open_future, None
        if future is not None and not future.done():
            future.set_result(result)
