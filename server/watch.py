"""Who watches: events go to bounded queues, and nobody waits for a watcher."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from loopguard.answer_codec import to_finding_event
from loopguard.v1 import guard_pb2 as pb

from .limits import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.events import Event
    from loopguard.run import Run

    from .tally import Tally

#: How many events wait for a watcher at most.
QUEUE_EVENTS: Final = 1_000
#: How many watchers a tenant may have.
WATCHERS_PER_TENANT: Final = 16


class Watcher:
    """One watcher's queue. What comes in while it is full pushes the oldest out."""

    def __init__(self, request: pb.WatchRequest, tally: Tally) -> None:
        self._run_ids = frozenset(request.run_ids)
        self._agent_ids = frozenset(request.agent_ids)
        self._findings_only = request.findings_only
        self._tally = tally
        self._queue: deque[bytes] = deque()
        self._lost = 0
        self._filled = asyncio.Event()

    def offer(self, run_id: str, agent_id: str, is_finding: bool, response: bytes, lost: int) -> None:
        """Take an encoded `WatchResponse`, if it is one of those asked for."""
        if (
            (self._run_ids and run_id not in self._run_ids)
            or (self._agent_ids and agent_id not in self._agent_ids)
            or (self._findings_only and not is_finding)
        ):
            return
        self._lost += lost
        if len(self._queue) >= QUEUE_EVENTS:
            self._queue.popleft()
            self._lost += 1
            self._tally.events_lost += 1
        self._queue.append(response)
        self._filled.set()

    async def next(self) -> bytes:
        """Wait for an event and return it as an encoded `WatchResponse`."""
        while not self._queue:
            self._filled.clear()
            await self._filled.wait()
        response, lost = self._queue.popleft(), self._lost
        self._lost = 0
        # Messages of protobuf are merged by writing one behind the other.
        return response + pb.WatchResponse(lost=lost).SerializeToString() if lost else response


class Hub:
    """Hands events to the watchers of their tenant. `clock` tells seconds since 1970."""

    def __init__(self, tally: Tally, clock: Callable[[], float]) -> None:
        self._tally = tally
        self._clock = clock
        self._watchers: dict[str, set[Watcher]] = {}
        #: Where events go instead, in a process that is one of several; it gets the arguments of `deliver`.
        self.forward: Callable[[str, str, str, bool, bytes, int], None] | None = None
        #: Tenants that somebody watches in another process.
        self.watched_elsewhere: frozenset[str] = frozenset()
        #: Told when a tenant gets its first watcher or loses its last.
        self.on_change: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return sum(map(len, self._watchers.values()))

    @property
    def watched(self) -> list[str]:
        """The tenants that have watchers here."""
        return sorted(self._watchers)

    def add(self, tenant: str, request: pb.WatchRequest) -> Watcher:
        """Begin to watch. Raises `LimitExceeded`."""
        watchers = self._watchers.get(tenant, set())
        if len(watchers) >= WATCHERS_PER_TENANT:
            raise LimitExceeded(f"this tenant has {WATCHERS_PER_TENANT} watchers, as many as it may")
        watcher = Watcher(request, self._tally)
        watchers.add(watcher)
        self._watchers[tenant] = watchers
        self.on_change()
        return watcher

    def remove(self, tenant: str, watcher: Watcher) -> None:
        """Watch no more."""
        watchers = self._watchers[tenant]
        watchers.discard(watcher)
        if not watchers:
            del self._watchers[tenant]
            self.on_change()

    def tell_finding(self, event: Event) -> None:
        """Tell what the guard has found."""
        if self._is_watched(event.tenant):
            message = pb.Event(run_id=event.run_id, agent_id=event.agent_id, finding=to_finding_event(event))
            self._publish(event.tenant, message, is_finding=True)

    def tell_started(self, run: Run, *, resumed: bool) -> None:
        """Tell that a run was opened."""
        if self._is_watched(run.tenant):
            started = pb.RunStarted(parent_run_id=run.parent_run_id, profile=run.profile, resumed=resumed)
            self._publish(run.tenant, pb.Event(run_id=run.run_id, agent_id=run.agent_id, run_started=started))

    def tell_finished(self, run: Run, *, evicted: bool) -> None:
        """Tell that a run is over."""
        if self._is_watched(run.tenant):
            finished = pb.RunFinished(evicted=evicted, calls=run.calls_asked)
            self._publish(run.tenant, pb.Event(run_id=run.run_id, agent_id=run.agent_id, run_finished=finished))

    def _is_watched(self, tenant: str) -> bool:
        return tenant in self._watchers or tenant in self.watched_elsewhere

    def _publish(self, tenant: str, message: pb.Event, *, is_finding: bool = False) -> None:
        message.time.FromNanoseconds(round(self._clock() * 1e9))
        response = pb.WatchResponse(event=message).SerializeToString()
        told = (tenant, message.run_id, message.agent_id, is_finding, response, 0)
        (self.forward or self.deliver)(*told)

    def deliver(self, tenant: str, run_id: str, agent_id: str, is_finding: bool, response: bytes, lost: int) -> None:
        """Hand an encoded `WatchResponse` to the watchers here; `lost` are those that did not get this far."""
        for watcher in self._watchers.get(tenant, ()):
            watcher.offer(run_id, agent_id, is_finding, response, lost)
