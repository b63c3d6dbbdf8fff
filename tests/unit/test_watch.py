from __future__ import annotations

import asyncio

import pytest
from loopguard.server.event_log import EventLog, Told
from loopguard.server.limits import LimitExceeded
from loopguard.server.tally import Tally
from loopguard.server.watch import WATCHERS_PER_TENANT, Hub, Watcher

from loopguard.engine import Engine
from loopguard.errors import InvalidFrame
from loopguard.v1 import guard_pb2 as pb

KEPT = 10


def make() -> Hub:
    return Hub(Tally(), clock=lambda: 12.5, kept=KEPT)


def tell(hub: Hub, *run_ids: str, tenant: str = "t") -> None:
    for run_id in run_ids:
        hub.tell_started(Engine().open(run_id, tenant=tenant), resumed=False)


def numbered(first: int, last: int) -> list[str]:
    return [f"r{number}" for number in range(first, last + 1)]


async def begin(hub: Hub, tenant: str = "t", **fields: object) -> Watcher:
    watcher = hub.add(tenant, pb.WatchRequest(**fields))  # type: ignore[arg-type]  # fields of one test each
    await watcher.begin()
    return watcher


async def read(watcher: Watcher, count: int = 1) -> list[tuple[str, int, int]]:
    """Return run, number and loss of the next events."""
    responses = [pb.WatchResponse.FromString(await asyncio.wait_for(watcher.next(), 5)) for _ in range(count)]
    return [(each.event.run_id, each.position.event_id, each.lost) for each in responses]


def after(event_id: int, log_id: int = 0) -> pb.EventPosition:
    return pb.EventPosition(log_id=log_id, event_id=event_id)


async def test_a_watcher_too_slow_goes_on_with_the_oldest_kept_and_hears_how_many_it_lost() -> None:
    hub = make()
    watcher = await begin(hub)

    tell(hub, *numbered(1, KEPT + 3))

    assert await read(watcher, 2) == [("r4", 4, 3), ("r5", 5, 0)]


async def test_without_begin_only_what_comes_is_told() -> None:
    hub = make()
    tell(hub, "before")
    watcher = await begin(hub)

    tell(hub, "after")

    assert await read(watcher) == [("after", 2, 0)]


async def test_nobody_needs_to_watch_for_an_event_to_be_kept() -> None:
    hub = make()
    tell(hub, *numbered(1, KEPT + 2))

    watcher = await begin(hub, oldest=True)

    assert await read(watcher, KEPT) == [("r3", 3, 2), *[(f"r{n}", n, 0) for n in range(4, KEPT + 3)]]


@pytest.mark.parametrize(
    ("last_seen", "first"),
    [(0, ("r3", 3, 2)), (1, ("r3", 3, 1)), (2, ("r3", 3, 0)), (7, ("r8", 8, 0)), (11, ("r12", 12, 0))],
)
async def test_a_watcher_resumes_behind_what_it_has_seen(last_seen: int, first: tuple[str, int, int]) -> None:
    hub = make()
    tell(hub, *numbered(1, KEPT + 2))

    watcher = await begin(hub, after=after(last_seen))

    assert await read(watcher) == [first]


async def test_a_watcher_that_has_seen_all_waits_for_the_next() -> None:
    hub = make()
    tell(hub, *numbered(1, 3))

    watcher = await begin(hub, after=after(3))
    tell(hub, "next")

    assert await read(watcher) == [("next", 4, 0)]


async def test_of_another_log_all_that_is_kept_is_told() -> None:
    hub = make()
    tell(hub, "r1", "r2")

    watcher = await begin(hub, after=after(500, log_id=7))

    assert await read(watcher) == [("r1", 1, 0)]


async def test_an_event_that_is_not_yet_there_is_refused() -> None:
    hub = make()
    tell(hub, "r1")

    with pytest.raises(InvalidFrame, match=r"`after\.event_id`: 2 is no event yet; the last one is 1"):
        await begin(hub, after=after(2))


