"""How long the runs of a killed node take to go on at another one; LOOPGUARD_STORE names what both nodes share."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time

from loopguard import AsyncGuardClient, Call, Outcome, Status
from loopguard.cli.wire_load import SERVE, cpu_seconds, running

#: Calls of each run before its node is killed.
CALLS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    options = parser.parse_args()
    if not os.environ.get("LOOPGUARD_STORE", "").startswith("redis"):
        raise SystemExit("LOOPGUARD_STORE has to name a Redis or Valkey: redis://HOST:PORT/0")
    with running(SERVE) as (lost, process_id), running(SERVE) as (other, other_id):
        asyncio.run(take_over(f"ipv4:{lost},{other}", process_id, other_id, options.runs))


async def take_over(target: str, lost_id: int, other_id: int, count: int) -> None:
    async with AsyncGuardClient(target, many=True, on_unavailable="wait") as client:
        runs = await asyncio.gather(*(client.open_run(f"run-{number}") for number in range(count)))
        for number in range(CALLS):
            await asyncio.gather(*(run.judge([Call("exec", b'{"n": %d}' % number, f"k{number}")]) for run in runs))
            await asyncio.gather(*(run.report(Outcome(f"k{number}", Status.OK, b'"done"')) for run in runs))
        os.kill(lost_id, signal.SIGKILL)
        began, cpu_s = time.perf_counter(), cpu_seconds(other_id)
        verdicts = await asyncio.gather(*(run.judge([Call("exec", b"{}", "last")]) for run in runs))
        taken_s, cpu_s = time.perf_counter() - began, cpu_seconds(other_id) - cpu_s
        wrong = sum(verdict.call_id != "last" for (verdict,) in verdicts)
        rebuilt = sum(run.opened is None or run.opened.rebuilt for run in runs)
        print(f"{count} runs went on after {taken_s:.1f} s, for {cpu_s:.1f} s of the other node's CPU;", end=" ")
        print(f"{wrong} without their answer, {rebuilt} rebuilt")


if __name__ == "__main__":
    main()
