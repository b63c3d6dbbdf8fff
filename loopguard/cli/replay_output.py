"""Prints what a replay found: JSON lines for programs, a table for people, plain lines where nobody is watching."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopguard.cli.plain_text import plain
from loopguard.model import Action, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopguard.cli.replay import Judged, Replay

NO_CONFIGURATION = (
    "Guards: loop detection is on with its default thresholds, because no configuration file was given (--config FILE)."
)
_STYLES = {Action.WARN: "yellow", Action.BLOCK: "red", Action.ABORT: "bold red"}
_LINES_A_WRITE = 512
_ROW = "{:>11}  {:<15}  {:<16}  {}"
_VERDICT_AT = 13


def print_json(judged: Iterable[Judged]) -> int:
    """Print one object a line for every verdict; return 1 if something would have been blocked."""
    code = 0
    lines: list[str] = []
    for item in judged:
        verdict = item.verdict
        if verdict.action in (Action.BLOCK, Action.ABORT):
            code = 1
        lines.append(_json_line(item))
        if len(lines) == _LINES_A_WRITE:
            sys.stdout.write("".join(lines))
            lines.clear()
    sys.stdout.write("".join(lines))
    return code


def _json_line(item: Judged) -> str:
    finding = item.verdict.finding
    found = ""
    if finding is not None:
        found = (
            f'"detector": {json.dumps(finding.detector)}, "level": "{finding.level.value}", "count": {finding.count}, '
        )
    return (
        f'{{"runId": {json.dumps(item.run_id)}, "step": {item.step}, "frame": {item.frame}, '
        f'"callId": {json.dumps(item.verdict.call_id)}, "action": "{item.verdict.action.value}", '
        f'{found}"on": "{item.on}"}}\n'
    )


@dataclass(slots=True)
class Alarm:
    """Alarms of one kind on calls that follow each other."""

    run_id: str
    tool: str
    action: Action
    detector: str
    level: str
    on: str
    first_step: int
    last_step: int
    first_count: int
    last_count: int
    threshold: int
    reason: str

    @property
    def steps(self) -> str:
        """The step, or the first and the last."""
        return _span(self.first_step, self.last_step)

    @property
    def counts(self) -> str:
        """The count, or the first and the last, and the threshold; empty where nothing was counted."""
        return f"{_span(self.first_count, self.last_count)} (threshold {self.threshold})" if self.threshold else ""


def fold_alarms(judged: Iterable[Judged], actions: Counter[Action]) -> Iterator[Alarm]:
    """Yield the alarms, those on calls next to each other as one, and count all verdicts on calls into `actions`."""
    alarm: Alarm | None = None
    for item in judged:
        verdict = item.verdict
        if item.on == "call" or verdict.action is not Action.ALLOW:
            actions[verdict.action] += 1
        if verdict.action is Action.ALLOW:
            continue
        new = _alarm(item, verdict)
        if alarm is not None and _follows(alarm, new):
            alarm.last_step, alarm.last_count = new.last_step, new.last_count
            continue
        if alarm is not None:
            yield alarm
        alarm = new
    if alarm is not None:
        yield alarm


def _alarm(item: Judged, verdict: Verdict) -> Alarm:
    finding = verdict.finding
    reason = verdict.note or (f"blocked with {verdict.blocked_by}" if verdict.blocked_by else "")
    return Alarm(
        run_id=item.run_id,
        tool=item.tool,
        action=verdict.action,
        detector=finding.detector if finding else "",
        level=finding.level.value if finding else "",
        on=item.on,
        first_step=item.step,
        last_step=item.step,
        first_count=finding.count if finding else 0,
        last_count=finding.count if finding else 0,
        threshold=finding.threshold if finding else 0,
        reason=" ".join(reason.split()),
    )


def _follows(old: Alarm, new: Alarm) -> bool:
    return new.first_step - old.last_step <= 1 and all(
        getattr(old, name) == getattr(new, name) for name in ("run_id", "tool", "action", "detector", "on", "threshold")
    )


def print_table(judged: Iterable[Judged], replay: Replay, *, guards: str) -> int:
    """Print the alarms and a summary; return 1 if something would have been blocked."""
    actions: Counter[Action] = Counter()
    alarms = fold_alarms(judged, actions)
    if sys.stdout.isatty():
        _print_rich(alarms, guards)
    else:
        _print_plain(alarms, guards)
    counted = ", ".join(f"{actions[action]} {action.value}" for action in Action)
    refused = f"; {replay.refused} frames refused" if replay.refused else ""
    print(f"{_number(replay.runs, 'run')}, {_number(replay.calls, 'call')}: {counted}{refused}.")
    return 1 if actions[Action.BLOCK] or actions[Action.ABORT] else 0


def _print_plain(alarms: Iterable[Alarm], guards: str) -> None:
    if guards:
        print(guards)
    for alarm in alarms:
        found = f" {alarm.detector} {alarm.level} {alarm.counts}" if alarm.detector else ""
        head = f"{alarm.run_id} step {alarm.steps} {alarm.on} {alarm.tool} {alarm.action.value}"
        print(plain(f"{head}{found}: {alarm.reason}"))


def _print_rich(alarms: Iterable[Alarm], guards: str) -> None:
    """Print a table with a heading a run, as the alarms come: their number is not known, and run ids can be long."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if guards:
        console.print(guards, style="dim")
    run_id = None
    for alarm in alarms:
        if run_id is None:
            console.print(Text(_ROW.format("step", "verdict", "tool", "finding"), "bold"))
        if alarm.run_id != run_id:
            run_id = alarm.run_id
            console.print(Text(plain(run_id), "cyan"))
        verdict = alarm.action.value + ("" if alarm.on == "call" else " (outcome)")
        found = f"{alarm.detector} {alarm.counts}" if alarm.detector else alarm.reason
        line = Text(_ROW.format(alarm.steps, verdict, plain(alarm.tool), plain(found)))
        line.stylize(_STYLES[alarm.action], _VERDICT_AT, _VERDICT_AT + len(verdict))
        console.print(line, soft_wrap=True)
    if run_id is None:
        console.print("No alarm.", style="green")
    else:
        console.print("`loopguard explain FILE --run ID --call STEP` tells why.", style="dim")


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
