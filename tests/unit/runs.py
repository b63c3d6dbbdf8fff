"""Short ways to arrange a run and to play it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.model import Action, Call, Mode, Outcome, Record, Status, Verdict

if TYPE_CHECKING:
    from loopguard.events import Event
    from loopguard.run import Run

#: The parts of an outcome but its call.
Ending = dict[str, Any]

FAILURE: Ending = {"status": Status.ERROR, "error": b'"boom"'}
OTHER_FAILURE: Ending = {"status": Status.ERROR, "error": b'"bang"'}
SUCCESS: Ending = {"result": b'"fine"'}
UNCHANGED: Ending = {"result": b'{"content": [], "details": {"changed": false}}'}


def open_run(
    mode: Mode = Mode.ENFORCE, *, events: list[Event] | None = None, config: dict[str, Any] | None = None, **keys: Any
) -> Run:
    """Open a run; `keys` are those of `loopDetection`."""
    engine = Engine(Configuration.empty(), on_event=events.append if events is not None else None)
    return engine.open("run", config=(config or {}) | keys, mode=mode)


def guarded(mode: Mode = Mode.ENFORCE, *, events: list[Event] | None = None, **keys: Any) -> Run:
    """Open a run with the rolling detectors on and low thresholds: 3, 5, 8 and 4 for unknown tools."""
    low = {
        "enabled": True,
        "warningThreshold": 3,
        "criticalThreshold": 5,
        "globalCircuitBreakerThreshold": 8,
        "unknownToolThreshold": 4,
    }
    return open_run(mode, events=events, config=low, **keys)


def call(tool: str = "read", args: str = "{}", call_id: str = "") -> Call:
    """Return a call with JSON arguments."""
    return Call(tool, args.encode(), call_id)


def play(run: Run, ending: Ending | None = None, tool: str = "read", args: str = "{}", times: int = 1) -> Verdict:
    """Ask a call and report how it ended, some times; return the last answer to the outcome."""
    for _ in range(times):
        asked = run.judge([call(tool, args)])[0]
        told = run.observe(Outcome(asked.call_id, **(SUCCESS if ending is None else ending)))
    return told


def remember(run: Run, ending: Ending | None = None, tool: str = "read", args: str = "{}", times: int = 1) -> None:
    """Put calls that already happened into the history."""
    run.record([Record(tool, args.encode(), **(SUCCESS if ending is None else ending))] * times)


def check(run: Run, tool: str = "read", args: str = "{}") -> Verdict:
    """Ask without consequences."""
    return run.judge([call(tool, args)], dry_run=True)[0]


def seen(verdict: Verdict) -> tuple[Action, str, int]:
    """Return action, detector and count; no detector is an empty name."""
    finding = verdict.finding
    return (verdict.action, finding.detector, finding.count) if finding else (verdict.action, "", 0)
