"""Runs that wait for a store, and the others of their stream, which don't."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from loopguard.server.settings import Settings

from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import Server, running
from tests.service.test_guard_many import Many, flat
from tests.service.wire import Ended, batch, call, done, open_frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, store=f"sqlite:{tmp_path / 'runs.db'}")
    async with running(settings) as server:
        yield server


@pytest.fixture
def many(channel: grpc.aio.Channel) -> Many:
    return Many(channel)


@contextlib.contextmanager
def away(path: Path) -> Iterator[None]:
    """Keep the store from being used."""
    locking = sqlite3.connect(path / "runs.db", isolation_level=None)
    locking.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        locking.execute("ROLLBACK")
        locking.close()


def resume(run_id: str, *frames: pb.GuardRequest) -> pb.RunFrames:
    return pb.RunFrames(run_id=run_id, frames=[open_frame(run_id, resume=True), *frames])


async def test_other_runs_of_the_stream_are_answered_meanwhile(many: Many, tmp_path: Path) -> None:
    await many.open("here")
    with away(tmp_path):
        await many.peer.send(pb.GuardManyRequest(runs=[resume("late")]).SerializeToString())
        await many.peer.send(pb.GuardManyRequest(runs=[many.frame("late", calls=batch(call()))]).SerializeToString())

        meanwhile = [
            await asyncio.wait_for(many.ask(many.frame("here", calls=batch(call()))), 20),
            await asyncio.wait_for(many.ask(many.frame("here", outcome=done("c1"))), 20),
        ]

    late = [flat(await many.peer.read()), flat(await many.peer.read())]
    after = await many.ask(many.frame("late", outcome=done("c1")), many.frame("here", user_message=pb.UserMessage()))
    await many.close("late", "here")

    assert [[(run_id, answer.seq) for run_id, answer in answers] for answers in meanwhile] == [
        [("here", 1)],
        [("here", 2)],
    ]
    assert [[(run_id, answer.seq) for run_id, answer in answers] for answers in late] == [[("late", 0)], [("late", 1)]]
    assert late[0][0][1].HasField("opened")
    assert [(run_id, answer.seq) for run_id, answer in after] == [("late", 2), ("here", 3)]


async def test_a_run_told_of_in_a_message_that_waits_keeps_its_order(many: Many, tmp_path: Path) -> None:
    await many.open("here")
    with away(tmp_path):
        first = [resume("late"), many.frame("here", calls=batch(call()))]
        await many.peer.send(pb.GuardManyRequest(runs=first).SerializeToString())
        await many.peer.send(pb.GuardManyRequest(runs=[many.frame("here", outcome=done("c1"))]).SerializeToString())

    answers = [flat(await many.peer.read()), flat(await many.peer.read())]
    await many.close("late", "here")

    assert [[(run_id, answer.seq) for run_id, answer in one] for one in answers] == [
        [("late", 0), ("here", 1)],
        [("here", 2)],
    ]
    assert answers[1][0][1].WhichOneof("answer") == "verdict"


async def test_a_client_that_has_said_all_still_gets_its_answers(many: Many, tmp_path: Path) -> None:
    frames = [pb.GuardRequest(seq=1, calls=batch(call())), pb.GuardRequest(seq=2, close=pb.RunClose())]
    with away(tmp_path):
        await many.peer.send(pb.GuardManyRequest(runs=[resume("late", *frames)]).SerializeToString())
        await many.peer._call.done_writing()

    answers = flat(await many.peer.read())
    end = await many.peer.read()

    assert [answer.WhichOneof("answer") for _, answer in answers] == ["opened", "verdicts", "ack"]
    assert end is None


async def test_a_stream_takes_nothing_more_where_too_much_waits(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'runs.db'}"
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, store=store, message_bytes=10_000)
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        many = Many(channel)
        await many.open("here")
        with away(tmp_path):
            for number in range(3):
                await many.peer.send(pb.GuardManyRequest(runs=[resume(f"late-{number}")]).SerializeToString())
            while not any(stream.conversation._waiting.is_full for stream in server.service.servicer._streams):
                await asyncio.sleep(0.005)
            await many.peer.send(
                pb.GuardManyRequest(runs=[many.frame("here", calls=batch(call()))]).SerializeToString()
            )
        answers = [(run_id, answer.seq) for _ in range(4) for run_id, answer in flat(await many.peer.read())]
        await many.close("late-0", "late-1", "late-2", "here")

    # Messages that wait by themselves are passed; one that was not read yet has to wait for all of them.
    assert sorted(answers[:3]) == [("late-0", 0), ("late-1", 0), ("late-2", 0)]
    assert answers[3] == ("here", 1)


async def test_what_fails_inside_ends_the_stream(many: Many, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(server.service._keeper, "claim", fail)

    with pytest.raises(Ended, match="INTERNAL"):
        await many.ask(resume("late"))


async def test_a_stream_that_ends_waits_for_nothing(many: Many, server: Server, tmp_path: Path) -> None:
    with away(tmp_path):
        await many.peer.send(pb.GuardManyRequest(runs=[resume("late")]).SerializeToString())
        while not many_waits(server):
            await asyncio.sleep(0.005)
        many.peer.cancel()
        await asyncio.wait_for(server.service.servicer.emptied(), 5)

    assert len(server.sessions) == 0


def many_waits(server: Server) -> bool:
    return any(stream.conversation._waiting for stream in server.service.servicer._streams)
