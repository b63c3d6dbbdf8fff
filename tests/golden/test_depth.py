"""Only a value's own containers count against its depth, on every road: 256 are JSON, one more is opaque."""

import pytest

from loopguard.cli.vector_roads import LibraryRoad, StreamRoad
from loopguard.client import GuardClient
from loopguard.model import Flag, RunOpen, Verdict
from loopguard.trace import Place, format_frame, parse_frame
from tests.golden.test_roads import server

PLACE = Place("deep.jsonl", 1)


def deep(containers: int) -> bytes:
    return b'{"a": [' * (containers // 2) + b"[]" * (containers % 2) + b"]}" * (containers // 2)


def lines(containers: int) -> list[bytes]:
    """Return frames of which every answered one carries a value of that depth."""
    value = deep(containers)
    return [
        b'{"history": [{"tool": "read", "args": %b, "result": %b}]}' % (value, value),
        b'{"check": [{"tool": "read", "args": %b}]}' % value,
        b'{"calls": [{"callId": "a", "tool": "read", "args": %b}, {"callId": "b", "tool": "exec", "args": %b}]}'
        % (value, value),
        b'{"outcome": {"callId": "a", "result": %b}}' % value,
        b'{"outcome": {"callId": "b", "status": "ERROR", "error": %b}}' % value,
        b'{"calls": [{"callId": "c", "tool": "read", "args": %b}]}' % value,
        b'{"outcome": {"callId": "c", "private": %b}}' % value,
    ]


def flags(road: LibraryRoad | StreamRoad, containers: int) -> list[Flag]:
    run = road.open(RunOpen("deep", config={"enabled": True}))
    seen = []
    for line in lines(containers):
        frame = parse_frame(line, PLACE).frame
        assert frame is not None
        answer = run.apply(frame)
        answers = answer if isinstance(answer, list) else [answer]
        seen += [verdict.flags for verdict in answers if isinstance(verdict, Verdict)]
    return seen


@pytest.mark.parametrize(("containers", "expected"), [(255, 0), (256, 0), (257, Flag.OPAQUE), (5000, Flag.OPAQUE)])
def test_a_value_is_as_deep_as_itself(containers: int, expected: Flag) -> None:
    in_library = flags(LibraryRoad(None), containers)
    with server(None) as address, GuardClient(address, deadline_s=30, on_unavailable="block") as client:
        road = StreamRoad(client)
        on_stream = flags(road, containers)
        road.close()

    none = Flag(0)
    # The flags of an outcome's answer are its result's, not those of its error or its private value.
    assert in_library == [expected, expected, expected, expected, none, expected, none]
    assert on_stream == in_library


@pytest.mark.parametrize("containers", [256, 257, 300])
def test_a_trace_keeps_what_is_deep_as_it_is(containers: int) -> None:
    for line in lines(containers):
        frame = parse_frame(line, PLACE).frame
        assert frame is not None

        assert format_frame(frame).encode() == line


def test_one_that_is_broken_as_well_is_written_as_text() -> None:
    broken = b'{"outcome": {"private": %b}}' % deep(300)
    frame = parse_frame(broken, PLACE).frame
    frame.private = deep(300) + b"]"  # type: ignore[union-attr]  # it is an outcome

    assert parse_frame(format_frame(frame).encode(), PLACE).frame.private.startswith(b'"')  # type: ignore[union-attr,arg-type]  # as above
