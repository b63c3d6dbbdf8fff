"""The four calls of the service, over raw bytes: a malformed message is answered here, not by gRPC."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, NoReturn

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from loopguard import answer_codec
from loopguard.errors import InvalidFrame, InvalidInput, Reason
from loopguard.fingerprints.masked import inspect_masked
from loopguard.model import DIGEST_SCHEME
from loopguard.v1 import guard_pb2 as pb

from .conversation import GuardConversation
from .limits import LimitExceeded
from .many_conversation import ManyConversation
from .status import StreamEnd
from .stream import Stream, Watching, abort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .access import Access
    from .limits import Limits
    from .sessions import Sessions
    from .tally import Tally
    from .tokens import Grant
    from .traces import Traces
    from .watch import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["LoopGuardService"].full_name

Context = grpc.aio.ServicerContext[bytes, bytes]

_EXPELLED = StreamEnd(Reason.UNAUTHENTICATED, "the token of this stream is no longer valid")
_SHUTTING_DOWN = StreamEnd(Reason.SHUTTING_DOWN, "the server is shutting down", retry_after_s=1)


class Servicer:
    """Takes streams in and knows which are open."""

    def __init__(
        self, sessions: Sessions, limits: Limits, access: Access, hub: Hub, tally: Tally, traces: Traces
    ) -> None:
        self._sessions = sessions
        self._access = access
        self._limits = limits
        self._hub = hub
        self._tally = tally
        self._traces = traces
        self._streams: set[Stream] = set()
        self._watching: set[Watching] = set()
        self._connections: dict[str, int] = {}
        self._draining = False
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def open_streams(self) -> int:
        """The number of streams open now."""
        return len(self._streams)

    async def emptied(self) -> None:
        """Wait until no stream is open."""
        await self._empty.wait()

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers to register."""
        return grpc.method_handlers_generic_handler(
            SERVICE,
            {
                "Guard": grpc.stream_stream_rpc_method_handler(self._guard),
                "GuardMany": grpc.stream_stream_rpc_method_handler(self._guard_many),
                "Fingerprint": grpc.unary_unary_rpc_method_handler(self._fingerprint),
                "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
            },
        )

    async def _guard(self, _requests: Any, context: Context) -> None:
        stream = await self._stream(context, "Guard")
        stream.conversation = GuardConversation(self._sessions, self._limits, stream.grant.tenant, stream)
        with self._traces.stream(SERVICE, "Guard", context.invocation_metadata() or ()):
            await self._serve(stream, context)

    async def _guard_many(self, _requests: Any, context: Context) -> None:
        stream = await self._stream(context, "GuardMany")
        stream.conversation = ManyConversation(self._sessions, self._limits, stream.grant.tenant, stream)
        with self._traces.stream(SERVICE, "GuardMany", context.invocation_metadata() or ()):
            await self._serve(stream, context)

    async def _stream(self, context: Context, rpc: str) -> Stream:
        return Stream(context, await self._admit(context), self._tally, self._tally.latencies[rpc])

    async def _admit(self, context: Context) -> Grant:
        try:
            return self._access.admit(context.invocation_metadata() or ())
        except StreamEnd as refused:
            await self._refuse(context, refused)

    async def _refuse(self, context: Context, end: StreamEnd) -> NoReturn:
        self._tally.refusals[end.reason.value] += 1
        await abort(context, end)

    def expel(self) -> int:
        """End the streams whose token is no longer known; return how many."""
        open_ones: set[Stream | Watching] = {*self._streams, *self._watching}
        expelled = [stream for stream in open_ones if not self._access.holds(stream.grant)]
        for stream in expelled:
            stream.end(_EXPELLED)
        return len(expelled)

    @contextlib.contextmanager
    def _counted(self, context: Context) -> Iterator[None]:
        """Count a stream of a connection. Raises `StreamEnd` if it may not be there."""
        if self._draining:
            raise _SHUTTING_DOWN
        peer = context.peer()
        streams = self._connections.get(peer, 0)
        # All connections over a socket file have one name.
        if streams >= self._limits.streams_per_connection and not peer.startswith("unix:"):
            message = f"this connection has {streams} streams, as many as it may"
            raise StreamEnd(Reason.LIMIT_EXCEEDED, message)
        self._connections[peer] = streams + 1
        try:
            yield
        finally:
            self._connections[peer] -= 1
            if not self._connections[peer]:
                del self._connections[peer]

    async def _serve(self, stream: Stream, context: Context) -> None:
        try:
            with self._counted(context):
                self._streams.add(stream)
                self._empty.clear()
                try:
                    await stream.serve()
                finally:
                    self._streams.discard(stream)
                    if not self._streams:
                        self._empty.set()
        except StreamEnd as end:
            await self._refuse(context, end)

    async def _fingerprint(self, data: bytes, context: Context) -> bytes:
        grant = await self._admit(context)
        try:
            self._sessions.charge(grant.tenant, 1)
        except LimitExceeded as refused:
            await self._refuse(context, StreamEnd(refused.reason, str(refused), retry_after_s=refused.retry_after_s))
        most = self._limits.message_bytes
        if len(data) > most:
            await self._refuse(context, StreamEnd(Reason.TOO_LARGE, f"a message of {len(data)} bytes; at most {most}"))
        try:
            request = pb.FingerprintRequest.FromString(data)
        except DecodeError:
            await self._refuse(context, StreamEnd(Reason.INVALID_FRAME, "a message that is no valid protobuf"))
        try:
            seen = inspect_masked(request.json, request.masks)
        except InvalidInput as mistake:
            await self._refuse(context, StreamEnd(Reason.INVALID_FRAME, str(mistake)))
        response = pb.FingerprintResponse(
            digest=seen.digest, flags=answer_codec.to_flags(seen.flags), digest_scheme=DIGEST_SCHEME
        )
        if request.include_canonical:
            response.canonical = seen.canonical
        return response.SerializeToString()

    async def _watch(self, data: bytes, context: Context) -> None:
        grant = await self._admit(context)
        try:
            request = pb.WatchRequest.FromString(data)
            with self._counted(context):
                watcher = self._hub.add(grant.tenant, request)
                watching = Watching(context, grant, watcher)
                self._watching.add(watching)
                try:
                    await watching.serve()
                finally:
                    self._watching.discard(watching)
                    self._hub.remove(grant.tenant, watcher)
        except DecodeError:
            await self._refuse(context, StreamEnd(Reason.INVALID_FRAME, "a message that is no valid protobuf"))
        except InvalidFrame as refused:
            await self._refuse(context, StreamEnd(refused.reason, str(refused)))
        except StreamEnd as end:
            await self._refuse(context, end)

    async def drain(self, grace_s: float) -> None:
        """Refuse new streams, tell the open ones, and end those that are still there after `grace_s` seconds."""
        self._draining = self._sessions.draining = True
        for stream in self._streams:
            stream.conversation.go_away(grace_s)
        try:
            await asyncio.wait_for(self.emptied(), grace_s)
        except TimeoutError:
            for stream in self._streams:
                stream.end(_SHUTTING_DOWN)
        for watching in self._watching:
            watching.end(_SHUTTING_DOWN)
