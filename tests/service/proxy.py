"""A TCP proxy that loses connections, swallows bytes and moves to another server when the test says so."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Self


class Proxy:
    """Stands between clients and a server; `upstream` may change, or be empty for a server that is away."""

    def __init__(self, upstream: str = "") -> None:
        self.upstream = upstream
        self._up = asyncio.Event()
        self._up.set()
        self._down = asyncio.Event()
        self._down.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        asyncio.get_running_loop().add_reader(self._listener, self._accept)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self._listener)
        self._listener.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def connections(self) -> int:
        return len(self._writers) // 2

    def cut(self) -> None:
        """Reset every connection."""
        for writer in self._writers:
            writer.transport.abort()
        self._up.set()
        self._down.set()

    def hold_answers(self) -> None:
        """Deliver nothing to the clients until `cut` or `release`."""
        self._down.clear()

    def freeze(self) -> None:
        """Deliver nothing in either direction until `cut` or `release`."""
        self._up.clear()
        self._down.clear()

    def release(self) -> None:
        self._up.set()
        self._down.set()

    def _accept(self) -> None:
        # Not asyncio's server: between its accept and the handler's first step a connection has no owner to close it.
        with contextlib.suppress(BlockingIOError):
            connection, _ = self._listener.accept()
            task = asyncio.create_task(self._carry(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: connection.close())

    async def _carry(self, connection: socket.socket) -> None:
        host, _, port = self.upstream.rpartition(":")
        try:
            up_reader, up_writer = await asyncio.open_connection(host, int(port or 0))
        except OSError:
            return
        try:
            await self._join(up_reader, up_writer, connection)
        finally:
            up_writer.transport.abort()

    async def _join(
        self, up_reader: asyncio.StreamReader, up_writer: asyncio.StreamWriter, connection: socket.socket
    ) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        both = {writer, up_writer}
        self._writers |= both
        pipes = {
            asyncio.create_task(self._pipe(reader, up_writer, self._up)),
            asyncio.create_task(self._pipe(up_reader, writer, self._down)),
        }
        try:
            await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._writers -= both
            writer.transport.abort()
            for pipe in pipes:
                pipe.cancel()
            await asyncio.gather(*pipes, return_exceptions=True)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await gate.wait()
                writer.write(data)
                await writer.drain()
