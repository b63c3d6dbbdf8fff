from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from loopguard.server.settings import Settings

from loopguard.v1 import guard_pb2 as pb
from loopguard.v1 import guard_pb2_grpc
from tests.service.conftest import running
from tests.service.wire import METHOD, Ended, Peer, batch, call

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.service.conftest import Server


async def test_fingerprint_tells_digest_flags_and_canonical_text(channel: grpc.aio.Channel) -> None:
    from loopguard._core import canonicalize, fingerprint

    data = b'{"b": 1.0, "a": 12345678901234567890}'
    stub = guard_pb2_grpc.LoopGuardServiceStub(channel)

    response = await stub.Fingerprint(pb.FingerprintRequest(json=data, include_canonical=True))

    assert response.digest == fingerprint(data)
    assert response.canonical == canonicalize(data) == b'{"a":12345678901234567890,"b":1}'
    assert list(response.flags) == [pb.JSON_FLAG_BIGINT]
    assert response.digest_scheme == 1


async def test_fingerprint_leaves_the_canonical_text_out(channel: grpc.aio.Channel) -> None:
    stub = guard_pb2_grpc.LoopGuardServiceStub(channel)

    response = await stub.Fingerprint(pb.FingerprintRequest(json=b"no json"))

    assert (response.canonical, list(response.flags), len(response.digest)) == (b"", [pb.JSON_FLAG_OPAQUE], 16)


async def test_fingerprint_masks_the_kinds_that_are_named(channel: grpc.aio.Channel) -> None:
    stub = guard_pb2_grpc.LoopGuardServiceStub(channel)
    texts = [b'"2024-01-02T03:04:05Z pid=41"', b'"2025-11-12T13:14:15Z pid=97"']

    masked = [await stub.Fingerprint(pb.FingerprintRequest(json=text, masks=["default"])) for text in texts]
    plain = [await stub.Fingerprint(pb.FingerprintRequest(json=text)) for text in texts]

    assert masked[0].digest == masked[1].digest
    assert plain[0].digest != plain[1].digest


async def test_fingerprint_refuses_an_unknown_kind(channel: grpc.aio.Channel) -> None:
    stub = guard_pb2_grpc.LoopGuardServiceStub(channel)

    with pytest.raises(grpc.aio.AioRpcError, match="everything") as error:
        await stub.Fingerprint(pb.FingerprintRequest(json=b"1", masks=["everything"]))

    assert Ended(error.value).reason == "INVALID_FRAME"


async def test_fingerprint_refuses_what_is_no_protobuf(channel: grpc.aio.Channel) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await channel.unary_unary(METHOD + "Fingerprint")(b"\xff")

    assert Ended(error.value).reason == "INVALID_FRAME"
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("name", ["", "loopguard.v1.LoopGuardService"])
async def test_health_says_serving(channel: grpc.aio.Channel, name: str) -> None:
    response = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=name))

    assert response.status == health_pb2.HealthCheckResponse.SERVING


async def test_reflection_lists_the_services(channel: grpc.aio.Channel) -> None:
    call_ = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
    await call_.write(reflection_pb2.ServerReflectionRequest(list_services=""))
    response = await call_.read()
    await call_.done_writing()
    assert await call_.read() is grpc.aio.EOF

    names = {service.name for service in response.list_services_response.service}
    assert {"loopguard.v1.LoopGuardService", "grpc.health.v1.Health"} <= names


async def test_before_a_shutdown_clients_are_told_and_may_finish() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", drain_grace_s=30)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        one, many = Peer(channel), Peer(channel, "GuardMany")
        await one.open()
        await many.ask(pb.GuardManyRequest())

        draining = asyncio.create_task(server.service.servicer.drain(30))
        told, told_many = await one.read(), await many.read()
        with pytest.raises(Ended) as late:
            await Peer(channel).open("other")
        answer = await one.tell(calls=batch(call()))
        await one.close()
        await many.half_close()
        await draining

        assert told.go_away.grace.seconds == 30
        assert told_many.go_away.grace.seconds == 30
        assert (late.value.code.name, late.value.reason) == ("UNAVAILABLE", "SHUTTING_DOWN")
        assert answer.verdicts.verdicts[0].action == pb.ACTION_ALLOW


async def test_streams_that_stay_are_ended_after_the_grace() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", drain_grace_s=0)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel)
        await peer.open()

        await server.service.servicer.drain(0)
        told = await peer.read()
        with pytest.raises(Ended) as ended:
            await peer.read()

        assert told.WhichOneof("answer") == "go_away"
        assert (ended.value.code.name, ended.value.reason) == ("UNAVAILABLE", "SHUTTING_DOWN")
        server.sessions.evict(0)


async def test_a_reader_that_never_reads_holds_up_nobody(guard: Callable[[], Peer], server: Server) -> None:
    slow, other = guard(), guard()
    await slow.open("slow")
    await other.open("other")
    frame = pb.GuardRequest(seq=1, calls=batch(*[call(call_id=f"{n}" * 60) for n in range(200)])).SerializeToString()

    async def flood() -> None:
        while True:
            await slow.send(frame)

    flooding = asyncio.create_task(flood())
    stalled = 0
    while stalled < 3:
        before = server.service.servicer.open_streams, len(asyncio.all_tasks())
        verdict = (await other.tell(calls=batch(call()))).verdicts.verdicts[0]
        assert verdict.action == pb.ACTION_ALLOW
        done, _ = await asyncio.wait((flooding,), timeout=0.05)
        assert not done
        stalled += before == (server.service.servicer.open_streams, len(asyncio.all_tasks()))
    flooding.cancel()
    slow.cancel()
    await other.close()
    again = guard()
    await again.open("slow", resume=True)
    await again.tell(close=pb.RunClose())
    await again.half_close()


def test_json_is_what_the_logs_are() -> None:
    import io
    import logging

    from loopguard.server.logs import set_up_logs

    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        set_up_logs("info")
        stream = io.StringIO()
        root.handlers[0].setStream(stream)  # type: ignore[attr-defined]
        logging.getLogger("loopguard.server").info("guards", extra={"because": "default"})
    finally:
        root.handlers[:] = before
        root.setLevel(level)

    line = json.loads(stream.getvalue())
    assert (line["event"], line["level"], line["because"]) == ("guards", "info", "default")
