"""One open stream between gRPC and a conversation."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import grpc.aio

from loopguard._intake import Writing
from loopguard.answer_codec import STATUS_TRAILER

from .status import StreamEnd

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from loopguard._intake import Latencies

    from .tally import Tally
    from .tokens import Grant
    from .watch import Watcher


class Conversation(Protocol):
    """What a stream does with its messages."""

    def receive(self, data: bytes) -> bytes | Awaitable[bytes | None] | None:
        """Take a message and return its answer, or what to wait for; `None` if the answer is said later.

        Raises `StreamEnd` where the stream has to end.
        """

    def go_away(self, grace_s: float) -> None:
        """Tell the client that the server will shut down."""

    async def finish(self) -> None:
        """Wait until all that was taken is answered."""

    def release(self) -> None:
        """Let go of all runs; the stream is over."""


class Stream:
    """One open stream: its answers, and between them what the server says by itself."""

    def __init__(
        self, context: grpc.aio.ServicerContext[bytes, bytes], grant: Grant, tally: Tally, latencies: Latencies
    ) -> None:
        self._context = context
        self.grant = grant
        self._tally = tally
        self._latencies = latencies
        # gRPC allows one write at a time, and two tasks write here: while one does, the other one waits.
        self._writing = Writing(context.write)
        self._said: deque[tuple[bytes, StreamEnd | None]] = deque()
        self._saying: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._over = False
        self.conversation: Conversation

    async def serve(self) -> None:
        """Answer messages until the client closes its side or the stream has to end."""
        # Typed loosely: to the stubs, `EOF` is no result of `read`.
        read: Any = self._context.read
        receive, begin, over = self.conversation.receive, self._writing.begin, self._writing.over
        clock, spent, eof = time.perf_counter, self._latencies.add, grpc.aio.EOF
        try:
            while (data := await read()) is not eof and not self._over:
                begun = clock()
                answer = receive(data)
                if answer is not None and not isinstance(answer, bytes):
                    answer = await answer
                if answer is None:
                    continue
                spent(clock() - begun)
                # A client that doesn't read holds up its own next answer here.
                if not over() or self._saying is not None:
                    await self._silence()
                begin(answer)
            if not self._over:
                await self.conversation.finish()
            await self._silence()
        except StreamEnd as end:
            self._tally.refusals[end.reason.value] += 1
            await self._silence()
            await abort(self._context, end)
        finally:
            self.conversation.release()

    async def _written(self) -> None:
        """Wait until the last write of an answer is done."""
        while not self._writing.over():
            future = self._writing.future
            assert future is not None
            # Not the future itself: to be cancelled while waiting for it would cancel it for the other task as well.
            await asyncio.wait((future,))

    async def _silence(self) -> None:
        """Wait until nobody writes."""
        while self._saying is not None or not self._writing.over():
            await (self._saying or self._written())

    def say(self, message: bytes, end: StreamEnd | None = None) -> None:
        """Send a message soon, then end the stream if `end` is given."""
        self._said.append((message, end))
        if self._saying is None:
            self._saying = asyncio.create_task(self._say_all())

    def end(self, end: StreamEnd) -> None:
        """End the stream soon, and take no message before that."""
        self._over = True
        # At once, also where a write waits for a client that doesn't read.
        self._ending = asyncio.create_task(self._abort(end))

    async def _say_all(self) -> None:
        try:
            await self._written()
            while self._said:
                message, end = self._said.popleft()
                if message:
                    await self._context.write(message)
                if end is not None:
                    await self._abort(end)
        except grpc.aio.BaseError:
            # The client has gone meanwhile.
            return
        finally:
            self._saying = None

    async def _abort(self, end: StreamEnd) -> None:
        self._tally.refusals[end.reason.value] += 1
        # A write that is done has yet to tell gRPC so, which would else begin the answer a second time.
        self._writing.over()
        # The client may have gone meanwhile; else this is how gRPC says that the stream has been ended as asked.
        with contextlib.suppress(grpc.aio.BaseError):
            await abort(self._context, end)


class Watching:
    """One open stream of `Watch`."""

    def __init__(self, context: grpc.aio.ServicerContext[bytes, bytes], grant: Grant, watcher: Watcher) -> None:
        self._context = context
        self.grant = grant
        self._watcher = watcher
        self._end: StreamEnd | None = None
        self._serving: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Write events until the client goes. Raises `StreamEnd` or `InvalidFrame` where the stream has to end."""
        self._serving = asyncio.create_task(self._write())
        try:
            await self._serving
        except asyncio.CancelledError:
            if self._end is None:
                raise
            raise self._end from None
        finally:
            self._serving.cancel()

    async def _write(self) -> None:
        announced = await self._watcher.begin()
        # Tells the client that from now on nothing is missed.
        await self._context.send_initial_metadata(())
        if announced:
            await self._context.write(announced)
        while True:
            await self._context.write(await self._watcher.next())

    def end(self, end: StreamEnd) -> None:
        """End the stream, also where the client doesn't read."""
        self._end = end
        if self._serving is not None:
            self._serving.cancel()


async def abort(context: grpc.aio.ServicerContext[Any, Any], end: StreamEnd) -> NoReturn:
    """End a call with a status and its details; always raises gRPC's own `AbortError`."""
    await context.abort(end.code, str(end), ((STATUS_TRAILER, end.status.SerializeToString()),))
    raise end
