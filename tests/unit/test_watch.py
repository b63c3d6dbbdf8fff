from __future__ import annotations

import pytest
from loopguard.server.limits import LimitExceeded
from loopguard.server.tally import Tally
from loopguard.server.watch import QUEUE_EVENTS, WATCHERS_PER_TENANT, Hub

from loopguard.engine import Engine
from loopguard.v1 import guard_pb2 as pb


def make() -> Hub:
    return Hub(Tally(), clock=lambda: 12.5)


def event(run_id: str) -> bytes:
    return pb.WatchResponse(event=pb.Event(run_id=run_id)).SerializeToString()


async def test_a_full_queue_drops_the_oldest_and_says_how_many() -> None:
    hub = make()
    watcher = hub.add("t", pb.WatchRequest())
    for number in range(QUEUE_EVENTS + 3):
        hub.deliver("t", f"r{number}", "", True, event(f"r{number}"), 0)

    first, second = [pb.WatchResponse.FromString(await watcher.next()) for _ in range(2)]

    assert (first.event.run_id, first.lost) == ("r3", 3)
    assert (second.event.run_id, second.lost) == ("r4", 0)


async def test_what_was_lost_on_the_way_is_told_too() -> None:
    hub = make()
    watcher = hub.add("t", pb.WatchRequest())

    hub.deliver("t", "r", "", True, event("r"), 7)

    assert pb.WatchResponse.FromString(await watcher.next()).lost == 7


def test_without_watchers_nothing_is_made() -> None:
    hub = make()
    told: list[object] = []
    hub.forward = lambda *fields: told.append(fields)
    run = Engine().open("r", tenant="t")

    hub.tell_started(run, resumed=False)
    hub.watched_elsewhere = frozenset({"t"})
    hub.tell_finished(run, evicted=True)

    assert len(told) == 1


async def test_the_time_is_that_of_the_clock() -> None:
    hub = make()
    watcher = hub.add("", pb.WatchRequest())

    hub.tell_started(Engine().open("r"), resumed=True)

    response = pb.WatchResponse.FromString(await watcher.next())
    assert (response.event.time.seconds, response.event.time.nanos) == (12, 500_000_000)
    assert response.event.run_started.resumed


def test_who_is_watched_is_told_at_the_first_and_after_the_last() -> None:
    hub = make()
    seen: list[list[str]] = []
    hub.on_change = lambda: seen.append(hub.watched)
    first, second = hub.add("t", pb.WatchRequest()), hub.add("t", pb.WatchRequest())

    hub.remove("t", first)
    hub.remove("t", second)

    assert (seen[0], seen[-1]) == (["t"], [])
    assert len(hub) == 0


def test_each_tenant_has_its_own_places() -> None:
    hub = make()
    for _ in range(WATCHERS_PER_TENANT):
        hub.add("t", pb.WatchRequest())

    hub.add("other", pb.WatchRequest())
    with pytest.raises(LimitExceeded):
        hub.add("t", pb.WatchRequest())
