"""One run's state machine in profile `openclaw`: what is asked, what came of it, and what is held against the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loopguard.calls import OpenCall, number_calls
from loopguard.detectors import Sighting, outcome_words
from loopguard.errors import InvalidFrame, Reason
from loopguard.fingerprints import Kind, admit, report, settle
from loopguard.guards.identical_error import IdenticalErrors
from loopguard.history import History
from loopguard.model import Action, Finding, Level, Mode, Scope, Status, Verdict
from loopguard.openclaw.warning_buckets import pack_buckets, unpack_buckets
from loopguard.run import Run
from loopguard.verdicts import Abort, allow, block, flags_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard._pack import Reader, Writer
    from loopguard.fingerprints import CallPrint, OutcomePrint
    from loopguard.model import Call, Outcome, Record, RunOpen
    from loopguard.openclaw.judgement import Judge, Judgement
    from loopguard.openclaw.warning_buckets import Buckets

# A member of an enumeration, looked up by its class, costs as much as a function call.
_OBSERVE: Final = Mode.OBSERVE
_STATUS_PENDING: Final = Status.PENDING
_PENDING: Final = Kind.PENDING

_NO_BUCKETS: Final[Buckets] = {}


class OpenclawRun(Run):
    """One run of profile `openclaw`."""

    __slots__ = ("_buckets", "_judge", "_recovering")

    # Fields of `RunState`, which can't know these classes.
    _errors: IdenticalErrors
    _history: History | None

    def __init__(self, opened: RunOpen, *, judge: Judge, **shared: Any) -> None:
        """Begin an empty run; `shared` goes to `Run`."""
        super().__init__(opened, **shared)
        self._judge = judge
        self._quiet_below = judge.quiet_below
        self._readers = self._around.readers
        self._history = History(self.config.history_size) if self.config.enabled else None
        self._buckets = _NO_BUCKETS
        self._recovering = False
        self._errors = IdenticalErrors()

    def pack(self, out: Writer) -> None:
        """Write into a snapshot all that answers to later frames depend on, but for how the run was opened."""
        self._errors.pack(out)
        self._pack_shared(out, self._errors.batch)
        if self._history is not None:
            self._history.write(out)
        pack_buckets(self._buckets, out)
        out.flag(self._recovering)

    def unpack(self, data: Reader) -> None:
        """Take over in an empty run what was packed. Raises `ValueError`."""
        self._errors = IdenticalErrors.unpack(data)
        self._unpack_shared(data, self._errors.batch)
        if self._history is not None:
            self._history = History.read(data)
        self._buckets = unpack_buckets(data)
        self._recovering = data.flag()

    def _begin_turn(self) -> None:
        super()._begin_turn()
        self._recovering = False
        self._errors.reset()

    def _ask(self, calls: list[Call], dry_run: bool) -> list[Verdict] | str:
        if len(calls) == 1 and not dry_run:
            call = self._around.print_call(calls[0], self.run_id)
            if call is not None and (admitted := admit(self, calls[0].call_id, call)) is not None:
                return admitted
            prints = [call]
        elif calls:
            prints = self._around.print_calls(calls, self.run_id)
        else:
            raise InvalidFrame(Reason.INVALID_FRAME, "a batch has at least one call")
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

    def _take(self, outcome: Outcome) -> Verdict | str:
        if outcome.status is _STATUS_PENDING:
            raise InvalidFrame(Reason.INVALID_FRAME, "the status PENDING is only for records of `history`")
        call_id, call = self._open.find(outcome.call_id)
        result = self._around.print_outcome(call.print, outcome, self.run_id)
        if report(self, call_id, call, result):
            return call_id
        del self._open[call_id]
        if self._history is not None and result.kind is not _PENDING:
            self._settle(self._history, call_id, call, result)
        answer, errors = self._abort, self._errors
        # An outcome that is fine, of no batch, and behind no failure says nothing to this guard.
        if result.failed or errors.streak or call.batch is not None:
            failed = errors.take(call_id, call, result)
            if failed is not None:
                tool = errors.tool
                answer = self._hold(self._abort_by(failed, Scope.TURN, tool, failed=True), call_id, tool)
        if self._compaction is not None and (found := self._persisted(call_id, call.print, result)) is not None:
            tool = call.print.tool
            answer = self._hold(self._abort_by(found, Scope.RUN, tool, failed=result.failed), call_id, tool)
        if answer is not None:
            return answer.verdict(call_id, result.flags)
        return Verdict(call_id, flags=flags_of(result.flags)) if result.flags else call_id

    def _settle(self, history: History, call_id: str, call: OpenCall, outcome: OutcomePrint) -> None:
        """Write an outcome into the call's record; where there is none (any longer), append a complete one."""
        if call.number is None or not settle(history, call.number, outcome):
            history.append_complete(call.print, outcome, call_id)

    def _record(self, records: Sequence[Record]) -> None:
        printed = self._around.print_records(records, self.run_id)
        if self._history is not None:
            for call, outcome in printed:
                self._history.append_complete(call, outcome)

    def _abort_by(self, finding: Finding, scope: Scope, tool: str, *, failed: bool) -> Abort:
        return Abort(scope, finding, self._around.note(finding, tool, outcome_words(failed)))
