"""`loopguard conformance`: runs language-neutral vectors and tells which ones are not met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from loopguard.cli.app import Failure
from loopguard.cli.inputs import read_lines
from loopguard.trace import BLANK, BYTE_ORDER_MARK, Place, parse_object

if TYPE_CHECKING:
    from collections.abc import Iterator


def command(
    paths: Annotated[list[str], typer.Argument(metavar="FILE…", help="Vector files, or - for standard input.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the number of cases.")] = False,
) -> int:
    """Run vectors (detection, canon, wire) and print each mismatch. Exits 1 if a case failed."""
    passed = failed = 0
    for path in paths:
        cases = 0
        for name, problems in run_file(path):
            cases += 1
            passed, failed = (passed, failed + 1) if problems else (passed + 1, failed)
            for problem in problems if not quiet else ():
                print(f"FAIL {name}: {problem}")
        if not cases:
            raise Failure(f"{path}: no cases")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def run_file(path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of every case in a file, with what is wrong. Raises `InvalidTrace` for a case it does not know."""
    for number, line in enumerate(read_lines(path), 1):
        text = (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).strip(BLANK)
        if text:
            yield run_case(text, Place(path, number))


def run_case(text: bytes, place: Place) -> tuple[str, list[str]]:
    """Run one case, whose kind is told by its members."""
    keys = parse_object(text, "a vector", None, place).keys()
    if "steps" in keys:
        return _run_detection(text, place)
    if "input" in keys:
        from loopguard.cli.vector_canon import run_canon

        return run_canon(text, place)
    if "bytes" in keys:
        from loopguard.cli.vector_wire import run_wire

        return run_wire(text, place)
    raise place.refuse("a case of no known kind: it has neither `steps` nor `input` nor `bytes`")


def _run_detection(text: bytes, place: Place) -> tuple[str, list[str]]:
    from loopguard.cli.vector_detection import parse_vector
    from loopguard.cli.vector_play import play_vector
    from loopguard.cli.vector_roads import LibraryRoad

    vector = parse_vector(text, place)
    try:
        return vector.name, [str(mismatch) for mismatch in play_vector(vector, LibraryRoad)]
    except Exception as error:  # noqa: BLE001 - a guard that breaks on a case has failed it; the others still run
        return vector.name, [f"{type(error).__name__}: {error}"]
