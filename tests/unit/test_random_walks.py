"""Drives the engine and the slow reference model through the same random runs.

`LOOPGUARD_WALKS=5000` plays so many runs, from a fresh seed; unset, it is the same 300 each time.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidFrame
from loopguard.model import (
    Action,
    Call,
    CallBatch,
    Frame,
    History,
    Mode,
    Outcome,
    Record,
    RunOpen,
    Scope,
    Signal,
    Status,
    Verdict,
)
from tests.reference.run import ReferenceRun
from tests.reference.words import (
    CANCELLED,
    COMMANDS,
    FAILED,
    MISSING,
    POLLS,
    WAIT,
    WORDS,
    WRITES,
    call_fields,
    call_of,
    outcome_of,
    record_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

WALKS = os.environ.get("LOOPGUARD_WALKS")
ORDINARY = settings(
    max_examples=int(WALKS or 300),
    derandomize=WALKS is None,
    stateful_step_count=25,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)

#: What the walks of a test reached: detectors with their level, actions with their scope, refusals.
REACHED: Counter[str] = Counter()


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """Small thresholds, so that things happen soon."""
    warning = draw(st.integers(1, 4))
    critical = warning + draw(st.sampled_from([1, 1, 2, 2, 3, 4, 9, 10]))
    breaker = critical + draw(st.integers(1, 4))
    unknown = draw(st.integers(1, 4))
    enabled = draw(st.sampled_from([True, True, True, True, True, None, None, False]))
    least = max(breaker, unknown) if enabled else 1
    config: dict[str, Any] = {
        "enabled": enabled,
        "historySize": least + draw(st.integers(0, 8)),
        "warningThreshold": warning,
        "criticalThreshold": critical,
        "globalCircuitBreakerThreshold": breaker,
        "unknownToolThreshold": unknown,
        "postCompactionGuard": {"windowSize": draw(st.sampled_from([1, 2, 3, 4, 4]))},
    }
    if draw(st.integers(0, 3)) == 0:
        switches = ("genericRepeat", "knownPollNoProgress", "pingPong")
        config["detectors"] = {name: draw(st.sampled_from([True, False, None])) for name in switches}
    return config


#: Below `FOCUS` a pick is one of the few calls a run is about, else any.
FOCUS = 6
PICKS = st.integers(0, FOCUS + 1)
WORD = st.integers(0, WORDS - 1)
#: Words of one kind together: what only polls, missing tools or commands can do is else too rare.
FOCI = st.one_of(
    st.lists(WORD, min_size=1, max_size=3),
    *(st.lists(st.sampled_from(kind), min_size=1, max_size=3) for kind in (POLLS, MISSING, COMMANDS, WRITES)),
)
#: Below `HABIT` an outcome is the usual one, else any.
HABIT = 5
CHOICES = st.integers(0, HABIT + 40)
TIMES = st.integers(1, 8)
#: What records say: mostly 0, the usual outcome.
PAST = st.sampled_from([0, 0, 0, 0, 1, 2, -1, -2, -3])
#: Mostly numbered; few names, so that one is used again.
IDS = st.sampled_from(["", "", "", "", "", "k1", "k2", "c2"])


class Walk(RuleBasedStateMachine):
    """One run, told to both."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[Frame] = []
        self.asked: list[tuple[str, int]] = []
        self.standing = False

    @initialize(
        config=configurations(),
        mode=st.sampled_from([Mode.ENFORCE, None, None, Mode.OBSERVE]),
        focus=FOCI,
        habits=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    )
    def open(self, config: dict[str, Any], mode: Mode | None, focus: list[int], habits: list[int]) -> None:
        self.engine_run = Engine(Configuration.empty()).open(RunOpen("walk", config=config, mode=mode))
        self.reference = ReferenceRun(RunOpen("walk", config=config, mode=mode))
        self.focus, self.habits = focus, habits

    def word(self, pick: int, other: int) -> int:
        return self.focus[pick % len(self.focus)] if pick < FOCUS else other

    def choice(self, word: int, choice: int) -> int:
        return self.habits[word % len(self.habits)] if choice < HABIT else choice - HABIT

    def tell(self, frame: Frame) -> list[Verdict]:
        """Tell both, compare, and return the verdicts."""
        self.frames.append(frame)
        expected = answer(self.reference, frame)
        found = answer(self.engine_run, frame)
        assert shown(found) == shown(expected), f"{frame}"
        note_reached(expected)
        if isinstance(expected, str):
            return []
        self.standing = any(verdict.action is Action.ABORT for verdict in expected)
        return expected

    def ask(self, words: list[int], ids: list[str]) -> list[str]:
        calls = [call_of(word, call_id) for word, call_id in zip(words, ids, strict=True)]
        verdicts = self.tell(CallBatch(calls))
        answered = [verdict.call_id for verdict in verdicts]
        self.asked += zip(answered, words, strict=False)
        if any(verdict.action is Action.BLOCK for verdict in verdicts):
            self.look()
        return answered

    def look(self, words: Sequence[int] = ()) -> None:
        """Ask for each call, by default the run's usual ones, what it would get."""
        for word in words or self.focus:
            self.tell(CallBatch([call_of(word)], dry_run=True))

    def revive(self) -> None:
        """Let the user write if an abort stands, or all that follows is that abort."""
        if self.standing:
            self.tell(Signal.USER_MESSAGE)

    def play(self, word: int, choice: int) -> None:
        for call_id in self.ask([word], [""]):
            self.tell(outcome_of(word, choice, call_id))

    @rule(picks=st.lists(PICKS, min_size=1, max_size=4), other=WORD, ids=st.lists(IDS, min_size=4, max_size=4))
    def calls(self, picks: list[int], other: int, ids: list[str]) -> None:
        self.ask([self.word(pick, other) for pick in picks], ids[: len(picks)])

    @rule(pick=PICKS, other=WORD, times=st.integers(2, 8))
    def equal_calls(self, pick: int, other: int, times: int) -> None:
        self.ask([self.word(pick, other)] * times, [""] * times)

    @rule(back=st.integers(0, 7), choice=CHOICES)
    def outcome(self, back: int, choice: int) -> None:
        """Report one of the last calls: late, out of order, in spite of a block, or once more."""
        if self.asked:
            call_id, word = self.asked[-1 - back % len(self.asked)]
            self.tell(outcome_of(word, self.choice(word, choice), call_id))

    @rule(choice=CHOICES, other=WORD)
    def outcome_without_id(self, choice: int, other: int) -> None:
        self.tell(outcome_of(other, self.choice(other, choice)))

    @rule(
        pick=PICKS,
        other=WORD,
        order=st.just([0, 1, 2, 3]) | st.permutations(range(4)),
        reported=st.integers(2, 4),
        ends=st.just([FAILED] * 4) | st.lists(st.sampled_from([FAILED, FAILED, {}, CANCELLED]), min_size=4, max_size=4),
        armed=st.booleans(),
    )
    def failing_batch(
        self, pick: int, other: int, order: list[int], reported: int, ends: list[dict[str, Any]], armed: bool
    ) -> None:
        """Report failures out of order, maybe leave some open, and ask again."""
        word = self.word(pick, other)
        self.revive()
        if armed:
            self.tell(Signal.COMPACTION_RETRY)
        answered = self.ask([word] * 4, [""] * 4)
        for index in order[:reported]:
            self.tell(Outcome(answered[index], **ends[index]))
        self.ask([word], [""])

    @rule(choice=CHOICES, skipped=st.integers(0, 3))
    def all_outcomes_backwards(self, choice: int, skipped: int) -> None:
        for call_id, word in list(reversed(self.asked[-5:]))[skipped:]:
            self.tell(outcome_of(word, self.choice(word, choice), call_id))

    @rule(pick=PICKS, other=WORD, choice=CHOICES, times=TIMES)
    def loop(self, pick: int, other: int, choice: int, times: int) -> None:
        word = self.word(pick, other)
        self.revive()
        for _ in range(times):
            self.play(word, self.choice(word, choice))

    @rule(pick=PICKS, other=WORD, times=TIMES, choices=st.lists(CHOICES, min_size=5, max_size=5))
    def loop_with_progress(self, pick: int, other: int, times: int, choices: list[int]) -> None:
        word = self.word(pick, other)
        self.revive()
        for choice in choices[:times]:
            self.play(word, self.choice(word, choice))

    @rule(one=PICKS, two=PICKS, other=WORD, times=TIMES, choice=CHOICES)
    def alternate(self, one: int, two: int, other: int, times: int, choice: int) -> None:
        self.revive()
        for _ in range(times):
            for pick in (one, two):
                word = self.word(pick, other)
                self.play(word, self.choice(word, choice))

    @rule(
        words=st.sampled_from([WRITES, WRITES, COMMANDS[1:3], (0, 1)]),
        order=st.lists(st.integers(0, 1), min_size=6, max_size=10),
        choice=st.one_of(st.just(0), st.just(1), CHOICES),
    )
    def churn(self, words: tuple[int, ...], order: list[int], choice: int) -> None:
        """Play two calls of one tool with one outcome, in any order."""
        self.revive()
        for index in order:
            self.play(words[index], choice)

    @rule(
        pattern=st.lists(st.tuples(PICKS, PAST), min_size=1, max_size=5),
        other=WORD,
        times=st.sampled_from([1, 1, 2, 3, 6, 10]),
    )
    def history(self, pattern: list[tuple[int, int]], other: int, times: int) -> None:
        told = [(self.word(pick, other), choice) for pick, choice in pattern]
        past = [record_of(word, choice or self.habits[word % len(self.habits)]) for word, choice in told]
        self.tell(History(past * times))
        self.revive()
        self.look()

    @rule(told=st.lists(st.tuples(st.sampled_from(COMMANDS), st.sampled_from([0, 0, 1, 2, 4, -1, -2, -3])), max_size=8))
    def failing_commands(self, told: list[tuple[int, int]]) -> None:
        self.revive()
        self.tell(History([record_of(*each) for each in told]))
        self.look(COMMANDS)

    @rule(word=st.sampled_from([*POLLS, WAIT]), times=st.integers(8, 12))
    def polls(self, word: int, times: int) -> None:
        self.revive()
        self.tell(History([record_of(word, 0)] * times))
        self.look((word,))

    @rule(others=st.lists(WORD, min_size=1, max_size=3), at=st.integers(0, 3))
    def blocked_siblings(self, others: list[int], at: int) -> None:
        self.revive()
        looping = [record_of(self.focus[0], 0)] * self.reference.config.critical
        self.tell(History([record_of(word, 0) for word in others] + looping))
        words = others[:at] + self.focus[:1] + others[at:]
        self.ask(words, [""] * len(words))
        self.look(others)

    @rule(picks=st.lists(PICKS, min_size=1, max_size=3), other=WORD, ids=st.lists(IDS, min_size=3, max_size=3))
    def check(self, picks: list[int], other: int, ids: list[str]) -> None:
        calls = [call_of(self.word(pick, other), call_id) for pick, call_id in zip(picks, ids, strict=False)]
        self.tell(CallBatch(calls, dry_run=True))

    @rule()
    def user_message(self) -> None:
        self.tell(Signal.USER_MESSAGE)

    @rule()
    def compaction(self) -> None:
        self.tell(Signal.COMPACTION_RETRY)

    @rule(pick=PICKS, other=WORD, choice=CHOICES)
    def loop_after_compaction(self, pick: int, other: int, choice: int) -> None:
        word = self.word(pick, other)
        self.tell(Signal.COMPACTION_RETRY)
        for _ in range(self.reference.config.window_size):
            self.play(word, self.choice(word, choice))

    @rule(kind=st.integers(0, 5))
    def refused(self, kind: int) -> None:
        """Tell a frame that both refuse; what they answer next shows that nothing has changed."""
        word = self.focus[0]
        blank = {**call_fields(word), "tool": " \t"}
        frames: list[Frame] = [
            CallBatch([call_of(word), Call(**blank)]),
            CallBatch([call_of(word, "k1"), call_of(word, "k1")]),
            CallBatch([]),
            History([record_of(word, 0), Record(**blank)]),
            Outcome("nobody asked", result=b"1"),
            Outcome(self.asked[-1][0] if self.asked else "", status=Status.PENDING),
        ]
        before = len(self.reference.history)
        assert self.tell(frames[kind]) == []
        assert len(self.reference.history) == before
        self.look()


