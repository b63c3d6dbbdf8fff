"""Kills, freezes and restarts nodes and their store under load, seeded, and compares every answer with the engine's."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from loopguard import AsyncGuardClient, Configuration, Engine
from tests.fleet.agent import Agent
from tests.fleet.processes import Program, build_node, free_port
from tests.fleet.witness import Counts

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A frozen node is found within 4 seconds rather than 15, so that more happens in the time there is.
OPTIONS = [
    ("grpc.keepalive_time_ms", 2_000),
    ("grpc.keepalive_timeout_ms", 2_000),
    ("grpc.http2.ping_timeout_ms", 2_000),
]
#: How long the runs may take to come to their ends once all is well again.
PATIENCE_S = 120.0
MISTAKES_SHOWN = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gap", type=float, default=1.0, help="seconds between two turns of a run, on average")
    parser.add_argument("--many", action="store_true", help="all runs of a node on one stream of GuardMany")
    parser.add_argument("--store", choices=["memory", "redis"], default="redis")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loopguard-chaos-") as folder:
        report, mistakes = asyncio.run(chaos(options, Path(folder)))
    print(json.dumps(report, indent=2))
    for mistake in mistakes[:MISTAKES_SHOWN]:
        print(mistake, file=sys.stderr)
    print("nothing lost" if not mistakes else f"{len(mistakes)} MISTAKES", file=sys.stderr)
    return 1 if mistakes else 0


async def chaos(options: argparse.Namespace, folder: Path) -> tuple[dict[str, Any], list[str]]:
    # Ended by others, it still ends what it has started.
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    agents = [Agent(f"run-{number}", options.seed, balanced=number % 4 == 0) for number in range(options.runs)]
    faults: Counter[str] = Counter()
    async with contextlib.AsyncExitStack() as stack:
        store, config = await start_store(options.store, folder, stack)
        nodes = [build_node(f"node-{number}", folder, config, drain_grace_s=1) for number in range(options.nodes)]
        await asyncio.gather(*(stack.enter_async_context(node) for node in nodes))
        endpoints = [node.address for node in nodes]
        client = AsyncGuardClient(endpoints, on_unavailable="wait", many=options.many, options=OPTIONS)
        stack.push_async_callback(client.close)
        ends = time.monotonic() + options.seconds
        playing = [
            asyncio.create_task(agent.play(client, lambda: time.monotonic() > ends, options.gap)) for agent in agents
        ]
        stack.callback(lambda: [task.cancel() for task in playing])
        disturbing = [disturb(node, Random(f"{options.seed}/{node.name}"), ends, faults) for node in nodes]
        disturbing += [restart(program, Random(f"{options.seed}/store"), ends, faults) for program in store]
        await asyncio.gather(*disturbing)
        healed = time.monotonic()
        await finish(playing)
        took_s = time.monotonic() - healed
    engine = Engine(Configuration.from_text("{}"))
    counts = sum((agent.witness.compare(engine) for agent in agents), Counts())
    report = {**vars(options), "faults": dict(faults), **asdict(counts), "ended_after_s": round(took_s, 1)}
    mistakes = [f"{agent.witness.request.run_id}: {told}" for agent in agents for told in agent.witness.mistakes]
    return report, mistakes


async def start_store(kind: str, folder: Path, stack: contextlib.AsyncExitStack) -> tuple[list[Program], str]:
    """Start what keeps the runs, if it is a program, and return it with the nodes' configuration."""
    if kind == "memory":
        return [], "{}"
    port = free_port()
    # What was confirmed must survive a restart, since clients forget it.
    command = [redis_server(), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    store = Program("store", folder, [*command, "--appendonly", "yes"], port)
    await stack.enter_async_context(store)
    return [store], f'{{loopguard: {{store: "redis://127.0.0.1:{port}/0"}}}}'


def redis_server() -> str:
    """Return the path of a Redis or Valkey server."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        raise SystemExit("chaos: there is no redis-server: `make chaos` installs one")
    return found


async def disturb(node: Program, random: Random, ends: float, faults: Counter[str]) -> None:
    """Take a node away again and again, each time in another way, and give it back."""
    while (quiet_s := random.uniform(1, 10)) < ends - time.monotonic():
        await asyncio.sleep(quiet_s)
        how = random.choice(("killed", "frozen", "restarted"))
        faults[f"node {how}"] += 1
        away_s = min(random.uniform(0.1, 8), max(0.1, ends - time.monotonic()))
        if how == "frozen":
            node.freeze()
            await asyncio.sleep(away_s)
            node.thaw()
        else:
            await node.end(signal.SIGKILL if how == "killed" else signal.SIGTERM)
            await asyncio.sleep(away_s / 2)
            await node.start()


async def restart(store: Program, random: Random, ends: float, faults: Counter[str]) -> None:
    """Take the store away again and again, and give it back."""
    while (quiet_s := random.uniform(3, 15)) < ends - time.monotonic():
        await asyncio.sleep(quiet_s)
        faults["store restarted"] += 1
        await store.end(random.choice((signal.SIGKILL, signal.SIGTERM)))
        await asyncio.sleep(random.uniform(0.1, 3))
        await store.start()


async def finish(playing: Sequence[asyncio.Task[None]]) -> None:
    """Wait until every run is over, and raise what went wrong with any."""
    done, pending = await asyncio.wait(playing, timeout=PATIENCE_S)
    if pending:
        raise SystemExit(f"chaos: {len(pending)} runs have no answer {PATIENCE_S:g} s after all was well again")
    for task in done:
        task.result()


if __name__ == "__main__":
    sys.exit(main())
