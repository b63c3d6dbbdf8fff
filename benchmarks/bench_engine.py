"""What a call and its outcome cost in the engine, hashing excluded, with one run open and with 100,000.

Prints microseconds of thread CPU time for a call with its outcome, and bytes for an idle run with a full history.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.fingerprints import CallPrint, Kind, OutcomePrint
from loopguard.model import Call, CallBatch, Outcome, Record

if TYPE_CHECKING:
    from loopguard.run import Run

#: Records of a full history.
HISTORY = 30
PAGE = 4096


class Prepared:
    """Hands out prints made before, so that what is measured is the engine."""

    readers = None

    def __init__(self, calls: dict[bytes, CallPrint], outcomes: dict[bytes, OutcomePrint]) -> None:
        self._calls = calls
        self._outcomes = outcomes

    def call(self, call: Call | Record) -> CallPrint:
        """Return the print prepared for these arguments."""
        return self._calls[call.args or b""]

    def outcome(self, call: CallPrint, outcome: Outcome | Record) -> OutcomePrint:  # noqa: ARG002  # as the real one
        """Return the print prepared for this result."""
        return self._outcomes[outcome.result or b""]


def prepare(rng: random.Random, variety: int) -> tuple[Prepared, list[bytes]]:
    """Return prints of `variety` different calls of five tools, and the keys to ask for them by."""
    tools = ["exec", "read", "write", "grep", "process"]
    keys = [b"%d" % index for index in range(variety)]
    calls = {
        key: CallPrint(tools[index % len(tools)], rng.randbytes(16), False, False, False, "", 0)
        for index, key in enumerate(keys)
    }
    outcomes = {key: OutcomePrint(Kind.DONE, rng.randbytes(16)) for key in keys}
    return Prepared(calls, outcomes), keys


def step(run: Run, key: bytes, call_id: str) -> None:
    """Ask one call and report its outcome."""
    run.apply(CallBatch([Call("", key, call_id)]))
    run.apply(Outcome(call_id, None, key))


def measure(runs: int, steps: int, variety: int, seed: int) -> tuple[float, float]:
    """Return microseconds a step, over `runs` open runs in turn, and bytes a run once its history is full."""
    rng = random.Random(seed)
    prepared, keys = prepare(rng, variety)
    engine = Engine(Configuration.guarded(), fingerprinter=prepared)  # type: ignore[arg-type]  # it stands in for one
    gc.collect()
    before = resident()
    opened = [engine.open(f"run-{index:08d}") for index in range(runs)]
    for index in range(HISTORY):
        for run in opened:
            step(run, keys[rng.randrange(variety)], f"call_{index:024d}")
    size = (resident() - before) / runs
    picked = [(opened[index % runs], keys[rng.randrange(variety)], f"call_{index:024d}") for index in range(steps)]
    gc.collect()
    gc.freeze()
    gc.disable()
    start = time.thread_time_ns()
    for run, key, call_id in picked:
        step(run, key, call_id)
    spent = time.thread_time_ns() - start
    gc.enable()
    gc.unfreeze()
    return spent / steps / 1000, size


def floor(steps: int) -> float:
    """Return microseconds for making the frames of a step alone, which is the caller's work."""
    start = time.thread_time_ns()
    for _ in range(steps):
        CallBatch([Call("", b"1", "call")])
        Outcome("call", None, b"1")
    return (time.thread_time_ns() - start) / steps / 1000


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * PAGE
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Measure and print, or write JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 1000, 100_000])
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--variety", type=int, default=200, help="how many different calls there are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = []
    # The largest first: memory that the process gave back once would hide the size of later runs.
    for runs in sorted(options.runs, reverse=True):
        rounds = [measure(runs, options.steps, options.variety, seed) for seed in range(options.rounds)]
        results.append(
            {
                "runs": runs,
                "us_per_call_and_outcome": round(statistics.median(spent for spent, _ in rounds), 2),
                "bytes_per_run": round(rounds[0][1]) if runs >= 1000 else None,
            }
        )
    frames = round(floor(options.steps), 2)
    if options.json:
        print(json.dumps({"frames_us": frames, "results": results}))
        return
    for result in reversed(results):
        size = f", {result['bytes_per_run']} bytes a run" if result["bytes_per_run"] else ""
        print(f"{result['runs']:>7} runs: {result['us_per_call_and_outcome']} us a call and outcome{size}")
    print(f"making the frames themselves: {frames} us of it")


if __name__ == "__main__":
    main()
