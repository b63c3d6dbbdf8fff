"""`loopguard hash`: shows what the core makes of a JSON text: canonical form, digest, flags, and what a mask strips."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from loopguard.cli.app import Failure
from loopguard.cli.inputs import read_bytes
from loopguard.cli.masks import bits_of, names_of
from loopguard.cli.plain_text import plain

if TYPE_CHECKING:
    from loopguard._core import Inspection

_SHOWN_MAX = 72


def command(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="FILE|-…", help="JSON texts, one a file, or - for standard input.")
    ] = None,
    mask: Annotated[
        str | None, typer.Option(metavar="default|KIND,…", help="Kinds of volatile text to mask; --explain lists them.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what was masked, and list the kinds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> int:
    """Show the canonical form of JSON, its digest, and what was odd about it."""
    from loopguard._core import inspect
    from loopguard.model import Flag

    bits = 0 if mask is None else bits_of(mask)
    if not paths and not explain:
        raise Failure("nothing to hash: name a FILE, or - for standard input")
    for path in paths or ():
        data = read_bytes(path)
        found = inspect(data, mask=bits)
        flags = [flag.name or "" for flag in Flag(found.flags)]
        masked = _masked(data, found) if explain else []
        if as_json:
            print(_json(path, found, flags, masked, with_masked=explain))
            continue
        if len(paths or ()) > 1:
            print(f"{path}:")
        sys.stdout.flush()
        sys.stdout.buffer.write(b"canonical  " + found.canonical.rstrip(b"\n") + b"\n")
        sys.stdout.buffer.flush()
        print(f"digest     {found.digest.hex()}")
        print(f"flags      {', '.join(flags) or 'none'}")
        for kind, text, line in masked:
            print(f"masked     {kind:<14} line {line}: {plain(text)}")
        if explain and not masked:
            print("masked     nothing")
    if explain and not as_json:
        _print_kinds()
    return 0


def _masked(data: bytes, found: Inspection) -> list[tuple[str, str, int]]:
    """Return kind, text and line of every span that was masked."""
    return [
        (" ".join(names_of(kind)), _cut(data[start:end]), data.count(b"\n", 0, start) + 1)
        for kind, start, end in found.spans
    ]


def _cut(text: bytes) -> str:
    shown = text.decode(errors="backslashreplace")
    return shown if len(shown) <= _SHOWN_MAX else shown[: _SHOWN_MAX - 1] + "…"


def _json(
    path: str, found: Inspection, flags: list[str], masked: list[tuple[str, str, int]], *, with_masked: bool
) -> str:
    fields: dict[str, object] = {
        "file": path,
        "digest": found.digest.hex(),
        "flags": flags,
        "canonical": found.canonical.decode(errors="backslashreplace"),
    }
    if with_masked:
        fields["masked"] = [{"kind": kind, "text": text, "line": line} for kind, text, line in masked]
    return json.dumps(fields, ensure_ascii=False)


def _print_kinds() -> None:
    from loopguard._core import DEFAULT_MASK, MASK_EXAMPLES, MASK_KINDS

    print(
        "\nkinds of volatile text (--mask KIND,…; `default` stands for those with a *), each with a text that has it:"
    )
    for name, example in MASK_EXAMPLES.items():
        mark = "*" if MASK_KINDS[name] & DEFAULT_MASK else " "
        print(f" {mark} {name:<14} {_cut(example)}")
