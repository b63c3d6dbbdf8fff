from __future__ import annotations

import asyncio
import socket
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from loopguard.server.settings import Settings
from prometheus_client.parser import text_string_to_metric_families

from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import running
from tests.service.wire import Ended, Peer, batch, call, open_frame

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.service.conftest import Server


class Scraped:
    """A server with a port for operators."""

    def __init__(self, server: Server, channel: grpc.aio.Channel) -> None:
        self.server = server
        self.channel = channel
        self.address = server.service.metrics_address

    async def get(self, path: str = "/metrics") -> str:
        def read() -> str:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=5) as response:
                return str(response.read().decode())

        return await asyncio.to_thread(read)

    async def metrics(self) -> dict[str, float]:
        values = {}
        for family in text_string_to_metric_families(await self.get()):
            for sample in family.samples:
                labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
                values[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
        return values


@pytest.fixture
async def scraped() -> AsyncIterator[Scraped]:
    settings = Settings(address="127.0.0.1:0", metrics_address="127.0.0.1:0", drain_grace_s=0, streams_per_connection=3)
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        yield Scraped(server, channel)


async def test_calls_and_verdicts_are_counted_by_action_and_detector(scraped: Scraped) -> None:
    peer = Peer(scraped.channel)
    await peer.open(decided_unavailable=7)
    for _ in range(6):
        await peer.run(args={"same": 1})
    await peer.tell(calls=batch(pb.Call(tool="exec", args_json=b"no json")))
    opened = await scraped.metrics()
    await peer.close()
    closed = await scraped.metrics()

    assert opened["loopguard_verdicts_total{action=ALLOW,detector=}"] == 4
    assert opened["loopguard_verdicts_total{action=WARN,detector=generic_repeat}"] == 1
    assert sum(value for name, value in opened.items() if name.startswith("loopguard_verdicts_total")) == 7
    assert opened["loopguard_decided_unavailable_total"] == 7
    assert opened["loopguard_opaque_json_total"] == 1
    assert (opened["loopguard_open_runs"], opened["loopguard_open_streams"]) == (1, 1)
    assert opened["loopguard_decision_seconds_count{rpc=Guard}"] >= 8
    assert opened["loopguard_decision_seconds_sum{rpc=Guard}"] > 0
    assert opened["process_resident_memory_bytes"] > 1e6
    assert closed["loopguard_open_runs"] == 0
    assert closed["loopguard_runs_opened_total{how=new}"] == 1
    assert closed["loopguard_runs_ended_total{how=closed}"] == 1


async def test_json_too_deep_is_judged_and_counted(scraped: Scraped) -> None:
    peer = Peer(scraped.channel)
    await peer.open()
    fits, deep = (b"[" * depth + b"]" * depth for depth in (256, 257))
    for args in (fits, deep):
        await peer.tell(calls=batch(pb.Call(tool="exec", args_json=args)))
    await peer.tell(outcome=pb.Outcome(call_id="c1", status=pb.STATUS_OK, result_json=deep))
    metrics = await scraped.metrics()
    await peer.close()

    assert metrics["loopguard_opaque_json_total"] == 2


async def test_refusals_are_counted_by_reason(scraped: Scraped) -> None:
    peer, many = Peer(scraped.channel), Peer(scraped.channel, "GuardMany")
    await peer.open(config={"history_size": 0})
    await peer.open()
    await peer.tell(outcome=pb.Outcome(call_id="nobody"))
    await many.ask(pb.GuardManyRequest())
    with pytest.raises(Ended):
        await peer.ask(open_frame())
    await many.half_close()

    metrics = await scraped.metrics()

    assert metrics["loopguard_refusals_total{reason=INVALID_CONFIG}"] == 1
    assert metrics["loopguard_refusals_total{reason=UNKNOWN_CALL}"] == 1
    assert metrics["loopguard_refusals_total{reason=INVALID_FRAME}"] == 1
    scraped.server.sessions.evict(0)
    assert (await scraped.metrics())["loopguard_runs_ended_total{how=expired}"] == 1


async def test_how_runs_come_back_is_counted(scraped: Scraped) -> None:
    for fields in ({"resume": True}, {"resume": True}, {}, {"rebuild": True}):
        peer = Peer(scraped.channel)
        await peer.open("r", **fields)
        await peer.half_close()
        await scraped.server.service.servicer.emptied()

    metrics = await scraped.metrics()

    assert metrics["loopguard_runs_opened_total{how=not_found}"] == 1
    assert metrics["loopguard_runs_opened_total{how=resumed}"] == 1
    assert metrics["loopguard_runs_opened_total{how=replaced}"] == 2
    assert metrics["loopguard_runs_rebuilt_total"] == 1
    assert metrics["loopguard_interrupted_runs"] == 1
    scraped.server.sessions.evict(0)


async def test_no_metric_holds_arguments_outcomes_or_ids(scraped: Scraped) -> None:
    peer = Peer(scraped.channel)
    await peer.open("c4n4ry")
    for _ in range(6):
        await peer.run("c4n4ry", {"c4n4ry": "c4n4ry"}, result="c4n4ry")
    await peer.close()

    assert "c4n4ry" not in await scraped.get()


async def test_health_follows_the_drain(scraped: Scraped) -> None:
    assert await scraped.get("/healthz") == "serving\n"

    scraped.server.service._serving = False

    with pytest.raises(urllib.error.HTTPError) as error:
        await scraped.get("/healthz")
    assert error.value.code == 503
    error.value.close()


async def test_there_is_nothing_else(scraped: Scraped) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        await scraped.get("/../etc/passwd")

    assert error.value.code == 404
    error.value.close()


async def test_scrapers_that_hang_hold_up_neither_verdicts_nor_the_stop(scraped: Scraped) -> None:
    host, _, port = scraped.address.rpartition(":")
    hanging = [socket.create_connection((host, int(port))) for _ in range(40)]
    for connection in hanging[:8]:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n")
    peer = Peer(scraped.channel)
    await peer.open()

    verdict = (await peer.tell(calls=batch(call()))).verdicts.verdicts[0]

    assert verdict.action == pb.ACTION_ALLOW
    await peer.close()
    for connection in hanging:
        connection.close()
    while True:
        # Those that hung have to be noticed first.
        try:
            assert "loopguard_open_runs" in await scraped.get()
            break
        except OSError:
            continue


async def test_every_kind_of_refusal_is_counted(scraped: Scraped) -> None:
    peer = Peer(scraped.channel, "GuardMany")
    opening = pb.RunFrames(run_id="r", frames=[open_frame("r")])
    await peer.ask(pb.GuardManyRequest(runs=[opening]))
    early = pb.RunFrames(run_id="new", frames=[pb.GuardRequest(seq=1, calls=batch(call()))])
    nameless = pb.RunFrames(run_id="r", frames=[pb.GuardRequest(close=pb.RunClose())])
    undecodable = b"\x0a\x07" + b"\x0a\x01r" + b"\x12\x02\xff\xff"
    acks = [pb.GuardRequest(seq=seq, user_message=pb.UserMessage()) for seq in range(2, 67)]
    expired = pb.RunFrames(run_id="r", frames=[*acks, pb.GuardRequest(seq=1, user_message=pb.UserMessage())])

    await peer.ask(pb.GuardManyRequest(runs=[early, nameless]))
    await peer.ask(undecodable)
    await peer.ask(pb.GuardManyRequest(runs=[expired, opening]))

    metrics = await scraped.metrics()
    assert metrics["loopguard_refusals_total{reason=INVALID_FRAME}"] == 4
    assert metrics["loopguard_refusals_total{reason=ANSWER_EXPIRED}"] == 1
    closing = pb.RunFrames(run_id="r", frames=[pb.GuardRequest(seq=1, close=pb.RunClose())])
    await peer.ask(pb.GuardManyRequest(runs=[opening, closing]))
    await peer.half_close()


async def test_operators_may_ask_over_ipv6() -> None:
    settings = Settings(address="127.0.0.1:0", metrics_address="[::1]:0", drain_grace_s=0)
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        scraped = Scraped(server, channel)

        assert scraped.address.startswith("[::1]:")
        assert await scraped.get("/healthz") == "serving\n"
