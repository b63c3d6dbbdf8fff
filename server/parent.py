"""The parent of several workers: keeps the port, replaces workers that end, and is one service to operators."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from loopguard.engine import Engine
from loopguard.errors import InvalidConfig

from .addresses import is_socket_file, split_address
from .channel import Channel
from .metrics import GAUGES
from .parent_events import ParentEvents
from .service import AddressUnavailable, check, open_admin, unavailable
from .sources import parts_of
from .tally import add_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loopguard.config import Configuration

    from .admin import Admin
    from .certificates import Certificate
    from .channel import Message
    from .reload import Part
    from .settings import Settings
    from .sources import Sources
    from .tally import Sample
    from .tokens import Tokens

_log = logging.getLogger("loopguard.server")

#: A worker that ends before this time was no good from the start: the next one has to wait for so long.
_PATIENCE_S: Final = 1.0
#: How much longer than the grace a worker may take to end.
_STOP_S: Final = 5.0
_LOOK_S: Final = 0.01
_GAUGES: Final = frozenset(name for name, _, _ in GAUGES)


class _Hand:
    """A worker as its parent sees it."""

    def __init__(self, process: asyncio.subprocess.Process, channel: Channel) -> None:
        self.process = process
        self.channel = channel
        self.ready = asyncio.Event()
        self.followed: set[str] = set()
        self.samples: list[Sample] = []
        self.tenants: dict[str, dict[str, int]] = {}


class Parent:
    """Runs `settings.workers` workers on one port."""

    def __init__(self, settings: Settings, configuration: Configuration) -> None:
        """Check everything that a worker would refuse. Raises `InvalidConfig`."""
        # Looked at before they are read, so that no change is missed.
        self._parts = parts_of(settings, self._configure, self._use_tokens, self._use_certificate)
        self._sources = check(settings, configuration)
        if is_socket_file(settings.address):
            raise InvalidConfig("loopguard.server.workers", "a socket file can't be shared by several workers")
        self._settings = settings
        self._hands: list[_Hand | None] = [None] * settings.workers
        self._keeping: list[asyncio.Task[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._retired: list[Sample] = []
        self._restarts = 0
        self._stopping = False
        self._port: socket.socket | None = None
        self._admin: Admin | None = None
        self._events = ParentEvents(settings.watch_events, round(time.time() * 1e6))

    async def start(self) -> str:
        """Start all workers and return the address. Raises `AddressUnavailable`."""
        host, port = _reserve(self._settings.address)
        self._port = port
        address = f"{host}:{port.getsockname()[1]}"
        if self._settings.metrics_address is not None:
            self._admin = open_admin(self._settings.metrics_address, self.samples, lambda: self.serving)
        share = self._settings.workers
        told = self._settings.model_copy(
            update={
                "address": address,
                "metrics_address": None,
                "runs": math.ceil(self._settings.runs / share),
                "calls_per_s": self._settings.calls_per_s / share,
            }
        )
        if self._parts:
            self._tasks.add(asyncio.create_task(self._follow_files()))
        self._keeping = [asyncio.create_task(self._keep(place, told)) for place in range(share)]
        while not all(hand is not None and hand.ready.is_set() for hand in self._hands):
            if self._restarts > share:
                await self.stop()
                raise AddressUnavailable(f"the workers don't start at {address}; the log says why")
            await asyncio.sleep(_LOOK_S)
        return address

    async def _keep(self, place: int, settings: Settings) -> None:
        """Have a worker at this place, always."""
        loop = asyncio.get_running_loop()
        while not self._stopping:
            begun = loop.time()
            try:
                hand = self._hands[place] = await _spawn(settings, self._sources, self._parts)
            except OSError as failure:
                _log.error("no worker", extra={"because": failure.strerror})
                self._restarts += 1
                await asyncio.sleep(_PATIENCE_S)
                continue
            if self._stopping:
                hand.channel.send("drain")
            while (message := await hand.channel.receive()) is not None:
                self._take(hand, message)
            code = await hand.process.wait()
            hand.channel.close()
            self._hands[place] = None
            self._retire(hand)
            if self._stopping:
                return
            self._restarts += 1
            _log.error("worker ended", extra={"process_id": hand.process.pid, "exit_code": code})
            if loop.time() - begun < _PATIENCE_S:
                await asyncio.sleep(_PATIENCE_S)

    def _retire(self, hand: _Hand) -> None:
        # What it had counted has to stay counted: counters never go down.
        kept = [sample for sample in hand.samples if sample[0] not in _GAUGES]
        self._retired = add_up((self._retired, kept))

    @property
    def _present(self) -> list[_Hand]:
        return [hand for hand in self._hands if hand is not None]

    def _take(self, hand: _Hand, message: Message) -> None:
        kind = message["kind"]
        if kind == "ready":
            hand.ready.set()
            _log.info("worker serves", extra={"process_id": message["process_id"]})
        elif kind == "report":
            hand.samples = [(name, tuple(labels), _value(value)) for name, labels, value in message["samples"]]
            hand.tenants = message["tenants"]
            hand.channel.send("shares", tenants=self._shares_of(hand))
        elif kind == "events":
            self._events.take(message, self._present)
        elif kind == "follow":
            self._events.follow(hand, message["tenant"], message["request"])
        elif kind == "unfollow":
            hand.followed.discard(message["tenant"])

    def _shares_of(self, hand: _Hand) -> dict[str, dict[str, float]]:
        """Return what a worker may allow each tenant: calls in proportion to what is asked of it."""
        workers, rate = self._settings.workers, self._settings.calls_per_s
        shares = {}
        for name, own in hand.tenants.items():
            others = [other.tenants.get(name, {}) for other in self._present if other is not hand]
            # One call more each, so that who is asked nothing yet may begin.
            asked = own["calls"] + 1
            total = asked + sum(other.get("calls", 0) + 1 for other in others)
            shares[name] = {
                "runs_elsewhere": sum(other.get("runs", 0) for other in others),
                "calls_per_s": rate * max(asked / total, 0.1 / workers),
            }
        return shares

    @property
    def serving(self) -> bool:
        """Whether clients may come."""
        return not self._stopping and any(hand.ready.is_set() for hand in self._present)

    @property
    def metrics_address(self) -> str:
        """Where metrics are to be had, with the port in use; empty where they are not."""
        return self._admin.address if self._admin is not None else ""

    def samples(self) -> list[Sample]:
        """Return what all workers together have counted."""
        present = self._present
        told = add_up([self._retired, *(hand.samples for hand in present)])
        expiry = "loopguard_certificate_expiry_seconds"
        added: Iterable[Sample] = [
            *([sample for sample in present[0].samples if sample[0] == expiry] if present else ()),
            ("loopguard_workers", (), sum(hand.ready.is_set() for hand in present)),
            ("loopguard_worker_restarts", (), self._restarts),
        ]
        return [sample for sample in told if sample[0] != expiry] + list(added)

    def reload_soon(self) -> None:
        """Let all workers read everything anew."""
        for hand in self._present:
            hand.channel.send("reload")
        task = asyncio.create_task(self._read_anew())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_anew(self, *, only_changed: bool = False) -> None:
        """Keep what workers to come will need if a file is bad by then; those that are there tell of it."""
        for part in self._parts:
            if await part.changed() or not only_changed:
                with contextlib.suppress(InvalidConfig):
                    await part.reload()

    async def _follow_files(self) -> None:
        while True:
            await asyncio.sleep(self._settings.reload_poll_s)
            await self._read_anew(only_changed=True)

    def _configure(self, configuration: Configuration) -> None:
        Engine(configuration, history_limit=self._settings.history_size)
        self._sources.configuration = configuration

    def _use_tokens(self, tokens: Tokens) -> None:
        self._sources.tokens = tokens

    def _use_certificate(self, certificate: Certificate) -> None:
        self._sources.certificate = certificate

    async def stop(self) -> None:
        """Let all workers drain, and end those that take too long."""
        self._stopping = True
        for task in tuple(self._tasks):
            task.cancel()
        for hand in self._present:
            hand.channel.send("drain")
        _, late = await asyncio.wait(self._keeping, timeout=self._settings.drain_grace_s + _STOP_S)
        for hand in self._present:
            with contextlib.suppress(ProcessLookupError):
                hand.process.kill()
        if late:
            await asyncio.wait(late)
        if self._admin is not None:
            await asyncio.to_thread(self._admin.stop)
        if self._port is not None:
            self._port.close()


def _value(value: Any) -> Any:
    return (tuple(value[0]), value[1]) if isinstance(value, list) else value


def _reserve(address: str) -> tuple[str, socket.socket]:
    """Bind the port that workers share, without listening; return the host and the socket."""
    host, port = split_address(address)
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, where = found[0]
        with socket.socket(family) as alone:
            # With SO_REUSEPORT alone it would not show that somebody else serves there.
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(where)
            where = alone.getsockname()
        shared = socket.socket(family)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        shared.bind(where)
    except OSError as mistake:
        raise unavailable(address, mistake) from None
    return address.rpartition(":")[0], shared


async def _spawn(settings: Settings, sources: Sources, parts: Sequence[Part[Any]]) -> _Hand:
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "loopguard.server.worker", str(theirs.fileno())),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            # Ctrl-C goes to all processes of a terminal's session, and the parent decides what it means.
            start_new_session=True,
        )
    channel = await Channel.over(ours)
    seen = [part.seen for part in parts]
    channel.send("start", settings=settings.model_dump(), sources=sources.to_message(), seen=seen)
    return _Hand(process, channel)
