"""Decode mutated messages of the protocol for a while: the native reader and protobuf have to say the same.

    python fuzz/wire.py [--seconds 20] [--seed 1]

Begins with the messages of conformance/wire.jsonl; prints how many mutants were read and how many of them natively.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from loopguard import _wire, codec
from loopguard.v1 import guard_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable

VECTORS = Path(__file__).parent.parent / "conformance" / "wire.jsonl"
FRAME_BYTES = 1 << 20
KEPT_MAX = 2_000
STEPS_MAX = 6
#: Lengths, tags and numbers at the edges of what a varint can say.
TOKENS = (
    b"\x00",
    b"\x7f",
    b"\x80\x01",
    b"\xff" * 9 + b"\x01",
    b"\xff" * 10,
    b"\x0a",
    b"\x12",
    b"\x22",
    b"\x2a\x00",
    b"\xc3",
)


def main() -> None:
    """Mutate until the time is over; raise `AssertionError` with the message that is read in two ways."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    cases = [json.loads(line) for line in VECTORS.read_text("utf-8").splitlines()]
    kept = [bytes.fromhex(case["bytes"]) for case in cases]
    executions = natively = 0
    ends = time.monotonic() + options.seconds
    while time.monotonic() < ends:
        message = mutate(rng, kept)
        read = read_alike(message)
        executions += 1
        natively += read
        if read and len(kept) < KEPT_MAX:
            kept.append(message)
    print(f"wire: {executions} messages read alike, {natively} of them natively")
    assert natively, "no mutant was read natively: the comparison compared nothing"


def mutate(rng: random.Random, kept: list[bytes]) -> bytes:
    """Return a message with a few pieces changed, dropped, repeated, or taken from another one."""
    message = bytearray(rng.choice(kept))
    for _ in range(rng.randint(1, STEPS_MAX)):
        at = rng.randint(0, len(message))
        end = min(len(message), at + rng.choice((0, 1, 2, 8)))
        other = rng.choice(kept)
        start = rng.randint(0, len(other))
        piece = rng.choice(
            (rng.randbytes(1), rng.choice(TOKENS), bytes(message[at:end]) * 2, other[start : start + 24])
        )
        message[at:end] = piece
    return bytes(message)


def read_alike(message: bytes) -> bool:
    """Read a message as one frame and as many runs, both ways; tell whether the native reader took it."""
    short = _wire.scan_frame(message)
    assert short is None or short == codec._decode_any(message), message.hex()
    native = _wire.scan_runs(message, codec._decode_any)
    if native is not None:
        assert comparable(native) == comparable(codec._walk_runs(message, FRAME_BYTES, codec.RECORDS)), message.hex()
    try:
        many = pb.GuardManyRequest.FromString(message)
    except DecodeError:
        return short is not None or native is not None
    told = sum(len(frame.calls.calls) + len(frame.history.records) for run in many.runs for frame in run.frames)
    assert _wire.count_calls(message) >= told, message.hex()
    return short is not None or native is not None


def comparable(runs: Iterable[tuple[str, Any]]) -> list[Any]:
    """Return the runs with refusals as text: two exceptions are never equal."""
    return [
        (
            name,
            [
                frame and (*frame[:2], repr(frame[2]) if isinstance(frame[2], Exception) else frame[2])
                for frame in frames
            ],
        )
        for name, frames in runs
    ]


if __name__ == "__main__":
    main()