def answer(run: Any, frame: Frame) -> list[Verdict] | str:
    """Return a frame's verdicts, or the reason for which it was refused."""
    try:
        told = run.apply(frame)
    except InvalidFrame as refusal:
        return str(refusal.reason.value)
    return told if isinstance(told, list) else [told] if told else []


def shown(told: list[Verdict] | str) -> Any:
    """Return what both have to agree on."""
    if isinstance(told, str):
        return told
    return [
        {
            "callId": verdict.call_id,
            "action": verdict.action,
            "scope": verdict.scope,
            "blockedBy": verdict.blocked_by,
            "flags": verdict.flags,
            "note": bool(verdict.note),
            "finding": verdict.finding
            and (
                verdict.finding.detector,
                verdict.finding.level,
                verdict.finding.count,
                verdict.finding.threshold,
                verdict.finding.paired_tool,
            ),
        }
        for verdict in told
    ]


def note_reached(told: list[Verdict] | str) -> None:
    if isinstance(told, str):
        reached = [f"refused {told}"]
    else:
        reached = [f"{verdict.action} {verdict.scope}" for verdict in told]
        reached += [f"{found.detector} {found.level}" for verdict in told if (found := verdict.finding)]
    for what in reached:
        event(what)
        REACHED[what] += 1


TestRandomWalks = Walk.TestCase
TestRandomWalks.settings = ORDINARY


def test_walks_reach_every_detector_and_action() -> None:
    REACHED.clear()

    run_state_machine_as_test(Walk, settings=settings(ORDINARY, max_examples=120, derandomize=True))

    assert set(REACHED) >= {
        "unknown_tool_repeat critical",
        "global_circuit_breaker critical",
        "known_poll_no_progress critical",
        "known_poll_no_progress warning",
        "ping_pong critical",
        "ping_pong warning",
        "generic_repeat critical",
        "generic_repeat warning",
        "argument_churn warning",
        "compaction_loop_persisted critical",
        "identical_error critical",
        "refused INVALID_FRAME",
        "refused UNKNOWN_CALL",
        "refused DUPLICATE_CALL",
        "refused EMPTY_TOOL",
        *(f"{action} None" for action in (Action.ALLOW, Action.WARN, Action.BLOCK)),
        *(f"{Action.ABORT} {scope}" for scope in Scope),
    }
