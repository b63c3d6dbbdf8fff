"""The store in Redis, Valkey and a cluster: what every store does, and what happens when a server goes away."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from typing import TYPE_CHECKING

import pytest
import trustme

from loopguard.store import Claim, Deletion, Held, Save, Store, StoreUnavailable, open_store
from tests.stores.servers import clustered, serving, until
from tests.unit.store_contract import CONTRACT, Contract

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.stores.servers import Server

KINDS = ["redis", "valkey"]


def connect(address: str, ttl_s: float = 60.0) -> Store:
    store = open_store(address, ttl_s=ttl_s, clock=lambda: 0.0)
    assert store is not None
    return store


@contextlib.asynccontextmanager
async def two(address: str, ttl_s: float = 60.0) -> AsyncIterator[tuple[Store, Store]]:
    one, other = connect(address, ttl_s), connect(address, ttl_s)
    try:
        yield one, other
    finally:
        await one.close()
        await other.close()


@pytest.fixture(scope="module", params=[*KINDS, "redis-cluster", "valkey-cluster"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kind, _, cluster = request.param.partition("-")
    folder = tmp_path_factory.mktemp(request.param)
    if cluster:
        with clustered(kind, folder) as servers:
            yield f"redis+cluster://127.0.0.1:{servers[1].port}"
    else:
        with serving(kind, folder) as server:
            yield f"redis://127.0.0.1:{server.port}"


@pytest.mark.parametrize("clause", CONTRACT, ids=lambda clause: clause.__name__)
async def test_what_every_store_does(clause: Contract, address: str) -> None:
    async with two(address) as (one, other):
        await one.start()
        await clause(one, other)
        # The servers are shared by all clauses.
        await one.delete([Deletion("t", run, 0, newest=True) for run in ("r", "mine", "fresh", "other")])
        await wipe(address)


async def wipe(address: str) -> None:
    store = connect(address)
    await store.start()
    client = store._line.client  # type: ignore[attr-defined]  # there is no other way to empty a server
    await client.flushall(**({"target_nodes": "primaries"} if "cluster" in address else {}))
    await store.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_runs_that_nobody_saves_expire(kind: str, tmp_path: Path) -> None:
    with serving(kind, tmp_path) as server, server.client() as client:
        async with two(f"redis://127.0.0.1:{server.port}", ttl_s=0.2) as (one, _):
            await one.save([Save("t", "r", 1, b"x")])
            await until(lambda: client.dbsize() == 0)

            assert await one.claim([Held("t", "r", 0)]) == [Claim(1, True, None)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("doing", ["claim", "save", "delete"])
async def test_a_value_of_another_kind_at_a_key_of_ours_costs_nobody_else(
    kind: str, doing: str, tmp_path: Path
) -> None:
    with serving(kind, tmp_path) as server, server.client() as client:
        async with two(f"redis://127.0.0.1:{server.port}") as (one, other):
            await one.save([Save("t", "odd", 1, b"x"), Save("t", "words", 1, b"x"), Save("t", "good", 1, b"x")])
            [odd] = client.keys("*:odd")
            [words] = client.keys("*:words")
            client.delete(odd)
            client.rpush(odd, "a list")
            client.hset(words, "e", "no number")

            runs = ("odd", "words", "good")
            if doing == "save":
                assert await one.save([Save("t", run, 2, b"y") for run in runs]) == [2, 2, 2]
            elif doing == "delete":
                await one.delete([Deletion("t", run, 2, newest=False) for run in runs])
            claims = await other.claim([Held("t", run, 0) for run in runs])

    data = {"claim": [None, None, b"x"], "save": [b"y"] * 3, "delete": [None] * 3}[doing]
    assert [claim.data for claim in claims] == data


@pytest.mark.parametrize("kind", KINDS)
async def test_passwords(kind: str, tmp_path: Path) -> None:
    with serving(kind, tmp_path, "--requirepass", "s3cret") as server:
        async with two(f"redis://:s3cret@127.0.0.1:{server.port}/1") as (one, _):
            assert await one.save([Save("t", "r", 1, b"x")]) == [1]
        async with two(f"redis://:wrong@127.0.0.1:{server.port}") as (one, _):
            with pytest.raises(StoreUnavailable, match="redis: ") as refused:
                await one.start()
            assert "wrong" not in str(refused.value)


@pytest.mark.parametrize("kind", ["redis"])
async def test_tls(kind: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    files = ("--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem", "--tls-ca-cert-file", "ca.pem")
    options = [str(tmp_path / option) if option.endswith(".pem") else option for option in files]

    with serving(kind, tmp_path, *options, "--tls-auth-clients", "no", tls=True) as server:
        async with two(f"rediss://127.0.0.1:{server.port}?ssl_ca_certs={tmp_path / 'ca.pem'}") as (one, _):
            assert await one.save([Save("t", "r", 1, b"x")]) == [1]
        async with two(f"rediss://127.0.0.1:{server.port}") as (one, _):
            with pytest.raises(StoreUnavailable, match=r"(?i)certificate"):
                await one.start()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_comes_back_empty_is_written_to_again(kind: str, tmp_path: Path) -> None:
    with serving(kind, tmp_path) as server:
        async with two(f"redis://127.0.0.1:{server.port}") as (one, other):
            await one.save([Save("t", "r", 2, b"x")])
            server.kill()
            for _ in range(2):
                with pytest.raises(StoreUnavailable):
                    await one.save([Save("t", "r", 2, b"y")])
            server.start()

            assert await one.save([Save("t", "r", 2, b"z")]) == [2]
            assert await other.claim([Held("t", "r", 0)]) == [Claim(3, False, b"z")]


async def test_a_frozen_server_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopguard.store.redis._ANSWER_S", 0.2)
    with serving("redis", tmp_path) as server:
        async with two(f"redis://127.0.0.1:{server.port}") as (one, _):
            await one.start()
            server.freeze(signal.SIGSTOP)
            with pytest.raises(StoreUnavailable):
                await one.save([Save("t", "r", 1, b"x")])
            server.freeze(signal.SIGCONT)

            assert await one.save([Save("t", "r", 1, b"x")]) == [1]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_primary_that_was_demoted_is_told_of(kind: str, tmp_path: Path) -> None:
    with serving(kind, tmp_path / "a") as old, serving(kind, tmp_path / "b") as new, old.client() as client:
        async with two(f"redis://127.0.0.1:{old.port}") as (one, _):
            await one.start()
            client.execute_command("REPLICAOF", "127.0.0.1", new.port)
            with pytest.raises(StoreUnavailable, match=r"(?i)read.?only"):
                await one.save([Save("t", "r", 1, b"x")])
            client.execute_command("REPLICAOF", "NO", "ONE")

            assert await one.save([Save("t", "r", 1, b"x")]) == [1]


# redis-py leaves the connections of a node that is no longer in its cluster to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_failover_of_a_cluster_s_primary_is_survived(kind: str, tmp_path: Path) -> None:
    runs = [f"r{number}" for number in range(60)]
    saves = [Save("t", run, 1, run.encode()) for run in runs]
    with clustered(kind, tmp_path, replicas=1) as servers:
        primary: Server = servers[0]
        async with two(f"redis+cluster://127.0.0.1:{servers[1].port}") as (one, other):
            await one.save(saves)
            with primary.client() as client:
                client.execute_command("WAIT", 1, 5000)
            primary.kill()

            async def saved() -> list[int]:
                while True:
                    with contextlib.suppress(StoreUnavailable):
                        return await one.save(saves)
                    await asyncio.sleep(0.1)

            assert await asyncio.wait_for(saved(), 60) == [1] * len(runs)
            claims = await other.claim([Held("t", run, 0) for run in runs])
            gc.collect()
            assert [claim.data for claim in claims] == [run.encode() for run in runs]
            # What was asked of a node that has gone may have been done, and is asked again.
            assert min(claim.epoch for claim in claims) >= 2
            assert await one.save(saves) == [claim.epoch for claim in claims]
