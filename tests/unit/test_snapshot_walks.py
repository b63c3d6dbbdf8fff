"""Random runs that are taken apart and put together again after every frame answer as if nobody had touched them."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.stateful import initialize

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
    Signal,
    Status,
    Verdict,
)
from loopguard.snapshot import dump_run
from tests.unit.run_state import assert_equal_runs
from tests.unit.test_random_walks import FOCI, ORDINARY, Walk, answer, configurations, st

if TYPE_CHECKING:
    from loopguard.run import Run


def restore(run: Run) -> Run:
    """Return the run as another process would go on with it."""
    return Engine(Configuration.empty()).restore(dump_run(run), run_id=run.run_id, tenant=run.tenant)


def answers(run: Run, frame: Frame, at: float | None = None) -> Any:
    try:
        return run.apply(frame, at)
    except InvalidFrame as refusal:
        return refusal.reason


class InterruptedWalk(Walk):
    """A walk whose run is restored after every frame, beside one that is not."""

    @initialize(
        config=configurations(),
        mode=st.sampled_from([Mode.ENFORCE, None, None, Mode.OBSERVE]),
        focus=FOCI,
        habits=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    )
    def open(self, config: dict[str, Any], mode: Mode | None, focus: list[int], habits: list[int]) -> None:
        super().open(config, mode, focus, habits)
        self.untouched = Engine(Configuration.empty()).open(RunOpen("walk", config=config, mode=mode))

    def tell(self, frame: Frame) -> list[Verdict]:
        assert answers(self.engine_run, frame) == answers(self.untouched, frame), f"{frame}"
        self.engine_run = restore(self.engine_run)
        assert_equal_runs(self.engine_run, self.untouched)
        # What the walk does next depends on the answers.
        told = answer(self.reference, frame)
        if isinstance(told, str):
            return []
        self.standing = any(verdict.action is Action.ABORT for verdict in told)
        return told


TestInterruptedWalks = InterruptedWalk.TestCase
TestInterruptedWalks.settings = settings(ORDINARY, max_examples=25)

TOOLS = ("bash", "read", "write_file", "send_message", "sessions_spawn", "todo_write", "browser_move", "poll", "gone")
TEXTS = ("done", "nothing", "error: no such file", "Traceback\nValueError: 7", "x" * 120, "still running", "12", "")


def random_call(chance: random.Random) -> Call:
    tool = chance.choice(TOOLS)
    args: dict[str, Any] = {"command": f"make part{chance.randrange(3)}", "path": f"f{chance.randrange(2)}"}
    if chance.random() < 0.3:
        args["start_line"], args["end_line"] = chance.randrange(20), 20 + chance.randrange(20)
    if chance.random() < 0.3:
        args = {"task": f"fix the build of module {chance.randrange(2)} and report"}
    return Call(tool, json.dumps(args).encode() if chance.random() < 0.95 else b"")


def random_end(chance: random.Random) -> dict[str, Any]:
    text = json.dumps({"content": [{"type": "text", "text": chance.choice(TEXTS)}]}).encode()
    status = chance.choice([None, Status.OK, Status.ERROR, Status.UNKNOWN_TOOL, Status.INVALID_ARGUMENTS])
    failed = status in (Status.ERROR, Status.UNKNOWN_TOOL, Status.INVALID_ARGUMENTS)
    return {"status": status, "error": text} if failed else {"status": status, "result": text}


def random_frame(chance: random.Random, asked: list[str]) -> Frame:
    kind = chance.random()
    if asked and kind < 0.45:
        return Outcome(asked.pop(chance.randrange(len(asked))), **random_end(chance))
    if kind < 0.9:
        return CallBatch([random_call(chance) for _ in range(chance.choice([1, 1, 1, 2, 4]))], chance.random() < 0.1)
    if kind < 0.94:
        call = random_call(chance)
        return History([Record(call.tool, call.args, **random_end(chance)) for _ in range(chance.randrange(1, 6))])
    return chance.choice([Signal.USER_MESSAGE, Signal.COMPACTION_RETRY])


@pytest.mark.parametrize("seed", range(14))
def test_runs_of_balanced_go_on_as_if_nothing_had_happened(seed: int) -> None:
    chance = random.Random(seed)
    mode = chance.choice([Mode.ENFORCE, Mode.OBSERVE])
    opened = RunOpen("walk", profile="balanced", mode=mode, parent_run_id="above", config={"enabled": seed % 10 != 9})
    engine = Engine(Configuration.empty())
    engine.open(RunOpen("above", profile="balanced")).judge([random_call(chance) for _ in range(20)])
    untouched, asked = engine.open(opened), []
    interrupted = restore(untouched)

    for number in range(60):
        frame, at = random_frame(chance, asked), chance.choice([None, number * 7.0])
        told = answers(untouched, frame, at)
        assert answers(interrupted, frame, at) == told, f"frame {number}"
        if isinstance(frame, CallBatch) and isinstance(told, list) and not frame.dry_run:
            asked += [verdict.call_id for verdict in told if verdict.action is not Action.BLOCK]
        interrupted = restore(interrupted)
        assert_equal_runs(interrupted, untouched)
