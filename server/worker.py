"""One of several processes that serve the same port: tells the parent what happens, and does what it says."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any, Final

import uvloop

from loopguard.config import Configuration, load_configuration

from .channel import Channel
from .logs import logs_in_background, set_up_logs
from .service import Service
from .settings import Settings

if TYPE_CHECKING:
    from .channel import Message

#: How often the parent hears what is counted here.
REPORT_S: Final = 0.25


class Worker:
    """A service with its line to the parent."""

    def __init__(self, service: Service, channel: Channel) -> None:
        self._service = service
        self._channel = channel
        self._stopping = asyncio.Event()
        self._lost: dict[str, int] = {}
        hub = service.hub
        hub.forward = self._forward
        hub.on_change = lambda: channel.send("watched", tenants=hub.watched)

    async def run(self) -> None:
        """Serve until the parent says so or is gone, or a SIGTERM comes."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        # Ctrl-C goes to all processes of a terminal, and the parent decides what it means.
        loop.add_signal_handler(signal.SIGINT, int)
        loop.add_signal_handler(signal.SIGHUP, int)
        await self._service.start()
        self._channel.send("ready", process_id=os.getpid())
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._report())]
        await self._stopping.wait()
        await self._service.stop()
        self._tell_counts()
        for task in tasks:
            task.cancel()
        self._channel.close()

    async def _listen(self) -> None:
        while (message := await self._channel.receive()) is not None:
            self._obey(message)
        self._stopping.set()

    def _obey(self, message: Message) -> None:
        kind = message["kind"]
        if kind == "event":
            self._service.hub.deliver(*from_event(message))
        elif kind == "watched":
            self._service.hub.watched_elsewhere = frozenset(message["tenants"])
        elif kind == "shares":
            tenants = self._service.sessions.tenants
            for name, share in message["tenants"].items():
                tenant = tenants.of(name)
                tenant.runs_elsewhere = share["runs_elsewhere"]
                tenant.bucket.set_rate(share["calls_per_s"])
        elif kind == "reload":
            self._service.reload_soon()
        elif kind == "drain":
            self._stopping.set()

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            self._tell_counts()

    def _tell_counts(self) -> None:
        if self._channel.is_full:
            return
        tenants = {}
        for tenant in self._service.sessions.tenants:
            tenants[tenant.name] = {"runs": tenant.runs, "calls": tenant.asked}
            tenant.asked = 0
        self._channel.send("report", samples=self._service.samples(), tenants=tenants)

    def _forward(self, tenant: str, run_id: str, agent_id: str, is_finding: bool, response: bytes, _lost: int) -> None:
        if self._channel.is_full:
            self._lost[tenant] = self._lost.get(tenant, 0) + 1
            return
        lost = self._lost.pop(tenant, 0)
        self._channel.send("event", **to_event(tenant, run_id, agent_id, is_finding, response, lost))


def to_event(tenant: str, run_id: str, agent_id: str, is_finding: bool, response: bytes, lost: int) -> dict[str, Any]:
    """Return an event as the fields of a message."""
    return {
        "tenant": tenant,
        "run_id": run_id,
        "agent_id": agent_id,
        "is_finding": is_finding,
        "response": base64.b64encode(response).decode(),
        "lost": lost,
    }


def from_event(message: Message) -> tuple[str, str, str, bool, bytes, int]:
    """Return what `Hub.deliver` takes."""
    return (
        message["tenant"],
        message["run_id"],
        message["agent_id"],
        message["is_finding"],
        base64.b64decode(message["response"]),
        message["lost"],
    )


async def _run(descriptor: int) -> None:
    channel = await Channel.over(socket.socket(fileno=descriptor))
    told = await channel.receive()
    if told is None:
        return
    settings = Settings(**told["settings"])
    set_up_logs(settings.log_level, settings.log_format)
    configuration = load_configuration(settings.config) if settings.config else Configuration.guarded()
    with logs_in_background():
        await Worker(Service(settings, configuration, shares_port=True), channel).run()


if __name__ == "__main__":
    uvloop.run(_run(int(sys.argv[1])))
