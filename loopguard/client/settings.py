"""What the clients for threads and for asyncio have in common."""

from __future__ import annotations

import contextlib
import random
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from loopguard import answer_codec
from loopguard.client.channels import STREAMS_PER_CHANNEL, Channels
from loopguard.client.link import Backoff, Link, State
from loopguard.client.session import BUFFER_BYTES, BUFFER_FRAMES, Phase, RunSession
from loopguard.errors import GuardUnavailable, LoopguardError
from loopguard.model import Frame, Mode, Opened, Refusal, RunOpen, Signal
from loopguard.v1 import guard_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import grpc

    from loopguard.client.outbox import Entry, Future

SERVICE: Final = pb.DESCRIPTOR.services_by_name["LoopGuardService"].full_name

#: How long a call may wait for its verdict.
DEADLINE_S: Final = 0.25
#: How long `close` waits for the guard where everything else waits forever.
CLOSE_S: Final = 5.0

OPTIONS: Final = (
    # Else all channels of this process to one endpoint would share a connection, which takes only so many streams.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # gRPC's own back-off goes up to two minutes; ours decides when to try again.
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.ping_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


class OnUnavailable(StrEnum):
    """What a client does when no guard answers in time."""

    ALLOW = "allow"
    BLOCK = "block"
    WAIT = "wait"


class Settings:
    """What both clients are made with."""

    def __init__(
        self,
        target: str | Sequence[str],
        *,
        deadline_s: float = DEADLINE_S,
        on_unavailable: OnUnavailable | str = OnUnavailable.ALLOW,
        many: bool = False,
        credentials: grpc.ChannelCredentials | None = None,
        metadata: Sequence[tuple[str, str]] = (),
        options: Sequence[tuple[str, Any]] = (),
        buffer_frames: int = BUFFER_FRAMES,
        buffer_bytes: int = BUFFER_BYTES,
        streams_per_channel: int = STREAMS_PER_CHANNEL,
        now: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random.random,
    ) -> None:
        """Name the guard, or the endpoints of several nodes: each run has its own, and moves when that is lost.

        `deadline_s` is how long a call may take before `on_unavailable` says what to do. With `many` all runs share one
        stream, which is what a gateway with many runs wants; without it a connection gets `streams_per_channel` streams
        before another one is opened, 16 connections to an endpoint at most.
        """
        self.endpoints = (target,) if isinstance(target, str) else tuple(target)
        if not self.endpoints:
            raise ValueError("a client needs an endpoint at least")
        if streams_per_channel < 1:
            raise ValueError(f"`streams_per_channel` must be at least 1, not {streams_per_channel}")
        self.target = self.endpoints[0]
        self.on_unavailable = OnUnavailable(on_unavailable)
        self.many = many
        self.metadata = tuple(metadata)
        self.method = f"/{SERVICE}/{'GuardMany' if many else 'Guard'}"
        self.credentials = credentials
        self.options = (*OPTIONS, *options)
        self.buffer_frames = buffer_frames
        self.buffer_bytes = buffer_bytes
        self.streams_per_channel = streams_per_channel
        self.now = now
        self.random = random
        self.deadline_s = None if self.on_unavailable is OnUnavailable.WAIT else deadline_s
        self.close_s = deadline_s if self.deadline_s is not None else CLOSE_S

    def session(
        self,
        run_id: str,
        *,
        agent_id: str = "",
        parent_run_id: str = "",
        config: Mapping[str, Any] | None = None,
        mode: Mode | str | None = None,
        profile: str = "",
        digest_scheme: int = 0,
        resume: bool = False,
    ) -> RunSession:
        """Begin a run's protocol. Raises `InvalidConfig` for a configuration that the wire can't carry."""
        request = RunOpen(
            run_id,
            agent_id=agent_id,
            parent_run_id=parent_run_id,
            config=None if config is None else dict(config),
            mode=Mode(mode) if mode else None,
            profile=profile,
            digest_scheme=digest_scheme,
            resume=resume,
        )
        return RunSession(
            request,
            now=self.now,
            many=self.many,
            buffer_frames=self.buffer_frames,
            buffer_bytes=self.buffer_bytes,
        )

    def channels(self, library: Any) -> Channels:
        """Return the connections of a client; `library` is `grpc` or `grpc.aio`."""

        def connect(endpoint: str) -> Any:
            if self.credentials is None:
                return library.insecure_channel(endpoint, options=self.options)
            return library.secure_channel(endpoint, self.credentials, options=self.options)

        return Channels(connect, self.streams_per_channel)

    def link(self) -> Link:
        """Return the link of a new stream."""
        return Link(
            many=self.many,
            patient=self.on_unavailable is OnUnavailable.WAIT,
            backoff=Backoff(self.random),
            endpoints=len(set(self.endpoints)),
        )

    def patience_s(self, link: Link, session: RunSession, frame: Frame | None = None) -> float | None:
        """Return how long to wait for an answer, `None` for ever, 0 where there is no hope."""
        if frame is Signal.CLOSE:
            return self.close_s if session.phase is Phase.OPEN or self.deadline_s is None else 0
        if self.deadline_s is not None and (session.late or (link.state is State.DOWN and session.phase is Phase.AWAY)):
            return 0
        return self.deadline_s

    def settle(self, session: RunSession, entry: Entry, future: Future) -> Any:
        """Return what answers a frame, after as long a wait as `patience_s` says; without an answer it is decided here.

        Raises the guard's refusal, or why nothing may be decided here.
        """
        answer = future.result() if future.done() else None
        if isinstance(answer, GuardUnavailable):
            if self.on_unavailable is OnUnavailable.WAIT:
                raise answer
        elif isinstance(answer, LoopguardError):
            raise answer
        elif future.done():
            return answer
        else:
            # What wasn't answered in time is no reason to wait as long for the next one.
            session.late = True
        return session.decide(entry, block=self.on_unavailable is OnUnavailable.BLOCK)


def refusal_of(code: grpc.StatusCode, details: str | None, trailer: Any) -> Refusal:
    """Return how a stream ended; `trailer` is its trailing metadata."""
    for name, value in trailer or ():
        if name == answer_codec.STATUS_TRAILER:
            with contextlib.suppress(DecodeError):
                return answer_codec.decode_status(value)
    return Refusal(code.value[0], code.name, details or "")


class RunFace:
    """What both kinds of run tell about themselves."""

    _session: RunSession

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._session.request.run_id

    @property
    def opened(self) -> Opened | None:
        """The guard's newest `Opened`; `None` while it was never reached."""
        return self._session.opened

    @property
    def decided_unavailable(self) -> int:
        """How many calls were decided here because the guard was away."""
        return self._session.decided
