"""A server with all that belongs to it: what it listens on, what it reads anew, what it forgets."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # has no stubs
from grpc_reflection.v1alpha import reflection  # type: ignore[import-untyped]  # has no stubs

import loopguard
from loopguard.engine import Engine
from loopguard.store import open_store

from .access import Access
from .addresses import is_socket_file, probe_address
from .admin import Admin
from .certificates import Certificates
from .exposure import is_local
from .keeper import open_keeper
from .limits import GRPC_HEADROOM_BYTES, GRPC_HEADROOM_STREAMS
from .metrics import build_registry
from .reload import Reloader
from .servicer import SERVICE, Servicer
from .sessions import Sessions
from .sources import Sources, parts_of
from .tally import Tally
from .traces import open_traces
from .watch import Hub

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loopguard.config import Configuration
    from loopguard.events import Event

    from .certificates import Certificate
    from .reload import Seen
    from .settings import Settings
    from .tally import Sample
    from .tokens import Tokens
    from .traces import Traces

_log = logging.getLogger("loopguard.server")

#: After the streams were ended, how long gRPC may take to say so to the clients.
_FLUSH_S = 1.0
#: How often runs are looked through for those that are kept too long, as a part of that time.
_SWEEPS_PER_TTL = 10


class AddressUnavailable(OSError):
    """The address can't be listened on."""


def unavailable(address: str, mistake: Exception) -> AddressUnavailable:
    """Return what to raise where the system, or gRPC, can't listen."""
    said = mistake.strerror if isinstance(mistake, OSError) else None
    return AddressUnavailable(f"can't listen on {address}: {said or mistake}")


def tell_guards(configuration: Configuration) -> None:
    """Log which guards are on and why."""
    effective = configuration.effective()
    state = {True: "on", False: "off", None: "off (not set)"}[effective.enabled]
    _log.info(
        "guards",
        extra={
            "rolling_detectors": state,
            "post_compaction_guard": "off" if effective.enabled is False else "on",
            "identical_error_guard": "on",
            "because": configuration.source,
        },
    )


def check(settings: Settings, configuration: Configuration) -> Sources:
    """Read what a service would read, and return it. Raises `InvalidConfig` for all that a service would refuse."""
    Engine(configuration, history_limit=settings.history_size)
    sources = Sources.read(settings, configuration)
    open_store(settings.store, ttl_s=settings.run_ttl_s, clock=time.time)
    open_traces(settings.traces).stop()
    return sources


def open_admin(address: str, samples: Callable[[], list[Sample]], healthy: Callable[[], bool]) -> Admin:
    """Serve metrics and health over HTTP. Raises `AddressUnavailable`."""
    try:
        admin = Admin(address, build_registry(samples), healthy)
    except OSError as mistake:
        raise unavailable(address, mistake) from None
    admin.start()
    _log.info("metrics", extra={"address": admin.address})
    return admin


