"""What every store does, here in SQLite; tests/stores holds the same against servers."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING

import pytest

from loopguard.errors import InvalidConfig
from loopguard.store import Held, Save, Store, StoreUnavailable, check_address, open_store
from tests.unit.store_contract import CONTRACT, Contract

if TYPE_CHECKING:
    from pathlib import Path

NOW = [1_000.0]


def sqlite_store(path: Path, ttl_s: float = 60.0) -> Store:
    store = open_store(f"sqlite:{path}", ttl_s=ttl_s, clock=lambda: NOW[0])
    assert store is not None
    return store


@pytest.mark.parametrize("clause", CONTRACT, ids=lambda clause: clause.__name__)
async def test_sqlite(clause: Contract, tmp_path: Path) -> None:
    one, other = sqlite_store(tmp_path / "new folder" / "runs.db"), sqlite_store(tmp_path / "new folder" / "runs.db")
    try:
        await one.start()
        await clause(one, other)
    finally:
        await one.close()
        await other.close()


async def test_runs_that_nobody_saves_expire(tmp_path: Path) -> None:
    store = sqlite_store(tmp_path / "runs.db", ttl_s=60)
    await store.save([Save("", "old", 1, b"x")])
    NOW[0] += 50
    await store.save([Save("", "new", 1, b"y")])
    NOW[0] += 20

    assert await store.expire() == 1
    claims = await store.claim([Held("", "old", 0), Held("", "new", 0)])
    assert [claim.data for claim in claims] == [None, b"y"]
    await store.close()


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be taken for one" * 40, b"short"])
async def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(content)
    store = sqlite_store(path)

    with pytest.raises(StoreUnavailable, match=r"runs\.db: file is not a database"):
        await store.start()

    assert path.read_bytes() == content
    await store.close()


async def test_a_database_of_something_else_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    foreign = sqlite3.connect(path)
    foreign.executescript("CREATE TABLE runs (name TEXT); INSERT INTO runs VALUES ('mine')")
    foreign.close()
    content = path.read_bytes()
    store = sqlite_store(path)

    with pytest.raises(StoreUnavailable, match="a database of something else; nothing was written to it"):
        await store.start()

    assert path.read_bytes() == content
    await store.close()


async def test_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = sqlite_store(path)
    await store.start()
    await store.close()
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 2")
    later.close()

    with pytest.raises(StoreUnavailable, match="a store of version 2; this loopguard reads version 1"):
        await sqlite_store(path).start()


async def test_many_may_make_the_file_at_once(tmp_path: Path) -> None:
    for attempt in range(5):
        stores = [sqlite_store(tmp_path / f"{attempt}.db") for _ in range(8)]

        await asyncio.gather(*(store.start() for store in stores))

        for store in stores:
            await store.close()


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_vanishes_is_told_and_made_anew(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "runs.db"
    store = sqlite_store(path)
    await store.save([Save("", "r", 1, b"x")])
    for file in tmp_path.glob("runs.db*"):
        file.unlink()
    if replaced:
        sqlite3.connect(path).close()
        path.touch()

    with pytest.raises(StoreUnavailable, match="removed or replaced the file"):
        await store.save([Save("", "r", 1, b"y")])

    await store.save([Save("", "r", 1, b"z")])
    await store.close()
    later = sqlite_store(path)
    [claim] = await later.claim([Held("", "r", 0)])
    await later.close()
    assert claim.data == b"z"


async def test_a_locked_file_is_told_and_works_again_later(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = sqlite_store(path)
    await store.start()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable, match="database is locked"):
        await store.save([Save("", "r", 1, b"x")])
    other.execute("ROLLBACK")
    other.close()

    assert await store.save([Save("", "r", 1, b"x")]) == [1]
    await store.close()


async def test_a_damaged_file_is_told_and_a_new_one_is_used(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = sqlite_store(path)
    await store.save([Save("", f"r{number}", 1, b"x" * 3000) for number in range(50)])
    await store.close()
    path.write_bytes(path.read_bytes()[:5000] + b"\xff" * 60_000)
    store = sqlite_store(path)

    with pytest.raises(StoreUnavailable, match=r"malformed|not a database|disk image"):
        await store.claim([Held("", f"r{number}", 0) for number in range(50)])
    path.unlink()
    for beside in path.parent.glob("runs.db-*"):
        beside.unlink()

    assert await store.save([Save("", "r", 1, b"x")]) == [1]
    await store.close()


@pytest.mark.parametrize(
    "address", ["memory", "sqlite:/var/lib/runs.db", "redis://h", "rediss://:secret@h:1/2", "redis+cluster://h:7000"]
)
def test_addresses_of_stores(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("sqlite:", "`sqlite:` needs the path of a file"),
        ("mysql://user:secret@host", "must be one of `memory`"),
        ("redis://", "needs a host"),
        ("redis://:secret@host:port", "needs a host, and a port that is a number"),
        ("redis://:secret@host/one", "the number of a database"),
        ("redis+cluster://:secret@host/1", "a cluster has no database but 0"),
        ("sqlite::memory:", "`sqlite:` needs the path of a file"),
        ("sqlite:a\0b", "`sqlite:` needs the path of a file"),
        ("", "must be one of `memory`"),
    ],
)
def test_other_addresses_are_refused_without_their_passwords(address: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message) as refusal:
        check_address(address)
    assert refusal.value.key == "loopguard.store"
    assert "secret" not in str(refusal.value)
