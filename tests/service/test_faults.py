from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from loopguard.server.settings import Settings

from loopguard.model import Action
from tests.service.conftest import Server, running
from tests.service.players import CONFIG, KINDS, SCRIPT, Client, Run, call, done, play
from tests.service.processes import forking
from tests.service.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

SETTINGS = Settings(address="127.0.0.1:0", drain_grace_s=0)


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Proxy]:
    async with Proxy(server.address) as proxy:
        yield proxy


async def uncut(server: Server) -> list[Any]:
    async with Client("tasks", server.address) as client:
        run = await client.open_run("uncut")
        answers = await play(run)
        await run.close()
    return answers


@pytest.mark.parametrize("kind", KINDS)
async def test_a_connection_cut_before_any_frame_changes_no_answer(server: Server, proxy: Proxy, kind: str) -> None:
    expected = await uncut(server)

    async with Client(kind, proxy.address) as client:
        for cut_at in range(len(SCRIPT)):
            run = await client.open_run(f"cut-{cut_at}")

            async def cut(index: int, cut_at: int = cut_at) -> None:
                if index == cut_at:
                    proxy.cut()

            answers = await play(run, cut)
            await run.close()

            assert answers == expected, f"cut before frame {cut_at}"
            assert run.raw.opened.epoch == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_lost_with_its_connection_is_given_again(server: Server, proxy: Proxy, kind: str) -> None:
    expected = await uncut(server)

    async with Client(kind, proxy.address) as client:
        run = await client.open_run()
        answers = []
        for method, arguments in SCRIPT:
            proxy.hold_answers()
            answering = asyncio.create_task(getattr(run, method)(*arguments))
            await seen(server, len(answers) + 1)
            proxy.cut()
            answers.append(await answering)
        await run.close()

    assert answers == expected
    assert run.raw.opened.epoch == 1 + len(SCRIPT)


async def seen(server: Server, seq: int) -> None:
    """Wait until the server has taken frame `seq` of its only run."""
    while max((session.last_seq for session in server.sessions), default=0) < seq:
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_lost_server_is_told_everything_again(kind: str) -> None:
    async with running(SETTINGS) as first, running(SETTINGS) as second, Proxy(first.address) as proxy:
        expected = await uncut(first)
        async with Client(kind, proxy.address) as client:
            for moved_at in range(len(SCRIPT)):
                proxy.upstream = first.address
                proxy.cut()
                run = await client.open_run(f"moved-{moved_at}")

                async def move(index: int, moved_at: int = moved_at) -> None:
                    if index == moved_at:
                        proxy.upstream = second.address
                        proxy.cut()

                answers = await play(run, move)
                await run.close()

                assert answers == expected, f"moved before frame {moved_at}"
                assert (run.raw.opened.epoch, run.raw.opened.rebuilt) == (1, False)
        first.sessions.evict(0)


