"""The connections of a client to each endpoint: one takes so many streams, then another one is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: How many streams go over one connection. A server takes 1,000 unless configured otherwise, and sees a stream's end a
#: little later than we do.
STREAMS_PER_CHANNEL: Final = 900
#: How many connections there are to one endpoint at most. Beyond that the one with the fewest streams gets the next.
CHANNELS_PER_ENDPOINT: Final = 16


@dataclass(slots=True, eq=False)
class Lane:
    """One connection, and how many streams it has."""

    endpoint: str
    channel: Any
    streams: int = 0


class Channels:
    """The connections of a client, by endpoint. Not thread-safe."""

    def __init__(self, connect: Callable[[str], Any], streams: int = STREAMS_PER_CHANNEL) -> None:
        """Open connections by `connect`, for so many streams each."""
        self._connect = connect
        self._streams = streams
        self._lanes: dict[str, list[Lane]] = {}
        #: What the server of an endpoint has been found to take, where that is less.
        self._found: dict[str, int] = {}

    def __iter__(self) -> Iterator[Any]:
        """Iterate over all channels."""
        return (lane.channel for lanes in self._lanes.values() for lane in lanes)

    def acquire(self, endpoint: str) -> Lane:
        """Return a connection for one more stream, to be given back by `release`."""
        lanes = self._lanes.setdefault(endpoint, [])
        most = self._found.get(endpoint, self._streams)
        lane = next((lane for lane in lanes if lane.streams < most), None)
        if lane is None and len(lanes) < CHANNELS_PER_ENDPOINT:
            lane = Lane(endpoint, self._connect(endpoint))
            lanes.append(lane)
        lane = lane or min(lanes, key=lambda one: one.streams)
        lane.streams += 1
        return lane

    def release(self, lane: Lane, *, refused: bool = False) -> None:
        """Give a stream back; `refused`: the server takes no more of them over this connection than the others."""
        lane.streams -= 1
        if refused:
            most = self._found.get(lane.endpoint, self._streams)
            self._found[lane.endpoint] = max(1, min(most, lane.streams))
        elif not any(one.streams for one in self._lanes[lane.endpoint]):
            # The server may be another one by now.
            self._found.pop(lane.endpoint, None)