class Service:
    """A server with all that belongs to it."""

    def __init__(
        self,
        settings: Settings,
        configuration: Configuration,
        *,
        now: Callable[[], float] = time.monotonic,
        clock: Callable[[], float] = time.time,
        shares_port: bool = False,
        traces: Traces | None = None,
        sources: Sources | None = None,
        seen: Sequence[Seen] = (),
    ) -> None:
        """Read what `sources` doesn't bring, whose files looked as `seen` when they were read."""
        limits = settings.limits()
        self._settings = settings
        self._shares_port = shares_port
        # Looked at before they are read, so that no change is missed.
        self._parts = parts_of(settings, self._configure, self._use_tokens, self._use_certificate)
        for part, looked in zip(self._parts, seen, strict=False):
            part.seen = looked
        sources = sources or Sources.read(settings, configuration)
        self.tally = Tally()
        self.hub = Hub(self.tally, clock, limits.watch_events)
        self._traces = traces or open_traces(settings.traces)
        self._engine = Engine(configuration, now=now, on_event=self._tell_finding, history_limit=limits.history_size)
        self._access = Access(sources.tokens)
        self._certificates: Certificates | None = None
        if sources.certificate is not None:
            self._certificates = Certificates(sources.certificate, wants_client=settings.tls_client_ca is not None)
        self.sessions = Sessions(
            self._engine, limits, self.hub, self.tally, now=now, version=loopguard.__version__, clock=clock
        )
        self._keeper = open_keeper(settings, self.sessions, self.tally, now=now, clock=clock)
        self.servicer = Servicer(self.sessions, limits, self._access, self.hub, self.tally, self._traces)
        self._server = grpc.aio.server(options=channel_options(settings, shares_port=shares_port))
        self._server.add_generic_rpc_handlers((self.servicer.handlers(),))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (SERVICE, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME),
            self._server,
        )
        self._reloader = Reloader(self._parts, self._reloaded)
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving = False
        self._admin: Admin | None = None

    def _use_tokens(self, tokens: Tokens) -> None:
        self._access.use(tokens)
        ended = self.servicer.expel()
        if ended:
            _log.info("tokens removed", extra={"streams_ended": ended})

    def _use_certificate(self, certificate: Certificate) -> None:
        assert self._certificates is not None
        self._certificates.use(certificate)

    def _configure(self, configuration: Configuration) -> None:
        before = self._engine.configuration
        self._engine.configure(configuration)
        for key in ("server", "store"):
            if getattr(configuration, key) != getattr(before, key):
                _log.warning("a restart is needed", extra={"because": f"`loopguard.{key}` has changed"})
        tell_guards(configuration)

    def _reloaded(self, what: str, well: bool) -> None:
        self.tally.reloads[what, "good" if well else "bad"] += 1

    def _tell_finding(self, event: Event) -> None:
        finding = event.finding
        told = {
            "run_id": event.run_id,
            "agent_id": event.agent_id,
            "call_id": event.call_id,
            "tool": event.tool,
            "action": event.action.value,
            "detector": finding.detector,
            "count": finding.count,
            "threshold": finding.threshold,
        }
        _log.log(logging.WARNING if event.log_level == "warning" else logging.ERROR, "finding", extra=told)
        self.hub.tell_finding(event)
        self._traces.tell_finding(event)

    def samples(self) -> list[Sample]:
        """Return what is counted and what is open now, by the names of the metrics."""
        tenants = tuple(self.sessions.tenants)
        now: list[Sample] = [
            ("loopguard_open_runs", (), len(self.sessions)),
            ("loopguard_interrupted_runs", (), sum(len(tenant.interrupted) for tenant in tenants)),
            ("loopguard_open_streams", (), self.servicer.open_streams),
            ("loopguard_watchers", (), len(self.hub)),
            ("loopguard_failures", (), self._engine.failures),
        ]
        if self._keeper is not None:
            now.append(("loopguard_store_up", (), int(self._keeper.up)))
            now.append(("loopguard_store_dirty_runs", (), len(self._keeper)))
        if self._certificates is not None:
            now.append(("loopguard_certificate_expiry_seconds", (), self._certificates.current.expires_at))
        return self.tally.samples() + now

    @property
    def metrics_address(self) -> str:
        """Where metrics are to be had, with the port in use; empty where they are not."""
        return self._admin.address if self._admin is not None else ""

    @property
    def serving(self) -> bool:
        """Whether clients may come."""
        return self._serving

    async def reload(self) -> None:
        """Read the configuration, tokens and certificates anew."""
        await self._reloader.reload()

    def reload_soon(self) -> None:
        """Do that without being waited for."""
        task = asyncio.create_task(self.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def start(self) -> str:
        """Listen, and return the address with the port in use. Raises `AddressUnavailable`."""
        wanted = self._settings.address
        try:
            if not self._shares_port:
                probe_address(wanted)
            if self._certificates is None:
                port = self._server.add_insecure_port(wanted)
            else:
                port = self._server.add_secure_port(wanted, self._certificates.credentials())
        except (OSError, RuntimeError) as mistake:
            raise unavailable(wanted, mistake) from None
        if self._keeper is not None:
            await self._keeper.start()
        await self._server.start()
        for name in ("", SERVICE):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        self._serving = True
        if self._settings.metrics_address is not None:
            self._admin = open_admin(self._settings.metrics_address, self.samples, lambda: self.serving)
        self._tasks.add(asyncio.create_task(self._sweep()))
        if self._parts:
            self._tasks.add(asyncio.create_task(self._reloader.watch(self._settings.reload_poll_s)))
        address = wanted if is_socket_file(wanted) else f"{wanted.rpartition(':')[0]}:{port}"
        self._tell_exposure(address)
        return address

    def _tell_exposure(self, address: str) -> None:
        settings = self._settings
        told = {
            "address": address,
            "tls": "mutual" if settings.tls_client_ca else "on" if self._certificates else "off",
            "tokens": "on" if settings.tokens_file else "off",
        }
        if is_local(address):
            _log.info("listening", extra=told)
        elif self._certificates is None:
            _log.warning("listening without TLS where others can reach it, as `allowInsecure` says", extra=told)
        elif not settings.tokens_file and not settings.tls_client_ca:
            _log.warning("listening where others can reach it, and asking for no credentials", extra=told)
        else:
            _log.info("listening", extra=told)

    async def _sweep(self) -> None:
        ttl_s, idle_s = self._settings.run_ttl_s, self._settings.idle_timeout_s
        while True:
            await asyncio.sleep(max(1.0, min(ttl_s, idle_s) / _SWEEPS_PER_TTL))
            self.sessions.evict(ttl_s)
            self.sessions.evict_idle(idle_s)
            if self._keeper is not None:
                await self._keeper.expire()

    async def stop(self) -> None:
        """Say that we go, let the clients finish, and stop."""
        _log.info("draining", extra={"streams": self.servicer.open_streams, "grace_s": self._settings.drain_grace_s})
        self._serving = False
        await self._health.enter_graceful_shutdown()
        await self.servicer.drain(self._settings.drain_grace_s)
        for task in tuple(self._tasks):
            task.cancel()
        await self._server.stop(_FLUSH_S)
        if self._keeper is not None:
            await self._keeper.stop()
        # Both wait for others, who may be slow.
        await asyncio.to_thread(self._traces.stop)
        if self._admin is not None:
            await asyncio.to_thread(self._admin.stop)
        _log.info("stopped")


def channel_options(settings: Settings, *, shares_port: bool = False) -> list[tuple[str, int]]:
    """Return gRPC's options: its limits just above ours, and pings in both directions so that dead peers are reaped."""
    ping_ms, timeout_ms = round(settings.keepalive_time_s * 1000), round(settings.keepalive_timeout_s * 1000)
    return [
        ("grpc.max_receive_message_length", settings.message_bytes + GRPC_HEADROOM_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_concurrent_streams", settings.streams_per_connection + GRPC_HEADROOM_STREAMS),
        ("grpc.so_reuseport", int(shares_port)),
        ("grpc.keepalive_time_ms", ping_ms),
        ("grpc.keepalive_timeout_ms", timeout_ms),
        ("grpc.keepalive_permit_without_calls", 1),
        # A frozen peer is only found in time if pings need no data in between and their own time-out is set too.
        ("grpc.http2.ping_timeout_ms", timeout_ms),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_sent_ping_interval_without_data_ms", ping_ms),
        # Clients may ping every second; without this they are sent away with too_many_pings.
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 500),
        ("grpc.http2.max_ping_strikes", 0),
    ]
