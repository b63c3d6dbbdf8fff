"""How often one warning is repeated to the model: once for every ten more."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

STEP: Final = 10
LIMIT: Final = 256

#: The bucket of the last note for each key, oldest note first. Keys are names and digests.
Buckets = dict[Hashable, int]


def bucket_of(count: int, threshold: int) -> int:
    """Return the bucket of a count."""
    return (count - threshold) // STEP


def note_given(buckets: Buckets, key: Hashable, bucket: int) -> Buckets:
    """Return the buckets after a note, as a copy; the key whose last note is oldest goes first."""
    after = {other: last for other, last in buckets.items() if other != key}
    after[key] = bucket
    if len(after) > LIMIT:
        del after[next(iter(after))]
    return after


def pack_buckets(buckets: Buckets, out: Writer) -> None:
    """Write buckets into a snapshot."""
    out.number(len(buckets))
    for key, bucket in buckets.items():
        assert isinstance(key, tuple)
        out.number(len(key))
        for part in key:
            out.flag(isinstance(part, bytes))
            if isinstance(part, bytes):
                out.blob(part)
            else:
                out.text(part)
        out.number(bucket)


def unpack_buckets(data: Reader) -> Buckets:
    """Read buckets that were packed."""
    buckets: Buckets = {}
    for _ in range(data.count()):
        key = tuple(data.blob() if data.flag() else data.text() for _ in range(data.count()))
        buckets[key] = data.number()
    return buckets
