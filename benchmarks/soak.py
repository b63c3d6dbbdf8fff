"""Serves at a part of its capacity for a long time, and looks whether memory stays flat and every answer is right.

Runs come and go all the while, since state that is never freed shows only there. The short form is
`--seconds 45 --most 5`: so soon after the start a process still grows a little.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc.aio

from loopguard import codec
from loopguard.cli.wire_load import Frames, Load, drive, running
from loopguard.model import RunOpen, Signal

METHOD = "/loopguard.v1.LoopGuardService/Guard"
STREAMS = 16
#: Calls of a run before it is closed or left, and another one comes.
CALLS_PER_RUN = 200
#: One run in so many is left without a close, as if its client had been killed.
LEFT = 10
SAMPLES = 120


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--load", type=float, default=0.7, help="part of what the service does at most")
    parser.add_argument("--most", type=float, default=1.0, help="MiB a minute from which on memory is not flat")
    options = parser.parse_args()
    report = asyncio.run(soak(options.seconds, options.load))
    print(json.dumps(report, indent=2))
    good = report["errors"] == 0 and report["mib_per_minute"] < options.most
    print("flat" if good else "NOT flat, or errors", file=sys.stderr)
    return 0 if good else 1


async def soak(seconds: float, load: float) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".json5") as file:
        # Runs have to be forgotten in time, not only kept, and events for watchers too.
        limits = "{runTtlS: 5, watchEvents: 200}"
        file.write(f"{{loopguard: {{server: {{limits: {limits}}}}}, tools: {{loopDetection: {{enabled: true}}}}}}")
        file.flush()
        command = ["-c", "from loopguard.cli import main; main()", "serve", "--port", "0", "--config", file.name]
        with running(command) as (address, process_id):
            return await _soak(address, process_id, seconds, load)


async def _soak(address: str, process_id: int, seconds: float, load: float) -> dict[str, Any]:
    top = await drive(address, process_id, "loopguard", Load(False, STREAMS, 1, max(2.0, seconds / 60)))
    rate = top.calls_per_s * load
    ends = time.perf_counter() + seconds
    memory: list[tuple[float, float]] = []
    counts = {"calls": 0, "runs": 0, "errors": 0}
    async with grpc.aio.insecure_channel(address) as channel:
        working = [
            asyncio.create_task(work(channel, stream, STREAMS / rate, ends, counts)) for stream in range(STREAMS)
        ]
        while (now := time.perf_counter()) < ends:
            memory.append((now, resident_mib(process_id)))
            await asyncio.sleep(max(0.1, seconds / SAMPLES))
        await asyncio.gather(*working)
    # What a process needs to get warm is no leak.
    settled = memory[len(memory) // 3 :]
    slope, _ = statistics.linear_regression(*zip(*settled, strict=True))
    return {
        "seconds": seconds,
        "calls_per_s": round(counts["calls"] / seconds),
        "calls_per_s_at_most": round(top.calls_per_s),
        "load": round(counts["calls"] / seconds / top.calls_per_s, 3),
        **counts,
        "mib_first": round(settled[0][1], 1),
        "mib_last": round(settled[-1][1], 1),
        "mib_per_minute": round(slope * 60, 3),
    }


async def work(channel: grpc.aio.Channel, stream: int, gap_s: float, ends: float, counts: dict[str, int]) -> None:
    """Play runs one after the other, a call each `gap_s` seconds."""
    method: Any = channel.stream_stream(METHOD)
    due = time.perf_counter() + gap_s * stream / STREAMS
    number = 0
    while time.perf_counter() < ends:
        number += 1
        frames = Frames(Load(False, STREAMS, 1, 0.0), stream)
        call = method()
        try:
            await ask(call, codec.encode_open(RunOpen(f"soak-{stream}-{number}")))
            for _ in range(CALLS_PER_RUN):
                for _ in range(2):
                    message, _ = frames.next()
                    await ask(call, message)
                counts["calls"] += 1
                due = max(due + gap_s, time.perf_counter() - 1)
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if number % LEFT:
                await ask(call, codec.encode_frame(2 * CALLS_PER_RUN + 1, Signal.CLOSE))
                await call.done_writing()
                await call.read()
            counts["runs"] += 1
        except (grpc.aio.AioRpcError, AssertionError) as error:
            counts["errors"] += 1
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            call.cancel()


async def ask(call: Any, message: bytes) -> None:
    """Send a message; its answer has to be one, and no refusal."""
    from loopguard.v1 import guard_pb2 as pb

    await call.write(message)
    data = await call.read()
    assert data is not grpc.aio.EOF, "the stream ended"
    kind = pb.GuardResponse.FromString(data).WhichOneof("answer")
    assert kind in ("opened", "verdicts", "verdict", "ack"), kind


def resident_mib(process_id: int) -> float:
    """Return how much memory a process has."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
    return pages * 4096 / (1 << 20)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
