from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from google.rpc import status_pb2
from loopguard.server.settings import Settings
from loopguard.server.watch import WATCHERS_PER_TENANT

from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import running
from tests.service.secrets import bearer, write_tokens
from tests.service.wire import METHOD, Peer, open_frame, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.service.conftest import Server


class Watch:
    """One raw stream of `Watch`."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Any = None, **fields: Any) -> None:
        method: Any = channel.unary_stream(METHOD + "Watch")
        self.call: Any = method(pb.WatchRequest(**fields).SerializeToString(), metadata=metadata)

    async def begun(self) -> Watch:
        """Wait until nothing more is missed."""
        await self.call.initial_metadata()
        return self

    async def next(self) -> pb.WatchResponse:
        return pb.WatchResponse.FromString(await asyncio.wait_for(self.call.read(), 10))

    async def refusal(self) -> tuple[str, str]:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await asyncio.wait_for(self.call.read(), 10)
        for name, value in error.value.trailing_metadata() or ():
            if name == "grpc-status-details-bin":
                return error.value.code().name, reason_of(status_pb2.Status.FromString(value))
        return error.value.code().name, ""


async def loop(peer: Peer, calls: int = 4) -> None:
    for _ in range(calls):
        await peer.run(args={"same": "arguments"})


async def emptied(server: Server) -> None:
    while server.service.servicer._watching:
        await asyncio.sleep(0)


async def test_a_run_is_seen_from_start_to_end(
    server: Server, channel: grpc.aio.Channel, guard: Callable[[], Peer]
) -> None:
    watch = await Watch(channel).begun()
    peer = guard()
    await peer.open("r", agent_id="a", parent_run_id="p")
    await loop(peer)
    await peer.close()

    started, found, finished = [(await watch.next()).event for _ in range(3)]

    assert (started.run_id, started.agent_id, started.run_started.parent_run_id) == ("r", "a", "p")
    assert not started.run_started.resumed
    assert (found.finding.action, found.finding.tool) == (pb.ACTION_WARN, "exec")
    assert found.finding.finding.detector == "generic_repeat"
    assert found.finding.note
    assert found.time.seconds > 1_500_000_000
    assert (finished.run_finished.evicted, finished.run_finished.calls) == (False, 4)
    watch.call.cancel()
    await emptied(server)


async def test_a_resumed_and_a_forgotten_run_are_told_as_such(
    server: Server, channel: grpc.aio.Channel, guard: Callable[[], Peer]
) -> None:
    watch = await Watch(channel).begun()
    for resume in (False, True):
        peer = guard()
        await peer.open("r", resume=resume)
        await peer.half_close()

    server.sessions.evict(0)
    first, second, last = [(await watch.next()).event for _ in range(3)]

    assert [first.run_started.resumed, second.run_started.resumed] == [False, True]
    assert last.run_finished.evicted
    watch.call.cancel()


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"run_ids": ["b"]}, ["b started", "b finding", "b finished"]),
        ({"agent_ids": ["two"]}, ["b started", "b finding", "b finished"]),
        ({"findings_only": True}, ["a finding", "b finding"]),
        ({"run_ids": ["a"], "agent_ids": ["two"]}, []),
        ({"run_ids": ["a", "b"], "findings_only": True}, ["a finding", "b finding"]),
    ],
)
async def test_only_what_was_asked_for_is_told(
    channel: grpc.aio.Channel, guard: Callable[[], Peer], fields: dict[str, Any], seen: list[str]
) -> None:
    watch = await Watch(channel, **fields).begun()
    everything = await Watch(channel, run_ids=["end"]).begun()
    for run_id, agent_id in (("a", "one"), ("b", "two")):
        peer = guard()
        await peer.open(run_id, agent_id=agent_id)
        await loop(peer)
        await peer.close()
    end = guard()
    await end.open("end")
    await end.close()
    await everything.next()

    told = []
    for _ in seen:
        event = (await watch.next()).event
        told.append(f"{event.run_id} {str(event.WhichOneof('kind')).removeprefix('run_')}")

    assert told == seen
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(watch.call.read(), 0.05)
    everything.call.cancel()


async def test_a_watcher_that_does_not_read_loses_events_and_holds_up_nobody(
    server: Server, channel: grpc.aio.Channel
) -> None:
    slow = await Watch(channel).begun()
    many = Peer(channel, "GuardMany")
    parent, batches, runs = "p" * 10_000, 40, 100
    for _ in range(batches):
        frames = [
            pb.RunFrames(
                run_id=f"r{n}",
                frames=[open_frame(f"r{n}", parent_run_id=parent), pb.GuardRequest(seq=1, close=pb.RunClose())],
            )
            for n in range(runs)
        ]
        answer = await many.ask(pb.GuardManyRequest(runs=frames))
        assert len(answer.runs) == runs
    await many.half_close()

    told, lost = 0, 0
    while told + lost < 2 * batches * runs:
        response = await slow.next()
        told, lost = told + 1, lost + response.lost

    assert told + lost == 2 * batches * runs
    assert lost > 0
    assert server.service.tally.events_lost == lost
    slow.call.cancel()


@pytest.mark.parametrize(("fields", "lost"), [({"oldest": True}, 4), ({"after": pb.EventPosition(event_id=3)}, 1)])
async def test_of_more_events_than_are_kept_the_oldest_are_gone(fields: dict[str, Any], lost: int) -> None:
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, watch_events=2)
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        for run_id in ("a", "b", "c"):
            peer = Peer(channel)
            await peer.open(run_id)
            await peer.close()

        watch = await Watch(channel, **fields).begun()

        responses = [await watch.next() for _ in range(2)]
        assert [(each.event.run_id, each.lost) for each in responses] == [("c", lost), ("c", 0)]
        watch.call.cancel()


async def test_a_watch_is_resumed_where_it_was(channel: grpc.aio.Channel, guard: Callable[[], Peer]) -> None:
    async def play(run_id: str) -> None:
        peer = guard()
        await peer.open(run_id)
        await peer.close()

    watch = await Watch(channel, announce=True).begun()
    begin = await watch.next()
    await play("a")
    seen = await watch.next()
    watch.call.cancel()
    await play("b")

    again = await Watch(channel, after=seen.position).begun()
    from_begin = await Watch(channel, after=begin.position).begun()

    assert not begin.HasField("event")
    assert (seen.event.run_id, seen.event.WhichOneof("kind")) == ("a", "run_started")
    missed = [await again.next() for _ in range(3)]
    assert [each.event.run_id for each in missed] == ["a", "b", "b"]
    assert [each.position.event_id - begin.position.event_id for each in missed] == [2, 3, 4]
    assert (await from_begin.next()).event == seen.event
    again.call.cancel()
    from_begin.call.cancel()


async def test_an_event_that_is_not_yet_there_is_refused(channel: grpc.aio.Channel) -> None:
    watch = Watch(channel, after=pb.EventPosition(event_id=10**6))

    assert await watch.refusal() == ("INVALID_ARGUMENT", "INVALID_FRAME")


async def test_a_tenant_watches_its_own_runs_only(tmp_path: Path) -> None:
    tokens_file = write_tokens(tmp_path / "tokens", acme="a", rival="b")
    async with (
        running(Settings(address="127.0.0.1:0", drain_grace_s=0, tokens_file=tokens_file)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        ours, theirs = await Watch(channel, bearer("a")).begun(), await Watch(channel, bearer("b")).begun()
        named = await Watch(channel, bearer("b"), run_ids=["secret"]).begun()
        for run_id, token in (("secret", "a"), ("mine", "b")):
            peer = Peer(channel, metadata=bearer(token))
            await peer.open(run_id)
            await loop(peer)
            await peer.close()

        seen = [await theirs.next() for _ in range(3)]
        resumed = await Watch(channel, bearer("b"), oldest=True).begun()
        again = [await resumed.next() for _ in range(3)]

        assert [response.event.run_id for response in seen] == ["mine"] * 3
        # That others have events shows in no number either.
        assert [response.position.event_id for response in seen] == [1, 2, 3]
        assert [response.event.run_id for response in again] == ["mine"] * 3
        first = await ours.next()
        assert first.event.run_id == "secret"
        stolen = Watch(channel, bearer("b"), after=pb.EventPosition(log_id=first.position.log_id, event_id=4))
        assert await stolen.refusal() == ("INVALID_ARGUMENT", "INVALID_FRAME")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(resumed.call.read(), 0.05)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(named.call.read(), 0.05)
        assert await Watch(channel).refusal() == ("UNAUTHENTICATED", "UNAUTHENTICATED")
        write_tokens(tmp_path / "tokens", rival="b")
        await server.service.reload()
        for _ in range(2):
            await ours.next()
        assert await ours.refusal() == ("UNAUTHENTICATED", "UNAUTHENTICATED")


async def test_a_tenant_may_not_have_watchers_without_end(channel: grpc.aio.Channel) -> None:
    watches = [await Watch(channel).begun() for _ in range(WATCHERS_PER_TENANT)]

    assert await Watch(channel).refusal() == ("RESOURCE_EXHAUSTED", "LIMIT_EXCEEDED")

    for watch in watches:
        watch.call.cancel()


async def test_what_is_no_request_is_refused(channel: grpc.aio.Channel) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await channel.unary_stream(METHOD + "Watch")(b"\xff").read()

    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_shutdown_ends_the_watch(server: Server, channel: grpc.aio.Channel) -> None:
    watch = await Watch(channel).begun()

    await server.service.servicer.drain(0)

    assert await watch.refusal() == ("UNAVAILABLE", "SHUTTING_DOWN")


async def test_an_event_holds_no_arguments_and_no_outcome(channel: grpc.aio.Channel, guard: Callable[[], Peer]) -> None:
    canary = "c4n4ry"
    watch = await Watch(channel).begun()
    peer = guard()
    for profile in ("openclaw", "balanced"):
        await peer.open(profile, profile=profile)
        for _ in range(7):
            verdict = await peer.run("exec", {"command": canary}, result=canary)
            if verdict.action not in (pb.ACTION_ALLOW, pb.ACTION_WARN):
                break
        await peer.close()
        peer = guard()

    responses, finished = [], 0
    while finished < 2:
        responses.append(await watch.next())
        finished += responses[-1].event.HasField("run_finished")

    assert sum(response.event.HasField("finding") for response in responses) >= 2
    assert canary.encode() not in b"".join(response.SerializeToString() for response in responses)
    watch.call.cancel()
