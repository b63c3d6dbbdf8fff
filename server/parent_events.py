"""What several workers tell of each tenant, put into one order and handed to those workers that have watchers of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from .event_log import EventLog, Told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .channel import Channel, Message

#: How many of the kept events go into one message: the worker does other things between two of them.
_AT_A_TIME: Final = 50


class Follower(Protocol):
    """A worker, with the tenants that it has watchers of."""

    channel: Channel
    followed: set[str]


class ParentEvents:
    """The events of all workers. They stay encoded: nothing here looks into them."""

    def __init__(self, kept: int, log_id: int) -> None:
        """Keep `kept` events of a tenant."""
        self._kept = kept
        self._log_id = log_id
        self._logs: dict[str, EventLog] = {}

    def _of(self, tenant: str) -> EventLog:
        log = self._logs.get(tenant)
        if log is None:
            log = self._logs[tenant] = EventLog(self._kept)
        return log

    def take(self, message: Message, followers: Iterable[Follower]) -> None:
        """Give what a worker tells of a tenant its numbers, keep it, and hand it on."""
        tenant, skipped = message["tenant"], message["skipped"]
        log = self._of(tenant)
        events = []
        for _, run_id, agent_id, is_finding, encoded in message["events"]:
            told = Told(run_id, agent_id, is_finding, encoded, len(encoded))
            log.add(told, skipped)
            events.append(_to_message(told))
            skipped = 0
        for follower in followers:
            # What a worker is too slow for, its watchers find missing by the numbers.
            if tenant in follower.followed and not follower.channel.is_full:
                follower.channel.send("events", tenant=tenant, events=events)

    def follow(self, follower: Follower, tenant: str, request: int) -> None:
        """Hand a worker what is kept of a tenant, and from now on what comes."""
        log = self._of(tenant)
        follower.followed.add(tenant)
        send = follower.channel.send
        send("following", tenant=tenant, request=request)
        for first in range(log.begin, log.end, _AT_A_TIME):
            events = [_to_message(log.at(index)) for index in range(first, min(first + _AT_A_TIME, log.end))]
            send("events", tenant=tenant, events=events)
        send("followed", tenant=tenant, log_id=self._log_id, last_id=log.last_id)


def _to_message(told: Told) -> list[Any]:
    return [told.event_id, told.run_id, told.agent_id, told.is_finding, told.encoded]
