"""One stream between a client that reads when it likes and a conversation: who writes when."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import grpc.aio
import pytest
from loopguard.server.status import StreamEnd
from loopguard.server.stream import Stream
from loopguard.server.tally import Tally

from loopguard.errors import Reason


class Client:
    """Stands in for gRPC: what is sent, and writes that end when the client reads."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()
        self.waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self.got: list[bytes] = []
        self.status: Any = None

    async def read(self) -> Any:
        return await self.sent.get()

    async def write(self, message: bytes) -> None:
        assert not self.waiting, "two writes at a time"
        taken = asyncio.get_running_loop().create_future()
        self.waiting.append((message, taken))
        await taken
        self.got.append(message)

    async def abort(self, code: Any, *_: Any) -> None:
        self.status = code
        raise grpc.aio.AbortError

    async def takes(self, failure: Exception | None = None) -> None:
        await settle()
        _, taken = self.waiting.pop()
        if failure is None:
            taken.set_result(None)
        else:
            taken.set_exception(failure)
        await settle()


class Echo:
    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.released = False

    def receive(self, data: bytes) -> bytes:
        if data == b"bad":
            raise StreamEnd(Reason.INVALID_FRAME, "no frame")
        self.seen.append(data)
        return b"to " + data

    async def finish(self) -> None:
        """Have nothing to wait for."""

    def release(self) -> None:
        self.released = True


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def serving() -> tuple[Client, Echo, Any, asyncio.Task[None]]:
    client, echo, tally = Client(), Echo(), Tally()
    stream: Any = Stream(client, SimpleNamespace(tenant=""), tally, tally.latencies["Guard"])  # type: ignore[arg-type]  # they stand in
    stream.conversation = echo
    return client, echo, stream, asyncio.create_task(stream.serve())


async def test_the_next_message_is_waited_for_while_an_answer_is_written() -> None:
    client, echo, _, task = serving()
    for message in (b"a", b"b", b"c"):
        client.sent.put_nowait(message)
    await settle()

    seen = [list(echo.seen)]
    for _ in range(3):
        await client.takes()
        seen.append(list(echo.seen))
    client.sent.put_nowait(grpc.aio.EOF)
    await task

    # One message is judged ahead of a client that doesn't read, and no more.
    assert seen == [[b"a", b"b"], [b"a", b"b", b"c"], [b"a", b"b", b"c"], [b"a", b"b", b"c"]]
    assert client.got == [b"to a", b"to b", b"to c"]


async def test_what_is_said_waits_for_the_answer_before_it() -> None:
    client, echo, stream, task = serving()
    client.sent.put_nowait(b"a")
    await settle()

    stream.say(b"said")
    stream.say(b"again")
    client.sent.put_nowait(b"b")
    for _ in range(4):
        await client.takes()
    client.sent.put_nowait(grpc.aio.EOF)
    await task

    assert client.got == [b"to a", b"said", b"again", b"to b"]
    assert echo.released


async def test_what_is_said_while_nothing_is_asked_comes_at_once() -> None:
    client, _, stream, task = serving()
    client.sent.put_nowait(b"a")
    await client.takes()

    stream.say(b"said")
    await client.takes()
    client.sent.put_nowait(grpc.aio.EOF)
    await task

    assert client.got == [b"to a", b"said"]


async def test_the_last_answer_is_written_before_a_stream_ends() -> None:
    for last in (grpc.aio.EOF, b"bad"):
        client, _, _, task = serving()
        client.sent.put_nowait(b"a")
        client.sent.put_nowait(last)
        await settle()

        ended = [task.done()]
        await client.takes()
        ended.append(task.done())

        assert ended == [False, True]
        assert client.got == [b"to a"]
        assert (client.status is None) == (last is grpc.aio.EOF)
        assert isinstance(task.exception(), grpc.aio.AbortError | None)


async def test_a_write_that_fails_ends_the_stream() -> None:
    client, echo, _, task = serving()
    client.sent.put_nowait(b"a")
    await client.takes(grpc.aio.BaseError("gone"))
    client.sent.put_nowait(b"b")

    with pytest.raises(grpc.aio.BaseError, match="gone"):
        await task

    assert (client.got, echo.released) == ([], True)


async def test_a_stream_cancelled_behind_a_slow_reader_leaves_what_is_said_its_turn() -> None:
    client, echo, stream, task = serving()
    for message in (b"a", b"b"):
        client.sent.put_nowait(message)
    await settle()
    stream.say(b"said")
    await settle()

    task.cancel()
    await settle()
    await client.takes()
    await client.takes()

    assert task.cancelled()
    assert client.got == [b"to a", b"said"]
    assert echo.released
