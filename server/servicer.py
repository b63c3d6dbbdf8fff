"""The four calls of the service, over raw bytes: a malformed message is answered here, not by gRPC."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from loopguard import answer_codec
from loopguard.answer_codec import STATUS_TRAILER
from loopguard.errors import InvalidInput, Reason
from loopguard.fingerprint.masked import inspect_masked
from loopguard.model import DIGEST_SCHEME
from loopguard.v1 import guard_pb2 as pb

from .conversation import GuardConversation, ManyConversation
from .limits import LimitExceeded
from .status import StreamEnd

if TYPE_CHECKING:
    from .access import Access
    from .limits import Limits
    from .sessions import Sessions
    from .tokens import Grant

SERVICE = pb.DESCRIPTOR.services_by_name["LoopGuardService"].full_name


class Conversation(Protocol):
    """What a stream does with its messages."""

    def receive(self, data: bytes) -> bytes:
        """Take a message and return its answer; raise `StreamEnd` where the stream has to end."""

    def go_away(self, grace_s: float) -> None:
        """Tell the client that the server will shut down."""

    def release(self) -> None:
        """Let go of all runs; the stream is over."""


class Stream:
    """One open stream: its answers, and between them what the server says by itself."""

    def __init__(self, context: grpc.aio.ServicerContext[bytes, bytes], grant: Grant) -> None:
        self._context = context
        self.grant = grant
        # gRPC allows one write at a time, and two tasks write here.
        self._writing = asyncio.Lock()
        self._saying: set[asyncio.Task[None]] = set()
        self._over = False
        self.conversation: Conversation

    async def serve(self) -> None:
        """Answer messages until the client closes its side or the stream has to end."""
        # Typed loosely: to the stubs, `EOF` is no result of `read`.
        read: Any = self._context.read
        write, receive = self._context.write, self.conversation.receive
        try:
            while (data := await read()) is not grpc.aio.EOF and not self._over:
                answer = receive(data)
                async with self._writing:
                    await write(answer)
            for saying in list(self._saying):
                await saying
        except StreamEnd as end:
            await abort(self._context, end)
        finally:
            self.conversation.release()

    def say(self, message: bytes, end: StreamEnd | None = None) -> None:
        """Send a message soon, then end the stream if `end` is given."""
        saying = asyncio.create_task(self._say(message, end))
        self._saying.add(saying)
        saying.add_done_callback(self._saying.discard)

    def end(self, end: StreamEnd) -> None:
        """End the stream soon, and take no message before that."""
        self._over = True
        self.say(b"", end)

    async def _say(self, message: bytes, end: StreamEnd | None) -> None:
        try:
            if message:
                async with self._writing:
                    await self._context.write(message)
            if end is not None:
                await abort(self._context, end)
        except grpc.aio.BaseError:
            # The client has gone meanwhile, or the stream has just been ended as asked.
            return


async def abort(context: grpc.aio.ServicerContext[Any, Any], end: StreamEnd) -> None:
    """End a call with a status and its details; always raises gRPC's own `AbortError`."""
    await context.abort(end.code, str(end), ((STATUS_TRAILER, end.status.SerializeToString()),))


class Servicer:
    """Takes streams in and knows which are open."""

    def __init__(self, sessions: Sessions, limits: Limits, access: Access) -> None:
        self._sessions = sessions
        self._access = access
        self._limits = limits
        self._streams: set[Stream] = set()
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

    async def _guard(self, _requests: Any, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        stream = Stream(context, await self._admit(context))
        stream.conversation = GuardConversation(self._sessions, self._limits, stream.grant.tenant, stream)
        await self._serve(stream, context)

    async def _guard_many(self, _requests: Any, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        stream = Stream(context, await self._admit(context))
        stream.conversation = ManyConversation(self._sessions, self._limits, stream.grant.tenant, stream)
        await self._serve(stream, context)

    async def _admit(self, context: grpc.aio.ServicerContext[bytes, bytes]) -> Grant:
        try:
            return self._access.admit(context.invocation_metadata() or ())
        except StreamEnd as refused:
            await abort(context, refused)
            raise

    def expel(self) -> int:
        """End the streams whose token is no longer known; return how many."""
        expelled = [stream for stream in self._streams if not self._access.holds(stream.grant)]
        for stream in expelled:
            stream.end(StreamEnd(Reason.UNAUTHENTICATED, "the token of this stream is no longer valid"))
        return len(expelled)

    async def _serve(self, stream: Stream, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        if self._draining:
            await abort(context, StreamEnd(Reason.SHUTTING_DOWN, "the server is shutting down", retry_after_s=1))
        peer = context.peer()
        streams = self._connections.get(peer, 0)
        # All connections over a socket file have one name.
        if streams >= self._limits.streams_per_connection and not peer.startswith("unix:"):
            message = f"this connection has {streams} streams, as many as it may"
            await abort(context, StreamEnd(Reason.LIMIT_EXCEEDED, message))
        self._connections[peer] = streams + 1
        self._streams.add(stream)
        self._empty.clear()
        try:
            await stream.serve()
        finally:
            self._streams.discard(stream)
            self._connections[peer] -= 1
            if not self._connections[peer]:
                del self._connections[peer]
            if not self._streams:
                self._empty.set()

    async def _fingerprint(self, data: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        grant = await self._admit(context)
        try:
            self._sessions.charge(grant.tenant, 1)
        except LimitExceeded as refused:
            await abort(context, StreamEnd(refused.reason, str(refused), retry_after_s=refused.retry_after_s))
        try:
            request = pb.FingerprintRequest.FromString(data)
        except DecodeError:
            await abort(context, StreamEnd(Reason.INVALID_FRAME, "a message that is no valid protobuf"))
        try:
            seen = inspect_masked(request.json, request.masks)
        except InvalidInput as mistake:
            await abort(context, StreamEnd(Reason.INVALID_FRAME, str(mistake)))
        response = pb.FingerprintResponse(
            digest=seen.digest, flags=answer_codec.to_flags(seen.flags), digest_scheme=DIGEST_SCHEME
        )
        if request.include_canonical:
            response.canonical = seen.canonical
        return response.SerializeToString()

    async def _watch(self, _data: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        await abort(context, StreamEnd(Reason.UNIMPLEMENTED, "Watch is not built yet"))

    async def drain(self, grace_s: float) -> None:
        """Refuse new streams, tell the open ones, and end those that are still there after `grace_s` seconds."""
        self._draining = True
        for stream in self._streams:
            stream.conversation.go_away(grace_s)
        try:
            await asyncio.wait_for(self.emptied(), grace_s)
        except TimeoutError:
            end = StreamEnd(Reason.SHUTTING_DOWN, "the server is shutting down", retry_after_s=1)
            for stream in self._streams:
                stream.end(end)
