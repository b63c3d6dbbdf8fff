"""What a guard would have done to many runs: warned, blocked, calls and time saved; worst runs first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopguard.cli.plain_text import plain
from loopguard.model import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopguard.cli.replay import Judged

_STOPS = (Action.BLOCK, Action.ABORT)


@dataclass(slots=True)
class RunTotal:
    """One run: its calls, the steps of the first warning or more and of the first stop, times in seconds if known."""

    run_id: str
    calls: int = 0
    warned: int | None = None
    stopped: int | None = None
    detector: str = ""
    stopped_at: float | None = None
    ended_at: float | None = None

    @property
    def saved_calls(self) -> int:
        """How many calls came at or after the first stop."""
        return 0 if self.stopped is None else self.calls - self.stopped

    @property
    def saved_s(self) -> float:
        """How many seconds passed after the first stop; 0 where times are unknown."""
        if self.stopped_at is None or self.ended_at is None:
            return 0.0
        return max(self.ended_at - self.stopped_at, 0.0)


class Totals:
    """Collects verdicts run by run."""

    def __init__(self) -> None:
        self.runs: dict[str, RunTotal] = {}

    def watch(self, judged: Iterable[Judged]) -> Iterator[Judged]:
        """Pass verdicts on and count them."""
        for item in judged:
            self.add(item)
            yield item

    def add(self, item: Judged) -> None:
        """Count a verdict."""
        run = self.runs.get(item.run_id)
        if run is None:
            run = self.runs[item.run_id] = RunTotal(item.run_id)
        run.calls = max(run.calls, item.step + 1)
        if item.at is not None:
            run.ended_at = item.at
        action = item.verdict.action
        if action is Action.ALLOW:
            return
        if run.warned is None:
            run.warned = item.step
            run.detector = item.verdict.finding.detector if item.verdict.finding else ""
        if action in _STOPS and run.stopped is None:
            run.stopped, run.stopped_at = item.step, item.at

    def worst(self, count: int) -> list[RunTotal]:
        """Return the runs with most saved calls, then those warned of earliest."""
        alarmed = [run for run in self.runs.values() if run.warned is not None]
        return sorted(alarmed, key=lambda run: (-run.saved_calls, -(run.calls - (run.warned or 0))))[:count]

    def summary(self) -> str:
        """Return one line about all runs."""
        runs = self.runs.values()
        warned = sum(run.warned is not None for run in runs)
        stopped = sum(run.stopped is not None for run in runs)
        calls, saved = sum(run.calls for run in runs), sum(run.saved_calls for run in runs)
        share = f" ({100 * saved / calls:.1f} %)" if calls else ""
        seconds = sum(run.saved_s for run in runs)
        time = f", {seconds:.0f} s saved" if seconds else ""
        return f"{len(runs)} runs: {warned} warned, {stopped} stopped; {saved} of {calls} calls saved{share}{time}"


def print_worst(totals: Totals, count: int = 10) -> None:
    """Print the summary and the worst runs."""
    print(totals.summary())
    for run in totals.worst(count):
        stop = f", stopped at {run.stopped}, {run.saved_calls} calls saved" if run.stopped is not None else ""
        print(plain(f"  {run.run_id}: {run.calls} calls, {run.detector} at {run.warned}{stop}"))


def print_comparison(one: tuple[str, Totals], other: tuple[str, Totals]) -> None:
    """Print two profiles side by side, then the runs on which they differ."""
    for name, totals in (one, other):
        print(f"{name:>12}: {totals.summary()}")
    (left, lefts), (right, rights) = one, other
    for run_id, run in lefts.runs.items():
        twin = rights.runs.get(run_id)
        if twin is not None and (run.warned, run.stopped) != (twin.warned, twin.stopped):
            print(plain(f"  {run_id}: {left} {_steps(run)}; {right} {_steps(twin)}"))


def _steps(run: RunTotal) -> str:
    if run.warned is None:
        return "silent"
    stop = "" if run.stopped is None else f", stopped at {run.stopped}"
    return f"{run.detector} at {run.warned}{stop}"
