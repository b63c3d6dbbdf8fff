"""How often one warning is repeated to the model: once for every ten more."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

STEP: Final = 10
LIMIT: Final = 256

#: The bucket of the last note for each key, oldest note first.
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
