"""Drives a server over streams and measures what it costs: CPU of the server's process, latencies, throughput."""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

from loopguard import answer_codec, codec
from loopguard.model import Call, CallBatch, Opened, Outcome, RunOpen, Status
from loopguard.v1 import guard_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SERVICE: Final = "/loopguard.v1.LoopGuardService/"
#: What starts the service on a free port, as an argument of Python.
SERVE: Final = ["-c", "from loopguard.cli import main; main(['serve', '--port', '0', '--log-level', 'warning'])"]
#: Different calls in turn: more than a history holds, so that none of them repeats.
VARIANTS: Final = 64
ARGS_BYTES: Final = 500
RESULT_BYTES: Final = 1_000
#: The most runs that a server keeps for a tenant unless told otherwise.
RUNS_MAX: Final = 100_000
#: Streams that share one connection.
PER_CONNECTION: Final = 100
_OPTIONS: Final = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]


@dataclass(frozen=True)
class Measure:
    """What a server did in one measurement; times of the server's process are CPU, latencies are the client's."""

    server: str
    streams: int
    size: int
    calls_per_s: float
    cpu_us_per_call: float
    cpu_us_per_message: float
    calls_per_cpu_s: float
    p50_us: float
    p99_us: float
    p999_us: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Load:
    """How a server is driven.

    `size` is the calls a message; `rate` messages a second over all streams, `None` for as fast as answers come.
    """

    many: bool
    streams: int
    size: int
    seconds: float
    rate: float | None = None
    warm_s: float = 0.5


class Frames:
    """Messages of one stream, with nothing left to compute but their numbers: a call or batch, then its outcomes."""

    def __init__(self, load: Load, stream: int) -> None:
        self._many = load.many
        self._size = load.size
        self._stream = stream
        self._seq = 0
        self._turn = 0
        batch = 1 if load.many else load.size
        self._calls = [_calls(variant, batch) for variant in range(VARIANTS)]
        self._outcome = _outcome()
        self._pending = 0

    def opening(self) -> bytes:
        """Return the message that opens the stream's runs."""
        if not self._many:
            return codec.encode_open(RunOpen(f"bench-{self._stream}"))
        return b"".join(codec.encode_run(run_id, [codec.encode_open(RunOpen(run_id))]) for run_id in self._run_ids())

    def _run_ids(self) -> list[str]:
        return [f"bench-{self._stream}-{run}" for run in range(self._size)]

    def next(self) -> tuple[bytes, int]:
        """Return the next message, and how many calls it asks."""
        if self._many:
            # For every run a call and its outcome.
            call, outcome = self._numbered(self._calls[self._turn % VARIANTS]), self._numbered(self._outcome)
            self._turn += 1
            return b"".join(codec.encode_run(run_id, [call, outcome]) for run_id in self._run_ids()), self._size
        if self._pending:
            self._pending -= 1
            return self._numbered(self._outcome), 0
        self._pending = self._size
        self._turn += 1
        return self._numbered(self._calls[self._turn % VARIANTS]), self._size

    def _numbered(self, data: bytes) -> bytes:
        self._seq += 1
        return codec.number_frame(self._seq, data)


@cache
def _calls(variant: int, count: int) -> bytes:
    # Kept once for all streams: 2,000 of them with large batches would else fill the machine.
    calls = []
    for index in range(count):
        args = {"command": f"make target-{variant}-{index}", "cwd": "/src", "text": "a line of words " * 64}
        calls.append(Call("exec", _cut(args, "text", ARGS_BYTES)))
    return codec.encode_frame(0, CallBatch(calls))


def _outcome() -> bytes:
    details = {"status": "completed", "exitCode": 0, "aggregated": "compiled a file of the project\n" * 64}
    text = json.dumps({"content": [], "details": details})
    over = len(text) - RESULT_BYTES
    details["aggregated"] = str(details["aggregated"])[: -max(1, over)]
    result = json.dumps({"content": [], "details": details}).encode()
    return codec.encode_frame(0, Outcome(status=Status.OK, result=result))


def _cut(value: dict[str, str], key: str, size: int) -> bytes:
    over = len(json.dumps(value)) - size
    return json.dumps({**value, key: value[key][: len(value[key]) - over]}).encode()