@pytest.mark.parametrize(
    ("fields", "announced"),
    [({}, (12, 0)), ({"oldest": True}, (2, 2)), ({"after": after(1)}, (2, 1)), ({"after": after(8)}, (8, 0))],
)
async def test_where_it_begins_is_announced_with_what_is_lost(
    fields: dict[str, object], announced: tuple[int, int]
) -> None:
    hub = make()
    tell(hub, *numbered(1, KEPT + 2))
    watcher = hub.add("t", pb.WatchRequest(announce=True, **fields))  # type: ignore[arg-type]  # as above

    response = pb.WatchResponse.FromString(await watcher.begin())

    assert not response.HasField("event")
    assert (response.position.event_id, response.lost) == announced
    assert response.position.log_id == 12_500_000
    if announced[0] == 12:
        tell(hub, "next")
    assert {lost for _, _, lost in await read(watcher)} == {0}


async def test_a_position_found_while_events_are_passed_over_counts_them_as_seen() -> None:
    hub = make()
    watcher = await begin(hub, run_ids=["wanted"])
    reading = asyncio.create_task(watcher.next())
    for number in range(30):
        tell(hub, f"other{number}")
        await asyncio.sleep(0)

    tell(hub, "wanted")

    response = pb.WatchResponse.FromString(await reading)
    assert (response.event.run_id, response.position.event_id, response.lost) == ("wanted", 31, 0)


async def test_a_watcher_with_nothing_to_say_lets_others_have_their_turn() -> None:
    hub = Hub(Tally(), clock=lambda: 12.5, kept=5_000)
    tell(hub, *["other"] * 5_000)
    watcher = await begin(hub, run_ids=["wanted"], oldest=True)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    reading, taking = asyncio.create_task(watcher.next()), asyncio.create_task(others())
    while watcher._event_id != 5_000:
        await asyncio.sleep(0)

    assert turns >= 40
    for task in (reading, taking):
        task.cancel()


async def test_the_time_is_that_of_the_event_and_not_of_the_reading() -> None:
    times = iter([0.0, 12.5, 99.0])
    hub = Hub(Tally(), clock=lambda: next(times), kept=KEPT)
    watcher = await begin(hub, "")

    hub.tell_started(Engine().open("r"), resumed=True)

    response = pb.WatchResponse.FromString(await watcher.next())
    assert (response.event.time.seconds, response.event.time.nanos) == (12, 500_000_000)
    assert response.event.run_started.resumed


async def test_a_tenant_s_events_are_its_own_also_by_their_numbers() -> None:
    hub = make()
    tell(hub, "ours", tenant="a")
    tell(hub, "theirs", "theirs2", tenant="b")

    assert await read(await begin(hub, "a", oldest=True)) == [("ours", 1, 0)]
    with pytest.raises(InvalidFrame, match="the last one is 1"):
        await begin(hub, "a", after=after(2))


def test_a_log_takes_no_more_than_its_bytes_but_for_one_event() -> None:
    log = EventLog(1_000, kept_bytes=10_000)
    for _ in range(100):
        log.add(Told("r", "", False, b"", 600))
    assert 8 <= len(log) <= 10

    log.add(Told("r", "", False, b"", 50_000))

    assert (len(log), log.last_id) == (1, 101)
    log.add(Told("r", "", False, b"", 0))
    assert (len(log), log.at(log.begin).event_id) == (1, 102)


async def test_who_is_watched_is_told_at_the_first_and_after_the_last() -> None:
    hub = make()
    seen: list[tuple[str, bool]] = []
    hub.on_change = lambda tenant, is_watched: seen.append((tenant, is_watched))
    first, second = hub.add("t", pb.WatchRequest()), hub.add("t", pb.WatchRequest())

    hub.remove("t", first)
    hub.remove("t", second)

    assert seen == [("t", True), ("t", False)]
    assert len(hub) == 0


def test_each_tenant_has_its_own_places() -> None:
    hub = make()
    for _ in range(WATCHERS_PER_TENANT):
        hub.add("t", pb.WatchRequest())

    hub.add("other", pb.WatchRequest())
    with pytest.raises(LimitExceeded):
        hub.add("t", pb.WatchRequest())
