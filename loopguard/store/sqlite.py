"""A store in one SQLite file: it survives a restart and a SIGKILL, and loses nothing of a commit in a power cut."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from loopguard.store.interface import Claim, Deletion, Held, Save, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: What tells our files from those of others ("lpgd"), and the version of the table.
_APPLICATION: Final = 0x6C706764
_VERSION: Final = 1
#: How long another process may hold the file before we give up for now.
_BUSY_S: Final = 1.0
#: How often it is tried within that time where SQLite itself does not wait.
_TRIES: Final = 20
#: How long the epoch of a run that has ended is remembered, so that a stale owner can't bring it back.
_GRAVE_S: Final = 60.0
_TABLES: Final = (
    """
    CREATE TABLE runs (
        tenant TEXT NOT NULL, run_id TEXT NOT NULL, epoch INTEGER NOT NULL, expires REAL NOT NULL, data BLOB,
        PRIMARY KEY (tenant, run_id)
    )
    """,
    "CREATE INDEX runs_expires ON runs (expires)",
)
_FIND: Final = "SELECT epoch, data FROM runs WHERE tenant = ? AND run_id = ?"
_PUT: Final = """
    INSERT INTO runs (tenant, run_id, epoch, expires, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET epoch = excluded.epoch, expires = excluded.expires, data = excluded.data WHERE excluded.epoch >= runs.epoch
"""
_TAKE: Final = """
    INSERT INTO runs (tenant, run_id, epoch, expires) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET epoch = excluded.epoch, expires = excluded.expires
"""

T = TypeVar("T")


class SqliteStore:
    """Uses a thread of its own, so that neither the file nor a lock on it holds up the event loop."""

    kind = "sqlite"

    def __init__(self, path: str, *, ttl_s: float, clock: Callable[[], float]) -> None:
        """Name the file; it is made where there is none."""
        self._path = path
        self._ttl_s = ttl_s
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="loopguard store")
        self._open: sqlite3.Connection | None = None
        #: Which file that is, whatever has its name by now.
        self._opened: tuple[int, int] | None = None

    async def start(self) -> None:
        """Open the file."""
        await self._do(lambda _: None)

    async def claim(self, runs: Sequence[Held]) -> list[Claim]:
        """Take runs over: raise their epochs, and load what others wrote of them since."""
        return await self._do(lambda file: [self._claim(file, held) for held in runs])

    def _claim(self, file: sqlite3.Connection, held: Held) -> Claim:
        stored, data = file.execute(_FIND, (held.tenant, held.run_id)).fetchone() or (0, None)
        epoch = max(stored, held.epoch) + 1
        file.execute(_TAKE, (held.tenant, held.run_id, epoch, self._clock() + self._ttl_s))
        current = stored <= held.epoch
        return Claim(epoch, current, None if current else data)

    async def save(self, saves: Sequence[Save]) -> list[int]:
        """Write snapshots as one commit; see `Store.save`."""
        return await self._do(lambda file: self._save(file, saves))

    def _save(self, file: sqlite3.Connection, saves: Sequence[Save]) -> list[int]:
        expires = self._clock() + self._ttl_s
        epochs = []
        for tenant, run_id, epoch, data, newest in saves:
            granted = max(epoch, self._epoch(file, tenant, run_id) + 1) if newest else epoch
            written = file.execute(_PUT, (tenant, run_id, granted, expires, data)).rowcount
            epochs.append(granted if written else self._epoch(file, tenant, run_id))
        return epochs

    def _epoch(self, file: sqlite3.Connection, tenant: str, run_id: str) -> int:
        found = file.execute(_FIND, (tenant, run_id)).fetchone()
        return int(found[0]) if found else 0

    async def delete(self, runs: Sequence[Deletion]) -> None:
        """Forget runs, unless others have taken them over. Their epochs are remembered for a while."""
        await self._do(lambda file: self._delete(file, runs))

    def _delete(self, file: sqlite3.Connection, runs: Sequence[Deletion]) -> None:
        expires = self._clock() + _GRAVE_S
        for tenant, run_id, epoch, newest in runs:
            granted = max(epoch, self._epoch(file, tenant, run_id)) if newest else epoch
            file.execute(_PUT, (tenant, run_id, granted, expires, None))

    async def expire(self) -> int:
        """Forget the runs that nobody saved for too long; return how many."""
        now = self._clock()
        return await self._do(lambda file: file.execute("DELETE FROM runs WHERE expires < ?", (now,)).rowcount)

    async def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(StoreUnavailable):
            await asyncio.get_running_loop().run_in_executor(self._thread, self._let_go)
        self._thread.shutdown(wait=False)

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something as one transaction, in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transact, work)

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            file = self._file()
            with _transaction(file, "IMMEDIATE"):
                done = work(file)
        except (sqlite3.Error, OSError) as failure:
            # Opened anew at the next try: by then it may be another file, or in order again.
            self._let_go()
            raise StoreUnavailable(f"{self._path}: {failure}") from None
        return done

    def _file(self) -> sqlite3.Connection:
        if self._open is not None and self._identity() != self._opened:
            # What is written to a file without a name is gone with this process.
            raise FileNotFoundError("somebody has removed or replaced the file")
        if self._open is None:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True)
            self._open = sqlite3.connect(
                self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False, cached_statements=32
            )
            self._prepare(self._open)
            self._opened = self._identity()
        return self._open

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = Path(self._path).stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def _prepare(self, file: sqlite3.Connection) -> None:
        """Make sure that the file is ours before anything is written to it."""
        with _transaction(file, "DEFERRED"):
            is_new = not self._is_ours(file)
        self._write_ahead(file)
        file.execute("PRAGMA synchronous = FULL")
        if is_new:
            # Another process may have been first meanwhile.
            with _transaction(file, "IMMEDIATE"):
                if not self._is_ours(file):
                    for statement in _TABLES:
                        file.execute(statement)
                    file.execute(f"PRAGMA application_id = {_APPLICATION}")
                    file.execute(f"PRAGMA user_version = {_VERSION}")

    def _write_ahead(self, file: sqlite3.Connection) -> None:
        for _ in range(_TRIES):
            try:
                file.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                # Where two want it at once, SQLite lets one of them wait and refuses the other.
                time.sleep(_BUSY_S / _TRIES)
            else:
                return
        file.execute("PRAGMA journal_mode = WAL")

    def _is_ours(self, file: sqlite3.Connection) -> bool:
        """Tell whether the file has our table; `False` for an empty one. Raises `sqlite3.DatabaseError` for others."""
        application = file.execute("PRAGMA application_id").fetchone()[0]
        version = file.execute("PRAGMA user_version").fetchone()[0]
        tables = file.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if application != _APPLICATION and (application or version or tables):
            raise sqlite3.DatabaseError("a database of something else; nothing was written to it")
        if application == _APPLICATION and version != _VERSION:
            raise sqlite3.DatabaseError(f"a store of version {version}; this loopguard reads version {_VERSION}")
        return bool(application == _APPLICATION)

    def _let_go(self) -> None:
        file, self._open = self._open, None
        if file is not None:
            with contextlib.suppress(sqlite3.Error):
                file.close()


@contextlib.contextmanager
def _transaction(file: sqlite3.Connection, kind: str) -> Iterator[None]:
    file.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if file.in_transaction:
            file.execute("ROLLBACK")
        raise
    file.execute("COMMIT")
