"""What a run on a stream costs in memory, how soon 2,000 lost clients are back, and where the time of a call goes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from loopguard.server.limits import Limits
from loopguard.server.many_conversation import ManyConversation
from loopguard.server.sessions import Sessions
from loopguard.server.tally import Tally
from loopguard.server.watch import Hub

from loopguard import AsyncGuardClient, Call, Configuration, Engine, Outcome, codec
from loopguard.cli.wire_load import PER_CONNECTION, SERVE, SERVICE, Frames, Load, cpu_seconds, running
from loopguard.model import CallBatch, RunOpen, Status
from loopguard.run import Run

OPTIONS = [("grpc.use_local_subchannel_pool", 1)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["idle", "runs", "reconnect", "where"])
    parser.add_argument("--count", type=int)
    arguments = parser.parse_args()
    if arguments.what == "idle":
        asyncio.run(idle_streams(arguments.count or 10_000, connections=20))
    elif arguments.what == "runs":
        asyncio.run(many_runs(arguments.count or 100_000))
    elif arguments.what == "reconnect":
        asyncio.run(reconnect(arguments.count or 2_000))
    else:
        where()


def resident_bytes(process_id: int) -> int:
    text = Path(f"/proc/{process_id}/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))


async def idle_streams(count: int, connections: int) -> None:
    with running(SERVE) as (address, process_id):
        async with contextlib.AsyncExitStack() as stack:
            before, calls = resident_bytes(process_id), []
            for connection in range(connections):
                channel = await stack.enter_async_context(grpc.aio.insecure_channel(address, options=OPTIONS))
                method: Any = channel.stream_stream(SERVICE + "Guard")
                for number in range(count // connections):
                    call = method()
                    await call.write(codec.encode_open(RunOpen(f"idle-{connection}-{number}")))
                    await call.read()
                    calls.append(call)
            used = resident_bytes(process_id) - before
            print(f"{len(calls)} idle runs on {connections} connections: {used / len(calls) / 1024:.1f} KiB each")
            for call in calls:
                call.cancel()


async def many_runs(count: int) -> None:
    """Open runs over one `GuardMany` stream, and fill the history and the stored answers of each."""
    with running(SERVE) as (address, process_id):
        async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
            method: Any = channel.stream_stream(SERVICE + "GuardMany")
            stream = method()
            before = resident_bytes(process_id)
            ids = [f"run-{number}" for number in range(count)]
            await exchange(stream, [codec.encode_run(run_id, [codec.encode_open(RunOpen(run_id))]) for run_id in ids])
            opened = resident_bytes(process_id) - before
            for turn in range(32):
                args = b'{"command": "make target-%d"}' % turn
                call = codec.encode_frame(2 * turn + 1, CallBatch([Call("exec", args)]))
                outcome = codec.encode_frame(2 * turn + 2, Outcome(status=Status.OK, result=b'"%d"' % turn))
                await exchange(stream, [codec.encode_run(run_id, [call, outcome]) for run_id in ids])
            used = resident_bytes(process_id) - before
            print(f"{count} runs over GuardMany: {opened / count / 1024:.1f} KiB each when opened,", end=" ")
            print(f"{used / count / 1024:.1f} KiB with a full history and all answers kept")
            stream.cancel()


async def exchange(stream: Any, parts: list[bytes], at_once: int = 500) -> None:
    for first in range(0, len(parts), at_once):
        await stream.write(b"".join(parts[first : first + at_once]))
        if await stream.read() is grpc.aio.EOF:
            raise ConnectionError(await stream.details())


async def reconnect(count: int) -> None:
    """Kill the server under open runs, start it again, and wait until every run has its answer."""
    with running(SERVE) as (address, _):
        port = address.rpartition(":")[2]
        clients = [
            AsyncGuardClient(address, on_unavailable="wait", options=OPTIONS) for _ in range(0, count, PER_CONNECTION)
        ]
        runs = [await clients[number // PER_CONNECTION].open_run(f"run-{number}") for number in range(count)]
        await asyncio.gather(*(run.judge([Call("exec", b"{}")]) for run in runs))
    again = [part.replace("'0'", f"'{port}'") for part in SERVE]
    with running(again) as (_, process_id):
        started, own_s = time.perf_counter(), time.process_time()
        verdicts = await asyncio.gather(*(run.report(Outcome("c1", Status.OK, b"1")) for run in runs))
        taken_s, own_s = time.perf_counter() - started, time.process_time() - own_s
        lost = sum(verdict.call_id != "c1" or run.opened is None for run, verdict in zip(runs, verdicts, strict=True))
        print(f"{count} runs back after {taken_s:.1f} s, {lost} of them with something lost;", end=" ")
        print(f"CPU {cpu_seconds(process_id):.1f} s of the server, {own_s:.1f} s of the clients in one process")
        for client in clients:
            await client.close()


def where() -> None:
    """Play messages of 64 calls and outcomes through the conversation in this process, and again all the long way.

    The latter with and without the engine.
    """
    short, whole = fastest(), fastest(short=False)
    answer, Run.answer = Run.answer, answer_at_once  # type: ignore[method-assign, assignment]  # to see what is left without it
    try:
        wire = fastest(short=False)
    finally:
        Run.answer = answer  # type: ignore[method-assign]  # as above
    print(
        f"a call and its outcome: {short:.1f} us; the long way {whole:.1f},"
        f" protocol and translation {wire:.1f} of them, engine {whole - wire:.1f}"
    )


def answer_at_once(_run: Run, _frame: Any, _at: float | None = None) -> str:
    return "c1"


def fastest(messages: int = 120, at_once: int = 4, *, short: bool = True) -> float:
    class Silent:
        def say(self, *_: object) -> None: ...

    limits = Limits()
    tally = Tally()
    engine = Engine(Configuration.guarded())
    sessions = Sessions(engine, limits, Hub(tally, time.time, 0), tally, now=time.monotonic, version="bench")
    conversation = ManyConversation(sessions, limits, "", Silent())
    frames = Frames(Load(many=True, streams=1, size=64, seconds=0), 0)
    conversation.receive(frames.opening())
    if not short:
        for session in sessions:
            session.run._readers = None
    sent = [frames.next()[0] for _ in range(messages)]
    best = float("inf")
    for first in range(0, messages, at_once):
        began = time.process_time()
        for message in sent[first : first + at_once]:
            conversation.receive(message)
        best = min(best, time.process_time() - began)
    return best / at_once / 64 * 1e6


if __name__ == "__main__":
    main()
