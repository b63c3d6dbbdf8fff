"""How many streams a client has over each of its connections."""

from __future__ import annotations

from collections import Counter

import pytest

from loopguard.client.channels import CHANNELS_PER_ENDPOINT, Channels, Lane


@pytest.fixture
def opened() -> list[str]:
    """Return the endpoints to which connections were opened."""
    return []


def make(opened: list[str], streams: int) -> Channels:
    def connect(endpoint: str) -> int:
        opened.append(endpoint)
        return len(opened)

    return Channels(connect, streams)


def spread(lanes: list[Lane]) -> list[int]:
    """Return how many of these streams each connection has."""
    return sorted(Counter(lane.channel for lane in lanes).values())


def test_a_connection_is_opened_once_the_others_are_full(opened: list[str]) -> None:
    channels = make(opened, 2)

    lanes = [channels.acquire("a") for _ in range(5)]
    other = channels.acquire("b")

    assert spread(lanes) == [1, 2, 2]
    assert opened == ["a", "a", "a", "b"]
    assert other.channel == 4
    assert list(channels) == [1, 2, 3, 4]


def test_a_stream_that_is_over_makes_room(opened: list[str]) -> None:
    channels = make(opened, 2)
    lanes = [channels.acquire("a") for _ in range(4)]

    channels.release(lanes[0])
    again = channels.acquire("a")

    assert again.channel == lanes[0].channel
    assert len(opened) == 2


def test_there_are_so_many_connections_and_no_more(opened: list[str]) -> None:
    channels = make(opened, 1)

    lanes = [channels.acquire("a") for _ in range(3 * CHANNELS_PER_ENDPOINT)]

    assert spread(lanes) == [3] * CHANNELS_PER_ENDPOINT


def test_what_a_server_refuses_tells_how_many_it_takes(opened: list[str]) -> None:
    channels = make(opened, 100)
    lanes = [channels.acquire("a") for _ in range(10)]
    for lane in lanes[3:]:
        channels.release(lane, refused=True)

    lanes[3:] = [channels.acquire("a") for _ in range(7)]

    assert spread(lanes) == [1, 3, 3, 3]


def test_a_stream_refused_where_there_is_no_other_is_tried_over_the_same_connection(opened: list[str]) -> None:
    channels = make(opened, 100)
    channels.release(channels.acquire("a"), refused=True)

    channels.acquire("a")

    assert opened == ["a"]


def test_what_was_found_out_is_forgotten_once_no_stream_is_left(opened: list[str]) -> None:
    channels = make(opened, 100)
    lanes = [channels.acquire("a") for _ in range(3)]
    channels.release(lanes.pop(), refused=True)
    for lane in lanes:
        channels.release(lane)

    for _ in range(100):
        channels.acquire("a")

    assert opened == ["a"]
