"""Plays a recorded run and keeps what a call can be explained with: what stood before it, as text and as digests."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from loopguard.cli.inputs import read_lines
from loopguard.engine import Engine
from loopguard.errors import InvalidFrame, InvalidTrace
from loopguard.fingerprints import Kind
from loopguard.model import Action, Call, CallBatch, History, Mode, Outcome, Record, RunOpen, Scope, Signal, Verdict
from loopguard.trace import read_trace

if TYPE_CHECKING:
    from loopguard.config import Configuration
    from loopguard.fingerprints import CallPrint, Fingerprinter, OutcomePrint
    from loopguard.run import Run


@dataclass(slots=True, eq=False)
class Past:
    """A call with what came of it; those of `history` frames have neither step nor id."""

    step: int | None
    call_id: str
    print: CallPrint
    asked: Call | Record
    outcome: Outcome | Record | None = None
    outcome_print: OutcomePrint | None = None
    vetoed: bool = False

    @property
    def signature(self) -> tuple[str, bytes]:
        """Tool and digest of the arguments."""
        return self.print.tool, self.print.digest

    @property
    def args(self) -> bytes | None:
        """The arguments' text."""
        return self.asked.args

    @property
    def name(self) -> str:
        """How people are told which call this is."""
        return f"step {self.step}" if self.step is not None else "a call of the history"

    @property
    def marks(self) -> str:
        """What the detectors know of the outcome beside its digest."""
        made = self.outcome_print
        if self.vetoed or (made is not None and made.kind is Kind.VETO):
            return "veto"
        if made is None or made.kind is Kind.PENDING:
            return "no outcome"
        marks = ["failed"] if made.failed else ["unchanged"] if made.stuck else []
        marks += ["rejected"] if made.kind is Kind.REJECT else []
        marks += [f"left out: {', '.join(made.stripped)}"] if made.stripped else []
        marks += [f"left out of the failure: {', '.join(made.moving)}"] if made.moving else []
        return ", ".join(marks)

    def with_args(self, text: bytes) -> Call:
        """Return the call with other arguments."""
        return Call(self.asked.tool, text)


@dataclass(slots=True)
class Moment:
    """A call that was asked, with its answers and the history before it."""

    run: Run
    step: int
    asked: Past
    verdict: Verdict
    past: list[Past]
    fingerprinter: Fingerprinter
    outcome_verdict: Verdict | None = None


class Storyteller:
    """Finds the call to explain: the named one, else the first that would be blocked."""

    def __init__(
        self, configuration: Configuration, *, mode: Mode, profile: str, run_id: str = "", call_id: str = ""
    ) -> None:
        self.engine = Engine(configuration)
        self.mode = mode
        self.profile = profile
        self.run_id = run_id
        self.call_id = call_id
        #: The best that was met: the first warning, else the last call of the run.
        self.fallback: Moment | None = None

    def find(self, path: str) -> Moment | None:
        """Return the moment to explain, if this file has it."""
        told: _Told | None = None
        found: Moment | None = None
        for item in read_trace(read_lines(path), path):
            if item.open is not None:
                if found is not None:
                    return found
                told = None
                if self.run_id in ("", item.open.run_id.strip()):
                    told = self._begin(replace(item.open), f"{path}:{item.line}")
                continue
            if told is None or item.frame is None or item.frame is Signal.CLOSE:
                continue
            try:
                answer = told.run.apply(item.frame, item.at)
            except InvalidFrame:
                told.refuse(item.frame)
                continue
            for moment in told.take(item.frame, answer):
                found = self._choose(found, moment)
        return found

    def _begin(self, opened: RunOpen, place: str) -> _Told:
        opened.mode = opened.mode or self.mode
        opened.profile = opened.profile or self.profile
        try:
            run = self.engine.open(opened)
        except InvalidFrame as error:
            raise InvalidTrace(f"{place}: {error}") from None
        return _Told(run, self.engine.fingerprinter(run.profile))

    def _choose(self, found: Moment | None, moment: Moment) -> Moment | None:
        if self.call_id:
            return moment if self.call_id in (moment.asked.call_id, str(moment.step)) else found
        if found is not None:
            return found
        worst = max((moment.verdict.action, (moment.outcome_verdict or moment.verdict).action), key=_RANK.index)
        if worst in (Action.BLOCK, Action.ABORT):
            return moment
        best = self.fallback
        if best is None or best.verdict.action is not Action.WARN:
            self.fallback = moment
        return None


_RANK = list(Action)


class _Told:
    """One run as it is told: the newest records, and the calls that wait for their outcome."""

    def __init__(self, run: Run, fingerprinter: Fingerprinter) -> None:
        self.run = run
        self.fingerprinter = fingerprinter
        self.past: deque[Past] = deque(maxlen=run.config.history_size)
        self.waiting: dict[str, tuple[Past, Moment]] = {}
        self.steps = 0

    def take(self, frame: object, answer: object) -> list[Moment]:
        """Take a frame with its answer; return the moments that are new or know more now."""
        if isinstance(frame, CallBatch) and isinstance(answer, list) and not frame.dry_run:
            return self._ask(frame.calls, answer)
        if isinstance(frame, Outcome) and isinstance(answer, Verdict):
            return self._settle(frame, answer)
        if isinstance(frame, History):
            self.past.extend(self._recorded(record) for record in frame.records)
        return []

    def refuse(self, frame: object) -> None:
        """Count the calls of a refused frame."""
        if isinstance(frame, CallBatch) and not frame.dry_run:
            self.steps += len(frame.calls)

    def _ask(self, calls: list[Call], verdicts: list[Verdict]) -> list[Moment]:
        before = list(self.past)
        moments = []
        for call, verdict in zip(calls, verdicts, strict=True):
            asked = Past(self.steps, verdict.call_id, self.fingerprinter.call(call), call)
            moments.append(Moment(self.run, self.steps, asked, verdict, before, self.fingerprinter))
            self.steps += 1
        enforced = self.run.mode is Mode.ENFORCE
        stopped = enforced and any(verdict.action in (Action.BLOCK, Action.ABORT) for verdict in verdicts)
        culprits = [moment.asked.signature for moment in moments if moment.verdict.finding and stopped]
        for moment in moments:
            asked = moment.asked
            if not stopped:
                self.past.append(asked)
            elif asked.signature in culprits and moment.verdict.scope is not Scope.TURN:
                asked.vetoed = True
                self.past.append(asked)
            self.waiting[asked.call_id] = (asked, moment)
        return moments

    def _settle(self, outcome: Outcome, verdict: Verdict) -> list[Moment]:
        asked, moment = self.waiting.pop(verdict.call_id, (None, None))
        if asked is None or moment is None:
            return []
        made = self.fingerprinter.outcome(asked.print, outcome)
        if asked.vetoed or asked not in self.past:
            # It ran in spite of the block, or left the window since: it counts as a record of its own.
            asked = replace(asked, vetoed=False)
            self.past.append(asked)
        asked.outcome, asked.outcome_print = outcome, made
        moment.outcome_verdict = verdict
        return [moment]

    def _recorded(self, record: Record) -> Past:
        printed = self.fingerprinter.call(record)
        return Past(None, "", printed, record, record, self.fingerprinter.outcome(printed, record))
