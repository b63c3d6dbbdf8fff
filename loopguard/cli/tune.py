"""`loopguard tune`: sweeps thresholds over labelled runs and shows what each buys and costs."""

from __future__ import annotations

import contextlib
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.sax.saxutils import escape

import typer

from loopguard.balanced_limits import DEFAULT_LIMITS, KEYS
from loopguard.cli.app import Failure
from loopguard.cli.inputs import find_traces, read_lines
from loopguard.cli.replay import Replay
from loopguard.cli.totals import Totals
from loopguard.cli.what_if import configure
from loopguard.config.loop_detection import DEFAULTS, FIELDS
from loopguard.engine import Engine
from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: What is swept where nothing is asked for, by profile: a threshold and where its default stands.
_SWEPT = {
    "openclaw": (
        DEFAULTS,
        FIELDS,
        ("warningThreshold", "criticalThreshold", "unknownToolThreshold", "globalCircuitBreakerThreshold"),
    ),
    "balanced": (
        DEFAULT_LIMITS,
        KEYS,
        (
            "repeat",
            "nearRepeat",
            "likelyRepeat",
            "failures",
            "alikeFailures",
            "signatures",
            "answers",
            "rounds",
            "spreadRepeat",
        ),
    ),
}
_SIDE, _EDGE = 480, 50


@dataclass(slots=True)
class Score:
    """How one setting does: recall and delay on loops, alarms on the others."""

    setting: str
    loops: int
    hits: int
    early: int
    negatives: int
    false: int
    delay: float | None

    @property
    def recall(self) -> float:
        """The share of loops alarmed of while they lasted."""
        return self.hits / self.loops if self.loops else 0.0

    @property
    def false_share(self) -> float:
        """The share of runs without a loop that were alarmed of."""
        return self.false / self.negatives if self.negatives else 0.0


def command(
    paths: Annotated[list[str], typer.Argument(metavar="DIR…", help="Traces, or folders of traces.")],
    labels: Annotated[str, typer.Option(metavar="FILE", help="JSON Lines: run_id, label, loop_start, loop_end.")],
    sweep: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=N,N,…", help="A threshold and the values to try; may be given more than once."),
    ] = None,
    profile: Annotated[str, typer.Option(metavar="NAME", help="The profile to tune.")] = "balanced",
    config: Annotated[str, typer.Option(metavar="FILE", help="The configuration to start from.")] = "",
    chart: Annotated[str, typer.Option(metavar="FILE", help="Write the trade-off as an SVG chart.")] = "",
) -> int:
    """Sweep thresholds over labelled runs and print the trade-off: recall, delay, early and false alarms."""
    known = _read_labels(labels)
    files = find_traces(paths)
    settings = ["", *(_asked(sweep, profile, config) if sweep else _around_the_defaults(profile, config))]
    scores: list[Score] = []
    for setting in _with_progress(settings):
        totals = _play(files, profile, config, setting)
        if not totals.runs.keys() & known.keys():
            raise Failure(f"no run of {', '.join(paths)} has a label in {labels}")
        score = _score(setting, totals, known)
        if not scores:
            print(f"{'setting':<24} {'recall':>7} {'early':>6} {'false':>6} {'delay':>6}")
        scores.append(score)
        delay = "-" if score.delay is None else f"{score.delay:.1f}"
        print(f"{score.setting:<24} {score.recall:>7.2f} {score.early:>6} {score.false:>6} {delay:>6}")
    if chart:
        Path(chart).write_text(draw(scores), encoding="utf-8")
    return 0


def _asked(sweep: Sequence[str], profile: str, config: str) -> Iterator[str]:
    """Yield the settings that were asked for, each by itself; what is refused is told before any is played."""
    for one in sweep:
        key, equals, values = one.partition("=")
        if not equals or not values:
            raise Failure(f"--sweep {one}: write KEY=N,N,…")
        for value in values.split(","):
            setting = f"{key}={value.strip()}"
            try:
                configure(config, [setting], [profile])
            except (Failure, InvalidConfig) as mistake:
                raise Failure(f"--sweep {setting}: {str(mistake).removeprefix('--set ')}") from None
            yield setting


def _around_the_defaults(profile: str, config: str) -> Iterator[str]:
    """Yield values next to the defaults, each threshold by itself, but those that the others don't allow."""
    if profile not in _SWEPT:
        raise Failure(f"--profile {profile}: there are {', '.join(_SWEPT)}")
    defaults, fields, keys = _SWEPT[profile]
    for key in keys:
        usual = getattr(defaults, fields[key])
        for value in (usual - 1, usual + 1, usual + 2):
            with contextlib.suppress(InvalidConfig):
                configure(config, [f"{key}={value}"])
                yield f"{key}={value}"


def _with_progress(settings: Sequence[str]) -> Iterator[str]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(settings, "playing", console=console, transient=True, disable=not console.is_terminal)


def _play(files: Sequence[str], profile: str, config: str, setting: str) -> Totals:
    replay = Replay(Engine(configure(config, [setting] if setting else [])), profile=profile)
    totals = Totals()
    for path in files:
        for judged in replay.play(path):
            totals.add(judged)
    return totals


def _read_labels(path: str) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            rows[row["run_id"]] = row
            if row["label"] == "loop":
                row["loop_start"], row["loop_end"] = int(row["loop_start"]), int(row["loop_end"])
        except KeyError as missing:
            raise Failure(f"{path}:{number}: a label needs {missing}") from None
        except (ValueError, TypeError, RecursionError) as mistake:
            raise Failure(f"{path}:{number}: no label: {mistake}") from None
    if not rows:
        raise Failure(f"{path}: no labels")
    return rows


def _score(setting: str, totals: Totals, labels: dict[str, dict[str, Any]]) -> Score:
    score = Score(setting or "(defaults)", 0, 0, 0, 0, 0, None)
    delays = []
    for run_id, row in labels.items():
        run = totals.runs.get(run_id)
        if run is None:
            continue
        if row["label"] == "no_loop":
            score.negatives += 1
            score.false += run.warned is not None
        elif row["label"] == "loop":
            score.loops += 1
            if run.warned is None:
                continue
            score.early += run.warned < row["loop_start"]
            if row["loop_start"] <= run.warned <= row["loop_end"]:
                score.hits += 1
                delays.append(run.warned - row["loop_start"])
    score.delay = statistics.median(delays) if delays else None
    return score


def draw(scores: Sequence[Score]) -> str:
    """Return an SVG chart: false alarms to the right, recall upwards, a dot a setting."""
    most = max([0.05, *(score.false_share for score in scores)])
    dots = []
    for score in scores:
        x = _EDGE + _SIDE * score.false_share / most
        y = _EDGE + _SIDE * (1 - score.recall)
        label = escape(f"{score.setting}: recall {score.recall:.2f}, false {score.false}")
        dots.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#3465a4" fill-opacity="0.6"><title>{label}</title></circle>'
        )
    size = _SIDE + 2 * _EDGE
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" font-size="12">',
            f'<rect x="{_EDGE}" y="{_EDGE}" width="{_SIDE}" height="{_SIDE}" fill="none" stroke="#888"/>',
            f'<text x="{_EDGE}" y="{size - 15}">false alarms, 0 to {100 * most:.0f} % of runs without a loop</text>',
            f'<text x="{_EDGE}" y="{_EDGE - 10}">recall, 0 to 1</text>',
            *dots,
            "</svg>\n",
        ]
    )
