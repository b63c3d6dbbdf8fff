"""The events of several workers: what each is sent, and what its watchers make of it."""

from __future__ import annotations

import asyncio
from typing import Any

from loopguard.server.parent_events import ParentEvents
from loopguard.server.tally import Tally
from loopguard.server.watch import Hub
from loopguard.server.worker import Worker

from loopguard.engine import Engine
from loopguard.v1 import guard_pb2 as pb


class Line:
    """A channel that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.is_full = False

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append({"kind": kind, **fields})


class Side:
    """A worker without its process, and the parent's end of its line."""

    def __init__(self, events: ParentEvents, sides: list[Side]) -> None:
        self.hub = Hub(Tally(), clock=lambda: 1.0, kept=100)
        self.up, self.channel = Line(), Line()
        self.followed: set[str] = set()
        self._events = events
        self._sides = sides
        service: Any = type("Service", (), {"hub": self.hub})
        self.worker = Worker(service, self.up)  # type: ignore[arg-type]  # has what is used of a channel

    def start(self, *run_ids: str) -> None:
        for run_id in run_ids:
            self.hub.tell_started(Engine().open(run_id), resumed=False)
        self.worker._send_told()

    def rise(self) -> None:
        """Let what was sent come to the parent."""
        sent, self.up.sent = self.up.sent, []
        for message in sent:
            if message["kind"] == "events":
                self._events.take(message, self._sides)
            elif message["kind"] == "follow":
                self._events.follow(self, message["tenant"], message["request"])
            else:
                self.followed.discard(message["tenant"])

    def fall(self) -> None:
        """Let what the parent has sent come here."""
        sent, self.channel.sent = self.channel.sent, []
        for message in sent:
            self.worker._obey(message)


def crew(kept: int = 100) -> tuple[Side, Side]:
    sides: list[Side] = []
    events = ParentEvents(kept, log_id=9)
    sides += [Side(events, sides), Side(events, sides)]
    return sides[0], sides[1]


async def read(watcher: Any, count: int) -> list[tuple[str, int, int]]:
    responses = [pb.WatchResponse.FromString(await asyncio.wait_for(watcher.next(), 5)) for _ in range(count)]
    assert {response.position.log_id for response in responses} == {9}
    return [(each.event.run_id, each.position.event_id, each.lost) for each in responses]


async def test_what_was_told_before_anybody_watched_comes_from_the_parent() -> None:
    one, other = crew()
    one.start("a", "b")
    other.start("c")
    one.rise()
    other.rise()
    watcher = other.hub.add("", pb.WatchRequest(oldest=True))
    other.rise()
    one.start("d")
    one.rise()
    other.fall()

    await watcher.begin()

    assert await read(watcher, 4) == [("a", 1, 0), ("b", 2, 0), ("c", 3, 0), ("d", 4, 0)]


async def test_a_watcher_begins_only_when_the_parent_has_answered() -> None:
    one, other = crew()
    watcher = other.hub.add("", pb.WatchRequest(announce=True))
    beginning = asyncio.create_task(watcher.begin())
    one.start("a")
    one.rise()
    await asyncio.sleep(0)
    assert not beginning.done()

    other.rise()
    other.fall()

    assert pb.WatchResponse.FromString(await beginning).position.event_id == 1


async def test_answers_to_a_watcher_who_has_gone_are_not_taken_for_those_to_the_next() -> None:
    one, other = crew()
    one.start("a", "b", "c")
    one.rise()
    gone = other.hub.add("", pb.WatchRequest(oldest=True))
    other.hub.remove("", gone)
    watcher = other.hub.add("", pb.WatchRequest(oldest=True))
    other.rise()
    one.start("d")
    one.rise()
    other.fall()

    await watcher.begin()

    assert await read(watcher, 4) == [("a", 1, 0), ("b", 2, 0), ("c", 3, 0), ("d", 4, 0)]


async def test_what_a_full_line_did_not_take_is_counted_on_both_ways() -> None:
    one, other = crew()
    watcher = other.hub.add("", pb.WatchRequest())
    other.rise()
    other.fall()
    await watcher.begin()
    one.up.is_full = True
    one.start("a", "b")
    one.up.is_full = False
    one.start("c")
    other.channel.is_full = True
    one.rise()
    other.channel.is_full = False
    one.start("d")
    one.rise()
    other.fall()

    assert await read(watcher, 1) == [("d", 4, 3)]
    assert other.hub._tally.events_lost == 3


async def test_nobody_is_sent_what_nobody_watches() -> None:
    one, other = crew()
    watcher = other.hub.add("", pb.WatchRequest())
    other.rise()
    other.hub.remove("", watcher)
    other.rise()
    other.channel.sent.clear()

    one.start("a")
    one.rise()

    assert (one.channel.sent, other.channel.sent) == ([], [])


async def test_the_parent_too_keeps_so_many_only() -> None:
    one, other = crew(kept=3)
    one.start(*"abcde")
    one.rise()
    watcher = other.hub.add("", pb.WatchRequest(oldest=True))
    other.rise()
    other.fall()

    await watcher.begin()

    assert await read(watcher, 2) == [("c", 3, 2), ("d", 4, 0)]
