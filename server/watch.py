"""Who watches: all events of a tenant are kept for a while, each watcher reads them at its own pace, nobody waits."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from loopguard.answer_codec import to_finding_event
from loopguard.errors import InvalidFrame, Reason
from loopguard.v1 import guard_pb2 as pb

from .event_log import EventLog, Told
from .limits import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.events import Event
    from loopguard.run import Run

    from .tally import Tally

#: How many watchers a tenant may have.
WATCHERS_PER_TENANT: Final = 16
#: How many events that it doesn't want a watcher may pass over before others get their turn.
_AT_A_TIME: Final = 100


class Watched:
    """What is kept of a tenant, and who watches it.

    `following` is set once the log is complete: at once where it is kept, and in a worker when the parent has sent it.
    """

    def __init__(self, events: int) -> None:
        self.log = EventLog(events)
        self.log_id = 0
        self.watchers: set[Watcher] = set()
        self.following = asyncio.Event()

    def wake(self) -> None:
        """Tell the watchers that there is something new."""
        for watcher in self.watchers:
            watcher.filled.set()


class Watcher:
    """One watcher's place among the events of its tenant."""

    def __init__(self, request: pb.WatchRequest, watched: Watched, tally: Tally) -> None:
        self._request = request
        self._run_ids = frozenset(request.run_ids)
        self._agent_ids = frozenset(request.agent_ids)
        self._watched = watched
        self._tally = tally
        self._index = 0
        self._lost = 0
        #: The number of the last event that was read or passed over.
        self._event_id = 0
        self.filled = asyncio.Event()

    async def begin(self) -> bytes:
        """Find the place where to begin, and return the response that announces it, empty where none is asked for.

        Raises `InvalidFrame` for a place that can't be.
        """
        await self._watched.following.wait()
        log = self._watched.log
        after = self._after(log)
        self._index = log.index_after(after)
        self._event_id = log.at(self._index).event_id - 1 if self._index < log.end else log.last_id
        self._lost = self._event_id - after
        return self._respond() if self._request.announce else b""

    def _after(self, log: EventLog) -> int:
        """Return the number of the event behind which to begin."""
        request = self._request
        if request.oldest:
            return 0
        if not request.HasField("after"):
            return log.last_id
        after = request.after
        if after.log_id not in (0, self._watched.log_id):
            return 0
        if after.event_id > log.last_id:
            told = f"`after.event_id`: {after.event_id} is no event yet; the last one is {log.last_id}"
            raise InvalidFrame(Reason.INVALID_FRAME, told)
        return after.event_id

    def _respond(self) -> bytes:
        """Return the position and what was lost before it."""
        position = pb.EventPosition(log_id=self._watched.log_id, event_id=self._event_id)
        lost, self._lost = self._lost, 0
        return pb.WatchResponse(lost=lost, position=position).SerializeToString()

    async def next(self) -> bytes:
        """Wait for an event and return it as an encoded `WatchResponse`."""
        log, passed = self._watched.log, 0
        while True:
            while self._index >= log.end:
                self.filled.clear()
                await self.filled.wait()
            index = max(self._index, log.begin)
            told = log.at(index)
            lost = told.event_id - self._event_id - 1
            self._lost += lost
            self._tally.events_lost += lost
            self._index, self._event_id = index + 1, told.event_id
            if self._wants(told):
                # Messages of protobuf are merged by writing one behind the other.
                encoded: bytes = told.encoded
                return encoded + self._respond()
            passed += 1
            if passed % _AT_A_TIME == 0:
                await asyncio.sleep(0)

    def _wants(self, told: Told) -> bool:
        return (
            (not self._run_ids or told.run_id in self._run_ids)
            and (not self._agent_ids or told.agent_id in self._agent_ids)
            and (told.is_finding or not self._request.findings_only)
        )


