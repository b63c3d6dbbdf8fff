"""`loopguard conformance`: runs language-neutral vectors and tells which ones are not met."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from loopguard.cli.app import Failure
from loopguard.cli.inputs import read_lines
from loopguard.cli.plain_text import plain
from loopguard.errors import GuardUnavailable, RunRefused
from loopguard.trace import BLANK, BYTE_ORDER_MARK, Place, parse_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard.cli.vector_detection import Vector

#: A server that answers later than this is not there.
DEADLINE_S = 10.0
#: How long it may take until somebody is seen to listen.
CONNECT_S = 5.0


def command(
    paths: Annotated[list[str], typer.Argument(metavar="FILE…", help="Vector files, or - for standard input.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the number of cases.")] = False,
    server: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Play detection vectors on this server, not in this process.")
    ] = "",
) -> int:
    """Run vectors (detection, canon, wire) and print each mismatch. Exits 1 if a case failed."""
    if server:
        _reach(server)
    tally: Counter[str] = Counter()
    for path in paths:
        before = tally.total()
        for name, problems in _run_file(path, server):
            tally["left out" if problems is None else "failed" if problems else "passed"] += 1
            for problem in (problems or ()) if not quiet else ():
                print(plain(f"FAIL {name}: {problem}"))
        if tally.total() == before:
            raise Failure(f"{path}: no cases")
    left_out = f", {tally['left out']} left out (they need a server of their own)" if tally["left out"] else ""
    print(f"{tally['passed']} passed, {tally['failed']} failed{left_out}")
    return 1 if tally["failed"] else 0


def _reach(server: str) -> None:
    """Raise `GuardUnavailable` unless somebody listens, instead of failing every case for the same reason."""
    import grpc

    with grpc.insecure_channel(server) as channel:
        try:
            grpc.channel_ready_future(channel).result(CONNECT_S)
        except grpc.FutureTimeoutError:
            raise GuardUnavailable(f"no service answers at {server}") from None


def _run_file(path: str, server: str) -> Iterator[tuple[str, list[str] | None]]:
    """Yield every case by name with what is wrong, `None` for one left out. Raises `InvalidTrace` for a bad case."""
    for number, line in enumerate(read_lines(path), 1):
        text = (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).strip(BLANK)
        if text:
            yield _run_case(text, Place(path, number), server)


def _run_case(text: bytes, place: Place, server: str) -> tuple[str, list[str] | None]:
    """Run one case, whose kind is told by its members."""
    keys = parse_object(text, "a vector", None, place).keys()
    if "steps" in keys:
        return _run_detection(text, place, server)
    if "input" in keys:
        from loopguard.cli.vector_canon import run_canon

        return run_canon(text, place)
    if "bytes" in keys:
        from loopguard.cli.vector_wire import run_wire

        return run_wire(text, place)
    raise place.refuse("a case of no known kind: it has neither `steps` nor `input` nor `bytes`")


def _run_detection(text: bytes, place: Place, server: str) -> tuple[str, list[str] | None]:
    from loopguard.cli.vector_detection import parse_vector
    from loopguard.cli.vector_play import play_vector
    from loopguard.cli.vector_roads import LibraryRoad

    vector = parse_vector(text, place)
    if server and not vector.streams:
        return vector.name, None
    try:
        if not server:
            return vector.name, [str(mismatch) for mismatch in play_vector(vector, LibraryRoad)]
        return vector.name, _play_on_server(vector, server)
    except (GuardUnavailable, RunRefused):
        raise
    except Exception as error:  # noqa: BLE001 - a guard that breaks on a case has failed it; the others still run
        return vector.name, [f"{type(error).__name__}: {error}"]


def _play_on_server(vector: Vector, server: str) -> list[str]:
    from loopguard.cli.vector_play import play_vector
    from loopguard.cli.vector_roads import StreamRoad
    from loopguard.client import GuardClient

    with GuardClient(server, deadline_s=DEADLINE_S, on_unavailable="block") as client:
        road = StreamRoad(client)
        try:
            return [str(mismatch) for mismatch in play_vector(vector, lambda _: road)]
        finally:
            road.close()
