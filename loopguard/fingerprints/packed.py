"""Prints as snapshots have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard._prints import CallPrint, OutcomePrint
from loopguard.fingerprints.kind import Kind

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

#: No sum of JSON flags is larger.
_FLAGS: Final = 255
_DIGEST_SIZE: Final = 16


def pack_call(call: CallPrint, out: Writer) -> None:
    """Write a call into a snapshot."""
    out.text(call.tool)
    out.blob(call.digest)
    out.number(call.poll | call.wait << 1 | call.send << 2)
    out.text(call.action)
    out.number(call.flags)


def unpack_call(data: Reader) -> CallPrint:
    """Read a call that was packed. Raises `ValueError`."""
    tool, digest, marks = data.text(), data.blob(), data.small(7)
    if len(digest) != _DIGEST_SIZE:
        raise ValueError(f"a digest of {len(digest)} bytes")
    return CallPrint(tool, digest, bool(marks & 1), bool(marks & 2), bool(marks & 4), data.text(), data.small(_FLAGS))


def pack_outcome(outcome: OutcomePrint, out: Writer) -> None:
    """Write an outcome into a snapshot."""
    out.number(outcome.kind | outcome.failed << 2 | outcome.stuck << 3)
    out.optional_blob(outcome.digest)
    out.optional_blob(outcome.identity)
    out.text(outcome.missing_tool)
    out.number(outcome.flags)
    out.texts(outcome.stripped)
    out.texts(outcome.moving)


def unpack_outcome(data: Reader) -> OutcomePrint:
    """Read an outcome that was packed."""
    marks = data.small(15)
    digest, identity, missing_tool = data.optional_blob(), data.optional_blob(), data.text()
    flags, stripped, moving = data.small(_FLAGS), tuple(data.texts()), tuple(data.texts())
    kind, failed, stuck = Kind(marks & 3), bool(marks & 4), bool(marks & 8)
    return OutcomePrint(kind, digest, failed, stuck, identity, missing_tool, flags, stripped, moving)
