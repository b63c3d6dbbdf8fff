"""Runs that survive their server, here in SQLite."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import sys
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from loopguard.server.app import Service
from loopguard.server.settings import Settings
from loopguard.server.stored import read_session

from loopguard.config import Configuration
from loopguard.model import Action
from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import Server, running
from tests.service.players import CONFIG, SCRIPT, Client, call, done, play, still
from tests.service.processes import forking
from tests.service.proxy import Proxy
from tests.service.wire import Ended, Peer, batch, open_frame
from tests.service.wire import call as wire_call
from tests.service.wire import done as wire_done

if TYPE_CHECKING:
    from pathlib import Path

OPENCLAW: dict[str, Any] = {"config": CONFIG}
BALANCED: dict[str, Any] = {"profile": "balanced", "config": None}


def settings(path: Path, **more: Any) -> Settings:
    return Settings(address="127.0.0.1:0", drain_grace_s=0, store=f"sqlite:{path}", **more)


def durable(path: Path, run_id: str) -> int:
    """Return the newest frame of a run that is in the file."""
    file = sqlite3.connect(path)
    try:
        (data,) = file.execute("SELECT data FROM runs WHERE run_id = ?", (run_id,)).fetchone() or (None,)
    finally:
        file.close()
    return read_session(data).last_seq if data else -1


async def until(condition: Any) -> None:
    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), 60)


@pytest.mark.parametrize(
    ("kind", "opening"),
    [("threads", OPENCLAW), ("tasks-many", OPENCLAW), ("tasks", BALANCED)],
    ids=["threads-openclaw", "tasks-many-openclaw", "tasks-balanced"],
)
async def test_a_server_killed_before_every_frame_changes_no_answer(
    server: Server, tmp_path: Path, kind: str, opening: dict[str, Any]
) -> None:
    async with Client("tasks", server.address, now=still) as client:
        run = await client.open_run("uncut", **opening)
        expected = await play(run)
        await run.close()

    path = tmp_path / "runs.db"
    with forking(LOOPGUARD_STORE=f"sqlite:{path}") as start:
        address, process_id = await asyncio.to_thread(start)
        async with Proxy(address) as proxy, Client(kind, proxy.address, now=still) as client:

            async def kill(index: int) -> None:
                nonlocal process_id
                if index % 2:
                    # Every other frame is written before its server is gone; the rest may be or not.
                    await until(lambda: durable(path, "killed") == index)
                # Whoever gets its port next is not to be asked.
                proxy.upstream = ""
                os.kill(process_id, signal.SIGKILL)
                proxy.upstream, process_id = await asyncio.to_thread(start)

            run = await client.open_run("killed", **opening)
            answers = await play(run, kill)
            opened = run.raw.opened
            await run.close()

    assert answers == expected
    assert opened.epoch > len(SCRIPT) // 2
    assert not opened.rebuilt


async def test_a_client_forgets_what_is_durable(tmp_path: Path) -> None:
    async with running(settings(tmp_path / "runs.db")) as server, Client("tasks", server.address) as client:
        run = await client.open_run()
        for number in range(20):
            await run.judge([call(args=b"%d" % number)])
            await asyncio.sleep(0)
        await until(lambda: server.samples()["loopguard_store_dirty_runs"] == 0)
        await run.user_message()

        assert len(run.raw._session._outbox.entries) <= 1
        samples = server.samples()
        assert samples["loopguard_store_up"] == 1
        assert 0 < samples["loopguard_store_snapshots"] <= 22
        assert samples["loopguard_store_snapshot_bytes"] > 0
        await run.close()


@pytest.mark.parametrize("method", ["Guard", "GuardMany"])
async def test_with_sync_every_answer_is_durable(tmp_path: Path, method: str) -> None:
    async with (
        running(settings(tmp_path / "runs.db", durability="sync")) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel, method)
        frames = [
            open_frame(),
            pb.GuardRequest(seq=1, calls=batch(wire_call())),
            pb.GuardRequest(seq=2, outcome=wire_done()),
            pb.GuardRequest(seq=3, close=pb.RunClose()),
        ]
        answers = []
        for frame in frames:
            if method == "Guard":
                answers.append(await peer.ask(frame))
            else:
                answer = await peer.ask(pb.GuardManyRequest(runs=[pb.RunFrames(run_id="r", frames=[frame])]))
                answers += answer.runs[0].answers
        await peer.half_close()

    assert [answer.acked_seq for answer in answers] == [0, 1, 2, 3]
    assert [answer.durable_seq for answer in answers[:3]] == [0, 1, 2]


async def test_another_server_takes_a_run_over_and_the_older_one_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with (
        running(settings(path)) as one,
        running(settings(path)) as other,
        grpc.aio.insecure_channel(one.address) as to_one,
        grpc.aio.insecure_channel(other.address) as to_other,
    ):
        older, newer = Peer(to_one), Peer(to_other)
        await older.open()
        for _ in range(4):
            await older.run()
        await until(lambda: one.samples()["loopguard_store_dirty_runs"] == 0)

        opened = await newer.open(resume=True)
        assert (opened.opened.epoch, opened.opened.last_seq) == (2, 8)
        again = await newer.ask(pb.GuardRequest(seq=8, outcome=wire_done()))
        verdict = await newer.run()

        answer = await older.tell(calls=batch(wire_call("read")))
        assert answer.verdicts.verdicts[0].action == pb.ACTION_ALLOW
        ended = await older.read()
        with pytest.raises(Ended, match="SUPERSEDED"):
            await older.read()
        await newer.close()

    assert again.verdict.call_id == "c4"
    assert verdict.finding.count == 4
    assert ended.run_ended.reason == pb.RUN_END_REASON_SUPERSEDED
    assert one.samples()["loopguard_store_fenced"] == 1
    assert one.samples()["loopguard_runs_ended", "taken_over"] == 1
    assert other.samples()["loopguard_store_restored", "good"] == 1


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    ("refused", "limits"),
    [
        ({"config": {"history_size": 0}}, {}),
        ({"digest_scheme": 9}, {}),
        ({"profile": "none"}, {}),
        ({"rebuild": True}, {}),
        ({}, {"runs_per_tenant": 1}),
    ],
    ids=["config", "scheme", "profile", "rebuild", "no-room"],
)
async def test_an_opening_that_is_refused_takes_nothing_over(
    tmp_path: Path, refused: dict[str, Any], limits: dict[str, int], many: bool
) -> None:
    path = tmp_path / "runs.db"
    async with (
        running(settings(path)) as one,
        running(settings(path, **limits)) as other,
        grpc.aio.insecure_channel(one.address) as to_one,
        grpc.aio.insecure_channel(other.address) as to_other,
    ):
        owner, taker, holder = Peer(to_one), Peer(to_other, "GuardMany" if many else "Guard"), Peer(to_other)
        await owner.open()
        await holder.open("other")
        await owner.run()
        await until(lambda: one.samples()["loopguard_store_dirty_runs"] == 0)

        frame = open_frame(resume=True, **refused)
        if many:
            answer = await taker.ask(pb.GuardManyRequest(runs=[pb.RunFrames(run_id="r", frames=[frame])]))
            answer = answer.runs[0].answers[0]
        else:
            answer = await taker.ask(frame)
        await owner.run()
        await until(lambda: one.samples()["loopguard_store_dirty_runs"] == 0)
        await owner.close()
        await holder.close()
        await taker.half_close()

    assert answer.HasField("error")
    assert one.samples()["loopguard_store_fenced"] == 0


async def test_a_run_that_comes_back_goes_on_where_the_others_left_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with (
        running(settings(path)) as one,
        running(settings(path)) as other,
        grpc.aio.insecure_channel(one.address) as to_one,
        grpc.aio.insecure_channel(other.address) as to_other,
    ):
        first = Peer(to_one)
        await first.open()
        await first.run()
        await until(lambda: one.samples()["loopguard_store_dirty_runs"] == 0)
        first.cancel()
        second = Peer(to_other)
        await second.open(resume=True)
        await second.run()
        await until(lambda: other.samples()["loopguard_store_dirty_runs"] == 0)
        second.cancel()

        third = Peer(to_one)
        opened = await third.open(resume=True)
        await third.close()
        await other.service.servicer.emptied()
        other.sessions.evict(0)

    assert (opened.opened.epoch, opened.opened.last_seq) == (3, 4)


async def test_a_run_that_only_the_store_has_waits_for_a_store_that_is_away(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with (
        running(settings(path)) as one,
        running(settings(path)) as other,
        grpc.aio.insecure_channel(one.address) as to_one,
        grpc.aio.insecure_channel(other.address) as to_other,
    ):
        first, second = Peer(to_one), Peer(to_other)
        await first.open()
        await first.run()
        await until(lambda: one.samples()["loopguard_store_dirty_runs"] == 0)
        locking = sqlite3.connect(path, isolation_level=None)
        locking.execute("BEGIN IMMEDIATE")
        opening = asyncio.create_task(second.open(resume=True))
        await until(lambda: other.samples()["loopguard_store_up"] == 0)
        assert not opening.done()
        locking.execute("ROLLBACK")
        locking.close()
        opened = await opening
        await second.close()
        first.cancel()
        await one.service.servicer.emptied()
        one.sessions.evict(0)

    assert opened.opened.last_seq == 2


async def test_a_closed_run_is_gone_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with running(settings(path)) as one, running(settings(path)) as other:
        async with Client("tasks", one.address) as client:
            run = await client.open_run()
            await run.judge([call()])
            await run.close()
        await until(lambda: not one.service._keeper._deleted)
        async with Client("tasks", other.address) as client:
            run = await client.open_run(resume=True)
            opened = run.raw.opened
            await run.close()

    assert opened.last_seq == 0


async def test_a_restart_in_order_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    service = Service(settings(path), Configuration.empty())
    async with grpc.aio.insecure_channel(await service.start()) as channel:
        peer = Peer(channel)
        await peer.open()
        await peer.run()
        await service.stop()
    async with running(settings(path)) as server, grpc.aio.insecure_channel(server.address) as channel:
        peer = Peer(channel)
        opened = await peer.open(resume=True)
        assert opened.opened.last_seq == opened.durable_seq == 2
        await peer.close()


def damaged(path: Path) -> None:
    path.write_bytes(b"not a database" * 1_000)


def foreign(path: Path) -> None:
    file = sqlite3.connect(path)
    file.execute("CREATE TABLE theirs (name TEXT)")
    file.close()


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("spoil", [damaged, foreign, a_folder], ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("durability", ["behind", "sync"])
async def test_a_file_that_can_not_be_used_is_told_and_the_service_goes_on(
    tmp_path: Path, spoil: Any, durability: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "runs.db"
    spoil(path)

    async with (
        running(settings(path, durability=durability)) as server,
        Client("tasks", server.address) as client,
    ):
        run = await client.open_run()
        answers = await play(run)
        samples = server.samples()
        await run.close()

    assert Action.BLOCK in [verdict.action for told in answers if isinstance(told, list) for verdict in told]
    assert samples["loopguard_store_up"] == 0
    assert samples["loopguard_store_failures", "start"] >= 1
    (record, *_) = [record for record in caplog.records if record.message.startswith("store unavailable")]
    assert str(path) in record.__dict__["because"]


async def test_a_file_that_is_locked_for_a_while_is_caught_up_with(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with running(settings(path)) as server, Client("tasks", server.address) as client:
        run = await client.open_run()
        await run.judge([call()])
        await until(lambda: server.samples()["loopguard_store_dirty_runs"] == 0)
        locking = sqlite3.connect(path, isolation_level=None)
        locking.execute("BEGIN IMMEDIATE")
        for _ in range(5):
            await run.report(done())
            await run.judge([call("read")])
        await until(lambda: server.samples()["loopguard_store_up"] == 0)
        await run.report(done())
        locking.execute("ROLLBACK")
        locking.close()
        await until(lambda: server.samples()["loopguard_store_up"] == 1)
        await until(lambda: server.samples()["loopguard_store_dirty_runs"] == 0)
        (session,) = server.sessions
        durable, last = session.durable_seq, session.last_seq
        await run.close()

    assert durable == last == 12


async def test_what_can_not_be_read_of_a_run_is_told_and_the_client_tells_it_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "runs.db"
    async with running(settings(path)) as server:
        async with Client("tasks", server.address) as client:
            run = await client.open_run()
            await run.judge([call()])
            await until(lambda: server.samples()["loopguard_store_dirty_runs"] == 0)
        await until(lambda: server.service.servicer.open_streams == 0)
        server.sessions.evict(-1)
        await until(lambda: not server.service._keeper._deleted)
        file = sqlite3.connect(path)
        file.execute("UPDATE runs SET data = ?", (b"\x01 something else",))
        file.commit()
        file.close()
        async with Client("tasks", server.address) as client:
            run = await client.open_run(resume=True)
            assert run.raw.opened.last_seq == 0
            await run.close()

        assert server.samples()["loopguard_store_restored", "bad"] == 1
    assert any("can't be read" in record.message for record in caplog.records)


async def test_a_full_disk_is_told_and_the_service_goes_on(tmp_path: Path) -> None:
    limit = 60_000
    told = {"LOOPGUARD_ADDRESS": "127.0.0.1:0", "LOOPGUARD_STORE": f"sqlite:{tmp_path / 'runs.db'}"}
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "loopguard.server",
        env={**os.environ, **told},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # Of any file that the process writes: the disk is full from there on.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert server.stdout is not None
    assert server.stderr is not None
    log = server.stderr

    async def store_unavailable() -> str:
        while "store unavailable" not in (line := (await log.readline()).decode()):
            assert line, "the log has ended"
        return line

    try:
        address = (await asyncio.wait_for(server.stdout.readline(), 60)).decode().split()[-1]
        async with Client("tasks-many", address) as client:
            runs = [await client.open_run(f"r{number}") for number in range(100)]
            for _ in range(2):
                for run in runs:
                    await run.judge([call(args=os.urandom(8).hex().encode())])
            line = await asyncio.wait_for(store_unavailable(), 60)
            answers = [await run.judge([call()]) for run in runs]
            for run in runs:
                await run.close()
    finally:
        server.terminate()
        await asyncio.wait_for(server.communicate(), 20)

    assert "full" in line or "disk" in line
    assert len(answers) == 100
    assert server.returncode == 0
