"""One tenant at its limits takes nothing from another."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from loopguard.server.settings import Settings

from tests.service.conftest import running
from tests.service.secrets import bearer, write_tokens
from tests.service.wire import Peer, batch, call, refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.service.conftest import Server


@contextlib.asynccontextmanager
async def shared(tmp_path: Path, **limits: Any) -> AsyncIterator[tuple[Server, Callable[[str], Peer]]]:
    """Run a server with the tenants `greedy` and `modest`; yield it with what opens a stream of one."""
    tokens_file = write_tokens(tmp_path / "tokens", greedy="greedy", modest="modest")
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, tokens_file=tokens_file, **limits)
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        yield server, lambda tenant: Peer(channel, metadata=bearer(tenant))


async def interrupt(peer: Peer, run_id: str) -> None:
    await peer.open(run_id)
    await peer.half_close()


async def test_a_tenant_full_of_runs_leaves_room_and_runs_to_another(tmp_path: Path) -> None:
    async with shared(tmp_path, runs_per_tenant=2) as (server, peer):
        await interrupt(peer("modest"), "kept")
        held = [peer("greedy") for _ in range(3)]

        answers = [await each.open(f"r{number}") for number, each in enumerate(held)]
        again = peer("modest")
        opened = await again.open("kept", resume=True)
        other = peer("modest")

        assert [each.HasField("opened") for each in answers] == [True, True, False]
        assert refused(answers[2]) == "LIMIT_EXCEEDED"
        assert opened.opened.epoch == 2
        assert (await other.open("new")).opened.epoch == 1
        for each in (again, other, *held[:2]):
            await each.close()
        await held[2].half_close()
        assert server.service.tally.runs_ended["crowded_out"] == 0


async def test_a_tenant_s_interrupted_runs_push_out_its_own(tmp_path: Path) -> None:
    async with shared(tmp_path, interrupted_runs=2) as (server, peer):
        await interrupt(peer("modest"), "kept")
        for number in range(10):
            await interrupt(peer("greedy"), f"r{number}")

        back = peer("modest")
        opened = await back.open("kept", resume=True)

        assert opened.opened.epoch == 2
        assert server.service.tally.runs_ended["crowded_out"] == 8
        await back.close()
        server.sessions.evict(0)


async def test_on_a_full_server_a_tenant_gives_up_runs_of_its_own_only(tmp_path: Path) -> None:
    async with shared(tmp_path, runs=2) as (server, peer):
        await interrupt(peer("modest"), "kept")
        held, more = peer("greedy"), peer("greedy")
        await held.open("held")

        answer = await more.open("more")

        assert refused(answer) == "LIMIT_EXCEEDED"
        await more.half_close()
        back = peer("modest")
        assert (await back.open("kept", resume=True)).opened.epoch == 2
        await back.close()
        await held.close()
        assert server.service.tally.runs_ended["crowded_out"] == 0


async def test_a_tenant_that_asks_too_much_slows_itself_only(tmp_path: Path) -> None:
    async with shared(tmp_path, calls_per_s=3.0) as (_, peer):
        greedy, modest = peer("greedy"), peer("modest")
        await greedy.open("r")
        await modest.open("r")
        await greedy.tell(calls=batch(call(), call(), call()))

        assert refused(await greedy.tell(calls=batch(call()))) == "LIMIT_EXCEEDED"
        assert (await modest.tell(calls=batch(call(), call(), call()))).HasField("verdicts")
        await greedy.close()
        await modest.close()


@pytest.mark.parametrize("token", [None, "wrong", "modest"])
async def test_reflection_tells_everybody_the_same(tmp_path: Path, token: str | None) -> None:
    async with shared(tmp_path) as (server, _), grpc.aio.insecure_channel(server.address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked: Any = stub.ServerReflectionInfo(metadata=None if token is None else bearer(token))
        await asked.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        told = await asked.read()
        await asked.done_writing()

    assert sorted(each.name for each in told.list_services_response.service) == [
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
        "loopguard.v1.LoopGuardService",
    ]
