"""Wires the service together and runs it until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import uvloop
from grpc_health.v1 import health, health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # has no stubs
from grpc_reflection.v1alpha import reflection  # type: ignore[import-untyped]  # has no stubs

import loopguard
from loopguard.engine import Engine
from loopguard.errors import InvalidConfig

from .limits import GRPC_HEADROOM_BYTES, GRPC_HEADROOM_STREAMS
from .logs import set_up_logs
from .servicer import SERVICE, Servicer
from .sessions import Sessions
from .settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.config import Configuration

    from .settings import Settings

_log = logging.getLogger("loopguard.server")

#: After the streams were ended, how long gRPC may take to say so to the clients.
_FLUSH_S = 1.0
#: How often runs are looked through for those that are kept too long, as a part of that time.
_SWEEPS_PER_TTL = 10


def main() -> int:
    """Run the service as the environment says; return the exit code."""
    try:
        settings, configuration = load_settings()
    except InvalidConfig as mistake:
        sys.stderr.write(f"loopguard: {mistake}\n")
        return 2
    return run(settings, configuration)


def run(settings: Settings, configuration: Configuration) -> int:
    """Run the service until SIGTERM or SIGINT; return the exit code."""
    set_up_logs(settings.log_level)
    try:
        uvloop.run(_run(settings, configuration))
    except AddressUnavailable as mistake:
        sys.stderr.write(f"loopguard: {mistake}\n")
        return 2
    return 0


async def _run(settings: Settings, configuration: Configuration) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stopping.set)
    await serve(settings, configuration, stopping, _announce)


def _announce(address: str) -> None:
    sys.stdout.write(f"loopguard listening on {address}\n")
    sys.stdout.flush()


class AddressUnavailable(OSError):
    """The address can't be listened on."""


async def serve(
    settings: Settings, configuration: Configuration, stopping: asyncio.Event, ready: Callable[[str], None]
) -> None:
    """Serve until `stopping` is set, then drain; `ready` is told the address once clients may come."""
    service = Service(settings, configuration)
    address = await service.start()
    _tell_guards(configuration)
    ready(address)
    await stopping.wait()
    await service.stop()


def _tell_guards(configuration: Configuration) -> None:
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


class Service:
    """A server with all that belongs to it."""

    def __init__(
        self, settings: Settings, configuration: Configuration, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        limits = settings.limits()
        self._settings = settings
        engine = Engine(configuration, now=now, history_limit=limits.history_size)
        self.sessions = Sessions(engine, limits, now=now, version=loopguard.__version__)
        self.servicer = Servicer(self.sessions, limits)
        self._server = grpc.aio.server(options=channel_options(settings))
        self._server.add_generic_rpc_handlers((self.servicer.handlers(),))
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            (SERVICE, health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME),
            self._server,
        )
        self._sweeping: asyncio.Task[None]

    async def start(self) -> str:
        """Listen, and return the address with the port in use. Raises `AddressUnavailable`."""
        wanted = self._settings.address
        try:
            port = self._server.add_insecure_port(wanted)
        except RuntimeError as mistake:
            raise AddressUnavailable(f"can't listen on {wanted}: {mistake}") from None
        await self._server.start()
        for name in ("", SERVICE):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        self._sweeping = asyncio.create_task(self._sweep())
        return wanted if wanted.startswith("unix") else f"{wanted.rpartition(':')[0]}:{port}"

    async def _sweep(self) -> None:
        ttl_s, idle_s = self._settings.run_ttl_s, self._settings.idle_timeout_s
        while True:
            await asyncio.sleep(max(1.0, min(ttl_s, idle_s) / _SWEEPS_PER_TTL))
            self.sessions.evict(ttl_s)
            self.sessions.evict_idle(idle_s)

    async def stop(self) -> None:
        """Say that we go, let the clients finish, and stop."""
        _log.info("draining", extra={"streams": self.servicer.open_streams, "grace_s": self._settings.drain_grace_s})
        await self._health.enter_graceful_shutdown()
        await self.servicer.drain(self._settings.drain_grace_s)
        self._sweeping.cancel()
        await self._server.stop(_FLUSH_S)
        _log.info("stopped")


def channel_options(settings: Settings) -> list[tuple[str, int]]:
    """Return gRPC's options: its limits just above ours, and pings in both directions so that dead peers are reaped."""
    ping_ms, timeout_ms = round(settings.keepalive_time_s * 1000), round(settings.keepalive_timeout_s * 1000)
    return [
        ("grpc.max_receive_message_length", settings.message_bytes + GRPC_HEADROOM_BYTES),
        ("grpc.max_send_message_length", -1),
        ("grpc.max_concurrent_streams", settings.streams_per_connection + GRPC_HEADROOM_STREAMS),
        ("grpc.so_reuseport", 0),
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
