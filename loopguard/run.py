"""One run's state machine: what is asked, what came of it, and what is held against the run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeGuard

from loopguard.calls import OpenCall, OpenCalls, number_calls
from loopguard.compaction import CompactionWindow
from loopguard.detectors import Sighting, outcome_words
from loopguard.errors import InvalidFrame, Reason
from loopguard.events import Event
from loopguard.fingerprint import Kind
from loopguard.history import History
from loopguard.identical_error import IdenticalErrors
from loopguard.model import (
    Action,
    Call,
    CallBatch,
    Finding,
    Frame,
    Level,
    Mode,
    Outcome,
    Record,
    Scope,
    Signal,
    Status,
    Verdict,
)
from loopguard.model import History as HistoryFrame
from loopguard.verdicts import Abort, allow, block, flags_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard.config import LoopDetection
    from loopguard.fingerprint import CallPrint, OutcomePrint
    from loopguard.judgement import Judge, Judgement
    from loopguard.model import RunOpen
    from loopguard.surroundings import Surroundings
    from loopguard.warning_buckets import Buckets

logger = logging.getLogger(__name__)

# A member of an enumeration, looked up by its class, costs as much as a function call.
_OBSERVE: Final = Mode.OBSERVE
_STATUS_PENDING: Final = Status.PENDING
_PENDING: Final = Kind.PENDING

_NO_BUCKETS: Final[Buckets] = {}


class Run:
    """One run. Frames are applied one at a time, in order; not thread-safe."""

    __slots__ = (
        "_abort",
        "_around",
        "_buckets",
        "_compaction",
        "_errors",
        "_history",
        "_judge",
        "_next_number",
        "_open",
        "_recovering",
        "agent_id",
        "calls_asked",
        "closed",
        "config",
        "mode",
        "parent_run_id",
        "profile",
        "run_id",
        "tenant",
        "touched",
    )

    def __init__(
        self,
        opened: RunOpen,
        *,
        run_id: str,
        tenant: str,
        profile: str,
        config: LoopDetection,
        judge: Judge,
        around: Surroundings,
    ) -> None:
        """Begin an empty run with an effective configuration; `Engine.open` does it."""
        self.run_id = run_id
        self.tenant = tenant
        self.agent_id = opened.agent_id
        self.parent_run_id = opened.parent_run_id
        self.profile = profile
        self.mode = opened.mode or Mode.ENFORCE
        self.config = config
        self.calls_asked = 0
        self.touched = around.now()
        self.closed = False
        self._around = around
        self._judge = judge
        self._history = History(config.history_size) if config.enabled else None
        self._open = OpenCalls()
        self._next_number = 1
        self._buckets = _NO_BUCKETS
        self._recovering = False
        self._compaction: CompactionWindow | None = None
        self._errors = IdenticalErrors()
        self._abort: Abort | None = None

    def apply(self, frame: Frame, at: float | None = None) -> list[Verdict] | Verdict | None:  # noqa: ARG002  # `at` is for rules about elapsed time
        """Take a frame at `at` seconds of the run. Calls get a list, outcomes a verdict, others `None`.

        Raises `InvalidFrame`; then nothing has changed.
        """
        if self.closed:
            raise InvalidFrame(Reason.INVALID_FRAME, "the run is closed")
        self.touched = self._around.now()
        if isinstance(frame, CallBatch):
            return self._ask(frame.calls, frame.dry_run)
        if isinstance(frame, Outcome):
            return self._take(frame)
        if isinstance(frame, HistoryFrame):
            self._record(frame.records)
        elif frame is Signal.USER_MESSAGE:
            self._abort = None
            self._recovering = False
            self._errors.reset()
        elif frame is Signal.COMPACTION_RETRY:
            self._arm()
        elif frame is Signal.CLOSE:
            self.closed = True
        else:
            raise InvalidFrame(Reason.INVALID_FRAME, f"{type(frame).__name__} is no frame of an open run")
        return None

    def judge(self, calls: list[Call], *, dry_run: bool = False, at: float | None = None) -> list[Verdict]:
        """Ask about all calls of one model response; `dry_run` asks without consequences."""
        verdicts = self.apply(CallBatch(calls, dry_run), at)
        assert isinstance(verdicts, list)
        return verdicts

    def observe(self, outcome: Outcome, *, at: float | None = None) -> Verdict:
        """Tell how a call ended."""
        verdict = self.apply(outcome, at)
        assert isinstance(verdict, Verdict)
        return verdict

    def record(self, records: list[Record], *, at: float | None = None) -> None:
        """Tell of calls that already happened."""
        self.apply(HistoryFrame(records), at)

    def user_message(self, *, at: float | None = None) -> None:
        """Tell that the user wrote: a standing abort is over."""
        self.apply(Signal.USER_MESSAGE, at)

    def compaction_retry(self, *, at: float | None = None) -> None:
        """Tell that the run retries after a compaction."""
        self.apply(Signal.COMPACTION_RETRY, at)

    @property
    def armed(self) -> bool:
        """Whether the post-compaction guard watches."""
        return self._compaction is not None

    @property
    def open_calls(self) -> int:
        """How many calls were asked and not yet reported."""
        return len(self._open)

    def _ask(self, calls: list[Call], dry_run: bool) -> list[Verdict]:
        if not calls:
            raise InvalidFrame(Reason.INVALID_FRAME, "a batch has at least one call")
        prints = self._around.print_calls(calls, self.run_id)
        if len(calls) == 1 and not dry_run and self._is_clear(prints[0]):
            return [self._admit_one(calls[0].call_id, prints[0])]
        ids, next_number = number_calls(calls, self._next_number)
        if not dry_run:
            self._next_number = next_number
            self.calls_asked += len(calls)
        abort = self._abort
        if self._errors.batch is not None:
            abort = self._pass_over(dry_run) or abort
        if abort is not None:
            if self.mode is _OBSERVE and not dry_run:
                self._admit(ids, prints)
            return abort.verdicts(ids, prints)
        return self._answer(ids, prints, dry_run)

    def _answer(self, ids: list[str], prints: list[CallPrint | None], dry_run: bool) -> list[Verdict]:
        """Judge a batch and answer it."""
        try:
            judgement = self._look(ids, prints)
        except Exception as failure:  # noqa: BLE001  # whatever it is, the batch gets an answer
            self._around.fail("judging a batch", failure, self.run_id)
            return self._answer_failure(ids, prints, dry_run)
        if judgement is not None and judgement.trigger is not None:
            return self._block(ids, prints, judgement.trigger, judgement.sightings[judgement.trigger], dry_run)
        if not dry_run:
            self._admit(ids, prints)
        verdicts = allow(ids, prints)
        if judgement is not None:
            self._warn(verdicts, prints, judgement, dry_run)
        return verdicts

    def _is_clear(self, call: CallPrint | None) -> TypeGuard[CallPrint]:
        """Whether there is nothing to say about a batch of one call; the usual case, in a few steps."""
        return (
            call is not None
            and self._abort is None
            and self._errors.batch is None
            and (self._history is None or self._judge.is_clear(self._history, call))
        )

    def _admit_one(self, call_id: str, call: CallPrint) -> Verdict:
        """Admit a batch of one call about which there is nothing to say."""
        if not call_id:
            call_id = f"c{self._next_number}"
            self._next_number += 1
        self.calls_asked += 1
        number = 0 if self._history is None else self._history.append(call.tool, call.digest, call_id)
        self._open.add(call_id, OpenCall(call, number))
        return Verdict(call_id, flags=flags_of(call.flags)) if call.flags else Verdict(call_id)

    def _pass_over(self, dry_run: bool) -> Abort | None:
        """Wait no longer for open calls of the last batch. Returns the abort to answer with if the guard fires."""
        errors = self._errors.twin() if dry_run else self._errors
        found = errors.pass_over()
        if found is None:
            return None
        fired = self._abort_by(found, Scope.TURN, errors.tool, failed=True)
        if dry_run:
            return self._abort or fired
        return self._hold(fired, found.call_ids[-1], errors.tool)

    def _look(self, ids: list[str], prints: list[CallPrint | None]) -> Judgement | None:
        if None in prints:
            raise LookupError("a call without print")
        return None if self._history is None else self._judge.judge(self._history, self._buckets, ids, prints)

    def _answer_failure(self, ids: list[str], prints: list[CallPrint | None], dry_run: bool) -> list[Verdict]:
        """Answer a batch that loopguard could not judge."""
        if not self.config.fail_open:
            finding = Finding("admission_failure", Level.CRITICAL, 1, 1, cleared_by="loopguard working again")
            return self._block(ids, prints, 0, Sighting(finding, {}), dry_run, vetoes=False)
        if not dry_run:
            self._admit(ids, prints)
        return allow(ids, prints)

    def _warn(
        self, verdicts: list[Verdict], prints: list[CallPrint | None], judgement: Judgement, dry_run: bool
    ) -> None:
        """Put the findings of a batch that runs into its verdicts."""
        if not dry_run:
            self._buckets = judgement.buckets
        for place, sighting in judgement.sightings.items():
            verdict, call = verdicts[place], prints[place]
            verdict.finding = sighting.finding
            if call is not None and place in judgement.due:
                verdict.action = Action.WARN
                verdict.note = self._around.note(sighting.finding, call.tool, sighting.words)
                if not dry_run:
                    self._tell(verdict, call.tool)

    def _block(
        self,
        ids: list[str],
        prints: list[CallPrint | None],
        trigger: int,
        sighting: Sighting,
        dry_run: bool,
        vetoes: bool = True,
    ) -> list[Verdict]:
        """Answer a batch with a critical finding: nothing of it runs."""
        enforces = self.mode is Mode.ENFORCE
        scope = Scope.RUN if self._recovering and enforces else None
        culprit = prints[trigger]
        tool = culprit.tool if culprit is not None else ""
        note = self._around.note(sighting.finding, tool, sighting.words)
        notes = (note, self._around.sibling_note(tool) if len(ids) > 1 else "")
        verdicts = block(ids, prints, trigger, sighting.finding, notes, scope)
        if dry_run:
            return verdicts
        if enforces:
            self._refuse(ids, prints, culprit if vetoes else None)
            self._recovering = True
            if scope is not None:
                self._abort = Abort(scope, sighting.finding, note)
        else:
            self._admit(ids, prints)
        self._tell(verdicts[trigger], tool)
        return verdicts

    def _admit(self, ids: list[str], prints: Sequence[CallPrint | None]) -> None:
        """Record the calls of a batch that runs, or will run whatever is answered."""
        history = self._history
        batch = self._errors.begin(len(ids)) if len(ids) > 1 else None
        for place, call in enumerate(prints):
            if call is not None:
                call_id = ids[place]
                number = 0 if history is None else history.append(call.tool, call.digest, call_id)
                self._open.add(call_id, OpenCall(call, number, batch, place))

    def _refuse(self, ids: list[str], prints: Sequence[CallPrint | None], culprit: CallPrint | None) -> None:
        """Remember the calls of a blocked batch; those with the culprit's signature leave a veto in the history."""
        history = self._history
        for call_id, call in zip(ids, prints, strict=True):
            if call is None:
                continue
            if culprit and history is not None and call.digest == culprit.digest and call.tool == culprit.tool:
                history.append_call(call, call_id, Kind.VETO)
            self._open.add(call_id, OpenCall(call, None))

    def _take(self, outcome: Outcome) -> Verdict:
        if outcome.status is _STATUS_PENDING:
            raise InvalidFrame(Reason.INVALID_FRAME, "the status PENDING is only for records of `history`")
        call_id, call = self._open.find(outcome.call_id)
        result = self._around.print_outcome(call.print, outcome, self.run_id)
        self._open.remove(call_id)
        if self._history is not None and result.kind is not _PENDING:
            self._settle(self._history, call_id, call, result)
        answer = self._abort
        failed = self._errors.take(call_id, call, result)
        if failed is not None:
            tool = self._errors.tool
            answer = self._hold(self._abort_by(failed, Scope.TURN, tool, failed=True), call_id, tool)
        if self._compaction is not None:
            persisted = self._compaction.take(call_id, call.print, result)
            if not self._compaction.open:
                self._compaction = None
            if persisted is not None:
                tool = call.print.tool
                answer = self._hold(self._abort_by(persisted, Scope.RUN, tool, failed=result.failed), call_id, tool)
        if answer is not None:
            return answer.verdict(call_id, result.flags)
        return Verdict(call_id, flags=flags_of(result.flags)) if result.flags else Verdict(call_id)

    def _settle(self, history: History, call_id: str, call: OpenCall, outcome: OutcomePrint) -> None:
        """Write an outcome into the call's record; where there is none (any longer), append a complete one."""
        if call.number is None or not history.settle_call(call.number, outcome):
            history.append_complete(call.print, outcome, call_id)

    def _record(self, records: Sequence[Record]) -> None:
        printed = self._around.print_records(records, self.run_id)
        if self._history is not None:
            for call, outcome in printed:
                self._history.append_complete(call, outcome)

    def _arm(self) -> None:
        if self.config.enabled is False:
            return
        window = self.config.window_size
        self._compaction = CompactionWindow(window)
        logger.info("post-compaction guard armed for %d attempts", window, extra={"run_id": self.run_id})

    def _abort_by(self, finding: Finding, scope: Scope, tool: str, *, failed: bool) -> Abort:
        return Abort(scope, finding, self._around.note(finding, tool, outcome_words(failed)))

    def _hold(self, fired: Abort, call_id: str, tool: str) -> Abort:
        """Hold an abort against the run, unless a wider one stands. Returns what is answered."""
        standing = self._abort
        if standing is None or standing.finding.detector != fired.finding.detector:
            self._tell(fired.verdict(call_id), tool)
        if standing is not None and not standing.gives_way_to(fired):
            return standing
        if self.mode is Mode.ENFORCE:
            self._abort = fired
        return fired

    def _tell(self, verdict: Verdict, tool: str) -> None:
        if verdict.finding is not None:
            event = Event(
                self.run_id,
                verdict.call_id,
                tool,
                verdict.action,
                verdict.finding,
                verdict.note,
                verdict.scope,
                self.agent_id,
                self.tenant,
            )
            self._around.tell(event)
