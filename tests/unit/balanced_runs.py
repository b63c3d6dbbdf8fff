"""Short ways to play a run of profile `balanced` and to see when it is warned or stopped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.model import Action, Call, CallBatch, Mode, Outcome, Record, RunOpen, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard.run import Run

#: A call with its outcome: tool, arguments, answer; a text that begins with `!` is a failure, what is no text a result.
#: Bytes are a digest made by the client.
Step = tuple[str, Any, Any]
#: One step, or several calls of one response.
Turn = Step | list[Step]

_ALARMS = (Action.WARN, Action.BLOCK, Action.ABORT)


def open_balanced(
    mode: Mode = Mode.OBSERVE, *, engine: Engine | None = None, run_id: str = "run", parent: str = "", **table: Any
) -> Run:
    """Open a run; `table` is what stands under `loopguard.profiles.balanced`."""
    if engine is None:
        engine = Engine(Configuration({"loopguard": {"profiles": {"balanced": table}}}))
    return engine.open(RunOpen(run_id, profile="balanced", mode=mode, parent_run_id=parent))


def ending(text: Any) -> dict[str, Any]:
    """Return an outcome of a shaped result or, behind `!`, of an error; what is no text is the result as it is."""
    if isinstance(text, bytes):
        return {"result_digest": text}
    if not isinstance(text, str):
        return {"result": json.dumps(text).encode()}
    if text.startswith("!"):
        return {"status": Status.ERROR, "error": json.dumps(text[1:]).encode()}
    return {"result": json.dumps({"content": [{"type": "text", "text": text}]}).encode()}


def call(tool: str, args: Any) -> Call:
    """Return a call."""
    if isinstance(args, bytes):
        return Call(tool, args_digest=args)
    return Call(tool, json.dumps(args).encode())


def play(run: Run, turns: Iterable[Turn], *, at: Iterable[float] = ()) -> list[str]:
    """Play turns; return for each the sharpest action, with the detector: `WARN repeat`, or `ALLOW`."""
    times = iter(at)
    told = []
    for turn in turns:
        batch = turn if isinstance(turn, list) else [turn]
        verdicts = run.judge([call(tool, args) for tool, args, _ in batch], at=next(times, None))
        verdicts += [
            run.observe(Outcome(asked.call_id, **ending(text)))
            for asked, (_, _, text) in zip(verdicts, batch, strict=True)
            if asked.action in (Action.ALLOW, Action.WARN)
        ]
        sharpest = max(verdicts, key=lambda verdict: _rank(verdict.action))
        detector = f" {sharpest.finding.detector}" if sharpest.finding and sharpest.action in _ALARMS else ""
        told.append(f"{sharpest.action}{detector}")
    return told


def first_alarm(steps: Iterable[Step], **table: Any) -> tuple[int, str] | None:
    """Return the step, counted from 1, of the first alarm of a new run, and what it was."""
    for number, told in enumerate(play(open_balanced(**table), steps), 1):
        if told != "ALLOW":
            return number, told
    return None


def remember(run: Run, steps: Iterable[Step]) -> None:
    """Put calls that already happened into a run."""
    run.record([Record(tool, json.dumps(args).encode(), **ending(text)) for tool, args, text in steps])


def check(run: Run, tool: str, args: Any) -> Action:
    """Ask without consequences."""
    verdicts = run.apply(CallBatch([call(tool, args)], dry_run=True))
    assert isinstance(verdicts, list)
    return verdicts[0].action


def _rank(action: Action) -> int:
    return _ALARMS.index(action) + 1 if action in _ALARMS else 0
