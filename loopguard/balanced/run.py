"""A run of profile `balanced`: the same frames and answers, judged by the course of the run instead of its history."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from loopguard.balanced.watch import LATEST_TURN, Asked, Watch
from loopguard.calls import LIMIT, OpenCall, number_calls
from loopguard.errors import InvalidFrame, Reason
from loopguard.fingerprints import Kind
from loopguard.model import Action, Finding, Level, Mode, Scope, Signal, Status, Verdict
from loopguard.run import Run
from loopguard.verdicts import Abort, allow, flags_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard._facts import CallFacts
    from loopguard._pack import Reader, Writer
    from loopguard.balanced.standing import Standing
    from loopguard.course.lineage import Lineage
    from loopguard.detectors.balanced import Limits
    from loopguard.facts import Describer
    from loopguard.fingerprints import CallPrint, OutcomePrint
    from loopguard.model import Call, Frame, Outcome, Record

_NO_DIGEST: Final = b""


class BalancedRun(Run):
    """One run of profile `balanced`.

    Unlike in `openclaw`, an unset `enabled` is on, outcomes may be answered with WARN, and of a batch only the calls
    that repeat are blocked.
    """

    __slots__ = ("_asked", "_at", "_describer", "_turn", "_watch")

    @property
    def watches(self) -> bool:
        """Whether the run's configuration has not switched it off."""
        return self.config.enabled is not False

    def watch_with(self, limits: Limits, describer: Describer, lineage: Lineage) -> None:
        """Begin to watch, unless the run's configuration switched it off."""
        self._watch = Watch(limits, lineage) if self.watches else None
        self._describer = describer
        self._asked: OrderedDict[str, Asked] = OrderedDict()
        self._turn = 0
        self._at: float | None = None

    def pack(self, out: Writer) -> None:
        """Write into a snapshot all that answers to later frames depend on, but for how the run was opened."""
        if self._watch is not None:
            self._watch.lineage.pack(out)
        self._pack_shared(out)
        out.number(self._turn)
        out.number(len(self._asked))
        for call_id, asked in self._asked.items():
            out.name(call_id)
            asked.pack(out)
        if self._watch is not None:
            self._watch.pack(out)

    def unpack(self, data: Reader) -> None:
        """Take over in an empty run what was packed, behind its lineage. Raises `ValueError`."""
        self._unpack_shared(data)
        self._turn = data.small(LATEST_TURN)
        self._asked = OrderedDict((data.name(), Asked.unpack(data)) for _ in range(data.count()))
        if self._watch is not None:
            self._watch.unpack(data)

    def answer(self, frame: Frame, at: float | None = None) -> list[Verdict] | Verdict | str | None:
        """Take a frame at `at` seconds of the run, as `Run.answer` does."""
        self._at = at
        if self._watch is not None and self._watch.asleep:
            self._wake(self._watch)
        answer = super().answer(frame, at)
        if frame is Signal.USER_MESSAGE and self._watch is not None:
            self._watch.user_message()
        return answer

    def _wake(self, watch: Watch) -> None:
        """Have a restored run remember."""
        try:
            watch.wake()
        except ValueError as failure:
            self._around.fail("reading what a run has done", failure, self.run_id)

    def _ask(self, calls: list[Call], dry_run: bool) -> list[Verdict]:
        if not calls:
            raise InvalidFrame(Reason.INVALID_FRAME, "a batch has at least one call")
        prints = self._around.print_calls(calls, self.run_id)
        ids, next_number = number_calls(calls, self._next_number)
        if not dry_run:
            self._next_number = next_number
            self.calls_asked += len(calls)
            self._turn += 1
        if self._abort is not None:
            if self.mode is Mode.OBSERVE and not dry_run:
                self._admit_all(ids, prints, self._describe(calls, prints))
            return self._abort.verdicts(ids, prints)
        try:
            asked = self._describe(calls, prints)
            found = [self._watch.ask(one.call) if self._watch and one else None for one in asked]
            if None in prints:
                raise LookupError("a call without print")
        except Exception as failure:  # noqa: BLE001  # whatever it is, the batch gets an answer
            self._around.fail("judging a batch", failure, self.run_id)
            return self._answer_failed(ids, prints, dry_run)
        return self._answer_found(ids, prints, asked, found, dry_run)

    def _describe(self, calls: Sequence[Call], prints: Sequence[CallPrint | None]) -> list[Asked | None]:
        """Describe a batch; a call of an exempt tool, or one that loopguard failed on, has no description."""
        asked: list[Asked | None] = []
        for call, printed in zip(calls, prints, strict=True):
            facts = None if printed is None or self._watch is None else self._facts(call, printed)
            one = None if facts is None or printed is None else Asked(facts, printed.digest, self._turn, self._at)
            asked.append(one)
        return asked

    def _facts(self, call: Call | Record, printed: CallPrint) -> CallFacts | None:
        tool = self.config.tools.get(printed.tool) if self.config.tools else None
        if tool is not None and tool.exempt:
            return None
        facts = self._describer.call(call, printed)
        if tool is not None and tool.polls is not None and (not tool.polls or printed.action in tool.polls):
            facts.poll = True
        return facts

    def _answer_found(
        self,
        ids: list[str],
        prints: list[CallPrint | None],
        asked: list[Asked | None],
        found: list[tuple[Standing, bool] | None],
        dry_run: bool,
    ) -> list[Verdict]:
        verdicts = allow(ids, prints)
        enforces = self.mode is Mode.ENFORCE
        blocked = any(one is not None and one[1] for one in found)
        ends_run = blocked and enforces and self._watch is not None and self._watch.out_of_patience
        for place, one in enumerate(found):
            if one is None:
                continue
            standing, stops = one
            verdict, call = verdicts[place], asked[place]
            assert call is not None
            verdict.finding = _as_level(standing.finding, stops)
            if stops:
                verdict.action = Action.ABORT if ends_run else Action.BLOCK
                verdict.scope = Scope.RUN if ends_run else None
            elif _is_due(standing):
                verdict.action = Action.WARN
                call.told = True
            else:
                continue
            verdict.note = self._note(verdict.finding, call.call.tool)
            if not dry_run:
                assert self._watch is not None
                self._watch.tell(standing)
                self._tell(verdict, call.call.tool)
        if dry_run:
            return verdicts
        stopped = {place for place, one in enumerate(found) if one is not None and one[1]} if enforces else set()
        self._admit_all(ids, prints, asked, stopped)
        if stopped and self._watch is not None:
            self._watch.veto()
            if ends_run:
                return self._end(ids, prints, verdicts, min(stopped))
        return verdicts

    def _end(
        self, ids: list[str], prints: list[CallPrint | None], verdicts: list[Verdict], trigger: int
    ) -> list[Verdict]:
        """End the run: the model went on asking for what was blocked."""
        verdict = verdicts[trigger]
        assert verdict.finding is not None
        self._abort = Abort(Scope.RUN, verdict.finding, verdict.note)
        return self._abort.verdicts(ids, prints)

    def _answer_failed(self, ids: list[str], prints: list[CallPrint | None], dry_run: bool) -> list[Verdict]:
        """Answer a batch that loopguard could not judge."""
        verdicts = allow(ids, prints)
        if self.config.fail_open or self.mode is Mode.OBSERVE:
            if not dry_run:
                self._admit_all(ids, prints, [None] * len(ids))
            if self.config.fail_open:
                return verdicts
        finding = Finding("admission_failure", Level.CRITICAL, 1, 1, cleared_by="loopguard working again")
        for verdict in verdicts:
            verdict.action, verdict.note = Action.BLOCK, self._note(finding, "")
            verdict.blocked_by = "" if verdict is verdicts[0] else ids[0]
        verdicts[0].finding = finding
        if not dry_run:
            if self.mode is Mode.ENFORCE:
                self._admit_all(ids, prints, [None] * len(ids), set(range(len(ids))))
            self._tell(verdicts[0], "")
        return verdicts

    def _admit_all(
        self,
        ids: list[str],
        prints: Sequence[CallPrint | None],
        asked: Sequence[Asked | None],
        stopped: set[int] | frozenset[int] = frozenset(),
    ) -> None:
        """Remember the calls of a batch; those that were stopped may still be reported by a client that ran them."""
        for place, (call_id, printed, one) in enumerate(zip(ids, prints, asked, strict=True)):
            if printed is None:
                continue
            self._open.add(call_id, OpenCall(printed, None if place in stopped else 0))
            self._asked.pop(call_id, None)
            if one is not None:
                self._asked[call_id] = one
                if self._watch is not None and place not in stopped:
                    self._watch.admit(one.call)
        while len(self._asked) > LIMIT:
            self._asked.popitem(last=False)

    def _take(self, outcome: Outcome) -> Verdict:
        if outcome.status is Status.PENDING:
            raise InvalidFrame(Reason.INVALID_FRAME, "the status PENDING is only for records of `history`")
        call_id, call = self._open.find(outcome.call_id)
        result = self._around.print_outcome(call.print, outcome, self.run_id)
        asked = self._asked.get(call_id)
        try:
            standing = self._settle_one(asked, outcome, result, call_id)
        except Exception as failure:  # noqa: BLE001  # whatever it is, the record stays pending
            self._around.fail("describing an outcome", failure, self.run_id)
            raise InvalidFrame(Reason.INTERNAL, "the outcome could not be taken") from None
        del self._open[call_id]
        self._asked.pop(call_id, None)
        answer = self._abort
        if self._compaction is not None and (found := self._persisted(call_id, call.print, result)) is not None:
            tool = call.print.tool
            answer = self._hold(Abort(Scope.RUN, found, self._note(found, tool)), call_id, tool)
        if answer is not None:
            return answer.verdict(call_id, result.flags)
        verdict = Verdict(call_id, flags=flags_of(result.flags))
        if standing is not None and asked is not None and self._watch is not None:
            verdict.finding = _as_level(standing.finding, stops=False)
            if not asked.told:
                self._watch.tell(standing)
                verdict.action = Action.WARN
                verdict.note = self._note(verdict.finding, call.print.tool)
                self._tell(verdict, call.print.tool)
        return verdict

    def _settle_one(
        self, asked: Asked | None, outcome: Outcome | Record, result: OutcomePrint, call_id: str
    ) -> Standing | None:
        if asked is None or self._watch is None or result.kind in (Kind.PENDING, Kind.VETO):
            return None
        facts = self._describer.outcome(asked.call, outcome, result)
        return self._watch.settle(asked, facts, call_id, result.digest or _NO_DIGEST)

    def _record(self, records: Sequence[Record]) -> None:
        printed = self._around.print_records(records, self.run_id)
        for record, (call, outcome) in zip(records, printed, strict=True):
            self._turn += 1
            facts = self._facts(record, call) if self._watch is not None else None
            if facts is not None:
                asked = Asked(facts, call.digest, self._turn, None)
                self._settle_one(asked, record, outcome, "")

    def _note(self, finding: Finding, tool: str) -> str:
        return self._around.note(finding, tool, {"outcome": "outcome", "outcomes": "outcomes"})


def _is_due(standing: Standing) -> bool:
    """Whether to warn again: of a call that repeats each time, of the run as a whole only when it got worse."""
    about_run = standing.finding.detector in ("stall", "error_cascade", "unknown_tools")
    return not about_run or standing.finding.count > standing.told


def _as_level(finding: Finding, stops: bool) -> Finding:
    """Return a finding as sure as the answer that it goes with."""
    level = Level.CRITICAL if stops else Level.WARNING
    if finding.level is level:
        return finding
    return Finding(
        finding.detector,
        level,
        finding.count,
        finding.threshold,
        finding.paired_tool,
        finding.call_ids,
        finding.args_digest,
        finding.outcome_digest,
        finding.stripped,
        finding.cleared_by,
    )
