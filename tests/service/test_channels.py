"""Clients with more runs than one connection takes streams."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from loopguard.server.settings import Settings

from loopguard.model import Action
from tests.service.conftest import Server, running
from tests.service.players import Client, call

#: The kinds with a stream a run.
ONE_RUN = pytest.mark.parametrize("kind", ["threads", "tasks"])


def streams(server: Server) -> list[int]:
    """Return how many streams each connection has."""
    return sorted(server.service.servicer._connections.values())


async def open_runs(client: Client, count: int) -> list[Any]:
    return await asyncio.gather(*(client.open_run(f"r{number}") for number in range(count)))


@ONE_RUN
@pytest.mark.parametrize("policy", ["wait", "allow"])
async def test_runs_beyond_what_a_connection_takes_come_over_others(kind: str, policy: str) -> None:
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, streams_per_connection=3)
    async with (
        running(settings) as server,
        Client(kind, server.address, on_unavailable=policy, deadline_s=30) as client,
    ):
        runs = await asyncio.wait_for(open_runs(client, 10), 60)

        verdicts = await asyncio.gather(*(run.judge([call()]) for run in runs))
        spread = streams(server)
        for run in runs:
            await run.close()

    assert [verdict.action for (verdict,) in verdicts] == [Action.ALLOW] * 10
    assert [run.raw.decided_unavailable for run in runs] == [0] * 10
    assert (sum(spread), max(spread)) == (10, 3)


@ONE_RUN
async def test_as_many_streams_go_over_a_connection_as_the_client_is_told(server: Server, kind: str) -> None:
    async with Client(kind, server.address, streams_per_channel=2) as client:
        runs = await open_runs(client, 5)

        spread = streams(server)
        for run in runs:
            await run.close()

    assert spread == [1, 2, 2]
