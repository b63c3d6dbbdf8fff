"""One of several processes that serve the same port: tells the parent what happens, and does what it says."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any, Final

from .channel import Channel
from .event_log import Told
from .logs import logs_in_background, set_up_logs
from .loop import run
from .service import Service
from .settings import Settings
from .sources import Sources

if TYPE_CHECKING:
    from .channel import Message

#: How often the parent hears what is counted here, and for how long events are gathered for it.
REPORT_S: Final = 0.25
FORWARD_S: Final = 0.01


class Worker:
    """A service with its line to the parent."""

    def __init__(self, service: Service, channel: Channel) -> None:
        self._service = service
        self._channel = channel
        self._stopping = asyncio.Event()
        self._told: list[tuple[str, Told]] = []
        #: How many events of a tenant did not get as far as the parent.
        self._skipped: dict[str, int] = {}
        #: Of each tenant that is watched here, which request for its events counts, and whether its answer has begun.
        self._asked: dict[str, int] = {}
        self._following: set[str] = set()
        self._requests = 0
        service.hub.forward = self._forward
        service.hub.on_change = self._watch

    async def run(self) -> None:
        """Serve until the parent says so or is gone, or a SIGTERM comes."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        loop.add_signal_handler(signal.SIGINT, int)
        loop.add_signal_handler(signal.SIGHUP, int)
        await self._service.start()
        self._channel.send("ready", process_id=os.getpid())
        tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._report())]
        await self._stopping.wait()
        await self._service.stop()
        self._send_told()
        self._tell_counts()
        for task in tasks:
            task.cancel()
        self._channel.close()

    async def _listen(self) -> None:
        while (message := await self._channel.receive()) is not None:
            self._obey(message)
            # However much has come at once, verdicts are not to wait for all of it.
            await asyncio.sleep(0)
        self._stopping.set()

    def _obey(self, message: Message) -> None:
        kind = message["kind"]
        if kind == "events":
            self._deliver(message["tenant"], message["events"])
        elif kind == "following":
            if self._asked.get(message["tenant"]) == message["request"]:
                self._following.add(message["tenant"])
        elif kind == "followed":
            tenant = message["tenant"]
            if tenant in self._following:
                self._service.hub.delivered(tenant, message["log_id"], message["last_id"])
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

    def _watch(self, tenant: str, is_watched: bool) -> None:
        self._following.discard(tenant)
        if is_watched:
            self._requests += 1
            self._asked[tenant] = self._requests
            self._channel.send("follow", tenant=tenant, request=self._requests)
        else:
            del self._asked[tenant]
            self._channel.send("unfollow", tenant=tenant)

    def _deliver(self, tenant: str, events: list[list[Any]]) -> None:
        if tenant in self._following:
            for event in events:
                self._service.hub.deliver(tenant, _from_message(event))

    def _forward(self, tenant: str, told: Told) -> None:
        if not self._told:
            asyncio.get_running_loop().call_later(FORWARD_S, self._send_told)
        self._told.append((tenant, told))

    def _send_told(self) -> None:
        waiting, self._told = self._told, []
        if self._channel.is_full:
            for tenant, _ in waiting:
                self._skipped[tenant] = self._skipped.get(tenant, 0) + 1
            return
        by_tenant: dict[str, list[list[Any]]] = {}
        for tenant, told in waiting:
            by_tenant.setdefault(tenant, []).append(_to_message(told))
        for tenant, events in by_tenant.items():
            self._channel.send("events", tenant=tenant, skipped=self._skipped.pop(tenant, 0), events=events)


def _to_message(told: Told) -> list[Any]:
    return [told.event_id, told.run_id, told.agent_id, told.is_finding, base64.b64encode(told.encoded).decode()]


def _from_message(event: list[Any]) -> Told:
    event_id, run_id, agent_id, is_finding, encoded = event
    response = base64.b64decode(encoded)
    told = Told(run_id, agent_id, is_finding, response, len(response))
    told.event_id = event_id
    return told


async def _run(descriptor: int) -> None:
    channel = await Channel.over(socket.socket(fileno=descriptor))
    told = await channel.receive()
    if told is None:
        return
    settings = Settings(**told["settings"])
    set_up_logs(settings.log_level, settings.log_format)
    sources = Sources.from_message(settings, told["sources"])
    seen = [tuple(look and tuple(look) for look in looks) for looks in told["seen"]]
    with logs_in_background():
        service = Service(settings, sources.configuration, shares_port=True, sources=sources, seen=seen)
        await Worker(service, channel).run()


if __name__ == "__main__":
    run(_run(int(sys.argv[1])))
