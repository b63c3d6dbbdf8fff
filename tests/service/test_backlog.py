"""What many runs have to tell at once when the guard comes back."""

from __future__ import annotations

import asyncio

import pytest
from loopguard.server.settings import Settings

from tests.service.conftest import running
from tests.service.players import Client, Run, call
from tests.service.proxy import Proxy

RUNS, FRAMES = 80, 12


@pytest.mark.parametrize("kind", ["threads-many", "tasks-many"])
@pytest.mark.parametrize("limits", [{"frames_per_message": 50}, {"message_bytes": 10_000}, {}], ids=str)
async def test_a_large_backlog_is_told_in_messages_that_the_server_takes(kind: str, limits: dict[str, int]) -> None:
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, **limits)
    async with (
        running(settings) as server,
        Proxy() as proxy,
        Client(kind, proxy.address, on_unavailable="allow", deadline_s=30) as client,
    ):
        runs = [await client.open_run(f"run-{number}") for number in range(RUNS)]
        for run in runs:
            for number in range(FRAMES):
                await run.judge([call(args=b'"%d"' % number + b" " * 500)])

        proxy.upstream = server.address
        await asyncio.wait_for(caught_up(runs), 60)
        verdicts = await asyncio.gather(*(run.judge([call()]) for run in runs))
        seen = [session.last_seq for session in server.sessions]
        for run in runs:
            await run.close()

    assert [verdict.call_id for (verdict,) in verdicts] == [f"c{FRAMES + 1}"] * RUNS
    assert seen == [FRAMES + 1] * RUNS
    assert {run.raw.decided_unavailable for run in runs} == {FRAMES}


async def caught_up(runs: list[Run]) -> None:
    """Wait until the guard has answered all that was told meanwhile."""
    while any(run.raw._session._outbox.answered < FRAMES for run in runs):
        await asyncio.sleep(0.01)
