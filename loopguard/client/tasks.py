"""The client for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Self

import grpc
import grpc.aio

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

    def __init__(self, client: AsyncGuardClient, stream: _Stream, session: RunSession) -> None:
        self._client = client
        self._stream = stream
        self._session = session

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
        await self._client._let_go(self._stream, self._session)

    async def _exchange(self, frame: Frame) -> Any:
        settings, stream = self._client._settings, self._stream
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        entry = self._session.submit(frame, future)
        stream.touch(self._session)
        patience_s = settings.patience_s(stream.link, self._session, frame)
        failure: GuardUnavailable | None = None
        await _settled(future, patience_s)
        if future.done():
            answer = future.result()
            if not isinstance(answer, LoopguardError):
                return answer
            if not isinstance(answer, GuardUnavailable):
                raise answer
            failure = answer
        return settings.decide(self._session, entry, failure)

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

    def __init__(self, target: str, **settings: Any) -> None:
        self._settings = made = Settings(target, **settings)
        self._streams: set[_Stream] = set()
        self._shared: _Stream | None = None
        self._closed = False
        if made.credentials is None:
            self._channel = grpc.aio.insecure_channel(made.target, options=made.options)
        else:
            self._channel = grpc.aio.secure_channel(made.target, made.credentials, options=made.options)

    async def open_run(self, run_id: str, **opening: Any) -> AsyncGuardRun:
        """Open a run; see `GuardClient.open_run`. The result is an asynchronous context manager too."""
        session = self._settings.session(run_id, **opening)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        session.open_future = future
        stream = self._stream_for(session)
        await _settled(future, self._settings.patience_s(stream.link, session))
        answer = future.result() if future.done() else None
        if isinstance(answer, LoopguardError):
            await self._let_go(stream, session)
            raise answer
        return AsyncGuardRun(self, stream, session)

    def _stream_for(self, session: RunSession) -> _Stream:
        if self._closed:
            raise GuardUnavailable("the client is closed")
        stream = self._shared if self._settings.many else None
        if stream is None:
            stream = _Stream(self._channel, self._settings)
            self._streams.add(stream)
            if self._settings.many:
                self._shared = stream
        stream.add(session)
        return stream

    async def _let_go(self, stream: _Stream, session: RunSession) -> None:
        session.end(GuardUnavailable(f"run `{session.request.run_id}` is closed"))
        stream.link.remove(session)
        if not self._settings.many:
            self._streams.discard(stream)
            await stream.close()

    async def close(self) -> None:
        """Leave the guard; runs that were not closed stay there for resuming."""
        self._closed = True
        streams, self._streams = self._streams, set()
        for stream in streams:
            await stream.close()
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Stream:
    """A link with its tasks: one reads and begins anew when the stream is lost, one writes."""

    def __init__(self, channel: grpc.aio.Channel, settings: Settings) -> None:
        self.link = settings.link()
        self._settings = settings
        self._open: Any = channel.stream_stream(settings.method)
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
            while not self._closing.is_set() and await self._serve():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), self.link.backoff.next_s())
        except Exception as failure:  # noqa: BLE001 - whoever waits has to be told, whatever it was
            _log.exception("the client's task failed")
            self.link.fail(InternalError(f"the client's task failed: {failure}"))

    async def _serve(self) -> bool:
        """Run one stream to its end; return whether to begin another one."""
        self.link.connected()
        self._changed.set()
        call = self._open(metadata=(*self._settings.metadata, *self.link.metadata))
        writing = asyncio.create_task(self._write(call))
        refusal = None
        try:
            while (data := await call.read()) is not grpc.aio.EOF:
                self.link.receive(data)
                self._changed.set()
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
