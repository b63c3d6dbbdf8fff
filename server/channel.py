"""The private line between the parent process and a worker: JSON messages with their sizes before them."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import socket

_SIZE: Final = struct.Struct("!I")
#: What may wait to be sent before events are dropped: the other side must not be able to fill our memory.
_WAITING_BYTES: Final = 8 << 20

Message = dict[str, Any]


class Channel:
    """One end of the line."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Channel:
        """Use one end of a pair of sockets."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    @property
    def is_full(self) -> bool:
        """Whether the other side doesn't keep up."""
        return self._writer.transport.get_write_buffer_size() > _WAITING_BYTES

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message soon; nobody waits for it."""
        if not self._writer.is_closing():
            data = json.dumps({"kind": kind, **fields}).encode()
            self._writer.write(_SIZE.pack(len(data)) + data)

    async def receive(self) -> Message | None:
        """Wait for a message; `None` when the other side has gone."""
        try:
            (size,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
            message: Message = json.loads(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError):
            return None
        return message

    def close(self) -> None:
        """Hang up."""
        self._writer.close()
