"""Several workers behind one port, as clients and operators see them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from loopguard.server.parent import Parent
from loopguard.server.service import AddressUnavailable
from loopguard.server.settings import Settings

from loopguard.config import Configuration, load_configuration
from loopguard.errors import InvalidConfig
from loopguard.v1 import guard_pb2 as pb
from tests.service.secrets import Authority, bearer, write_tokens
from tests.service.test_process import address_of, start
from tests.service.test_watch import Watch
from tests.service.wire import Ended, Peer, batch, call, refused

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Callable

__all__ = ["start"]

_OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]


class Crew:
    """Two workers, and channels that come to each of them."""

    def __init__(self, parent: Parent, address: str) -> None:
        self.parent = parent
        self.address = address

    def channel(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(self.address, options=_OWN_CONNECTION)

    @property
    def process_ids(self) -> list[int]:
        return [hand.process.pid for hand in self.parent._present if hand.ready.is_set()]

    def count(self, name: str, *labels: str) -> Any:
        return sum(value for found, given, value in self.parent.samples() if found == name and given == labels)

    def runs_of(self, process_id: int) -> int:
        (hand,) = [hand for hand in self.parent._present if hand.process.pid == process_id]
        return sum(tenant["runs"] for tenant in hand.tenants.values())

    async def until(self, met: Any) -> None:
        async with asyncio.timeout(20):
            while not met():
                await asyncio.sleep(0.01)


async def begin(**fields: Any) -> Crew:
    settings = Settings(address="127.0.0.1:0", workers=2, drain_grace_s=0.2, log_level="error", **fields)
    parent = Parent(settings, load_configuration(settings.config) if settings.config else Configuration.guarded())
    return Crew(parent, await parent.start())


@pytest.fixture
async def crew(request: pytest.FixtureRequest) -> AsyncIterator[Crew]:
    crew = await begin(**getattr(request, "param", {}))
    yield crew
    await crew.parent.stop()
    assert crew.parent._present == []


async def spread(crew: Crew, channels: list[grpc.aio.Channel]) -> list[Peer]:
    """Open runs over connections of their own until both workers have some."""
    peers: list[Peer] = []
    async with asyncio.timeout(20):
        while not all(crew.runs_of(process_id) for process_id in crew.process_ids):
            channels.append(crew.channel())
            peers.append(Peer(channels[-1]))
            await peers[-1].open(f"r{len(peers)}")
            await crew.until(lambda: crew.count("loopguard_open_runs") == len(peers))
    return peers


@pytest.fixture
async def channels() -> AsyncIterator[list[grpc.aio.Channel]]:
    opened: list[grpc.aio.Channel] = []
    yield opened
    for channel in opened:
        await channel.close()


async def test_both_serve_and_one_watcher_sees_the_runs_of_all(crew: Crew, channels: list[grpc.aio.Channel]) -> None:
    channels.append(crew.channel())
    watch = await Watch(channels[-1]).begun()
    await crew.until(lambda: crew.count("loopguard_watchers") == 1)

    peers = await spread(crew, channels)
    for peer in peers:
        for _ in range(4):
            await peer.run(args={"same": 1})
        await peer.close()

    seen: dict[str, list[str]] = {}
    while sum(map(len, seen.values())) < 3 * len(peers):
        response = await watch.next()
        assert response.lost == 0
        seen.setdefault(response.event.run_id, []).append(str(response.event.WhichOneof("kind")))
    assert len(seen) == len(peers) >= 2
    assert all(kinds == ["run_started", "finding", "run_finished"] for kinds in seen.values())
    await crew.until(lambda: crew.count("loopguard_runs_ended", "closed") == len(peers))
    assert crew.count("loopguard_verdicts", "WARN", "generic_repeat") == len(peers)
    assert crew.count("loopguard_workers") == 2


async def test_what_is_kept_for_watchers_survives_the_worker_that_told_it(
    crew: Crew, channels: list[grpc.aio.Channel]
) -> None:
    peers = await spread(crew, channels)
    channels.append(crew.channel())
    watch = await Watch(channels[-1], oldest=True).begun()
    before = [await watch.next() for _ in peers]
    victims = crew.process_ids

    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    await crew.until(lambda: len(crew.process_ids) == 2 and not set(victims) & set(crew.process_ids))
    channels.append(crew.channel())
    again = await Watch(channels[-1], after=before[0].position).begun()
    late = Peer(channels[-1])
    await late.open("late")

    after = [await again.next() for _ in peers]
    assert {each.event.run_id for each in before} == {f"r{number + 1}" for number in range(len(peers))}
    assert [each.event.run_id for each in after] == [each.event.run_id for each in before[1:]] + ["late"]
    assert sum(each.lost for each in before + after) == 0
    await late.close()


async def test_a_killed_worker_is_replaced_and_its_runs_are_told_again(
    crew: Crew, channels: list[grpc.aio.Channel]
) -> None:
    peers = await spread(crew, channels)
    victim, other = crew.process_ids
    opened = crew.count("loopguard_runs_opened", "new")
    working = [asyncio.create_task(_work(peer)) for peer in peers]
    await asyncio.sleep(0)

    os.kill(victim, signal.SIGKILL)
    lost = [task for task in working if not await _goes_on(task, crew)]
    await crew.until(lambda: len(crew.process_ids) == 2)

    assert lost
    assert len(lost) < len(peers)
    assert victim not in crew.process_ids
    assert other in crew.process_ids
    assert crew.count("loopguard_worker_restarts") == 1
    assert crew.count("loopguard_runs_opened", "new") == opened
    channels.append(crew.channel())
    again = Peer(channels[-1])
    response = await again.open("gone", resume=True)
    assert response.opened.last_seq == 0
    await again.close()
    await crew.until(lambda: crew.count("loopguard_runs_opened", "not_found") == 1)
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)


async def _work(peer: Peer) -> None:
    number = 0
    while True:
        await peer.run(args={"n": number})
        number += 1


async def _goes_on(task: asyncio.Task[None], crew: Crew) -> bool:
    await crew.until(lambda: task.done() or crew.count("loopguard_worker_restarts"))
    done, _ = await asyncio.wait([task], timeout=0.2)
    return not done


async def test_with_one_sqlite_file_the_other_worker_takes_over_what_was_durable(tmp_path: Path) -> None:
    crew = await begin(store=f"sqlite:{tmp_path}/runs.db", durability="sync")
    channels: list[grpc.aio.Channel] = []
    peers = await spread(crew, channels)
    for peer in peers:
        for _ in range(3):
            await peer.run()
    answer = await peers[0].tell(calls=batch(call()))
    assert answer.durable_seq == answer.seq == 7

    for process_id in crew.process_ids:
        os.kill(process_id, signal.SIGKILL)
    await crew.until(lambda: crew.count("loopguard_worker_restarts") == 2 and len(crew.process_ids) == 2)
    async with crew.channel() as channel:
        back = Peer(channel)
        opened = (await back.open("r1", resume=True)).opened
        again = await back.tell(outcome=pb.Outcome(result_json=b"1"))
        await back.close()

    assert (opened.epoch, opened.last_seq, again.HasField("verdict")) == (2, 7, True)
    await crew.until(lambda: crew.count("loopguard_store_restored", "good") == 1)
    for channel in channels:
        await channel.close()
    await crew.parent.stop()


@pytest.mark.parametrize("crew", [{"runs_per_tenant": 3}], indirect=True)
async def test_a_tenant_has_its_runs_in_all_workers_together(crew: Crew, channels: list[grpc.aio.Channel]) -> None:
    for number in range(3):
        channels.append(crew.channel())
        await Peer(channels[-1]).open(f"r{number}")
    await crew.until(lambda: crew.count("loopguard_open_runs") == 3)
    # Each has to hear of the other's.
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        while True:
            channels.append(crew.channel())
            peer = Peer(channels[-1])
            answer = await peer.open("late")
            if not answer.HasField("opened"):
                break
            await peer.close()

    assert refused(answer) == "LIMIT_EXCEEDED"


@pytest.mark.parametrize("crew", [{"calls_per_s": 40.0}], indirect=True)
async def test_a_tenant_s_calls_a_second_are_those_of_all_workers_together(
    crew: Crew, channels: list[grpc.aio.Channel]
) -> None:
    peers = await spread(crew, channels)
    granted = 0

    loop = asyncio.get_running_loop()
    begun = loop.time()
    while (spent := loop.time() - begun) < 3:
        for peer in peers:
            answer = await peer.tell(calls=batch(call(args={"n": granted})))
            granted += answer.HasField("verdicts")
        await asyncio.sleep(0)

    assert granted <= 40 * (spent + 2)
    assert granted >= 40 * (spent - 1.5)
    for peer in peers:
        await peer.close()


async def test_a_worker_that_is_replaced_while_files_are_bad_has_the_last_good_ones(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.write()
    config, tokens = tmp_path / "guard.json5", tmp_path / "tokens"
    config.write_text("{tools: {loopDetection: {enabled: true, warningThreshold: 2}}}")
    write_tokens(tokens, acme="old")
    crew = await begin(**files, tokens_file=str(tokens), config=str(config), reload_poll_s=0.01)
    before = crew.process_ids
    config.write_text("{tools: {loopDetection: {enabled: true, warningThreshold: 3}}}")
    write_tokens(tokens, acme="new")
    await crew.until(lambda: crew.count("loopguard_reloads", "configuration", "good") >= 2)
    await crew.until(lambda: crew.count("loopguard_reloads", "tokens", "good") >= 2)
    for path in (config, tokens, *map(Path, files.values())):
        path.write_text("bad {")
    await crew.until(lambda: crew.count("loopguard_reloads", "configuration", "bad") >= 2)

    for process_id in before:
        os.kill(process_id, signal.SIGKILL)
    await crew.until(lambda: len(crew.process_ids) == 2 and not set(before) & set(crew.process_ids))

    async with authority.channel(crew.address.replace("127.0.0.1", "localhost")) as channel:
        peer = Peer(channel, metadata=bearer("new"))
        opened = (await peer.open()).opened
        await peer.close()
    assert opened.config.warning_threshold == 3
    await crew.parent.stop()


async def test_a_worker_told_to_go_drains_and_is_replaced(crew: Crew, channels: list[grpc.aio.Channel]) -> None:
    await spread(crew, channels)

    os.kill(crew.process_ids[0], signal.SIGTERM)
    await crew.until(lambda: crew.count("loopguard_worker_restarts") == 1)
    await crew.until(lambda: len(crew.process_ids) == 2)

    assert crew.parent.serving


async def test_a_stop_drains_all_of_them() -> None:
    crew = await begin()
    channels = [crew.channel() for _ in range(4)]
    peers = [Peer(channel) for channel in channels]
    for number, peer in enumerate(peers):
        await peer.open(f"r{number}")

    await crew.parent.stop()
    told = [await peer.read() for peer in peers]
    ends = []
    for peer in peers:
        with pytest.raises(Ended) as ended:
            await peer.read()
        ends.append(ended.value.reason)

    assert all(response.HasField("go_away") for response in told)
    assert ends == ["SHUTTING_DOWN"] * 4
    for channel in channels:
        await channel.close()


def test_what_a_worker_would_refuse_is_refused_before() -> None:
    with pytest.raises(InvalidConfig, match="socket file"):
        Parent(Settings(address="unix:/tmp/x", workers=2), Configuration.guarded())
    with pytest.raises(InvalidConfig, match="/nowhere"):
        Parent(Settings(workers=2, tokens_file="/nowhere"), Configuration.guarded())


async def test_a_port_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        parent = Parent(Settings(address=address, workers=2), Configuration.guarded())

        with pytest.raises(AddressUnavailable, match="can't listen"):
            await parent.start()


def children_of(process_id: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process_id}/task/{process_id}/children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_with_the_parent_its_workers_go(start: Callable[..., subprocess.Popen[str]], number: int) -> None:
    process = start(LOOPGUARD_WORKERS="2", LOOPGUARD_DRAIN_GRACE_S="0.1")
    async with grpc.aio.insecure_channel(address_of(process)) as channel:
        peer = Peer(channel)
        await peer.open()
        workers = children_of(process.pid)

        process.send_signal(number)
        assert (await peer.read()).HasField("go_away")
        with pytest.raises(Ended):
            await peer.read()

    code = await asyncio.to_thread(process.wait, 20)
    assert code == (0 if number == signal.SIGTERM else -number)
    assert len(workers) == 2
    async with asyncio.timeout(20):
        while any(is_alive(worker) for worker in workers):
            await asyncio.sleep(0.01)


def is_alive(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_whoever_wants_it_to_go_waits_for_no_worker_to_come(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(LOOPGUARD_WORKERS="2")
    assert process.stderr is not None
    assert '"event": "guards"' in process.stderr.readline()

    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)

    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in errors
    assert "worker ended" not in errors


async def test_a_signal_of_the_terminal_reaches_the_parent_alone(crew: Crew) -> None:
    assert [os.getsid(process_id) for process_id in crew.process_ids] == crew.process_ids