async def drive(address: str, process_id: int, server: str, load: Load) -> Measure:
    """Drive a server and measure it."""
    latencies: list[float] = []
    counts = [0, 0]
    async with _streams(address, load) as streams:
        # From here on: to open thousands of streams may take longer than the measurement.
        begins = time.perf_counter() + load.warm_s
        ends = begins + load.seconds
        gap_s = load.streams / load.rate if load.rate else 0.0

        async def run(call: Any, frames: Frames, delay_s: float) -> None:
            due = time.perf_counter() + delay_s
            while (started := time.perf_counter()) < ends:
                if gap_s:
                    # Open loop: the latency counts from when the message was due, not from when it could be sent.
                    if due > started:
                        await asyncio.sleep(due - started)
                    started, due = due, due + gap_s
                message, calls = frames.next()
                await call.write(message)
                if await call.read() is grpc.aio.EOF:
                    raise ConnectionError(f"{server}: the stream ended: {await call.details()}")
                now = time.perf_counter()
                if now >= begins:
                    latencies.append(now - started)
                    counts[0] += 1
                    counts[1] += calls

        running = [
            asyncio.create_task(run(call, frames, gap_s * index / load.streams))
            for index, (call, frames) in enumerate(streams)
        ]
        await asyncio.sleep(max(0.0, begins - time.perf_counter()))
        cpu_s, measured = cpu_seconds(process_id), time.perf_counter()
        await asyncio.sleep(max(0.0, ends - time.perf_counter()))
        cpu_s, measured = cpu_seconds(process_id) - cpu_s, time.perf_counter() - measured
        await asyncio.gather(*running)
    messages, calls = max(1, counts[0]), max(1, counts[1])
    cuts = statistics.quantiles(latencies, n=1000, method="inclusive") if len(latencies) > 1 else [0.0] * 999
    return Measure(
        server=server,
        streams=load.streams,
        size=load.size,
        calls_per_s=round(calls / measured, 1),
        cpu_us_per_call=round(cpu_s / calls * 1e6, 2),
        cpu_us_per_message=round(cpu_s / messages * 1e6, 2),
        calls_per_cpu_s=round(calls / cpu_s if cpu_s else 0.0),
        p50_us=round(cuts[499] * 1e6),
        p99_us=round(cuts[989] * 1e6),
        p999_us=round(cuts[998] * 1e6),
    )


@contextlib.asynccontextmanager
async def _streams(address: str, load: Load) -> AsyncIterator[list[tuple[Any, Frames]]]:
    async with contextlib.AsyncExitStack() as stack:
        opened = []
        for first in range(0, load.streams, PER_CONNECTION):
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(address, options=_OPTIONS))
            await channel.channel_ready()
            method: Any = channel.stream_stream(SERVICE + ("GuardMany" if load.many else "Guard"))
            opened += [
                (method(), Frames(load, stream)) for stream in range(first, min(first + PER_CONNECTION, load.streams))
            ]
        for call, frames in opened:
            await call.write(frames.opening())
            _check_opened(await call.read(), load)
        try:
            yield opened
        finally:
            for call, _ in opened:
                call.cancel()


def _check_opened(answer: bytes, load: Load) -> None:
    """Raise `ConnectionError` if a run was refused: refusals would be measured. An echo answers with zeros."""
    if not any(answer):
        return
    runs = answer_codec.decode_answers(answer)[0] if load.many else [("", [answer_codec.decode_answer(answer)])]
    for _, answers in runs:
        if not isinstance(answers[0].body, Opened):
            raise ConnectionError(f"a run was refused: {answers[0].body}")


def cpu_seconds(process_id: int) -> float:
    """Return the CPU time of a process so far, of all its threads, to the nanosecond."""
    total = 0
    for thread in Path(f"/proc/{process_id}/task").iterdir():
        with contextlib.suppress(OSError):
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


@contextlib.contextmanager
def running(command: list[str]) -> Iterator[tuple[str, int]]:
    """Run a server in a process of its own; yields its address and process id."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise ConnectionError(f"the server did not start: {' '.join(command)}")
        yield line.split()[-1], process.pid
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def answer_size(load: Load) -> int:
    """Return how large the service's answers to such messages are, on average."""
    verdict = pb.Verdict(call_id="c100", action=pb.ACTION_ALLOW)
    told = pb.GuardResponse(seq=100, acked_seq=100, verdict=verdict).SerializeToString()
    asked = pb.GuardResponse(seq=100, acked_seq=100, verdicts=pb.Verdicts(verdicts=[verdict])).SerializeToString()
    if load.many:
        return load.size * len(codec.encode_run("bench-10-10", [asked, told]))
    batch = pb.GuardResponse(seq=100, acked_seq=100, verdicts=pb.Verdicts(verdicts=[verdict] * load.size))
    return (len(batch.SerializeToString()) + load.size * len(told)) // (1 + load.size)


async def compare(load: Load, rounds: int) -> tuple[Measure, Measure]:
    """Measure the service and the echo in turn; return the round with the median server CPU of each."""
    service: list[Measure] = []
    echo: list[Measure] = []
    for _ in range(rounds):
        with running(SERVE) as (address, process_id):
            service.append(await drive(address, process_id, "loopguard", load))
        with running(["-m", "loopguard.cli.echo_server", str(answer_size(load))]) as (address, process_id):
            echo.append(await drive(address, process_id, "echo", load))
    return _median(service), _median(echo)


def _median(measures: list[Measure]) -> Measure:
    return sorted(measures, key=lambda measure: measure.cpu_us_per_message)[len(measures) // 2]
