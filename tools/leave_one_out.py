"""Whether the thresholds of `balanced` hold for data that they were not chosen on: leave_one_out.py TRACES.

For each data set: the best of a grid of settings on all other data sets, tried on the one left out, beside the
thresholds that ship. Best is the most loops found, a false alarm costing three, then the fewest steps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

#: What is tried: one on each side of what ships, for the thresholds that most loops are found by.
GRID = {"repeat": (3, 4), "failures": (3, 4, 5), "signatures": (5, 6, 7), "alikeFailures": (3, 4), "answers": (5, 6)}
FALSE_COSTS = 3
Alarms = dict[str, int]
Tally = tuple[int, int, int, int, int]


def alarms(traces: list[Path], setting: dict[str, int]) -> Alarms:
    """Return the step of each run's first alarm."""
    told = [part for key, value in setting.items() for part in ("--set", f"{key}={value}")]
    command = [str(Path(sys.executable).with_name("loopguard")), "replay", "--profile", "balanced", "--json", *told]
    played = subprocess.run([*command, *map(str, traces)], capture_output=True, text=True, check=False)
    if played.returncode > 1:
        raise SystemExit(played.stderr)
    first: Alarms = {}
    for line in played.stdout.splitlines():
        answer = json.loads(line)
        if answer["action"] != "ALLOW":
            first[answer["runId"]] = min(answer["step"], first.get(answer["runId"], answer["step"]))
    return first


def tally(labels: list[dict[str, Any]], first: Alarms) -> Tally:
    """Return loops, loops found, negatives, false alarms, steps from the loops' starts."""
    loops = [row for row in labels if row["label"] == "loop"]
    quiet = [row for row in labels if row["label"] == "no_loop"]
    late = [first[row["run_id"]] - row["loop_start"] for row in loops if row["run_id"] in first]
    found = [
        step
        for step, row in zip(late, (row for row in loops if row["run_id"] in first), strict=True)
        if 0 <= step <= row["loop_end"] - row["loop_start"]
    ]
    return len(loops), len(found), len(quiet), sum(row["run_id"] in first for row in quiet), sum(found)


def merit(one: Tally) -> tuple[int, int]:
    """Return what a setting is worth: more is better."""
    return one[1] - FALSE_COSTS * one[3], -one[4]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", type=Path)
    folder = parser.parse_args().traces
    traces = sorted(folder.glob("*.jsonl.gz"))
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    by_set: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_set[row["dataset"]].append(row)
    settings = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    played = [(setting, alarms(traces, setting)) for setting in settings]
    shipped = alarms(traces, {})
    sums = [0, 0, 0, 0]
    print(
        "| left out | loops | found, chosen elsewhere | as shipped | negatives | false, chosen elsewhere | as shipped |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, own in by_set.items():
        others = [row for row in rows if row["dataset"] != name]
        _, chosen = max(played, key=lambda one: merit(tally(others, one[1])))
        tried, kept = tally(own, chosen), tally(own, shipped)
        print(f"| {name} | {tried[0]} | {tried[1]} | {kept[1]} | {tried[2]} | {tried[3]} | {kept[3]} |")
        sums = [total + one for total, one in zip(sums, tried[:4], strict=True)]
    every = [tally(rows, first) for _, first in played]
    print(f"\nchosen elsewhere: {sums[1]} of {sums[0]} loops, {sums[3]} false alarms of {sums[2]}")
    print(
        f"over all {len(every)} settings: {min(one[1] for one in every)} to {max(one[1] for one in every)} loops, "
        f"{min(one[3] for one in every)} to {max(one[3] for one in every)} false alarms"
    )


if __name__ == "__main__":
    main()
