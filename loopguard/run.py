"""One run's state machine: what is asked, what came of it, and what is held against the run."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loopguard.calls import OpenCall, OpenCalls, number_calls
from loopguard.compaction import CompactionWindow
from loopguard.detectors import PROFILES, Sighting, lowest_count
from loopguard.errors import InvalidFrame, Reason
from loopguard.events import Event
from loopguard.fingerprint import Kind
from loopguard.history import History
from loopguard.identical_error import IdenticalErrors, Report
from loopguard.model import (
    Action,
    Call,
    CallBatch,
    Finding,
    Flag,
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
from loopguard.warning_buckets import Buckets, bucket_of, note_given

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loopguard.fingerprint import CallPrint, Fingerprinter, OutcomePrint
    from loopguard.loop_detection import LoopDetection
    from loopguard.model import RunOpen
    from loopguard.notes import Notes

logger = logging.getLogger(__name__)

_NO_FLAGS: Final = Flag(0)


@dataclass(slots=True)
class Surroundings:
    """What all runs of an engine share. `failures` counts batches and outcomes that loopguard could not judge."""

    fingerprinter: Fingerprinter
    notes: Notes
    now: Callable[[], float]
    on_event: Callable[[Event], None] | None
    failures: int = 0


class Abort:
    """An answer that ends the turn or the run."""

    __slots__ = ("finding", "note", "scope")

    def __init__(self, scope: Scope, finding: Finding, note: str) -> None:
        self.scope = scope
        self.finding = finding
        self.note = note

    def verdict(self, call_id: str, flags: int) -> Verdict:
        """Answer a call or an outcome with it."""
        return Verdict(call_id, Action.ABORT, self.finding, self.note, scope=self.scope, flags=_flags(flags))


class Judgement:
    """What came of looking at a batch: a sighting a call up to the first critical one, and the buckets afterwards."""

    __slots__ = ("buckets", "due", "sightings", "trigger")

    def __init__(self, buckets: Buckets) -> None:
        self.sightings: list[Sighting | None] = []
        #: For each sighting, whether its note is due.
        self.due: list[bool] = []
        self.buckets = buckets
        self.trigger: int | None = None


class Run:
    """One run. Frames are applied one at a time, in order; not thread-safe."""

    __slots__ = (
        "_abort",
        "_around",
        "_buckets",
        "_compaction",
        "_detectors",
        "_errors",
        "_history",
        "_lowest",
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
    )  # fmt: skip

    def __init__(
        self, opened: RunOpen, *, run_id: str, tenant: str, profile: str, config: LoopDetection, around: Surroundings
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
        self._detectors = PROFILES[profile]
        self._history = History(config.history_size) if config.enabled else None
        self._lowest = lowest_count(config)
        self._open = OpenCalls()
        self._next_number = 1
        self._buckets: Buckets = {}
        self._recovering = False
        self._compaction: CompactionWindow | None = None
        self._errors = IdenticalErrors()
        self._abort: Abort | None = None

    def apply(self, frame: Frame, at: float | None = None) -> list[Verdict] | Verdict | None:  # noqa: ARG002  # for rules about elapsed time
        """Take a frame at `at` seconds of the run. Calls get a list, outcomes a verdict, others `None`.

        Raises `InvalidFrame`; then nothing has changed.
        """
        if self.closed:
            raise InvalidFrame(Reason.INVALID_FRAME, "the run is closed")
        self.touched = self._around.now()
        if isinstance(frame, CallBatch):
            return self._judge(frame.calls, frame.dry_run)
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
        return self._compaction is not None and self._compaction.open

    @property
    def open_calls(self) -> int:
        """How many calls were asked and not yet reported."""
        return len(self._open)

    def _judge(self, calls: list[Call], dry_run: bool) -> list[Verdict]:
        if not calls:
            raise InvalidFrame(Reason.INVALID_FRAME, "a batch has at least one call")
        ids, next_number = number_calls(calls, self._next_number)
        prints = self._print_calls(calls)
        errors = self._errors.twin() if dry_run else self._errors
        if not dry_run:
            self._next_number = next_number
            self.calls_asked += len(calls)
        waited = errors.pass_over()
        abort = self._abort
        if waited is not None:
            fired = self._abort_by(waited, Scope.TURN, errors.tool)
            abort = abort or fired
            if not dry_run:
                self._hold(fired, waited.call_ids[-1], errors.tool)
        if abort is not None:
            if self.mode is Mode.OBSERVE and not dry_run:
                self._admit(ids, prints)
            return [
                abort.verdict(call_id, call.flags if call else 0) for call_id, call in zip(ids, prints, strict=True)
            ]
        return self._admission(ids, prints, dry_run)

    def _print_calls(self, calls: Sequence[Call]) -> list[CallPrint | None]:
        """Fingerprint a batch; a call that loopguard itself fails on has none."""
        printed: list[CallPrint | None] = []
        for call in calls:
            try:
                printed.append(self._around.fingerprinter.call(call))
            except InvalidFrame:
                raise
            except Exception as failure:  # noqa: BLE001  # whatever it is, section "failures" of the behaviour says what to answer
                self._failed("fingerprinting a call", failure)
                printed.append(None)
        return printed

    def _admission(self, ids: list[str], prints: list[CallPrint | None], dry_run: bool) -> list[Verdict]:
        judgement: Judgement | None = None
        whole = [call for call in prints if call is not None]
        if len(whole) == len(prints):
            try:
                judgement = self._look(ids, whole)
            except Exception as failure:  # noqa: BLE001  # as above
                self._failed("judging a batch", failure)
        if judgement is None:
            if self.config.fail_open:
                if not dry_run:
                    self._admit(ids, prints)
                return [
                    Verdict(call_id, flags=_flags(call.flags if call else 0))
                    for call_id, call in zip(ids, prints, strict=True)
                ]
            finding = Finding("admission_failure", Level.CRITICAL, 1, 1, cleared_by="loopguard working again")
            return self._block(ids, prints, 0, Sighting(finding, {}), dry_run, vetoes=False)
        if judgement.trigger is not None:
            sighting = judgement.sightings[judgement.trigger]
            assert sighting is not None
            return self._block(ids, prints, judgement.trigger, sighting, dry_run)
        if not dry_run:
            self._buckets = judgement.buckets
            self._admit(ids, prints)
        return self._allow(ids, whole, judgement, dry_run)

    def _look(self, ids: list[str], calls: list[CallPrint]) -> Judgement:
        """Judge a batch in order, each call as if its earlier siblings had been vetoed; nothing changes."""
        judgement = Judgement(self._buckets)
        history = self._history
        if history is None:
            return judgement
        for index, call in enumerate(calls):
            if index:
                if index == 1:
                    history = history.copy()
                history.append_call(calls[index - 1], ids[index - 1], Kind.VETO)
            sighting, threshold = self._sight(history, call)
            judgement.sightings.append(sighting)
            due = False
            if sighting is not None:
                if sighting.finding.level is Level.CRITICAL:
                    judgement.trigger = index
                    return judgement
                bucket = bucket_of(sighting.finding.count, threshold)
                due = bucket > judgement.buckets.get(sighting.key, -1)
                if due:
                    judgement.buckets = note_given(judgement.buckets, sighting.key, bucket)
            judgement.due.append(due)
        return judgement

    def _sight(self, history: History, call: CallPrint) -> tuple[Sighting | None, int]:
        """Return the first finding about a call, and the warning threshold that holds for it."""
        limits, lowest = self.config, self._lowest
        poll = call.poll
        if limits.tools and (tool := limits.tools.get(call.tool)) is not None:
            if tool.exempt:
                return None, 0
            poll = poll or (tool.polls is not None and (not tool.polls or call.action in tool.polls))
            if tool.limits is not None:
                limits, lowest = tool.limits, lowest_count(tool.limits)
        facts = history.facts(call, lowest)
        if facts is not None:
            facts.poll = poll
            for detector in self._detectors:
                sighting = detector(facts, limits)
                if sighting is not None:
                    return sighting, limits.warning_threshold
        return None, 0

    def _allow(self, ids: list[str], calls: list[CallPrint], judgement: Judgement, dry_run: bool) -> list[Verdict]:
        if not judgement.sightings:
            return [Verdict(call_id, flags=_flags(call.flags)) for call_id, call in zip(ids, calls, strict=True)]
        verdicts = []
        for call_id, call, sighting, due in zip(ids, calls, judgement.sightings, judgement.due, strict=True):
            verdict = Verdict(call_id, flags=_flags(call.flags))
            verdicts.append(verdict)
            if sighting is None:
                continue
            verdict.finding = sighting.finding
            if due:
                verdict.action = Action.WARN
                verdict.note = self._note(sighting, call.tool)
                if not dry_run:
                    self._emit(verdict, call.tool)
        return verdicts

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
        ends_run = self._recovering and enforces
        action, scope = (Action.ABORT, Scope.RUN) if ends_run else (Action.BLOCK, None)
        culprit = prints[trigger]
        tool = culprit.tool if culprit is not None else ""
        note = self._note(sighting, tool)
        sibling_note = self._around.notes.of("blocked_sibling", {"tool": tool}) if len(ids) > 1 else ""
        verdicts = [
            Verdict(
                call_id,
                action,
                sighting.finding if place == trigger else None,
                note if place == trigger else sibling_note,
                "" if place == trigger else ids[trigger],
                scope,
                _flags(call.flags if call else 0),
            )
            for place, (call_id, call) in enumerate(zip(ids, prints, strict=True))
        ]
        if dry_run:
            return verdicts
        if enforces:
            self._veto(ids, prints, culprit if vetoes else None)
            self._recovering = True
            if ends_run:
                self._abort = Abort(Scope.RUN, sighting.finding, note)
        else:
            self._admit(ids, prints)
        self._emit(verdicts[trigger], tool)
        return verdicts

    def _admit(self, ids: list[str], prints: Sequence[CallPrint | None]) -> None:
        history, errors = self._history, self._errors
        errors.begin(len(ids))
        for place, (call_id, call) in enumerate(zip(ids, prints, strict=True)):
            if call is not None:
                number = history.append(call.tool, call.digest, call_id) if history is not None else 0
                self._open.add(call_id, OpenCall(call, number, errors.batch, place))

    def _veto(self, ids: list[str], prints: Sequence[CallPrint | None], culprit: CallPrint | None) -> None:
        """Remember the calls of a blocked batch; those with the culprit's signature leave a veto in the history."""
        for call_id, call in zip(ids, prints, strict=True):
            if call is None:
                continue
            if culprit and self._history is not None and call.digest == culprit.digest and call.tool == culprit.tool:
                self._history.append_call(call, call_id, Kind.VETO)
            self._open.add(call_id, OpenCall(call, None))

    def _take(self, outcome: Outcome) -> Verdict:
        if outcome.status is Status.PENDING:
            raise InvalidFrame(Reason.INVALID_FRAME, "the status PENDING is only for records of `history`")
        call_id, call = self._open.find(outcome.call_id)
        try:
            result = self._around.fingerprinter.outcome(call.print, outcome)
        except InvalidFrame:
            raise
        except Exception as failure:  # noqa: BLE001  # whatever it is, the record stays pending
            self._failed("fingerprinting an outcome", failure)
            raise InvalidFrame(Reason.INTERNAL, "the outcome could not be taken") from None
        self._open.remove(call_id)
        self._settle(call_id, call, result)
        answer = self._abort
        tool = call.print.tool
        found = self._errors.take(Report(call_id, call.print, result), call.batch, call.place)
        if found is not None:
            answer = self._hold(self._abort_by(found, Scope.TURN, self._errors.tool), call_id, self._errors.tool)
        if self._compaction is not None:
            found = self._compaction.take(call_id, call.print, result)
            if found is not None:
                answer = self._hold(self._abort_by(found, Scope.RUN, tool), call_id, tool)
            if not self._compaction.open:
                self._compaction = None
        if answer is not None:
            return answer.verdict(call_id, result.flags)
        return Verdict(call_id, flags=_flags(result.flags))

    def _settle(self, call_id: str, call: OpenCall, outcome: OutcomePrint) -> None:
        """Write an outcome into the call's record; where there is none (any longer), append a complete one."""
        history = self._history
        if history is None or outcome.kind is Kind.PENDING:
            return
        if call.number is None or not history.settle_call(call.number, outcome):
            history.append_complete(call.print, outcome, call_id)

    def _record(self, records: Sequence[Record]) -> None:
        printer = self._around.fingerprinter
        try:
            printed = [(call, printer.outcome(call, record)) for record in records for call in (printer.call(record),)]
        except InvalidFrame:
            raise
        except Exception as failure:  # noqa: BLE001  # whatever it is, nothing is recorded
            self._failed("fingerprinting a record", failure)
            raise InvalidFrame(Reason.INTERNAL, "the records could not be taken") from None
        if self._history is not None:
            for call, outcome in printed:
                self._history.append_complete(call, outcome)

    def _arm(self) -> None:
        if self.config.enabled is False:
            return
        self._compaction = CompactionWindow(self.config.window_size)
        logger.info(
            "post-compaction guard armed for %d attempts", self.config.window_size, extra={"run_id": self.run_id}
        )

    def _abort_by(self, finding: Finding, scope: Scope, tool: str) -> Abort:
        return Abort(scope, finding, self._note(Sighting(finding, {"outcomes": "outcomes"}), tool))

    def _hold(self, fired: Abort, call_id: str, tool: str) -> Abort:
        """Hold an abort against the run, unless a wider one stands. Returns what is answered."""
        standing = self._abort
        if standing is None or standing.finding.detector != fired.finding.detector:
            self._emit(fired.verdict(call_id, 0), tool)
        if standing is not None and not (standing.scope is Scope.TURN and fired.scope is Scope.RUN):
            return standing
        if self.mode is Mode.ENFORCE:
            self._abort = fired
        return fired

    def _note(self, sighting: Sighting, tool: str) -> str:
        finding = sighting.finding
        words = {"tool": tool, "count": finding.count, "threshold": finding.threshold, **sighting.words}
        return self._around.notes.of(f"{finding.detector}.{finding.level}", words)

    def _emit(self, verdict: Verdict, tool: str) -> None:
        on_event = self._around.on_event
        if on_event is None or verdict.finding is None:
            return
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
        try:
            on_event(event)
        except Exception as failure:  # noqa: BLE001  # a listener must not turn an answer into an error
            self._failed("telling an event", failure)

    def _failed(self, doing: str, failure: Exception) -> None:
        """Count and log a failure of our own; not its text, which may quote arguments."""
        self._around.failures += 1
        trace = failure.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"
        logger.error("%s failed: %s at %s", doing, type(failure).__name__, where, extra={"run_id": self.run_id})


def _flags(flags: int) -> Flag:
    return Flag(flags) if flags else _NO_FLAGS
