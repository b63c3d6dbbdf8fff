"""Agents that get stuck in seeded ways, each playing one run through a client."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random
from typing import TYPE_CHECKING, Any

from loopguard import Call, Outcome, Record, Status
from loopguard.errors import InvalidFrame
from loopguard.model import Action, RunOpen
from tests.fleet.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard import AsyncGuardClient

CONFIG = {"enabled": True, "warningThreshold": 3, "criticalThreshold": 5, "globalCircuitBreakerThreshold": 8}


class Agent:
    """One run: what it asks next depends on its seed and on the verdicts."""

    def __init__(self, run_id: str, seed: int, *, balanced: bool = False) -> None:
        self._random = Random(f"{seed}/{run_id}")
        self._profile = "balanced" if balanced else ""
        self._asked = 0
        self._usual = [self._call() for _ in range(3)]
        self.turns = 0
        self.run: Any = None
        self.witness = Witness(RunOpen(run_id, config=CONFIG, profile=self._profile))

    async def open(self, client: AsyncGuardClient) -> None:
        """Open the run."""
        request = self.witness.request
        self.run = await client.open_run(request.run_id, config=request.config, profile=request.profile)
        self.witness.watch(self.run._session)

    async def play(self, client: AsyncGuardClient, done: Callable[[], bool], gap_s: float) -> None:
        """Open the run, take a turn every `gap_s` seconds until `done`, and close it."""
        await self.open(client)
        while not done():
            await self.turn()
            await asyncio.sleep(self._random.uniform(0, 2 * gap_s))
        await self.run.close()

    async def turn(self) -> None:
        """Do what an agent does between two responses of its model."""
        kind = self._random.random()
        if kind < 0.04:
            await self.run.user_message()
        elif kind < 0.06:
            await self.run.compaction_retry()
        elif kind < 0.09:
            await self.run.check([self._again()])
        elif kind < 0.11:
            with contextlib.suppress(InvalidFrame):
                await self.run.report(Outcome("never-asked", Status.OK))
        elif kind < 0.13:
            await self.run.record([Record("read", b'{"path": "seen"}', status=Status.OK, result=b'"text"')])
        else:
            await self._respond()
        self.turns += 1

    async def _respond(self) -> None:
        calls = [self._again() for _ in range(self._random.choice((1, 1, 1, 2, 3)))]
        verdicts = await self.run.judge(calls)
        actions = {verdict.action for verdict in verdicts}
        if Action.ABORT in actions:
            await self.run.user_message()
        elif Action.BLOCK not in actions:
            for call in self._random.sample(calls, len(calls)):
                await self.run.report(self._outcome(call.call_id))

    def _again(self) -> Call:
        """Return a call: mostly one of three, so that the guards find something."""
        if self._random.random() < 0.1:
            self._usual[self._random.randrange(3)] = self._call()
        usual = self._random.choice(self._usual)
        self._asked += 1
        return Call(usual.tool, usual.args, f"k{self._asked}")

    def _call(self) -> Call:
        tool = self._random.choice(("exec", "read", "process"))
        return Call(tool, b'{"action": "poll", "n": %d, "text": "%s"}' % (self._random.randrange(5), b"x" * 200))

    def _outcome(self, call_id: str) -> Outcome:
        failed = self._random.random() < 0.2
        result = b'{"content": [], "details": {"status": "completed", "exitCode": %d}}' % self._random.randrange(2)
        return Outcome(call_id, Status.ERROR if failed else Status.OK, result)
