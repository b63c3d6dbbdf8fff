"""One run of profile `openclaw` told slowly: sections 1 and 6 to 11 of SEMANTICS."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from loopguard.errors import InvalidConfig, InvalidFrame, Reason
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
    RunOpen,
    Scope,
    Signal,
    Status,
    Verdict,
)
from loopguard.model import History as HistoryFrame
from tests.reference.canonical import parse
from tests.reference.configuration import blocks_of, effective
from tests.reference.detect import Asked, Entry, History, Key, detect
from tests.reference.outcome import Digest, Settled, Signature, action_of, normal_tool, settle, signature_of, trim

#: The reference says that a note is there, not what it says.
NOTE = "note"
OPEN_CALLS = 1024
BUCKET_KEYS = 256


@dataclass
class OpenCall:
    """A call asked and not yet reported."""

    call_id: str
    asked: Asked
    flags: Flag
    admitted: bool = False
    entry: Entry | None = None
    #: Its outcome while it waits for earlier calls of its batch (section 9).
    waiting: Settled | None = None


@dataclass
class Abort:
    """An answer that ends something."""

    scope: Scope
    finding: Finding

    def verdict(self, call_id: str, flags: Flag) -> Verdict:
        return Verdict(call_id, Action.ABORT, self.finding, NOTE, scope=self.scope, flags=flags)


@dataclass
class ReferenceRun:
    """What a run holds (section 1)."""

    opened: RunOpen
    file: dict[str, Any] | None = None
    history: History = field(default_factory=list)
    open_calls: list[OpenCall] = field(default_factory=list)
    numbered: int = 0
    buckets: dict[Key, int] = field(default_factory=dict)
    recovering: bool = False
    abort: Abort | None = None
    #: Section 8: slots left, and what was kept since arming.
    armed_for: int = 0
    kept: list[tuple[Signature, Digest]] = field(default_factory=list)
    #: Section 9: the calls of the newest batch that were not counted yet, and the streak.
    batch: list[OpenCall] = field(default_factory=list)
    streak: int = 0
    streak_of: tuple[Signature, Digest] | None = None

    def __post_init__(self) -> None:
        if not trim(self.opened.run_id):
            raise InvalidConfig("runId", "blank")
        self.config = effective(blocks_of(self.file, self.opened.agent_id, self.opened.config))
        self.observes = self.opened.mode is Mode.OBSERVE

    def apply(self, frame: Frame) -> list[Verdict] | Verdict | None:
        """Answer a frame; a refused one changes nothing."""
        match frame:
            case CallBatch(dry_run=True):
                # 7: "`check` gives the answer that `calls` would get now, and changes nothing"
                return self.twin().apply(CallBatch(frame.calls))
            case CallBatch():
                return self.answer_calls(frame.calls)
            case Outcome():
                return self.answer_outcome(frame)
            case HistoryFrame():
                self.append_history(frame)
            case Signal.USER_MESSAGE:
                # 10, 7, 9
                self.abort = None
                self.recovering = False
                self.streak = 0
            case Signal.COMPACTION_RETRY if self.config.enabled is not False:
                # 8: "arming again starts over"
                self.armed_for = self.config.window_size
                self.kept = []
        return None

    def twin(self) -> ReferenceRun:
        """Return a run to try a batch on; judging one adds to its lists and changes nothing that is in them."""
        twin = copy.copy(self)
        twin.history, twin.open_calls, twin.batch = list(self.history), list(self.open_calls), list(self.batch)
        twin.buckets, twin.kept = dict(self.buckets), list(self.kept)
        return twin

    # Section 1

    def append(self, history: History, entry: Entry) -> None:
        history.append(entry)
        del history[: -self.config.history_size]

    def append_history(self, frame: HistoryFrame) -> None:
        if any(not normal_tool(record.tool) for record in frame.records):
            raise InvalidFrame(Reason.EMPTY_TOOL, "a record without tool")
        for record in frame.records:
            tool = normal_tool(record.tool)
            self.append(self.history, Entry(tool, signature_of(record)[0], settle(tool, action_of(record), record)))

    def number(self, calls: list[Call]) -> list[OpenCall]:
        """Give every call its id; refuse empty tools and equal ids."""
        if not calls:
            raise InvalidFrame(Reason.INVALID_FRAME, "a batch without calls")
        given = [call.call_id for call in calls if call.call_id]
        if any(not normal_tool(call.tool) for call in calls):
            raise InvalidFrame(Reason.EMPTY_TOOL, "a call without tool")
        if len(set(given)) < len(given):
            raise InvalidFrame(Reason.DUPLICATE_CALL, "one id twice")
        numbered = []
        for call in calls:
            call_id = call.call_id
            while not call_id:
                self.numbered += 1
                call_id = "" if f"c{self.numbered}" in given else f"c{self.numbered}"
            signature, flags = signature_of(call)
            numbered.append(OpenCall(call_id, Asked(normal_tool(call.tool), signature, action_of(call)), flags))
        return numbered

    def remember(self, call: OpenCall) -> None:
        """Keep a call until it is reported; its id means the newest call."""
        self.open_calls = [earlier for earlier in self.open_calls if earlier.call_id != call.call_id]
        self.open_calls.append(call)
        del self.open_calls[:-OPEN_CALLS]

    def admit(self, calls: list[OpenCall]) -> None:
        for call in calls:
            call.admitted = True
            call.entry = Entry(call.asked.tool, call.asked.signature, Settled())
            self.append(self.history, call.entry)
            self.remember(call)
        self.batch = list(calls)

    # Sections 6, 7, 10: calls

    def answer_calls(self, calls: list[Call]) -> list[Verdict]:
        numbered = self.number(calls)
        # 10 (1), 9: calls still open are passed over and what waited behind them is counted
        fired = self.count_all([call for call in self.batch if call.waiting])
        self.batch = []
        if fired:
            self.stand(fired)
        # 10 (2); in OBSERVE "only that frame, and its calls are recorded"
        answer = fired if self.observes else self.abort
        if answer:
            if self.observes:
                self.admit(numbered)
            return [answer.verdict(call.call_id, call.flags) for call in numbered]
        # 10 (3)
        return self.judge(numbered)

    def judge(self, calls: list[OpenCall]) -> list[Verdict]:
        """Section 7."""
        history = list(self.history)
        buckets = dict(self.buckets)
        verdicts = []
        for call in calls:
            found = detect(history, call.asked, self.config) if self.config.enabled is True else None
            if found and found[0].level is Level.CRITICAL:
                return self.block(calls, call, found[0])
            verdict = Verdict(call.call_id, flags=call.flags)
            if found:
                verdict.finding, key = found
                assert key is not None
                if self.is_due(buckets, key, verdict.finding.count):
                    verdict.action, verdict.note = Action.WARN, NOTE
            verdicts.append(verdict)
            # "a copy of the history to which each earlier sibling has been appended as a veto (trimmed as usual)"
            self.append(history, Entry(call.asked.tool, call.asked.signature, Settled(kind="veto")))
        self.buckets = buckets
        self.admit(calls)
        return verdicts

    def is_due(self, buckets: dict[Key, int], key: Key, count: int) -> bool:
        """Section 6."""
        bucket = (count - self.config.warning) // 10
        if bucket <= buckets.get(key, -1):
            return False
        buckets.pop(key, None)
        buckets[key] = bucket
        if len(buckets) > BUCKET_KEYS:
            del buckets[next(iter(buckets))]
        return True

    def block(self, calls: list[OpenCall], trigger: OpenCall, finding: Finding) -> list[Verdict]:
        """Section 7: "First critical finding"."""
        ends_run = self.recovering and not self.observes
        action, scope = (Action.ABORT, Scope.RUN) if ends_run else (Action.BLOCK, None)
        if self.observes:
            self.admit(calls)
        else:
            for call in calls:
                if call.asked.signature == trigger.asked.signature:
                    self.append(self.history, Entry(call.asked.tool, call.asked.signature, Settled(kind="veto")))
                self.remember(call)
            self.recovering = True
            if ends_run:
                self.abort = Abort(Scope.RUN, finding)
        return [
            Verdict(call.call_id, action, finding, NOTE, scope=scope, flags=call.flags)
            if call is trigger
            else Verdict(call.call_id, action, None, NOTE, trigger.call_id, scope, call.flags)
            for call in calls
        ]

    # Sections 1, 8, 9, 10: outcomes

    def answer_outcome(self, outcome: Outcome) -> Verdict:
        if outcome.status is Status.PENDING:
            raise InvalidFrame(Reason.INVALID_FRAME, "PENDING is for records")
        if outcome.call_id:
            fitting = [call for call in self.open_calls if call.call_id == outcome.call_id]
        else:
            fitting = [call for call in self.open_calls if call.admitted]
        if not fitting:
            raise InvalidFrame(Reason.UNKNOWN_CALL, "no such call is open")
        call = fitting[0]
        self.open_calls.remove(call)
        settled = settle(call.asked.tool, call.asked.action, outcome)
        # 10 (1): the record is settled
        self.record(call, settled)
        # 10 (2) and (3), each with all its state changes
        turn = self.count_in_order(call, settled)
        run = self.count_after_compaction(call.asked.signature, settled)
        fired = run or turn
        if fired:
            self.stand(fired)
        answer = fired if self.observes else self.abort
        flags = parse(outcome.result)[1] if outcome.result else Flag(0)
        if answer:
            return answer.verdict(call.call_id, flags)
        return Verdict(call.call_id, flags=flags)

    def record(self, call: OpenCall, settled: Settled) -> None:
        """Section 1, "Outcome of an admitted call" and "of a blocked call"."""
        if call.entry is not None and any(entry is call.entry for entry in self.history):
            call.entry.settled = settled
        elif settled.kind != "pending":
            self.append(self.history, Entry(call.asked.tool, call.asked.signature, settled))

    def stand(self, abort: Abort) -> None:
        """Section 10: a `TURN` abort gives way to a new `RUN` abort, a `RUN` abort stays; none stands in `OBSERVE`."""
        if self.observes:
            return
        if self.abort is None or (self.abort.scope is Scope.TURN and abort.scope is Scope.RUN):
            self.abort = abort

    def count_in_order(self, call: OpenCall, settled: Settled) -> Abort | None:
        """Section 9: an outcome waits until all earlier calls of its batch are settled."""
        call.waiting = settled
        if not any(member is call for member in self.batch):
            return self.count_all([call])
        ready = []
        while self.batch and self.batch[0].waiting:
            ready.append(self.batch.pop(0))
        return self.count_all(ready)

    def count_all(self, calls: list[OpenCall]) -> Abort | None:
        fired = None
        for call in calls:
            assert call.waiting is not None
            found = self.count_error(call.asked.signature, call.waiting)
            fired = fired or found
        return fired

    def count_error(self, signature: Signature, settled: Settled) -> Abort | None:
        """Section 9, the streak; vetoes and cancelled calls leave it alone."""
        if settled.digest is None:
            return None
        if not settled.failed:
            self.streak = 0
            return None
        same = self.streak_of == (signature, settled.digest)
        self.streak = self.streak + 1 if same else 1
        self.streak_of = (signature, settled.digest)
        if self.streak < 3:
            return None
        return Abort(Scope.TURN, Finding("identical_error", Level.CRITICAL, self.streak, 3))

    def count_after_compaction(self, signature: Signature, settled: Settled) -> Abort | None:
        """Section 8."""
        if settled.digest is None or not self.armed_for:
            return None
        window = self.config.window_size
        self.armed_for -= 1
        self.kept.append((signature, settled.digest))
        if self.kept.count((signature, settled.digest)) < window:
            return None
        self.armed_for = 0
        return Abort(Scope.RUN, Finding("compaction_loop_persisted", Level.CRITICAL, window, window))
