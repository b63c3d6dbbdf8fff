"""The client for threads."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import grpc

from loopguard.client.homes import Homes
from loopguard.client.routing import Router
from loopguard.client.session import Phase, RunSession
from loopguard.client.settings import RunFace, Settings, refusal_of
from loopguard.errors import GuardUnavailable, InternalError, LoopguardError
from loopguard.model import CallBatch, Frame, History, Outcome, Signal, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from loopguard.model import Call, Record

_log = logging.getLogger("loopguard.client")


class GuardRun(RunFace):
    """One run, opened by `GuardClient.open_run`. Methods may be called from several threads."""

    def __init__(self, client: GuardClient, session: RunSession) -> None:
        self._client = client
        self._session = session

    @property
    def _stream(self) -> _Stream:
        stream = self._client._homes.of(self._session)
        if stream is None:
            raise self._session.error or GuardUnavailable(f"run `{self.run_id}` is closed")
        return stream

    def judge(self, calls: Sequence[Call]) -> list[Verdict]:
        """Ask about all calls of one model response before any of them runs; one verdict a call.

        Raises `InvalidFrame` for a batch that is refused and `RunRefused` for a run that is.
        """
        verdicts: list[Verdict] = self._exchange(CallBatch(list(calls)))
        return verdicts

    def check(self, calls: Sequence[Call]) -> list[Verdict]:
        """Ask the same without consequences."""
        verdicts: list[Verdict] = self._exchange(CallBatch(list(calls), dry_run=True))
        return verdicts

    def report(self, outcome: Outcome) -> Verdict:
        """Tell how a call ended; the answer may end the turn or the run."""
        verdict: Verdict = self._exchange(outcome)
        return verdict

    def record(self, history: History | Sequence[Record]) -> None:
        """Tell of calls that already happened."""
        self._exchange(history if isinstance(history, History) else History(list(history)))

    def user_message(self) -> None:
        """Tell that the user wrote."""
        self._exchange(Signal.USER_MESSAGE)

    def compaction_retry(self) -> None:
        """Tell that the run retries after a compaction."""
        self._exchange(Signal.COMPACTION_RETRY)

    def close(self) -> None:
        """End the run; does nothing when it is over already."""
        if self._session.phase is not Phase.OVER:
            with contextlib.suppress(GuardUnavailable):
                self._exchange(Signal.CLOSE)
        self._client._let_go(self._session)

    def _exchange(self, frame: Frame) -> Any:
        settings, stream = self._client._settings, self._stream
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        with stream.changed:
            entry = self._session.submit(frame, future)
            # All streams among which runs move have one lock.
            stream = self._client._homes.of(self._session) or stream
            stream.link.touch(self._session)
            stream.changed.notify_all()
            patience_s = settings.patience_s(stream.link, self._session, frame)
        with contextlib.suppress(TimeoutError):
            future.result(patience_s)
        with stream.changed:
            # Only now, since an answer may have come between the end of the wait and the lock.
            return settings.settle(self._session, entry, future)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class GuardClient:
    """A client for threads. See `AsyncGuardClient` for asyncio; both take the same arguments."""

    def __init__(self, target: str | Sequence[str], **settings: Any) -> None:
        self._settings = Settings(target, **settings)
        # Taken while a stream's own lock is held, never the other way round.
        self._lock = threading.RLock()
        self._router = Router(self._settings.endpoints, time.monotonic)
        self._channels = self._settings.channels(grpc)
        #: The lock of all streams of many runs.
        self._shared_changed = threading.Condition()
        self._homes = Homes(self._router, self._make, many=self._settings.many)
        self._closed = False

    def open_run(self, run_id: str, **opening: Any) -> GuardRun:
        """Open a run. Raises `InvalidConfig` or `RunRefused`; a guard that is away is no error.

        `opening` takes `agent_id`, `parent_run_id`, `config` (the keys of `tools.loopDetection`), `mode`, `profile`,
        `digest_scheme`, and `resume` to take up a run that another client has left.
        """
        session = self._settings.session(run_id, **opening)
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        session.open_future = future
        stream = self._stream_for(session)
        try:
            with stream.changed:
                patience_s = self._settings.patience_s(stream.link, session)
            answer = future.result(patience_s)
        except TimeoutError:
            answer = None
        if isinstance(answer, LoopguardError):
            self._let_go(session)
            raise answer
        return GuardRun(self, session)

    def _stream_for(self, session: RunSession) -> _Stream:
        with self._lock:
            if self._closed:
                raise GuardUnavailable("the client is closed")
            stream = self._homes.place(session)
        stream.add(session)
        return stream

    def _make(self, endpoint: str) -> _Stream:
        return _Stream(self, endpoint, self._shared_changed if self._settings.many else threading.Condition())

    def _move(self, sessions: Sequence[RunSession]) -> None:
        """Put runs where they belong now; called with the lock of the streams of many runs."""
        for session in sessions:
            with contextlib.suppress(GuardUnavailable):
                self._stream_for(session)

    def _let_go(self, session: RunSession) -> None:
        with self._lock:
            stream = self._homes.leave(session)
        if stream is None:
            return
        with stream.changed:
            session.end(GuardUnavailable(f"run `{session.request.run_id}` is closed"))
            stream.link.remove(session)
        if not self._settings.many:
            stream.close()

    def close(self) -> None:
        """Leave the guard; runs that were not closed stay there for resuming."""
        with self._lock:
            self._closed = True
            streams = self._homes.leave_all()
        for stream in streams:
            stream.close()
        for channel in self._channels:
            channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Stream:
    """A link with its thread: it reads, and begins anew when the stream is lost; gRPC's own thread writes.

    A stream of many runs has its `endpoint`; that of one run goes where the run belongs.
    """

    def __init__(self, client: GuardClient, endpoint: str, changed: threading.Condition) -> None:
        self.link = client._settings.link()
        #: Guards the link and its sessions; notified when there may be something to write, or when the stream closes.
        self.changed = changed
        self._client = client
        self._settings = client._settings
        self._router = client._router
        self._endpoint = endpoint
        self._closing = False
        self._call: Any = None
        self._thread = threading.Thread(target=self._run, name=f"loopguard {self._settings.target}", daemon=True)

    def add(self, session: RunSession) -> None:
        with self.changed:
            self.link.add(session)
            self.changed.notify_all()
            if self._thread.ident is None:
                self._thread.start()

    def close(self) -> None:
        with self.changed:
            self._closing = True
            self.changed.notify_all()
            call = self._call
        if self._thread.ident is not None:
            if self.link.finished:
                # The server ends the stream once it has seen ours end.
                self._thread.join(self._settings.close_s)
            if call is not None:
                call.cancel()
            self._thread.join()
        with self.changed:
            self.link.fail(GuardUnavailable("the client is closed"))

    def _run(self) -> None:
        try:
            while not self._closing and self._serve_somewhere():
                with self.changed:
                    self.changed.wait_for(lambda: self._closing, self.link.backoff.next_s())
        except Exception as failure:  # noqa: BLE001 - whoever waits has to be told, whatever it was
            _log.exception("the client's thread failed")
            with self.changed:
                self.link.fail(InternalError(f"the client's thread failed: {failure}"))

    def _serve_somewhere(self) -> bool:
        with self.changed, self._client._lock:
            if self.link.finished and not self._endpoint:
                return False
            endpoint = self._endpoint or self.link.seek(self._router)
        again = self._serve(endpoint)
        with self.changed, self._client._lock:
            self.link.tell(self._router, endpoint)
            if again and self._endpoint and self._router.several and self.link.lost_its_server:
                self._client._move(self.link.hand_over())
        return again

    def _serve(self, endpoint: str) -> bool:
        with self._client._lock:
            lane = self._client._channels.acquire(endpoint)
        try:
            return self._serve_over(lane.channel)
        finally:
            with self._client._lock:
                self._client._channels.release(lane, refused=self.link.crowded_out)

    def _serve_over(self, channel: grpc.Channel) -> bool:
        """Run one stream to its end; return whether to begin another one."""
        over = threading.Event()
        with self.changed:
            self.link.connected()
            metadata = (*self._settings.metadata, *self.link.metadata)
            method: Any = channel.stream_stream(self._settings.method)
            self._call = call = method(self._messages(over), metadata=metadata)
            self.changed.notify_all()
        try:
            for data in call:
                with self.changed:
                    self.link.receive(data)
                    self._client._move(self.link.take_moving())
                    self.changed.notify_all()
                    if self.link.wants_stream:
                        break
            refusal = None
        except grpc.RpcError as error:
            refusal = refusal_of(error.code(), error.details(), error.trailing_metadata())
        finally:
            with self.changed:
                over.set()
                self.changed.notify_all()
            call.cancel()
        with self.changed:
            again = True
            if refusal is not None:
                again = self.link.ended(refusal)
            elif not self.link.finished:
                self.link.lost()
            return again and not self.link.finished

    def _messages(self, over: threading.Event) -> Iterator[bytes]:
        while True:
            with self.changed:
                message = None
                while not over.is_set():
                    message = self.link.take()
                    if message is not None or self._closing or self.link.finished:
                        break
                    self.changed.wait()
            if message is None:
                return
            yield message
