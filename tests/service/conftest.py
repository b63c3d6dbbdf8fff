"""A real server in the test's own loop."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from loopguard.server.app import Service
from loopguard.server.settings import Settings

from loopguard.config import Configuration
from tests.service.wire import Peer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class Clock:
    """Time that only the test moves."""

    def __init__(self) -> None:
        self.s = 1_000.0

    def __call__(self) -> float:
        return self.s


class Server:
    """A running service with its address and its clock."""

    def __init__(self, service: Service, address: str, clock: Clock) -> None:
        self.service = service
        self.address = address
        self.clock = clock

    @property
    def sessions(self) -> Any:
        return self.service.sessions

    def take_the_long_way(self) -> None:
        """Have no frame of the open runs pass by what a test has put into the engine."""
        for session in self.sessions:
            session.run._readers = None

    def samples(self) -> dict[Any, float]:
        """Return the samples that have no labels by their name, and the others by name and labels."""
        return {name if not labels else (name, *labels): value for name, labels, value in self.service.samples()}


@contextlib.asynccontextmanager
async def running(settings: Settings, configuration: Configuration | None = None) -> AsyncIterator[Server]:
    clock = Clock()
    service = Service(settings, configuration or Configuration.empty(), now=clock)
    address = await service.start()
    try:
        yield Server(service, address, clock)
    finally:
        try:
            # A client that has just left may not have been noticed yet.
            await asyncio.wait_for(service.servicer.emptied(), 5)
        finally:
            await service.stop()
    assert len(service.sessions) == 0, "runs left open"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server that has to be without streams and runs at the end."""
    async with running(Settings(address="127.0.0.1:0", drain_grace_s=0)) as server:
        yield server


@pytest.fixture
async def channel(server: Server) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(server.address, options=[("grpc.max_send_message_length", -1)]) as channel:
        yield channel


@pytest.fixture
def guard(channel: grpc.aio.Channel) -> Callable[[], Peer]:
    """Open a new stream of one run."""
    return lambda: Peer(channel)