class Hub:
    """Keeps the events of each tenant for its watchers. `clock` tells seconds since 1970."""

    def __init__(self, tally: Tally, clock: Callable[[], float], kept: int) -> None:
        """Keep `kept` events of a tenant."""
        self._tally = tally
        self._clock = clock
        self._kept = kept
        self._tenants: dict[str, Watched] = {}
        #: Where events go instead, in a process that is one of several.
        self.forward: Callable[[str, Told], None] | None = None
        #: Told when a tenant gets its first watcher (with true) or loses its last.
        self.on_change: Callable[[str, bool], None] = lambda _tenant, _is_watched: None
        # Another number for this service started anew.
        self._log_id = round(clock() * 1e6)

    def __len__(self) -> int:
        return sum(len(watched.watchers) for watched in self._tenants.values())

    def _of(self, tenant: str) -> Watched:
        watched = self._tenants.get(tenant)
        if watched is None:
            watched = self._tenants[tenant] = Watched(self._kept)
            if self.forward is None:
                watched.log_id = self._log_id
                watched.following.set()
        return watched

    def add(self, tenant: str, request: pb.WatchRequest) -> Watcher:
        """Begin to watch. Raises `LimitExceeded`."""
        watched = self._of(tenant)
        if len(watched.watchers) >= WATCHERS_PER_TENANT:
            raise LimitExceeded(f"this tenant has {WATCHERS_PER_TENANT} watchers, as many as it may")
        watcher = Watcher(request, watched, self._tally)
        watched.watchers.add(watcher)
        if len(watched.watchers) == 1:
            self.on_change(tenant, True)
        return watcher

    def remove(self, tenant: str, watcher: Watcher) -> None:
        """Watch no more."""
        watchers = self._tenants[tenant].watchers
        watchers.discard(watcher)
        if not watchers:
            if self.forward is not None:
                # The parent keeps them.
                del self._tenants[tenant]
            self.on_change(tenant, False)

    def tell_finding(self, event: Event) -> None:
        """Tell what the guard has found."""
        finding = event.finding
        size = len(event.note) + len(event.call_id) + len(event.tool) + sum(map(len, finding.call_ids))
        encode = partial(_encode_finding, self._clock(), event)
        self._tell(event.tenant, Told(event.run_id, event.agent_id, True, encode, size))

    def tell_started(self, run: Run, *, resumed: bool) -> None:
        """Tell that a run was opened."""
        encode = partial(
            _encode_started, self._clock(), run.run_id, run.agent_id, run.parent_run_id, run.profile, resumed
        )
        self._tell(run.tenant, Told(run.run_id, run.agent_id, False, encode, len(run.parent_run_id)))

    def tell_finished(self, run: Run, *, evicted: bool) -> None:
        """Tell that a run is over."""
        encode = partial(_encode_finished, self._clock(), run.run_id, run.agent_id, evicted, run.calls_asked)
        self._tell(run.tenant, Told(run.run_id, run.agent_id, False, encode, 0))

    def _tell(self, tenant: str, told: Told) -> None:
        if self.forward is not None:
            self.forward(tenant, told)
            return
        watched = self._of(tenant)
        watched.log.add(told)
        watched.wake()

    def deliver(self, tenant: str, told: Told) -> None:
        """Take an event that has been numbered elsewhere."""
        watched = self._of(tenant)
        watched.log.append(told)
        watched.wake()

    def delivered(self, tenant: str, log_id: int, last_id: int) -> None:
        """Let the watchers begin: what was kept elsewhere has all come."""
        watched = self._of(tenant)
        watched.log_id, watched.log.last_id = log_id, last_id
        watched.following.set()


def _encode(at: float, event: pb.Event) -> bytes:
    event.time.FromNanoseconds(round(at * 1e9))
    return pb.WatchResponse(event=event).SerializeToString()


def _encode_finding(at: float, event: Event) -> bytes:
    return _encode(at, pb.Event(run_id=event.run_id, agent_id=event.agent_id, finding=to_finding_event(event)))


def _encode_started(at: float, run_id: str, agent_id: str, parent: str, profile: str, resumed: bool) -> bytes:
    started = pb.RunStarted(parent_run_id=parent, profile=profile, resumed=resumed)
    return _encode(at, pb.Event(run_id=run_id, agent_id=agent_id, run_started=started))


def _encode_finished(at: float, run_id: str, agent_id: str, evicted: bool, calls: int) -> bytes:
    finished = pb.RunFinished(evicted=evicted, calls=calls)
    return _encode(at, pb.Event(run_id=run_id, agent_id=agent_id, run_finished=finished))
