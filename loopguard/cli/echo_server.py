"""A server of the same kind as the service that does nothing: what a message costs without loopguard."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import grpc
import grpc.aio
import uvloop

SERVICE = "loopguard.v1.LoopGuardService"


async def serve(answer: bytes) -> None:
    """Answer every message with the same bytes until SIGTERM."""

    async def handle(_requests: Any, context: Any) -> None:
        read, write = context.read, context.write
        while await read() is not grpc.aio.EOF:
            await write(answer)

    handler: Any = grpc.stream_stream_rpc_method_handler(handle)
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, {"Guard": handler, "GuardMany": handler}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"echo listening on 127.0.0.1:{port}\n")
    sys.stdout.flush()
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    await stopping.wait()
    await server.stop(None)


if __name__ == "__main__":
    uvloop.run(serve(bytes(int(sys.argv[1]))))
