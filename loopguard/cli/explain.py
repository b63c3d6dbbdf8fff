"""`loopguard explain`: shows for a recorded run why a call got its verdict, or why it got none."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import typer

from loopguard.cli.app import Failure
from loopguard.cli.difference import counting_difference
from loopguard.cli.inputs import find_traces
from loopguard.cli.plain_text import plain
from loopguard.cli.story import Moment, Past, Storyteller
from loopguard.model import Mode, Outcome

if TYPE_CHECKING:
    from loopguard.model import Verdict

_NEAR_MISSES_MAX = 5


def command(
    paths: Annotated[list[str], typer.Argument(metavar="TRACE…", help="Traces, or - for standard input.")],
    run: Annotated[str, typer.Option("--run", metavar="ID", help="The run; else the first one with an alarm.")] = "",
    call: Annotated[str, typer.Option("--call", metavar="ID", help="The call, by id or step; else the alarm.")] = "",
    mode: Annotated[str, typer.Option(metavar="observe|enforce", help="The mode of runs that name none.")] = "observe",
    profile: Annotated[str, typer.Option(metavar="NAME", help="The profile of runs that name none.")] = "",
    config: Annotated[str, typer.Option(metavar="FILE", help="The configuration file.")] = "",
) -> int:
    """Show why a call got its verdict, or why not: the history at that point, equal calls and outcomes by letter."""
    from loopguard.config import Configuration, load_configuration

    if mode.upper() not in tuple(Mode):
        raise typer.BadParameter(f"'{mode}' is not one of observe, enforce", param_hint="--mode")
    configuration = load_configuration(config) if config else Configuration.guarded()
    storyteller = Storyteller(configuration, mode=Mode(mode.upper()), profile=profile, run_id=run, call_id=call)
    moment = None
    for path in find_traces(paths):
        moment = storyteller.find(path)
        if moment is not None:
            break
    moment = moment or storyteller.fallback
    if moment is None:
        wanted = f"call `{call}`" + (f" in run `{run}`" if run else "") if call else f"run `{run}`" if run else "call"
        raise Failure(f"{', '.join(paths)}: no {wanted}")
    _print(moment)
    return 0


def _print(moment: Moment) -> None:
    asked = moment.asked
    run = moment.run
    print(plain(f"run {run.run_id}, step {moment.step}, call {asked.call_id} ({asked.print.tool}), mode {run.mode}"))
    _print_verdict("asked", moment.verdict)
    if moment.outcome_verdict is not None:
        _print_verdict("outcome", moment.outcome_verdict)
    print(plain(f"arguments: {_cut(asked.args)}"))
    _print_counts(moment)
    letters = _Letters()
    mine = letters.call(asked)
    evidence = _evidence(moment)
    print(f"\nhistory before this call ({len(moment.past)} of at most {run.config.history_size}; this call is {mine}):")
    rows: list[tuple[str, ...]] = [("", "step", "call", "tool", "same call", "same outcome", "")]
    rows += [
        (
            "*" if past.call_id and past.call_id in evidence else "",
            "" if past.step is None else str(past.step),
            past.call_id,
            past.print.tool,
            letters.call(past),
            letters.outcome(past),
            past.marks,
        )
        for past in moment.past
    ]
    if moment.past:
        _print_rows(rows)
    if evidence:
        print("* counts for the finding")
    _print_near_misses(moment)


def _print_verdict(on: str, verdict: Verdict) -> None:
    scope = f" of the {verdict.scope.value.lower()}" if verdict.scope else ""
    print(f"{on}: {verdict.action.value}{scope}")
    finding = verdict.finding
    if finding is not None:
        print(f"  {finding.detector}, {finding.level.value}: counted {finding.count}, threshold {finding.threshold}")
        for name, value in (
            ("with", finding.paired_tool),
            ("left out to find them equal", ", ".join(finding.stripped)),
            ("would be cleared by", finding.cleared_by),
        ):
            if value:
                print(plain(f"  {name}: {value}"))
    if verdict.blocked_by:
        print(plain(f"  because of the call {verdict.blocked_by} of the same batch"))
    if verdict.note:
        print(plain(f"  note: {verdict.note}"))


def _print_counts(moment: Moment) -> None:
    """Say how far the call is from the thresholds."""
    run, tool = moment.run, moment.run.config.tools.get(moment.asked.print.tool)
    if run.config.enabled is False or (run.config.enabled is None and run.profile == "openclaw"):
        print("the rolling detectors are off: `enabled` is " + ("false" if run.config.enabled is False else "not set"))
    if tool is not None and tool.exempt:
        print("the rolling detectors leave this tool alone: `exempt` is true")
    same = [past for past in moment.past if past.signature == moment.asked.signature]
    outcomes = Counter(past.outcome_print.digest for past in same if past.outcome_print and past.outcome_print.digest)
    told = (
        f"this call stands {len(same)} times in the history, with {len(outcomes)} different outcomes, the most frequent"
        f" one {max(outcomes.values(), default=0)} times"
    )
    if run.profile == "openclaw":
        limits = (tool.limits if tool else None) or run.config
        told += f"; warning from {limits.warning_threshold}, critical from {limits.critical_threshold} without progress"
    print(told)


def _print_near_misses(moment: Moment) -> None:
    lines = _outcome_misses(moment) + _argument_misses(moment)
    if not lines:
        return
    print("\nnear misses:")
    for line in lines[:_NEAR_MISSES_MAX]:
        print(plain(f"  {line}"))
    if len(lines) > _NEAR_MISSES_MAX:
        print(f"  and {len(lines) - _NEAR_MISSES_MAX} more")


def _outcome_misses(moment: Moment) -> list[str]:
    """Tell where the outcomes of this very call differ from the one after them."""
    same = [past for past in moment.past if past.signature == moment.asked.signature and past.outcome is not None]
    lines = []
    for older, newer in pairwise(same):
        if not (older.outcome_print and newer.outcome_print and older.outcome and newer.outcome):
            continue
        if older.outcome_print.digest in (None, newer.outcome_print.digest) or newer.outcome_print.digest is None:
            continue
        lines.append(f"the outcomes of {older.name} and {newer.name} differ{_outcome_difference(moment, older, newer)}")
    return lines


def _outcome_difference(moment: Moment, older: Past, newer: Past) -> str:
    one, other = older.outcome, newer.outcome
    assert one is not None
    assert other is not None
    for name in ("error", "private", "result"):
        if not getattr(one, name) and not getattr(other, name):
            continue

        def digest(text: bytes, name: str = name) -> bytes | None:
            changed = Outcome("", one.status, one.result, one.result_digest, one.error, one.private)
            setattr(changed, name, text)
            return moment.fingerprinter.outcome(older.print, changed).digest

        found = counting_difference(getattr(one, name), getattr(other, name), digest)
        if found is not None:
            return f" in {name}: {found}"
    return f" in status: {one.status or 'none'} → {other.status or 'none'}" if one.status != other.status else ""


def _argument_misses(moment: Moment) -> list[str]:
    """Tell where calls of the same tool have other arguments."""
    asked = moment.asked
    lines = []
    seen = {asked.signature}
    for past in reversed(moment.past):
        if past.print.tool != asked.print.tool or past.signature in seen:
            continue
        seen.add(past.signature)

        def digest(text: bytes, past: Past = past) -> bytes | None:
            return moment.fingerprinter.call(past.with_args(text)).digest

        found = counting_difference(past.args, asked.args, digest)
        lines.append(f"the arguments of {past.name} and this call differ" + (f" in {found}" if found else ""))
    return lines


class _Letters:
    """Names equal digests by one letter, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._calls: dict[object, str] = {}
        self._outcomes: dict[object, str] = {}

    def call(self, past: Past) -> str:
        return self._calls.setdefault(past.signature, _letter(len(self._calls)).upper())

    def outcome(self, past: Past) -> str:
        if past.outcome_print is None or past.outcome_print.digest is None:
            return "-"
        return self._outcomes.setdefault(past.outcome_print.digest, _letter(len(self._outcomes)))


def _letter(number: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return alphabet[number] if number < len(alphabet) else _letter(number // 26 - 1) + alphabet[number % 26]


def _evidence(moment: Moment) -> set[str]:
    found = [moment.verdict.finding, moment.outcome_verdict.finding if moment.outcome_verdict else None]
    return {call_id for finding in found if finding is not None for call_id in finding.call_ids}


def _cut(args: bytes | None) -> str:
    text = " ".join((args or b"{}").decode(errors="backslashreplace").split())
    return text if len(text) <= 160 else text[:159] + "…"


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    rows = [tuple(map(plain, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        print(f"\x1b[1m{line}\x1b[0m" if number == 0 and sys.stdout.isatty() else line)
