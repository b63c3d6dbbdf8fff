"""Clients of several nodes: who has which run, and where runs go when a node is lost or sends them away."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
from loopguard.server.settings import Settings

from loopguard.errors import RunRefused
from loopguard.model import Action
from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import Server, running
from tests.service.players import KINDS, Client, call, done
from tests.service.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@contextlib.asynccontextmanager
async def nodes(path: Path, count: int = 3) -> AsyncIterator[tuple[list[Server], list[Proxy]]]:
    """Run some nodes with one store, each behind a proxy that can cut it off."""
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, store=f"sqlite:{path / 'runs.db'}")
    async with contextlib.AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(running(settings)) for _ in range(count)]
        proxies = [await stack.enter_async_context(Proxy(server.address)) for server in servers]
        yield servers, proxies
        for server in servers:
            # What moved away is only known as taken over once this node writes it.
            server.sessions.evict(-1)


def held(server: Server) -> set[str]:
    return {session.run.run_id for session in server.sessions if session.owner is not None}


async def settled(server: Server) -> None:
    async def wait() -> None:
        while len(server.service._keeper):
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), 30)


@pytest.mark.parametrize("kind", KINDS)
async def test_only_the_runs_of_a_lost_node_move_and_go_on_there(tmp_path: Path, kind: str) -> None:
    async with nodes(tmp_path) as (servers, proxies), Client(kind, [proxy.address for proxy in proxies]) as client:
        runs = [await client.open_run(f"r{number}") for number in range(12)]
        for run in runs:
            for _ in range(4):
                await run.judge([call()])
                await run.report(done())
        before = [held(server) for server in servers]
        for server in servers:
            await settled(server)
        lost = max(range(3), key=lambda index: len(before[index]))
        proxies[lost].upstream = ""
        proxies[lost].cut()

        verdicts = [(await run.judge([call()]))[0] for run in runs]
        after = [held(server) for server in servers]
        for run in runs:
            await run.close()

    assert sum(map(len, before)) == 12
    assert min(map(len, before)) < 12
    # Wherever it is now, a run knows of all its calls.
    assert [verdict.finding and verdict.finding.count for verdict in verdicts] == [4] * 12
    for index in range(3):
        if index != lost:
            assert before[index] <= after[index]
    assert set().union(*(after[index] for index in range(3) if index != lost)) == {f"r{number}" for number in range(12)}
    assert {run.raw.opened.epoch for run in runs if run.raw.run_id in before[lost]} == {2}
    assert {run.raw.opened.epoch for run in runs if run.raw.run_id not in before[lost]} == {1}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_waits_for_another_endpoint_once_that_of_its_run_has_failed(tmp_path: Path, kind: str) -> None:
    # The first try comes after a fifth of a second, the next one after twice that.
    settings = {"on_unavailable": "allow", "deadline_s": 30, "random": lambda: 4.0}
    async with (
        nodes(tmp_path, 2) as (servers, proxies),
        Client(kind, [proxy.address for proxy in proxies], **settings) as client,
    ):
        run = await client.open_run()
        for _ in range(5):
            await run.judge([call()])
            await run.report(done())
        lost = 0 if held(servers[0]) else 1
        await settled(servers[lost])
        proxies[lost].upstream = ""
        proxies[lost].cut()
        while not client.raw._router._failed:
            await asyncio.sleep(0.001)

        (verdict,) = await run.judge([call()])
        decided, known = run.raw.decided_unavailable, held(servers[1 - lost])
        await run.close()

    assert (verdict.action, decided, known) == (Action.BLOCK, 0, {"r"})


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_waits_once_all_endpoints_have_failed(kind: str) -> None:
    async with (
        Proxy() as one,
        Proxy() as other,
        Client(kind, [one.address, other.address], on_unavailable="allow", deadline_s=60) as client,
    ):
        run = await asyncio.wait_for(client.open_run(), 30)
        verdicts = [(await asyncio.wait_for(run.judge([call()]), 30))[0] for _ in range(50)]
        await run.close()

    assert {verdict.action for verdict in verdicts} == {Action.ALLOW}
    assert run.raw.decided_unavailable == 50


class Elsewhere:
    """A node that sends every run to another one."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.asked = 0

    async def serve(self, stack: contextlib.AsyncExitStack) -> str:
        server = grpc.aio.server()
        handlers = {
            "Guard": grpc.stream_stream_rpc_method_handler(self._guard),
            "GuardMany": grpc.stream_stream_rpc_method_handler(self._guard_many),
        }
        handler = grpc.method_handlers_generic_handler("loopguard.v1.LoopGuardService", handlers)
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        stack.push_async_callback(server.stop, 0)
        return f"127.0.0.1:{port}"

    def _answer(self) -> pb.GuardResponse:
        self.asked += 1
        ended = pb.RunEnded(reason=pb.RUN_END_REASON_WRONG_NODE, endpoint=self.endpoint)
        return pb.GuardResponse(run_ended=ended)

    async def _guard(self, _requests: Any, context: Any) -> None:
        while await context.read() is not grpc.aio.EOF:
            await context.write(self._answer().SerializeToString())

    async def _guard_many(self, _requests: Any, context: Any) -> None:
        while (data := await context.read()) is not grpc.aio.EOF:
            for run in pb.GuardManyRequest.FromString(data).runs:
                answers = pb.RunAnswers(run_id=run.run_id, answers=[self._answer()])
                await context.write(pb.GuardManyResponse(runs=[answers]).SerializeToString())


@pytest.mark.parametrize("kind", KINDS)
async def test_a_run_goes_where_the_server_says_that_it_belongs(server: Server, kind: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        elsewhere = Elsewhere(server.address)
        address = await elsewhere.serve(stack)
        # Nobody who waits meanwhile has to decide for itself.
        async with Client(kind, address, on_unavailable="allow", deadline_s=30) as client:
            run = await client.open_run()
            opened = run.raw.opened
            (verdict,) = await run.judge([call()])
            known = held(server)
            await run.close()

    assert opened is not None
    assert (verdict.action, run.raw.decided_unavailable) == (Action.ALLOW, 0)
    assert known == {"r"}
    assert elsewhere.asked == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_nodes_that_send_a_run_to_each_other_do_not_do_so_for_ever(kind: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        one, other = Elsewhere(""), Elsewhere("")
        one.endpoint, other.endpoint = await other.serve(stack), await one.serve(stack)
        async with Client(kind, other.endpoint) as client:
            with pytest.raises(RunRefused, match="from node to node"):
                await client.open_run()

    assert one.asked + other.asked <= 6
