"""Keeps runs in a store: writes them behind, all that changed in one commit, and asks who has a run that is resumed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from loopguard.store import Deletion, Save, StoreUnavailable, open_store

from .claims import Claims
from .logs import log_failure
from .presence import Presence
from .stored import dump_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from loopguard.store import Store

    from .claims import Key
    from .session import Session
    from .sessions import Sessions
    from .settings import Settings
    from .tally import Tally

_log = logging.getLogger("loopguard.server")

#: How long changes are gathered for a commit: longer ones make fewer snapshots of a busy run.
COMMIT_S: Final = 0.02
#: So many snapshots are made before waiting frames get their turn, and go to the store at once.
_SLICE: Final = 4
_BATCH: Final = 256
#: What is noted for a store that is away; beyond it, what has ended expires there by itself.
_MOST_NOTED: Final = 50_000
#: How long the last commit may take when the service stops.
_LAST_S: Final = 5.0
_FIRST_RETRY_S: Final = 0.1
_LARGEST_RETRY_S: Final = 2.0


class Keeper:
    """What the sessions of a service and its store have to do with each other.

    No frame waits for the store, but where `sync` says so; a run that is resumed does.
    """

    def __init__(
        self,
        store: Store,
        sessions: Sessions,
        tally: Tally,
        *,
        in_flight: int,
        now: Callable[[], float],
        clock: Callable[[], float],
        sync: bool,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._tally = tally
        self._in_flight = in_flight
        self._now = now
        self._clock = clock
        self.sync = sync
        self._presence = Presence()
        #: What it said last when it did not; told once, however often it is tried again.
        self._because = ""
        self._dirty: dict[Session, None] = {}
        self._deleted: list[Deletion] = []
        self._late: list[Save] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._claims = Claims(store, sessions, tally)
        self._changed = asyncio.Event()
        self._committing = False
        #: Runs whose snapshots the store has not confirmed yet.
        self._under_way = 0
        self._writing: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._dirty) + self._under_way

    @property
    def up(self) -> bool:
        """Whether the store did what it was asked last."""
        return self._presence.up

    async def start(self) -> None:
        """Connect, and begin to write. A store that is away is no error."""
        try:
            await self._store.start()
            self._recovered()
        except StoreUnavailable as failure:
            self._failed("start", failure)
        self._writing = asyncio.create_task(self._write())

    async def stop(self) -> None:
        """Write what has changed, if that can be had soon, and let go of the store."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait((self._writing,))
        if self.up and (self._dirty or self._deleted or self._late):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._commit(), _LAST_S)
        await self._store.close()

    # What changed

    def mark(self, session: Session) -> None:
        """Note that a run has changed since its last snapshot."""
        session.dirty = True
        self._dirty[session] = None
        self._changed.set()

    def drop(self, session: Session) -> None:
        """Note that a run is here no more, and that others have it or replace it."""
        self._dirty.pop(session, None)
        # It changes no more.
        session.dirty = True

    def put_off(self, session: Session) -> None:
        """Note that a run is here no more, and may be resumed from the store."""
        if session in self._dirty and len(self._late) < _MOST_NOTED:
            self._late.append(self._save(session))
            self._changed.set()
        self.drop(session)

    def end(self, session: Session) -> None:
        """Note that a run has ended."""
        self.drop(session)
        run = session.run
        if len(self._deleted) < _MOST_NOTED:
            self._deleted.append(Deletion(run.tenant, run.run_id, session.epoch, session.newest))
            self._changed.set()

    async def settled(self) -> None:
        """Wait until all that has changed by now is written, or can't be."""
        if self.up and (self._dirty or self._committing):
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            self._changed.set()
            await future

    async def _write(self) -> None:
        retry_s = _FIRST_RETRY_S
        while True:
            if self.up:
                await self._changed.wait()
                if not self.sync:
                    await asyncio.sleep(COMMIT_S)
                done = await self._commit()
            else:
                await asyncio.sleep(retry_s)
                done = await self._reconnect()
            retry_s = _FIRST_RETRY_S if done else min(retry_s * 2, _LARGEST_RETRY_S)

    async def _reconnect(self) -> bool:
        try:
            await self._store.start()
        except StoreUnavailable as failure:
            self._failed("start", failure)
            return False
        self._recovered()
        return True

    async def _commit(self) -> bool:
        """Write all that has changed by now; return whether it is written."""
        self._changed.clear()
        waiting, self._waiting = self._waiting, []
        self._committing = True
        try:
            await self._write_all()
            if not self.up:
                self._recovered()
        except StoreUnavailable as failure:
            self._failed("save", failure)
        except Exception as failure:  # noqa: BLE001 - the next commit may go well, and nothing else depends on it
            log_failure("writing runs to the store", failure, "")
            self._presence.leave()
        finally:
            self._committing = False
            for future in waiting:
                if not future.done():
                    future.set_result(None)
        return self.up

    async def _write_all(self) -> None:
        sessions = list(self._dirty)
        while self._late:
            await self._store.save(self._late[:_BATCH])
            del self._late[:_BATCH]
        for start in range(0, len(sessions), _BATCH):
            await self._write_some(sessions[start : start + _BATCH])
        while self._deleted:
            some = self._deleted[:_BATCH]
            await self._store.delete(some)
            del self._deleted[: len(some)]
        self._tally.store_commits += 1

    async def _write_some(self, sessions: Iterable[Session]) -> None:
        written: list[tuple[Session, int]] = []
        saves: list[Save] = []
        try:
            for session in sessions:
                if session not in self._dirty:
                    continue
                del self._dirty[session]
                session.dirty = False
                try:
                    saves.append(self._save(session))
                except Exception as failure:  # noqa: BLE001 - one run that can't be kept must not cost the others
                    log_failure("taking a snapshot", failure, session.run.run_id)
                    self._tally.store_failures["snapshot"] += 1
                    continue
                written.append((session, session.last_seq))
                self._under_way = len(written)
                if len(saves) % _SLICE == 0:
                    # Frames that wait have waited for these few only.
                    await asyncio.sleep(0)
            epochs = await self._store.save(saves) if saves else []
        except BaseException:
            self._under_way = 0
            for session, _ in written:
                if not session.dirty:
                    self.mark(session)
            raise
        self._under_way = 0
        self._tally.store_snapshots += len(saves)
        self._tally.store_bytes += sum(len(save.data) for save in saves)
        for (session, seq), save, epoch in zip(written, saves, epochs, strict=True):
            self._confirm(session, seq, save, epoch)

    def _save(self, session: Session) -> Save:
        run = session.run
        data = dump_session(session, in_flight=self._in_flight, now=self._now(), clock=self._clock())
        # A run that nobody uses here any more does not overtake one that is used elsewhere.
        newest = session.newest and session.owner is not None
        return Save(run.tenant, run.run_id, session.epoch, data, newest)

    def _confirm(self, session: Session, seq: int, save: Save, epoch: int) -> None:
        if epoch == save.epoch or save.newest:
            session.durable_seq = max(session.durable_seq, seq)
            session.epoch = max(session.epoch, epoch)
            if epoch == session.epoch:
                session.newest = False
        elif epoch > session.epoch and not session.claiming:
            self._tally.store_fenced += 1
            self._sessions.lose(session)
        elif not session.dirty:
            # Written with an epoch from before a claim of our own.
            self.mark(session)

    async def claim(self, runs: Sequence[Key]) -> dict[Key, int]:
        """Take runs over before they are resumed, and load what others wrote; return the epochs that are granted.

        They wait for a store that is away. Where it has been away for long, what is known here has to do.
        """
        while not self._sessions.draining:
            if self.up:
                try:
                    return await self._claims.claim(runs)
                except (StoreUnavailable, TimeoutError) as failure:
                    self._failed("claim", failure)
            # A client has forgotten what was durable. What is here may be older, if others had the run meanwhile.
            if not await self._presence.returned():
                break
        return {}

    # How the store is

    async def expire(self) -> None:
        """Have the store forget what nobody resumes any more."""
        if self.up:
            try:
                await self._store.expire()
            except StoreUnavailable as failure:
                self._failed("expire", failure)

    def _failed(self, what: str, failure: Exception) -> None:
        self._tally.store_failures[what] += 1
        because = str(failure) or type(failure).__name__
        if self.up or because != self._because:
            told = {"store": self._store.kind, "doing": what, "because": because}
            _log.error("store unavailable, going on from memory", extra=told)
        self._because = because
        self._presence.leave()
        self._changed.set()

    def _recovered(self) -> None:
        self._presence.come()
        self._because = ""
        _log.info("store in use", extra={"store": self._store.kind})
        # Nobody knows what a store that was away has kept.
        for session in self._sessions:
            self.mark(session)


def open_keeper(
    settings: Settings, sessions: Sessions, tally: Tally, *, now: Callable[[], float], clock: Callable[[], float]
) -> Keeper | None:
    """Have sessions kept in the store that the settings name, if they name one. Raises `InvalidConfig`."""
    # An open run that is silent for as long as it may be, and then interrupted for as long as that may last.
    store = open_store(settings.store, ttl_s=settings.idle_timeout_s + settings.run_ttl_s, clock=clock)
    if store is None:
        return None
    sync = settings.durability == "sync"
    keeper = Keeper(store, sessions, tally, in_flight=settings.in_flight, now=now, clock=clock, sync=sync)
    sessions.keep_with(keeper)
    return keeper
