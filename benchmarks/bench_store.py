"""What a store costs the service: CPU a frame and a snapshot, the latency of verdicts, taking runs over.

For SQLite, and for `redis-server` and `valkey-server` where they are installed. CPU is that of the service's process,
its store's thread too, less that of the same frames without a store; medians of commits that take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop
from loopguard.server.limits import Limits
from loopguard.server.service import Service
from loopguard.server.settings import Settings
from loopguard.server.stored import dump_session, read_session

from loopguard import AsyncGuardClient, codec
from loopguard.balanced.run import BalancedRun
from loopguard.cli.wire_load import SERVE, running
from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.model import Call, CallBatch, Outcome, RunOpen, Status
from loopguard.snapshot import dump_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard.server.session import Session

    from loopguard.run import Run

RUNS, FRAMES = 64, 8
ROUNDS, COMMITS = 7, 200


class Nobody:
    """The owner of a run that nobody talks to."""

    def run_ended(self, *_: Any) -> None:
        """Be told of a run that others have."""
        raise AssertionError("a run was lost")


def call_frame(seq: int) -> Any:
    args = json.dumps({"command": f"make part{seq % 50}", "path": f"src/part{seq % 50}.py"}).encode()
    return codec.decode_frame(
        codec.encode_frame(seq, CallBatch([Call("exec", args, f"toolu_01A09q90qw90lq91{seq:06}")]))
    )


def outcome_frame(seq: int) -> Any:
    result = json.dumps({"content": [{"type": "text", "text": f"{seq} lines were compiled\n" * 10}]}).encode()
    outcome = Outcome(f"toolu_01A09q90qw90lq91{seq - 1:06}", Status.OK, result)
    return codec.decode_frame(codec.encode_frame(seq, outcome))


class Node:
    """A service without its wire: sessions, and the store behind them if there is one."""

    def __init__(self, store: str) -> None:
        self.service = Service(Settings(address="127.0.0.1:0", store=store), Configuration.guarded())
        self.sessions = self.service.sessions
        self.keeper = self.sessions.keeper
        self.open: list[Session] = []

    async def start(self, runs: int, name: str = "run", profile: str = "", frames: int = 64) -> None:
        """Open so many runs, each with a full history."""
        await self.service.start()
        for number in range(runs):
            session, _ = self.sessions.open(RunOpen(f"{name}-{number}", profile=profile), "acme", Nobody())
            self.open.append(session)
            self.play(session, frames)
        await self.commit()

    def play(self, session: Session, frames: int) -> None:
        """Tell a run calls and outcomes, nothing twice."""
        receive = self.sessions.intake.receive
        for _ in range(frames // 2):
            receive(session, call_frame(session.last_seq + 1))
            receive(session, outcome_frame(session.last_seq + 1))

    async def commit(self) -> None:
        """Have everything written."""
        if self.keeper is not None:
            while len(self.keeper):
                await self.keeper.settled()

    async def stop(self) -> None:
        """Close the runs and the store."""
        for session in list(self.open):
            self.sessions.intake._close(session)
        await self.service.stop()

    async def work(self) -> float:
        """Play one commit's worth of frames; return the CPU seconds that taking and keeping them took."""
        frames = [
            (session, maker(session.last_seq + 1 + place))
            for session in self.open
            for place, maker in enumerate([call_frame, outcome_frame] * (FRAMES // 2))
        ]
        start = time.process_time()
        receive = self.sessions.intake.receive
        for session, frame in frames:
            receive(session, frame)
        await self.commit()
        return time.process_time() - start


async def measure_commits(store: str) -> None:
    plain, kept = Node("memory"), Node(store)
    await plain.start(RUNS)
    await kept.start(RUNS)
    assert kept.keeper is not None
    extra = []
    for _ in range(COMMITS):
        without = await plain.work()
        extra.append(await kept.work() - without)
    snapshots = kept.service.tally.store_snapshots
    commit_us = statistics.median(extra) * 1e6
    size = kept.service.tally.store_bytes / max(1, snapshots)
    print(
        f"  {commit_us / RUNS / FRAMES:6.1f} us a frame, {commit_us / RUNS:6.1f} us a snapshot of {size:.0f} bytes"
        f" ({RUNS} runs of {FRAMES} frames a commit)"
    )
    await plain.stop()
    await kept.stop()


async def measure_latency(store: str, seconds: float) -> None:
    """Ask two services in turn, one without and one with the store, over the wire; compare how long answers take."""
    with serving("memory") as plain, serving(store) as kept:
        ratios: dict[int, list[float]] = {50: [], 99: []}
        p99: list[list[float]] = [[], []]
        for number in range(max(2, round(seconds / 2))):
            taken = [sorted(await ask(address, f"{number}")) for address in (plain, kept)]
            for percent, found in ratios.items():
                without, with_store = (times[len(times) * percent // 100] for times in taken)
                found.append(with_store / without)
            for times, found in zip(taken, p99, strict=True):
                found.append(times[len(times) * 99 // 100] * 1e6)
    half, most = (statistics.median(ratios[percent]) for percent in (50, 99))
    print(
        f"  verdict with a store / without: p50 {half:.2f}, p99 {most:.2f}"
        f" (p99 {statistics.median(p99[1]):.0f} / {statistics.median(p99[0]):.0f} us; medians of {len(p99[0])} rounds)"
    )


@contextlib.contextmanager
def serving(store: str) -> Iterator[str]:
    os.environ["LOOPGUARD_STORE"] = store
    try:
        with running(SERVE) as (address, _):
            yield address
    finally:
        os.environ.pop("LOOPGUARD_STORE", None)


async def ask(address: str, name: str) -> list[float]:
    """Have 16 runs ask and report for a second, each every 5 ms; return how long each answer took."""
    times: list[float] = []
    ends = time.perf_counter() + 1.0

    async def one(run: Any) -> None:
        number = 0
        while time.perf_counter() < ends:
            number += 1
            call = Call("exec", b'{"command": "make part%d"}' % number)
            start = time.perf_counter()
            (verdict,) = await run.judge([call])
            times.append(time.perf_counter() - start)
            await run.report(Outcome(verdict.call_id, Status.OK, b'"%d"' % number))
            await asyncio.sleep(0.005)
        await run.close()

    async with AsyncGuardClient(address, on_unavailable="wait") as client:
        runs = [await client.open_run(f"latency-{name}-{number}") for number in range(16)]
        await asyncio.gather(*map(one, runs))
    return times


async def measure_take_over(store: str, runs: int) -> None:
    first, second = Node(store), Node(store)
    await first.start(0)
    for number in range(runs):
        session, _ = first.sessions.open(RunOpen(f"moved-{number}"), "acme", Nobody())
        first.open.append(session)
        first.play(session, 60)
    await first.commit()
    await second.start(0)
    assert second.keeper is not None
    start, cpu = time.perf_counter(), time.process_time()
    for begin in range(0, runs, 512):
        keys = [("acme", f"moved-{number}") for number in range(begin, min(begin + 512, runs))]
        granted = await second.keeper.claim(keys)
        for key in keys:
            session, _ = second.sessions.open(RunOpen(key[1], resume=True), "acme", Nobody(), granted[key])
            assert session.last_seq == 60, key
            second.open.append(session)
    print(
        f"  {runs:,} runs taken over in {time.perf_counter() - start:.1f} s"
        f" ({(time.process_time() - cpu) / runs * 1e6:.0f} us of CPU each)"
    )
    first.keeper = None
    first.open.clear()
    await second.stop()
    await first.service.stop()


async def measure_snapshots(profile: str, calls: int) -> None:
    node = Node("memory")
    await node.start(1, profile=profile, frames=2 * calls)
    (session,) = node.open
    run_id, engine, limit = session.run.run_id, Engine(Configuration.guarded()), Limits().in_flight
    data = dump_session(session, in_flight=limit, now=0.0, clock=0.0)
    run = dump_run(session.run)

    def dump() -> None:
        dump_session(session, in_flight=limit, now=0.0, clock=0.0)

    def dump_changed() -> None:
        if isinstance(session.run, BalancedRun) and session.run._watch is not None:
            session.run._watch._packed = None
        dump()

    def restore() -> Run:
        return engine.restore(read_session(data).run, run_id=run_id, tenant="acme")

    def restore_and_wake() -> None:
        again = restore()
        if isinstance(again, BalancedRun) and again._watch is not None:
            again._watch.wake()

    print(
        f"{profile}, {calls} calls: snapshot {best(dump_changed):.1f} us ({best(dump):.1f} us where only calls were"
        f" asked since the last one), restore {best(restore):.1f} us ({best(restore_and_wake):.1f} us with the first"
        f" frame's part), {len(data)} bytes (the run alone {len(run)} bytes not compressed)"
    )
    await node.stop()


def best(work: Any, times: int = 500) -> float:
    rounds = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(times):
            work()
        rounds.append((time.thread_time() - start) / times)
    return min(rounds) * 1e6


@contextlib.contextmanager
def stores(folder: str) -> Iterator[dict[str, str]]:
    """Start what servers there are; yield the addresses of stores by name."""
    with contextlib.ExitStack() as stack:
        addresses = {"SQLite": f"sqlite:{folder}/bench.db"}
        for name in ("redis-server", "valkey-server"):
            if shutil.which(name) is None:
                continue
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            command = [name, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
            server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            stack.callback(server.wait)
            stack.callback(server.kill)
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.05)
            addresses[name] = f"redis://127.0.0.1:{port}"
        yield addresses


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="how many runs are taken over")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long latencies are compared")
    options = parser.parse_args()
    for calls in (32, 500):
        for profile in ("openclaw", "balanced"):
            await measure_snapshots(profile, calls)
    with tempfile.TemporaryDirectory() as folder, stores(folder) as addresses:
        for name, address in addresses.items():
            print(name)
            await measure_commits(address)
            await measure_latency(address, options.seconds)
            await measure_take_over(address, options.runs)
            for file in Path(folder).glob("bench.db*"):
                file.unlink()


if __name__ == "__main__":
    uvloop.run(main())
