"""Nodes with one Redis or Valkey: runs move, stale owners are fenced, a store that was away is caught up with."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from loopguard.server.settings import Settings

from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import Server, running
from tests.service.players import CONFIG, SCRIPT, Client, call, done, play, still
from tests.service.processes import forking
from tests.service.proxy import Proxy
from tests.service.wire import Ended, Peer, batch
from tests.service.wire import call as wire_call
from tests.stores.servers import serving, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stores.servers import Server as StoreServer


@pytest.fixture(params=["redis", "valkey"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreServer]:
    with serving(request.param, tmp_path) as server:
        yield server


def settings(store: StoreServer, **more: Any) -> Settings:
    return Settings(address="127.0.0.1:0", drain_grace_s=0, store=f"redis://127.0.0.1:{store.port}", **more)


async def written(server: Server) -> None:
    await until(lambda: server.samples()["loopguard_store_dirty_runs"] == 0)


@pytest.mark.parametrize("opening", [{"config": CONFIG}, {"profile": "balanced", "config": None}])
async def test_nodes_that_are_killed_before_every_frame_change_no_answer(
    store: StoreServer, opening: dict[str, Any]
) -> None:
    async with (
        running(Settings(address="127.0.0.1:0", drain_grace_s=0)) as alone,
        Client("tasks", alone.address, now=still) as client,
    ):
        run = await client.open_run("uncut", **opening)
        expected = await play(run)
        await run.close()

    with forking(LOOPGUARD_STORE=f"redis://127.0.0.1:{store.port}") as start:
        address, process_id = await asyncio.to_thread(start)
        async with Proxy(address) as proxy, Client("tasks-many", proxy.address, now=still) as client:

            async def kill(_: int) -> None:
                nonlocal process_id
                # Whoever gets its port next is not to be asked.
                proxy.upstream = ""
                os.kill(process_id, signal.SIGKILL)
                proxy.upstream, process_id = await asyncio.to_thread(start)

            run = await client.open_run("killed", **opening)
            answers = await play(run, kill)
            opened = run.raw.opened
            await run.close()

    assert answers == expected
    assert not opened.rebuilt
    assert opened.epoch > len(SCRIPT) // 2


async def test_of_two_owners_the_older_one_is_told(store: StoreServer) -> None:
    async with (
        running(settings(store)) as one,
        running(settings(store)) as other,
        grpc.aio.insecure_channel(one.address) as to_one,
        grpc.aio.insecure_channel(other.address) as to_other,
    ):
        older, newer = Peer(to_one), Peer(to_other)
        await older.open()
        await older.run()
        await written(one)
        opened = await newer.open(resume=True)
        await older.tell(calls=batch(wire_call("read")))
        ended = await older.read()
        with pytest.raises(Ended, match="SUPERSEDED"):
            await older.read()
        await newer.run()
        await newer.close()

    assert (opened.opened.epoch, opened.opened.last_seq) == (2, 2)
    assert ended.run_ended.reason == pb.RUN_END_REASON_SUPERSEDED


async def test_a_store_that_dies_is_done_without_and_caught_up_with(store: StoreServer) -> None:
    async with running(settings(store)) as server, Client("tasks", server.address) as client:
        runs = [await client.open_run(f"r{number}") for number in range(20)]
        for run in runs:
            await run.judge([call()])
        await written(server)
        store.kill()
        answers = [await run.report(done()) for run in runs]
        await until(lambda: server.samples()["loopguard_store_up"] == 0)
        late = await client.open_run("late", resume=True)
        # One that does not change any more is written again too: the store comes back empty.
        for run in runs[1:]:
            await run.judge([call("read")])
        store.start()
        await until(lambda: server.samples()["loopguard_store_up"] == 1)
        await written(server)
        with store.client() as direct:
            keys = direct.dbsize()
        durable = {session.run.run_id: session.durable_seq for session in server.sessions}
        for run in (*runs, late):
            await run.close()

    assert len(answers) == 20
    assert keys == 21
    assert durable == {"r0": 2, "late": 0} | {f"r{number}": 3 for number in range(1, 20)}


async def test_a_node_that_was_cut_off_loses_what_others_took_over(store: StoreServer) -> None:
    async with (
        Proxy(f"127.0.0.1:{store.port}") as line,
        running(Settings(address="127.0.0.1:0", drain_grace_s=0, store=f"redis://{line.address}")) as one,
        running(settings(store)) as other,
        grpc.aio.insecure_channel(one.address) as to_one,
        grpc.aio.insecure_channel(other.address) as to_other,
    ):
        older, newer = Peer(to_one), Peer(to_other)
        await older.open()
        await older.run()
        await written(one)
        upstream, line.upstream = line.upstream, ""
        line.cut()
        for _ in range(3):
            await older.run("read")
        await until(lambda: one.samples()["loopguard_store_up"] == 0)

        opened = await newer.open(resume=True)
        await newer.run("write")
        await written(other)
        line.upstream = upstream
        ended = await older.read()
        await newer.close()
        older.cancel()

    assert opened.opened.last_seq == 2
    assert ended.run_ended.reason == pb.RUN_END_REASON_SUPERSEDED


async def test_with_sync_an_answer_waits_for_the_store(store: StoreServer) -> None:
    async with (
        running(settings(store, durability="sync")) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel)
        await peer.open()
        store.freeze(signal.SIGSTOP)
        asking = asyncio.create_task(peer.tell(calls=batch(wire_call())))
        await until(lambda: max(session.last_seq for session in server.sessions) == 1)
        waits = not asking.done()
        store.freeze(signal.SIGCONT)
        answer = await asking
        await peer.close()

    assert waits
    assert answer.durable_seq == 1
