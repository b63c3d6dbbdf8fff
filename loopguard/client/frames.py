"""What a run's frames say: taken from the caller, answered by the guard or decided here. No I/O in here."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from loopguard import codec
from loopguard.client.bounds import newest_that_fit
from loopguard.client.journal import Journal
from loopguard.client.outbox import Entry, Outbox
from loopguard.client.refusals import error_of
from loopguard.errors import InvalidFrame, LoopguardError, Reason
from loopguard.model import (
    Action,
    CallBatch,
    Frame,
    History,
    Outcome,
    Refusal,
    Signal,
    Status,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loopguard.client.bounds import Bounds
    from loopguard.client.outbox import Future

_log = logging.getLogger("loopguard.client")

#: Until `Opened` tells the run's own.
_HISTORY_SIZE: Final = 30


class Frames:
    """The frames of one run and the calls in them; `outbox` has those that are not over."""

    def __init__(
        self, run_id: str, bounds: Bounds, *, now: Callable[[], float], buffer_frames: int, buffer_bytes: int
    ) -> None:
        """Begin a run now."""
        self.outbox = Outbox(buffer_frames, buffer_bytes)
        #: Calls decided here because the guard was away, and how many of them it has not been told of.
        self.decided = 0
        self._untold = 0
        self._told = 0
        self._run_id = run_id
        self._bounds = bounds
        self._now = now
        self._began_at = now()
        self._journal = Journal(_HISTORY_SIZE, buffer_bytes)
        self._abort_stands = False

    def _entry(self, frame: Frame, future: Future | None) -> Entry:
        return Entry(frame, codec.encode_frame(0, frame, self._at), future)

    @property
    def _at(self) -> float:
        """Seconds since the run's start."""
        return self._now() - self._began_at

    # From the caller

    def submit(self, frame: Frame, future: Future | None, *, streaming: bool) -> Entry:
        """Take a frame for sending. Raises `InvalidFrame`."""
        entry = self._note_batch(frame, future) if isinstance(frame, CallBatch) else self._entry(frame, future)
        if not isinstance(frame, CallBatch):
            self._bounds.check(frame, len(entry.data))
        if isinstance(frame, Outcome):
            entry = self._note_outcome(frame, entry)
        self.outbox.put(entry, streaming=streaming)
        return entry

    def _note_batch(self, batch: CallBatch, future: Future | None) -> Entry:
        calls = self._journal.number(batch.calls)
        entry = self._entry(CallBatch(calls, batch.dry_run), future)
        self._bounds.check_batch(calls)
        self._bounds.check(entry.frame, len(entry.data))
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

    # Without the guard

    def decide(self, entry: Entry, *, block: bool, streaming: bool) -> list[Verdict] | Verdict | None:
        """Answer a frame here, because the guard is away; the frame is still sent, so that the guard learns of it."""
        entry.future = None
        frame = entry.frame
        if isinstance(frame, Outcome) or entry.report is not None:
            return Verdict(entry.call_id)
        if not isinstance(frame, CallBatch):
            return None
        action, note = (Action.BLOCK, "The loop guard can't be reached.") if block else (Action.ALLOW, "")
        verdicts = [Verdict(call.call_id, action, note=note) for call in frame.calls]
        if not frame.dry_run:
            self.decided += len(verdicts)
            self._untold += len(verdicts)
            if block:
                self._withdraw(entry, frame, streaming=streaming)
                self._journal.block(frame.calls)
            else:
                self._journal.ask(frame.calls, verdicts, standing_abort=False)
        return verdicts

    def _withdraw(self, entry: Entry, batch: CallBatch, *, streaming: bool) -> None:
        """Make the guard see that calls blocked here did not run."""
        if self.outbox.number_of(entry) >= self.outbox.next:
            question = CallBatch(batch.calls, dry_run=True)
            self.outbox.change(entry, question, codec.encode_frame(0, question, self._at))
        else:
            for call in batch.calls:
                cancelled = self._entry(Outcome(call.call_id, Status.CANCELLED), None)
                self.outbox.put(cancelled, streaming=streaming)

    def tell_decided(self) -> int:
        """Return how many calls decided here the guard is to be told of."""
        self._told = self._untold
        return self._told

    def note_told(self) -> None:
        """Note that the guard was told."""
        self._untold -= self._told
        self._told = 0

    # From the guard

    def take(self, entry: Entry, body: Any) -> None:
        """Take the first answer to a frame."""
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
        entry.resolve(body)

    def _take_refusal(self, entry: Entry, refusal: Refusal) -> None:
        if isinstance(entry.frame, CallBatch) and not entry.frame.dry_run:
            self._journal.unnumber(entry.numbered_before, entry.frame.calls)
        if entry.future is None:
            _log.warning("a frame of run %r was refused: %s", self._run_id, refusal.message)
        entry.resolve(error_of(refusal))

    def remember(self, history_size: int | None) -> None:
        """Remember so many calls from now on."""
        self._journal.resize(_HISTORY_SIZE if history_size is None else history_size)

    # What can't be sent

    def refuse(self, numbers: Iterable[int], error: LoopguardError) -> None:
        """Give frames up that no server takes; something without effect is sent under their numbers."""
        for seq in numbers:
            entry = self.outbox.entries.get(seq)
            if entry is None or entry.frame is Signal.CLOSE:
                continue
            entry.resolve(error)
            nothing = History([])
            self.outbox.change(entry, nothing, codec.encode_frame(0, nothing, self._at))

    def refuse_large(self) -> None:
        """Give frames up that were taken before this server told what it takes."""
        most = self._bounds.most_bytes
        large = [seq for seq, entry in self.outbox.entries.items() if len(entry.data) > most]
        self.refuse(large, InvalidFrame(Reason.TOO_LARGE, f"a frame of over {most} bytes"))

    def resolve_all(self, error: LoopguardError) -> None:
        """Give everybody who waits this error."""
        for entry in self.outbox.entries.values():
            entry.resolve(error)

    def tell_anew(self) -> None:
        """Keep, from number 1, what an empty run has to be told: the newest calls, and what has no answer."""
        outbox, most = self.outbox, self._bounds.limits.records_per_history
        records = newest_that_fit(self._journal.lose(), most, self._bounds.most_bytes)
        unanswered = [entry for seq, entry in outbox.entries.items() if seq > outbox.answered]
        kept = [self._entry(History(records), None)]
        for entry in unanswered:
            if isinstance(entry.frame, Outcome) or entry.report is not None:
                # Its call belongs to a lost run, and the history tells of it.
                entry.resolve(Verdict(entry.call_id))
            elif entry.future is not None or not isinstance(entry.frame, CallBatch):
                kept.append(entry)
        self._abort_stands = False
        outbox.answered = 0
        outbox.renumber(1, kept)
