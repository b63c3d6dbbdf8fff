"""What taking one detector of `balanced` out costs: ablation.py SHARED, a folder with `traces` and `vectors`.

Prints a line for each: recall, false and early alarms, loops alarmed by the step where a careful reader would block,
scenarios noticed in time, vectors of `beyond` missed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from loopguard.balanced import watch
from loopguard.cli import main as loopguard
from loopguard.detectors.balanced import (
    BALANCED,
    churn,
    cycle,
    error_streak,
    misuse,
    repeat,
    same_answer,
    same_effect,
    spread_repeat,
    stall,
)

WITHOUT: dict[str, tuple[Any, ...]] = {
    "nothing": (),
    "repeat": (repeat.exact,),
    "near_repeat": (repeat.near,),
    "likely_repeat": (repeat.likely,),
    "error_streak (all three)": (error_streak.worded_alike, error_streak.one_tool, error_streak.any_tool),
    "error_streak worded alike": (error_streak.worded_alike,),
    "error_cascade": (error_streak.any_tool,),
    "same_answer": (same_answer.look,),
    "cycle": (cycle.failing, cycle.look),
    "same_effect": (same_effect.look,),
    "spread_repeat": (spread_repeat.look,),
    "rejected_replies": (misuse.rejected_replies,),
    "stall": (stall.look,),
    "rewrite, resend, plan_churn": (churn.rewrite, churn.resend, churn.plan),
}
Rows = list[dict[str, Any]]


def replayed(name: str, *arguments: str) -> str:
    """Return what a run of `loopguard` without some detectors says; in a process of its own."""
    command = [sys.executable, __file__, "--without", name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def alarms(name: str, traces: list[str]) -> dict[str, int]:
    """Return the step of each run's first alarm."""
    first: dict[str, int] = {}
    for line in replayed(name, "replay", "--profile", "balanced", "--json", *traces).splitlines():
        answer = json.loads(line)
        if answer["action"] != "ALLOW":
            first[answer["runId"]] = min(answer["step"], first.get(answer["runId"], answer["step"]))
    return first


def read(path: Path) -> Rows:
    """Return the rows of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def as_trace(scenarios: Rows, path: Path) -> None:
    """Write scenarios as runs."""
    with path.open("w", encoding="utf-8") as out:
        for one in scenarios:
            opened = {"runId": one["name"]} | ({"agentId": one["agentId"]} if "agentId" in one else {})
            for frame in ({"open": opened}, *one["frames"], {"close": {}}):
                out.write(json.dumps(frame) + "\n")


def measured(name: str, shared: Path, scenario_trace: Path) -> str:
    """Return a line of the table."""
    labels, scenarios = read(shared / "traces" / "labels.jsonl"), read(shared / "vectors" / "scenarios.jsonl")
    first = alarms(name, [str(path) for path in sorted((shared / "traces").glob("*.jsonl.gz"))])
    loops = [row for row in labels if row["label"] == "loop"]
    at = {row["run_id"]: first[row["run_id"]] for row in loops if row["run_id"] in first}
    hits = [row for row in loops if row["loop_start"] <= at.get(row["run_id"], -1) <= row["loop_end"]]
    early = sum(at.get(row["run_id"], row["loop_start"]) < row["loop_start"] for row in loops)
    false = sum(row["run_id"] in first for row in labels if row["label"] == "no_loop")
    due = [row for row in loops if row["block_at"] is not None]
    timely = sum(at[row["run_id"]] <= row["block_at"] for row in hits if row["block_at"] is not None)
    noticed = alarms(name, [str(scenario_trace)])
    wanted = [row for row in scenarios if row["should"] == "loop" and not row.get("convention")]
    seen = sum(noticed.get(row["name"], row["detectBy"]) < row["detectBy"] for row in wanted)
    failed = replayed(name, "conformance", str(shared / "vectors" / "beyond.jsonl")).split("passed, ")[-1].split(" ")[0]
    return (
        f"| {name} | {len(hits) / len(loops):.2f} | {false} | {early} | {100 * timely / len(due):.0f} % "
        f"| {seen}/{len(wanted)} | {failed} |"
    )


def main() -> None:
    """Measure and print, or run `loopguard` without some detectors."""
    if sys.argv[1] == "--without":
        out = WITHOUT[sys.argv[2]]
        setattr(watch, "BALANCED", tuple(one for one in BALANCED if one not in out))  # noqa: B010  # no public name
        sys.argv[1:] = sys.argv[3:]
        loopguard()
        return
    shared = Path(sys.argv[1])
    print("| without | recall | false | early | in time | scenarios | `beyond` missed |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "scenarios.jsonl"
        as_trace(read(shared / "vectors" / "scenarios.jsonl"), trace)
        for name in WITHOUT:
            print(measured(name, shared, trace), flush=True)


if __name__ == "__main__":
    main()
