"""What a call and its outcome cost the service in CPU and on the wire, by calls a message and kind of payload.

These are the inputs of docs/scaling.md. All kinds take turns, and the median round of each counts. What a store adds
shows with LOOPGUARD_STORE set; `--runs` has more runs take turns, so that each of them comes with few frames a commit.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from loopguard import codec, fingerprint
from loopguard.cli.wire_load import SERVE, SERVICE, cpu_seconds, running
from loopguard.model import DIGEST_SCHEME, Call, CallBatch, Outcome, RunOpen, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGS_BYTES = 500
RESULT_BYTES = 1_000
#: Different calls in turn, more than a history holds: nothing repeats, and all is allowed.
VARIANTS = 64
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]


@dataclass
class Kind:
    """One way to speak to the service, and what was measured of it."""

    many: bool
    size: int
    digests: bool
    runs: int
    cpu_us: list[float] = field(default_factory=list)
    up_bytes: float = 0.0
    down_bytes: float = 0.0

    @property
    def name(self) -> str:
        """The words for a row of the table."""
        rpc, payload = "GuardMany" if self.many else "Guard", "digests" if self.digests else "JSON"
        return f"{rpc}, {self.size} a message, {payload}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=0, help="how many runs a stream has; at least those of a message")
    parser.add_argument("--sizes", default="1,8,64,256", help="calls a message of GuardMany")
    parser.add_argument("--address", help="drive this service or proxy rather than one of our own")
    parser.add_argument("--process-id", type=int, help="the process at that address whose CPU counts")
    options = parser.parse_args()
    kinds = [Kind(False, 1, digests, 1) for digests in (False, True)]
    for size in map(int, options.sizes.split(",")):
        kinds += [Kind(True, size, digests, max(size, options.runs // size * size)) for digests in (False, True)]
    if options.address is not None:
        asyncio.run(measure(kinds, options.address, options.process_id, options.seconds, options.rounds))
    else:
        with running(SERVE) as (address, process_id):
            asyncio.run(measure(kinds, address, process_id, options.seconds, options.rounds))
    print(f"{'':32} {'us of CPU a call':>16} {'calls/s a core':>15} {'bytes to':>9} {'and from':>9} the service")
    for kind in kinds:
        cpu_us = statistics.median(kind.cpu_us)
        print(f"{kind.name:32} {cpu_us:16.1f} {1e6 / cpu_us:15,.0f} {kind.up_bytes:9.0f} {kind.down_bytes:9.0f}")


async def measure(kinds: list[Kind], address: str, process_id: int, seconds: float, rounds: int) -> None:
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        for number in range(rounds):
            for kind in kinds:
                await drive(channel, process_id, kind, f"{number}-{kinds.index(kind)}", seconds)


async def drive(channel: grpc.aio.Channel, process_id: int, kind: Kind, name: str, seconds: float) -> None:
    """Play messages for so long and add what they cost."""
    method: Any = channel.stream_stream(SERVICE + ("GuardMany" if kind.many else "Guard"))
    stream = method()
    sent = messages(kind, name)
    # Opens all runs and fills their histories a little.
    for _ in range(kind.runs // kind.size * 5 if kind.many else 2 * VARIANTS + 1):
        await exchange(stream, next(sent))
    up = down = count = 0
    ends, began = time.perf_counter() + seconds, cpu_seconds(process_id)
    while time.perf_counter() < ends or count % 2:
        message = next(sent)
        up += len(message)
        down += await exchange(stream, message)
        count += 1
    calls = count * kind.size if kind.many else count / 2
    kind.cpu_us.append((cpu_seconds(process_id) - began) / calls * 1e6)
    kind.up_bytes, kind.down_bytes = up / calls, down / calls
    stream.cancel()


async def exchange(stream: Any, message: bytes) -> int:
    await stream.write(message)
    answer = await stream.read()
    if answer is grpc.aio.EOF:
        raise ConnectionError(await stream.details())
    return len(answer)


def messages(kind: Kind, name: str) -> Iterator[bytes]:
    """Yield the message that opens the runs, then one after the other with calls and their outcomes."""
    calls = [codec.encode_frame(0, CallBatch([call_of(variant, kind.digests)])) for variant in range(VARIANTS)]
    outcome = codec.encode_frame(0, outcome_of(kind.digests))
    ids = [f"bench-{name}-{run}" for run in range(kind.runs)]
    if not kind.many:
        yield codec.encode_open(RunOpen(ids[0], digest_scheme=DIGEST_SCHEME))
        for turn in itertools.count():
            yield codec.number_frame(2 * turn + 1, calls[turn % VARIANTS])
            yield codec.number_frame(2 * turn + 2, outcome)
    parts = [ids[first : first + kind.size] for first in range(0, kind.runs, kind.size)]
    for part in parts:
        opens = [(run_id, codec.encode_open(RunOpen(run_id, digest_scheme=DIGEST_SCHEME))) for run_id in part]
        yield b"".join(codec.encode_run(run_id, [opened]) for run_id, opened in opens)
    for turn in itertools.count():
        frames = [codec.number_frame(2 * turn + 1, calls[turn % VARIANTS]), codec.number_frame(2 * turn + 2, outcome)]
        for part in parts:
            yield b"".join(codec.encode_run(run_id, frames) for run_id in part)


def call_of(variant: int, digests: bool) -> Call:
    args = padded({"command": f"make target-{variant}", "cwd": "/src"}, "text", "a line of words ", ARGS_BYTES)
    return Call("exec", args_digest=fingerprint(args)) if digests else Call("exec", args)


def outcome_of(digests: bool) -> Outcome:
    result = padded({"status": "completed", "exitCode": 0}, "aggregated", "compiled a file\\n", RESULT_BYTES)
    return Outcome(status=Status.OK, **({"result_digest": fingerprint(result)} if digests else {"result": result}))


def padded(value: dict[str, Any], key: str, text: str, size: int) -> bytes:
    """Return the value as JSON of `size` bytes, filled up with a text."""
    room = size - len(json.dumps({**value, key: ""}))
    return json.dumps({**value, key: (text * (room // len(text) + 1))[:room]}).encode()


if __name__ == "__main__":
    main()
