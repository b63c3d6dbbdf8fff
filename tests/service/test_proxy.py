"""The tests' own proxy: it must leave no connection behind, or a later test pays for it."""

from __future__ import annotations

import asyncio
import gc

import pytest

from tests.service.proxy import Proxy


@pytest.mark.parametrize("turns", range(12))
async def test_a_connection_at_any_stage_is_closed_with_the_proxy(turns: int) -> None:
    upstream = await asyncio.start_server(lambda _, writer: writer.transport.abort(), "127.0.0.1", 0)
    async with upstream:
        port = upstream.sockets[0].getsockname()[1]
        async with Proxy(f"127.0.0.1:{port}") as proxy:
            host, _, port = proxy.address.rpartition(":")
            connections = [asyncio.create_task(asyncio.open_connection(host, int(port))) for _ in range(8)]
            for _ in range(turns):
                await asyncio.sleep(0)

        for connection in await asyncio.gather(*connections, return_exceptions=True):
            if not isinstance(connection, BaseException):  # a refused one has nothing to close
                connection[1].transport.abort()
        await asyncio.sleep(0)
        gc.collect()  # what lost its owner warns here, and a warning is an error
