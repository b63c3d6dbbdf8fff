"""A session as the store has it: a run's snapshot with its place in the conversation, compressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import lz4.block  # type: ignore[import-untyped]  # has no stubs
import xxhash

from loopguard._pack import Reader, Writer
from loopguard.errors import InvalidSnapshot
from loopguard.snapshot import dump_run

if TYPE_CHECKING:
    from .session import Session

#: Raised with every change of what is written here; `loopguard.snapshot` has a version of its own.
_VERSION: Final = 1
_SIZE_BYTES: Final = 4
_SUM_BYTES: Final = 8
_HEAD_BYTES: Final = 1 + _SIZE_BYTES + _SUM_BYTES
#: No session is larger: a ring of answers to the largest batches. Others are refused before memory is taken for them.
_LARGEST: Final = 256 << 20


class Stored(NamedTuple):
    """A session read from a store. `answers` are those of the newest frames, oldest first."""

    opened_at: float
    last_seq: int
    answers: list[bytes]
    run: bytes


def dump_session(session: Session, *, in_flight: int, now: float, clock: float) -> bytes:
    """Return a session for the store; `now` is the time that sessions know, `clock` the one that all nodes share."""
    out = Writer()
    out.real(clock - (now - session.opened_at))
    last = session.last_seq
    out.number(last)
    oldest = last % in_flight if last > in_flight else 0
    answers = session.answers
    out.blobs(answers[oldest:] + answers[:oldest] if oldest else answers)
    out.blob(dump_run(session.run))
    written = out.written()
    packed = lz4.block.compress(written, store_size=False)
    size = len(written).to_bytes(_SIZE_BYTES, "little")
    return b"%c%b%b%b" % (_VERSION, size, xxhash.xxh3_64_digest(packed), packed)


def read_session(data: bytes) -> Stored:
    """Read what `dump_session` wrote. Raises `InvalidSnapshot`."""
    if not data or data[0] != _VERSION:
        version = data[0] if data else "none"
        raise InvalidSnapshot(f"a session of version {version}; this loopguard reads version {_VERSION}")
    packed = data[_HEAD_BYTES:]
    if xxhash.xxh3_64_digest(packed) != data[1 + _SIZE_BYTES : _HEAD_BYTES]:
        raise InvalidSnapshot("a session that is cut or changed: its sum does not fit")
    size = int.from_bytes(data[1 : 1 + _SIZE_BYTES], "little")
    if size > _LARGEST:
        raise InvalidSnapshot(f"a session of {size} bytes; at most {_LARGEST}")
    try:
        reader = Reader(lz4.block.decompress(packed, uncompressed_size=size))
        stored = Stored(reader.real(), reader.number(), reader.blobs(), reader.blob())
        reader.finish()
    except (ValueError, lz4.block.LZ4BlockError) as mistake:
        raise InvalidSnapshot(f"a session that can't be read: {mistake}") from None
    if len(stored.answers) > stored.last_seq:
        raise InvalidSnapshot("a session with more answers than frames")
    return stored


def ring_of(stored: Stored, in_flight: int, expired: bytes) -> list[bytes]:
    """Return the answers as a session keeps them; `expired` stands for those that were not kept."""
    kept = stored.answers[-in_flight:]
    last = stored.last_seq
    kept = [expired] * (min(last, in_flight) - len(kept)) + kept
    oldest = last % in_flight if last > in_flight else 0
    return kept[-oldest:] + kept[:-oldest] if oldest else kept
