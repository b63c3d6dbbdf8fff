"""The client for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio

from loopguard.client.homes import Homes
from loopguard.client.routing import Router
from loopguard.client.session import Phase, RunSession
from loopguard.client.settings import RunFace, Settings, refusal_of
from loopguard.errors import GuardUnavailable, InternalError, LoopguardError
from loopguard.model import CallBatch, Frame, History, Outcome, Signal, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from loopguard.model import Call, Record

_log = logging.getLogger("loopguard.client")


class AsyncGuardRun(RunFace):
    """One run, opened by `AsyncGuardClient.open_run`. Methods may be called by several tasks of one loop."""

    def __init__(self, client: AsyncGuardClient, session: RunSession) -> None:
        self._client = client
        self._session = session

    @property
    def _stream(self) -> _Stream:
        stream = self._client._homes.of(self._session)
        if stream is None:
            raise self._session.error or GuardUnavailable(f"run `{self.run_id}` is closed")
        return stream

    async def judge(self, calls: Sequence[Call]) -> list[Verdict]:
        """Ask about all calls of one model response before any of them runs; one verdict a call.

        Raises `InvalidFrame` for a batch that is refused and `RunRefused` for a run that is.
        """
        verdicts: list[Verdict] = await self._exchange(CallBatch(list(calls)))
        return verdicts

    async def check(self, calls: Sequence[Call]) -> list[Verdict]:
        """Ask the same without consequences."""
        verdicts: list[Verdict] = await self._exchange(CallBatch(list(calls), dry_run=True))
        return verdicts

    async def report(self, outcome: Outcome) -> Verdict:
        """Tell how a call ended; the answer may end the turn or the run."""
        verdict: Verdict = await self._exchange(outcome)
        return verdict

    async def record(self, history: History | Sequence[Record]) -> None:
        """Tell of calls that already happened."""
        await self._exchange(history if isinstance(history, History) else History(list(history)))

    async def user_message(self) -> None:
        """Tell that the user wrote."""
        await self._exchange(Signal.USER_MESSAGE)

    async def compaction_retry(self) -> None:
        """Tell that the run retries after a compaction."""
        await self._exchange(Signal.COMPACTION_RETRY)

    async def close(self) -> None:
        """End the run; does nothing when it is over already."""
        if self._session.phase is not Phase.OVER:
            with contextlib.suppress(GuardUnavailable):
                await self._exchange(Signal.CLOSE)
        await self._client._let_go(self._session)

    async def _exchange(self, frame: Frame) -> Any:
        settings = self._client._settings
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        entry = self._session.submit(frame, future)
        stream = self._stream
        stream.touch(self._session)
        await _settled(future, settings.patience_s(stream.link, self._session, frame))
        return settings.settle(self._session, entry, future)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _settled(future: asyncio.Future[Any], patience_s: float | None) -> None:
    """Wait until `future` is done, or `patience_s` seconds."""
    if patience_s == 0:
        # A caller that waits for nothing else would keep the loop from ever reaching the guard again.
        await asyncio.sleep(0)
    elif not future.done():
        await asyncio.wait((future,), timeout=patience_s)


class AsyncGuardClient:
    """A client for asyncio, to be made and used inside one loop; takes the arguments of `GuardClient`."""

    def __init__(self, target: str | Sequence[str], **settings: Any) -> None:
        self._settings = Settings(target, **settings)
        self._router = Router(self._settings.endpoints, time.monotonic)
        self._channels = self._settings.channels(grpc.aio)
        self._homes = Homes(self._router, lambda endpoint: _Stream(self, endpoint), many=self._settings.many)
        self._closed = False

    async def open_run(self, run_id: str, **opening: Any) -> AsyncGuardRun:
        """Open a run; see `GuardClient.open_run`. The result is an asynchronous context manager too."""
        session = self._settings.session(run_id, **opening)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        session.open_future = future
        stream = self._stream_for(session)
        await _settled(future, self._settings.patience_s(stream.link, session))
        answer = future.result() if future.done() else None
        if isinstance(answer, LoopguardError):
            await self._let_go(session)
            raise answer
        return AsyncGuardRun(self, session)

    def _stream_for(self, session: RunSession) -> _Stream:
        if self._closed:
            raise GuardUnavailable("the client is closed")
        stream = self._homes.place(session)
        stream.add(session)
        return stream

    def _move(self, sessions: Sequence[RunSession]) -> None:
        """Put runs where they belong now."""
        for session in sessions:
            self._stream_for(session)

    async def _let_go(self, session: RunSession) -> None:
        session.end(GuardUnavailable(f"run `{session.request.run_id}` is closed"))
        stream = self._homes.leave(session)
        if stream is None:
            return
        stream.link.remove(session)
        if not self._settings.many:
            await stream.close()

    async def close(self) -> None:
        """Leave the guard; runs that were not closed stay there for resuming."""
        self._closed = True
        for stream in self._homes.leave_all():
            await stream.close()
        for channel in self._channels:
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Stream:
    """A link with its tasks: one reads and begins anew when the stream is lost, one writes.

    A stream of many runs has its `endpoint`; that of one run goes where the run belongs.
    """

    def __init__(self, client: AsyncGuardClient, endpoint: str) -> None:
        self.link = client._settings.link()
        self._client = client
        self._settings = client._settings
        self._router = client._router
        self._endpoint = endpoint
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def add(self, session: RunSession) -> None:
        self.link.add(session)
        self._changed.set()
        if self._running is None:
            self._running = asyncio.create_task(self._run())

    def touch(self, session: RunSession) -> None:
        self.link.touch(session)
        self._changed.set()

    async def close(self) -> None:
        self._closing.set()
        self._changed.set()
        if self._running is not None:
            if self.link.finished:
                # The server ends the stream once it has seen ours end.
                await asyncio.wait((self._running,), timeout=self._settings.close_s)
            self._running.cancel()
            await asyncio.wait((self._running,))
        self.link.fail(GuardUnavailable("the client is closed"))

    async def _run(self) -> None:
        try:
            while not self._closing.is_set() and await self._serve_somewhere():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), self.link.backoff.next_s())
        except Exception as failure:  # noqa: BLE001 - whoever waits has to be told, whatever it was
            _log.exception("the client's task failed")
            self.link.fail(InternalError(f"the client's task failed: {failure}"))

    async def _serve_somewhere(self) -> bool:
        endpoint = self._endpoint or self.link.seek(self._router)
        again = await self._serve(endpoint)
        self.link.tell(self._router, endpoint)
        self._client._move(self.link.take_moving())
        if again and self._endpoint and self._router.several and self.link.lost_its_server:
            self._client._move(self.link.hand_over())
        return again

    async def _serve(self, endpoint: str) -> bool:
        lane = self._client._channels.acquire(endpoint)
        try:
            return await self._serve_over(lane.channel)
        finally:
            self._client._channels.release(lane, refused=self.link.crowded_out)

    async def _serve_over(self, channel: grpc.aio.Channel) -> bool:
        """Run one stream to its end; return whether to begin another one."""
        self.link.connected()
        self._changed.set()
        method: Any = channel.stream_stream(self._settings.method)
        call = method(metadata=(*self._settings.metadata, *self.link.metadata))
        writing = asyncio.create_task(self._write(call))
        refusal = None
        try:
            while (data := await call.read()) is not grpc.aio.EOF:
                self.link.receive(data)
                self._changed.set()
                if self.link.moving:
                    self._client._move(self.link.take_moving())
                if self.link.wants_stream:
                    break
            else:
                code = await call.code()
                if code is not grpc.StatusCode.OK:
                    refusal = refusal_of(code, await call.details(), await call.trailing_metadata())
        except grpc.aio.AioRpcError as error:
            refusal = refusal_of(error.code(), error.details(), error.trailing_metadata())
        finally:
            writing.cancel()
            await asyncio.wait((writing,))
            call.cancel()
        if refusal is not None:
            return self.link.ended(refusal) and not self.link.finished
        if not self.link.finished:
            self.link.lost()
        return not self.link.finished

    async def _write(self, call: Any) -> None:
        # A stream that breaks tells the reader why; here it is only the end of writing.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while True:
                self._changed.clear()
                while (message := self.link.take()) is not None:
                    await call.write(message)
                if self.link.finished or self._closing.is_set():
                    await call.done_writing()
                    return
                await self._changed.wait()