@pytest.fixture
def start() -> Iterator[Callable[[], tuple[str, int]]]:
    """Start a server in a process of its own and return its address and process id."""
    with forking() as start:
        yield start


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_killed_before_every_frame_changes_no_answer(
    server: Server, start: Callable[[], tuple[str, int]], kind: str
) -> None:
    expected = await uncut(server)
    address, process_id = await asyncio.to_thread(start)

    async with Proxy(address) as proxy, Client(kind, proxy.address) as client:

        async def kill(_: int) -> None:
            nonlocal process_id
            # Whoever gets its port next is not to be asked.
            proxy.upstream = ""
            os.kill(process_id, signal.SIGKILL)
            proxy.upstream, process_id = await asyncio.to_thread(start)

        run = await client.open_run("killed")
        answers = await play(run, kill)
        opened = run.raw.opened
        await run.close()

    assert answers == expected
    assert (opened.epoch, opened.rebuilt) == (1, False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limits", [{"buffer_frames": 4}, {"buffer_bytes": 80}])
async def test_a_lost_run_beyond_the_buffer_is_rebuilt_from_its_history(kind: str, limits: dict[str, int]) -> None:
    async with running(SETTINGS) as first, running(SETTINGS) as second, Proxy(first.address) as proxy:
        async with Client(kind, proxy.address, **limits) as client:
            run = await client.open_run(config={**CONFIG, "detectors": {"pingPong": False}})
            for number in range(4):
                await run.judge([call()])
                await run.report(done(f"c{number + 1}"))
            await run.judge([call("sleep", b"1")])
            proxy.upstream = second.address
            proxy.cut()

            late = await run.report(done("c5"))
            (same,) = await run.judge([call()])
            told = await run.report(done("c6"))
            (blocked,) = await run.judge([call()])
            opened = run.raw.opened
            await run.close()
        first.sessions.evict(0)

    assert opened.rebuilt is True
    assert (late.call_id, late.action) == ("c5", Action.ALLOW)
    assert (same.call_id, same.action, same.finding.count) == ("c6", Action.WARN, 4)
    assert told.call_id == "c6"
    assert (blocked.action, blocked.finding.count) == (Action.BLOCK, 5)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_is_rebuilt_where_the_server_asks_for_frames_that_are_no_longer_kept(
    server: Server, kind: str
) -> None:
    async with Client(kind, server.address, buffer_frames=2, on_unavailable="allow", deadline_s=30) as client:
        run = await client.open_run()
        for _ in range(4):
            await run.judge([call()])
            await run.report(done())
        # What it knows of the run is older than what it has acknowledged.
        (session,) = server.sessions
        session.last_seq = 3
        del session.answers[3:]

        (late,) = await run.judge([call()])
        told = await run.report(done("c5"))
        (blocked,) = await run.judge([call()])
        opened, decided = run.raw.opened, run.raw.decided_unavailable
        await run.close()

    assert (opened.rebuilt, decided) == (True, 0)
    assert (late.call_id, late.action, late.finding.count) == ("c5", Action.WARN, 4)
    assert told.call_id == "c5"
    assert (blocked.call_id, blocked.action) == ("c6", Action.BLOCK)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_live_run_beyond_the_buffer_goes_on(proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address, buffer_frames=4) as client:
        run = await client.open_run()
        for _ in range(5):
            await run.judge([call()])
            await run.report(done())
        proxy.cut()

        (verdict,) = await run.judge([call()])
        await run.close()

    assert (verdict.action, run.raw.opened.rebuilt) == (Action.BLOCK, False)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_that_vanishes_leaves_its_run_for_resuming(server: Server, proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address) as client:
        run = await client.open_run()
        await run.judge([call()])
        proxy.upstream = ""
        proxy.cut()
        await asyncio.wait_for(server.service.servicer.emptied(), 5)

        assert len(server.sessions) == 1
        proxy.upstream = server.address
        assert (await run.report(done("c1"))).action is Action.ALLOW
        await run.close()


async def test_a_frozen_peer_is_reaped_within_the_keepalive_time() -> None:
    settings = Settings(address="127.0.0.1:0", keepalive_time_s=0.5, keepalive_timeout_s=0.5, drain_grace_s=0)
    async with running(settings) as server, Proxy(server.address) as proxy, Client("tasks", proxy.address) as client:
        run = await client.open_run()
        proxy.freeze()

        await asyncio.wait_for(server.service.servicer.emptied(), 5)

        assert len(server.sessions) == 1
        proxy.cut()
        assert (await run.judge([call()]))[0].call_id == "c1"
        await run.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_draining_server_is_left_for_another(kind: str) -> None:
    async with running(SETTINGS) as first, running(SETTINGS) as second, Proxy(first.address) as proxy:
        async with Client(kind, proxy.address) as client:
            run = await client.open_run()
            await run.judge([call()])

            proxy.upstream = second.address
            await asyncio.wait_for(first.service.servicer.drain(30), 5)
            proxy.cut()
            verdict = await run.report(done("c1"))
            await run.close()
        first.sessions.evict(0)

    assert (verdict.call_id, verdict.action, run.raw.opened.last_seq) == ("c1", Action.ALLOW, 0)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_cancelled_before_opened_is_tried_again(
    server: Server, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grpc

    serve, tries = server.service.servicer._serve, []

    async def reluctant(stream: Any, context: Any) -> None:
        tries.append(1)
        if len(tries) < 4:
            await context.abort(grpc.StatusCode.CANCELLED, "too many at once")
        await serve(stream, context)

    monkeypatch.setattr(server.service.servicer, "_serve", reluctant)
    async with Client(kind, server.address) as client:
        run = await client.open_run()
        await run.close()

    assert len(tries) == 4


@pytest.mark.parametrize("kind", KINDS)
async def test_an_evicted_run_is_built_again(server: Server, proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address) as client:
        run: Run = await client.open_run()
        for _ in range(5):
            await run.judge([call()])
            await run.report(done())
        proxy.upstream = ""
        proxy.cut()
        await asyncio.wait_for(server.service.servicer.emptied(), 5)
        server.sessions.evict(0)
        proxy.upstream = server.address

        (verdict,) = await run.judge([call()])
        await run.close()

    assert (verdict.action, run.raw.opened.last_seq) == (Action.BLOCK, 0)


@pytest.mark.parametrize("kind", ["tasks", "tasks-many"])
async def test_hundreds_of_runs_come_back_at_once_and_lose_nothing(server: Server, proxy: Proxy, kind: str) -> None:
    async with Client(kind, proxy.address) as client:
        runs = [await client.open_run(f"run-{number}") for number in range(100)]
        await asyncio.gather(*(run.judge([call()]) for run in runs))

        proxy.cut()
        verdicts = await asyncio.wait_for(asyncio.gather(*(run.report(done("c1")) for run in runs)), 30)
        await asyncio.gather(*(run.close() for run in runs))

    assert {(verdict.call_id, verdict.action) for verdict in verdicts} == {("c1", Action.ALLOW)}
    assert {run.raw.opened.epoch for run in runs} == {2}
    assert len(server.sessions) == 0
