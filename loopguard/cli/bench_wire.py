"""`loopguard bench stream` and `bench many`: what the service costs over the wire, beside an echo of its kind."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated

import typer

from loopguard.cli.app import Failure

Streams = Annotated[str, typer.Option(metavar="N,…", help="How many streams are open.")]
Sizes = Annotated[str, typer.Option(metavar="N,…", help="How many calls a message holds.")]
Seconds = Annotated[float, typer.Option(min=0.1, help="How long each measurement takes.")]
Rounds = Annotated[int, typer.Option(min=1, help="How often both servers are measured in turn; the median counts.")]
Rate = Annotated[
    float | None, typer.Option(min=1, help="Open loop: messages a second in all, instead of as fast as answers come.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")]


def stream(
    streams: Streams = "1,16,256,2000",
    sizes: Sizes = "1,8,64,256",
    seconds: Seconds = 2.0,
    rounds: Rounds = 1,
    rate: Rate = None,
    as_json: AsJson = False,
) -> int:
    """Drive `Guard`: a batch a message, then the outcome of each call in a message of its own."""
    return _measure(
        many=False, streams=streams, sizes=sizes, seconds=seconds, rounds=rounds, rate=rate, as_json=as_json
    )


def many(
    streams: Streams = "1,16,256,2000",
    sizes: Sizes = "1,8,64,256",
    seconds: Seconds = 2.0,
    rounds: Rounds = 1,
    rate: Rate = None,
    as_json: AsJson = False,
) -> int:
    """Drive `GuardMany`: in each message a call and its outcome of each of N runs; up to 100,000 runs in all."""
    return _measure(many=True, streams=streams, sizes=sizes, seconds=seconds, rounds=rounds, rate=rate, as_json=as_json)


def _measure(
    *, many: bool, streams: str, sizes: str, seconds: float, rounds: int, rate: float | None, as_json: bool
) -> int:
    from loopguard.cli.wire_load import RUNS_MAX, Load, compare

    if not as_json:
        print(
            f"{'server':10} {'streams':>7} {'calls/msg':>9} {'us/call':>8} {'us/msg':>8} {'calls/s/core':>12}", end=" "
        )
        print(f"{'p50 us':>8} {'p99 us':>8} {'p99.9 us':>8}  of the echo's CPU")
    for count in _numbers(streams, "--streams"):
        for size in _numbers(sizes, "--sizes"):
            if many and count * size > RUNS_MAX:
                print(f"{count} streams of {size} runs are more runs than a server keeps: left out", file=sys.stderr)
                continue
            load = Load(many, count, size, seconds, rate)
            service, echo = asyncio.run(compare(load, rounds))
            ratio = service.cpu_us_per_message / echo.cpu_us_per_message
            for measure in (service, echo):
                if as_json:
                    print(json.dumps({**measure.as_dict(), "ratio": round(ratio, 3), "rate": rate}), flush=True)
                    continue
                print(
                    f"{measure.server:10} {count:7} {size:9} {measure.cpu_us_per_call:8.1f}"
                    f" {measure.cpu_us_per_message:8.1f} {measure.calls_per_cpu_s:12.0f} {measure.p50_us:8.0f}"
                    f" {measure.p99_us:8.0f} {measure.p999_us:8.0f}"
                    f"  {f'{ratio:.2f} times' if measure is service else ''}",
                    flush=True,
                )
    return 0


def _numbers(text: str, option: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise Failure(f"{option}: whole numbers from 1, with commas between them, not `{text}`")
    return numbers
