"""Finds and opens what a command is told to read: files, `-`, gzip, folders."""

from __future__ import annotations

import contextlib
import gzip
import io
import sys
import zlib
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING

from loopguard.cli.app import Failure
from loopguard.errors import InvalidTrace
from loopguard.trace import BLANK, BYTE_ORDER_MARK, Place, parse_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

STANDARD_INPUT = "-"
_SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_GZIP_MAGIC = b"\x1f\x8b"


def find_traces(paths: Sequence[str]) -> list[str]:
    """Return the files to read: a folder stands for all traces below it; its other files are left out, with a note."""
    found: list[str] = []
    for path in paths:
        if path == STANDARD_INPUT:
            found.append(path)
            continue
        # A file that is not there is told before anything is read.
        if not S_ISDIR(Path(path).stat().st_mode):
            found.append(path)
            continue
        names = sorted(str(name) for name in Path(path).rglob("*") if name.is_file() and name.name.endswith(_SUFFIXES))
        traces = [name for name in names if _is_trace(name)]
        if not traces:
            raise Failure(f"{path}: no traces below this folder (files {', '.join(_SUFFIXES)} that begin with `open`)")
        for name in sorted(set(names) - set(traces)):
            print(f"loopguard: {name}: left out, it does not begin with `open`", file=sys.stderr)
        found.extend(traces)
    return found


def read_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file or, for `-`, of standard input; gzip is told by its first bytes."""
    with _told_of(path):
        if path == STANDARD_INPUT:
            yield from _unpacked(_standard_input(), path)
        else:
            with Path(path).open("rb") as stream:
                yield from _unpacked(stream, path)


def read_bytes(path: str) -> bytes:
    """Return all of a file or, for `-`, of standard input."""
    with _told_of(path):
        return _standard_input().read() if path == STANDARD_INPUT else Path(path).read_bytes()


@contextlib.contextmanager
def _told_of(path: str) -> Iterator[None]:
    """Name the file where it can be opened and not read, which the system doesn't."""
    try:
        yield
    except OSError as mistake:
        mistake.filename = mistake.filename or path
        raise


def _standard_input() -> BinaryIO:
    # Python has `None` for a stream whose descriptor was closed.
    if sys.stdin is None:
        raise Failure("standard input is closed")
    return sys.stdin.buffer


def _unpacked(raw: BinaryIO, path: str) -> Iterator[bytes]:
    stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]  # BinaryIO reads
    if stream.peek(2)[:2] != _GZIP_MAGIC:
        yield from stream
        return
    number = 0
    try:
        for line in gzip.GzipFile(fileobj=stream):
            number += 1
            yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidTrace(f"{path}:{number + 1}: broken gzip data: {error}") from None


def _is_trace(path: str) -> bool:
    try:
        for line in read_lines(path):
            text = line.removeprefix(BYTE_ORDER_MARK).strip(BLANK)
            if text:
                return "open" in parse_object(text, "a frame", None, Place(path, 1))
    except InvalidTrace:
        return False
    return False
