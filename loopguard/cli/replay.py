"""`loopguard replay`: plays recorded runs through the engine and shows what the guard would have said."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from loopguard.cli.app import Failure
from loopguard.cli.inputs import STANDARD_INPUT, find_traces, read_lines
from loopguard.cli.plain_text import plain
from loopguard.cli.totals import Totals, print_comparison, print_worst
from loopguard.errors import InvalidFrame, InvalidTrace
from loopguard.model import Action, CallBatch, Mode, Outcome, RunOpen, Signal, Verdict
from loopguard.trace import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard.engine import Engine
    from loopguard.run import Run

#: As many calls without outcome are remembered as the engine remembers.
_OPEN_CALLS_MAX = 1024
_REFUSED_TOLD = 10


@dataclass(slots=True)
class Judged:
    """A verdict with its place in the recording.

    `step` is the index of the call within its run, `frame` that of the frame; `on` is `call` or `outcome`.
    """

    run_id: str
    step: int
    frame: int
    tool: str
    on: str
    verdict: Verdict
    at: float | None = None


class Replay:
    """Plays traces through an engine, one run after another.

    What the `open` frames do not name, `mode` and `profile` do.
    """

    def __init__(self, engine: Engine, *, mode: Mode = Mode.OBSERVE, profile: str = "") -> None:
        self.engine = engine
        self.mode = mode
        self.profile = profile
        self.runs = 0
        self.calls = 0
        self.refused = 0
        self.frames = 0

    def play(self, path: str) -> Iterator[Judged]:
        """Yield the verdicts of one file; a frame that the engine refuses is told on standard error and passed over."""
        run: Run | None = None
        steps = _Steps()
        for item in read_trace(read_lines(path), path):
            self.frames += 1
            if item.open is not None:
                if run is not None:
                    self.engine.close(run.run_id)
                run, steps = self._open(item.open, f"{path}:{item.line}"), _Steps()
                continue
            assert run is not None  # read_trace refuses frames outside of a run
            frame = item.frame
            assert frame is not None
            if frame is Signal.CLOSE:
                self.engine.close(run.run_id)
                run = None
                continue
            try:
                answer = run.apply(frame, item.at)
            except InvalidFrame as error:
                self._tell_refused(f"{path}:{item.line}", error)
                answer = None
            if isinstance(frame, CallBatch):
                if not frame.dry_run:
                    self.calls += len(frame.calls)
                yield from steps.ask(run.run_id, item.index, frame, answer, item.at)
            elif isinstance(frame, Outcome) and isinstance(answer, Verdict):
                yield steps.settle(run.run_id, item.index, answer, item.at)
        if run is not None:
            self.engine.close(run.run_id)

    def _tell_refused(self, place: str, error: InvalidFrame) -> None:
        self.refused += 1
        if self.refused <= _REFUSED_TOLD:
            print(plain(f"loopguard: {place}: frame refused, {error.reason}: {error}"), file=sys.stderr)
        elif self.refused == _REFUSED_TOLD + 1:
            print("loopguard: further refused frames are only counted", file=sys.stderr)

    def _open(self, run: RunOpen, place: str) -> Run:
        self.runs += 1
        run.mode = run.mode or self.mode
        run.profile = run.profile or self.profile
        try:
            return self.engine.open(run)
        except InvalidFrame as error:
            raise InvalidTrace(f"{place}: {error}") from None


class _Steps:
    """Which call of the run an answer belongs to."""

    def __init__(self) -> None:
        self.next = 0
        self.waiting: dict[str, tuple[int, str]] = {}

    def ask(
        self, run_id: str, index: int, batch: CallBatch, answer: object, at: float | None = None
    ) -> Iterator[Judged]:
        step = self.next
        if not batch.dry_run:
            self.next += len(batch.calls)
        if not isinstance(answer, list):
            return
        for offset, (call, verdict) in enumerate(zip(batch.calls, answer, strict=True)):
            if not batch.dry_run:
                self.waiting.pop(verdict.call_id, None)
                self.waiting[verdict.call_id] = (step + offset, call.tool)
                if len(self.waiting) > _OPEN_CALLS_MAX:
                    del self.waiting[next(iter(self.waiting))]
            yield Judged(run_id, step + offset, index, call.tool, "call", verdict, at)

    def settle(self, run_id: str, index: int, verdict: Verdict, at: float | None = None) -> Judged:
        step, tool = self.waiting.pop(verdict.call_id, (self.next - 1, ""))
        return Judged(run_id, step, index, tool, "outcome", verdict, at)


def command(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="Traces (.jsonl, .gz), folders of traces, or - for standard input."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line for every verdict.")] = False,
    mode: Annotated[str, typer.Option(metavar="observe|enforce", help="The mode of runs that name none.")] = "observe",
    profile: Annotated[str, typer.Option(metavar="NAME", help="The profile of runs that name none.")] = "",
    config: Annotated[
        str, typer.Option(metavar="FILE", help="The configuration file; `{}` means nothing is set.")
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="What if: a threshold of loopDetection or of balanced."),
    ] = None,
    compare: Annotated[
        str, typer.Option(metavar="PROFILE", help="Play with a second profile too and show where they differ.")
    ] = "",
    summary: Annotated[
        bool, typer.Option("--summary", help="Print totals and the worst runs instead of every alarm.")
    ] = False,
) -> int:
    """Play recorded runs and show what the guard would have said. Exits 1 if something would have been blocked."""
    from loopguard.cli import replay_output
    from loopguard.cli.what_if import configure
    from loopguard.engine import Engine

    if mode.upper() not in tuple(Mode):
        raise typer.BadParameter(f"'{mode}' is not one of observe, enforce", param_hint="--mode")
    if as_json and (compare or summary):
        raise typer.BadParameter(f"--json prints verdicts, {'--compare' if compare else '--summary'} prints totals")
    configuration = configure(config, settings or [], (profile, compare) if compare else (profile,))
    replay = Replay(Engine(configuration), mode=Mode(mode.upper()), profile=profile)
    files = find_traces(paths)
    if compare:
        if STANDARD_INPUT in files:
            raise typer.BadParameter("standard input can be played once only", param_hint="--compare")
        twin = Replay(Engine(configuration), mode=replay.mode, profile=compare)
        totals = _total(files, replay)
        _refuse_nothing(replay, paths)
        print_comparison((profile or configuration.profile, totals), (compare, _total(files, twin)))
        return 0
    if summary:
        totals = _total(files, replay)
        _refuse_nothing(replay, paths)
        print_worst(totals)
        return 1 if any(run.stopped is not None for run in totals.runs.values()) else 0
    judged = (item for path in files for item in replay.play(path))
    if as_json:
        code = replay_output.print_json(judged)
    else:
        code = replay_output.print_table(judged, replay, guards="" if config else replay_output.NO_CONFIGURATION)
    _refuse_nothing(replay, paths)
    return code


def _refuse_nothing(replay: Replay, paths: list[str]) -> None:
    # A pipe that broke before its first frame must not pass a gate.
    if not replay.frames:
        raise Failure(f"no frames in {', '.join(paths)}")


def _total(files: list[str], replay: Replay) -> Totals:
    """Play files, with a progress bar where somebody watches, and count."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    totals = Totals()
    for path in track(files, "playing", console=console, transient=True, disable=not console.is_terminal):
        for item in replay.play(path):
            totals.add(item)
    return totals


def is_stop(verdict: Verdict) -> bool:
    """Tell whether the guard would have kept the call from running, or ended the turn or run."""
    return verdict.action in (Action.BLOCK, Action.ABORT)
