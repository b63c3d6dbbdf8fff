"""Each limit of the service is gone over, and answers with its own error."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from google.rpc import error_details_pb2
from loopguard.server.settings import Settings

from loopguard.v1 import guard_pb2 as pb
from loopguard.v1 import guard_pb2_grpc
from tests.service.conftest import running
from tests.service.wire import Ended, Peer, batch, call, done, open_frame, reason_of, refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.service.conftest import Server


class Small:
    """A server with low limits, and a channel to it."""

    def __init__(self, server: Server, channel: grpc.aio.Channel) -> None:
        self.server = server
        self.channel = channel

    def guard(self) -> Peer:
        return Peer(self.channel)

    def many(self) -> Peer:
        return Peer(self.channel, "GuardMany")

    def forget_all(self) -> None:
        self.server.sessions.evict(0)


@pytest.fixture
async def small(request: pytest.FixtureRequest) -> AsyncIterator[Small]:
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, **request.param)
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        yield Small(server, channel)


def limited(**limits: Any) -> Callable[[Any], Any]:
    return pytest.mark.parametrize("small", [limits], indirect=True)


def retry_after_s(status: Any) -> float | None:
    for detail in status.details:
        info = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            return info.retry_delay.ToMilliseconds() / 1000
    return None


def frames(run_id: str, *requests: pb.GuardRequest) -> pb.GuardManyRequest:
    return pb.GuardManyRequest(runs=[pb.RunFrames(run_id=run_id, frames=requests)])


@limited(message_bytes=1000)
async def test_a_message_too_large_ends_the_stream_of_many(small: Small) -> None:
    many = small.many()

    with pytest.raises(Ended) as ended:
        await many.ask(frames("r", open_frame("r"), *[pb.GuardRequest(seq=1, calls=batch(call("x" * 600)))] * 2))

    assert (ended.value.code.name, ended.value.reason) == ("RESOURCE_EXHAUSTED", "TOO_LARGE")


@limited(message_bytes=1000)
async def test_json_too_large_is_not_hashed(small: Small) -> None:
    stub = guard_pb2_grpc.LoopGuardServiceStub(small.channel)

    with pytest.raises(grpc.aio.AioRpcError) as error:
        await stub.Fingerprint(pb.FingerprintRequest(json=b"x" * 1000))

    assert Ended(error.value).reason == "TOO_LARGE"


@limited(calls_per_s=1.0)
async def test_hashing_counts_as_a_call(small: Small) -> None:
    stub = guard_pb2_grpc.LoopGuardServiceStub(small.channel)
    await stub.Fingerprint(pb.FingerprintRequest(json=b"1"))

    with pytest.raises(grpc.aio.AioRpcError) as error:
        await stub.Fingerprint(pb.FingerprintRequest(json=b"1"))

    assert Ended(error.value).reason == "LIMIT_EXCEEDED"


@limited(frame_bytes=1000)
async def test_a_frame_too_large_is_refused_and_the_run_goes_on(small: Small) -> None:
    peer = small.guard()
    await peer.open()

    answer = await peer.tell(calls=batch(call("exec", "x" * 1000)))

    assert refused(answer) == "TOO_LARGE"
    await peer.close()


@limited(calls_per_batch=2)
async def test_a_batch_too_long_is_refused(small: Small) -> None:
    peer = small.guard()
    await peer.open()

    answer = await peer.tell(calls=batch(call(), call(), call()))

    assert refused(answer) == "TOO_MANY_CALLS"
    await peer.close()


@limited(in_flight=2)
async def test_of_more_frames_than_may_be_in_flight_the_oldest_answer_is_gone(small: Small) -> None:
    peer = small.guard()
    opened = await peer.open()
    for _ in range(3):
        await peer.tell(user_message=pb.UserMessage())

    answer = await peer.ask(pb.GuardRequest(seq=1, user_message=pb.UserMessage()))

    assert opened.opened.limits.in_flight == 2
    assert refused(answer) == "ANSWER_EXPIRED"
    await peer.close()


@limited(history_size=100)
async def test_a_history_too_long_is_refused(small: Small) -> None:
    peer = small.guard()

    answer = await peer.open(config={"history_size": 101})

    assert refused(answer) == "INVALID_CONFIG"
    await peer.half_close()


@limited(runs_per_tenant=2)
async def test_one_run_more_than_a_tenant_may_have_is_refused(small: Small) -> None:
    peers = [small.guard() for _ in range(3)]

    answers = [await peer.open(f"r{number}") for number, peer in enumerate(peers)]

    assert refused(answers[2]) == "LIMIT_EXCEEDED"
    assert answers[2].error.status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    await peers[0].close()
    assert (await peers[2].open("r2")).HasField("opened")
    await peers[1].close()
    await peers[2].close()


@limited(runs_per_tenant=1)
async def test_a_run_open_already_takes_no_further_room(small: Small) -> None:
    older, newer = small.guard(), small.guard()
    await older.open("r")

    answer = await newer.open("r")

    assert answer.opened.epoch == 2
    await newer.close()


@limited(runs_per_tenant=2)
async def test_where_room_lacks_the_run_interrupted_longest_ago_goes(small: Small) -> None:
    for run_id in ("a", "b"):
        gone = small.guard()
        await gone.open(run_id)
        await gone.tell(user_message=pb.UserMessage())
        await gone.half_close()
    peer = small.guard()

    await peer.open("c")

    await peer.close()
    kept, lost = small.guard(), small.guard()
    assert (await kept.open("b", resume=True)).opened.last_seq == 1
    assert (await lost.open("a", resume=True)).opened.last_seq == 0
    await kept.close()
    await lost.close()


@limited(interrupted_runs=3)
async def test_ten_thousand_runs_that_never_come_back_leave_few(small: Small) -> None:
    many = small.many()
    for first in range(0, 10_000, 500):
        runs = [
            pb.RunFrames(run_id=f"r{number}", frames=[open_frame(f"r{number}")]) for number in range(first, first + 500)
        ]
        await many.ask(pb.GuardManyRequest(runs=runs))
    assert len(small.server.sessions) == 10_000

    await many.half_close()
    await small.server.service.servicer.emptied()

    assert len(small.server.sessions) == 3
    small.server.clock.s += 900
    assert small.server.sessions.evict(900) == 3


@limited(streams_per_connection=3)
async def test_one_stream_more_than_a_connection_may_have_is_refused_at_once(small: Small) -> None:
    peers = [small.guard(), small.many(), small.guard()]
    await peers[0].open("a")
    await peers[1].ask(pb.GuardManyRequest())
    await peers[2].open("b")

    with pytest.raises(Ended) as ended:
        await small.guard().open("c")

    assert (ended.value.code.name, ended.value.reason) == ("RESOURCE_EXHAUSTED", "LIMIT_EXCEEDED")
    async with grpc.aio.insecure_channel(
        small.server.address, options=[("grpc.use_local_subchannel_pool", 1)]
    ) as another:
        other = Peer(another)
        await other.open("d")
        await other.close()
    await peers[0].close()
    again = small.guard()
    await again.open("c")
    await again.close()
    await peers[1].half_close()
    await peers[2].close()


@limited(calls_per_s=5.0)
async def test_more_calls_a_second_than_a_tenant_may_ask_are_refused_for_a_while(small: Small) -> None:
    one, other = small.guard(), small.guard()
    await one.open("a")
    await other.open("b")
    await one.tell(calls=batch(call(), call(), call(), call()))

    late = await other.tell(calls=batch(call(), call()))

    assert refused(late) == "LIMIT_EXCEEDED"
    wait_s = retry_after_s(late.error.status)
    assert wait_s == pytest.approx(0.2)
    assert (await other.tell(outcome=done("c9"))).error.status.code == grpc.StatusCode.NOT_FOUND.value[0]
    small.server.clock.s += 0.2
    assert (await other.tell(calls=batch(call(), call()))).HasField("verdicts")
    await one.close()
    await other.close()


async def test_a_run_silent_for_too_long_loses_its_stream(server: Server, guard: Callable[[], Peer]) -> None:
    silent, busy = guard(), guard()
    await silent.open("silent")
    await busy.open("busy")
    server.clock.s += 3_600
    await busy.tell(user_message=pb.UserMessage())

    assert server.sessions.evict_idle(3_600) == 1
    told = await silent.read()
    with pytest.raises(Ended) as ended:
        await silent.read()

    assert told.run_ended.reason == pb.RUN_END_REASON_EVICTED
    assert (ended.value.code.name, ended.value.reason) == ("RESOURCE_EXHAUSTED", "LIMIT_EXCEEDED")
    await busy.close()


async def test_among_many_a_silent_run_ends_alone(server: Server, channel: grpc.aio.Channel) -> None:
    many = Peer(channel, "GuardMany")
    await many.ask(frames("silent", open_frame("silent")))
    server.clock.s += 1
    await many.ask(frames("busy", open_frame("busy")))

    server.sessions.evict_idle(1)
    told = await many.read()
    late = await many.ask(frames("silent", pb.GuardRequest(seq=1, user_message=pb.UserMessage())))
    again = await many.ask(frames("silent", open_frame("silent", resume=True)))

    assert told.runs[0].run_id == "silent"
    assert told.runs[0].answers[0].run_ended.reason == pb.RUN_END_REASON_EVICTED
    assert reason_of(late.runs[0].answers[0].error.status) == "LIMIT_EXCEEDED"
    assert again.runs[0].answers[0].opened.last_seq == 0
    await many.half_close()
    await server.service.servicer.emptied()
    assert server.sessions.evict(0) == 2


async def test_a_run_in_use_is_not_idle_for_want_of_room(server: Server, guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    server.clock.s += 10

    assert server.sessions.evict(1) == 0
    assert server.sessions.evict_idle(11) == 0

    await peer.close()


@limited(streams_per_connection=2)
async def test_many_streams_at_once_are_all_answered(small: Small) -> None:
    peers = [small.guard() for _ in range(100)]

    opened = await asyncio.gather(
        *[peer.open(f"r{number}") for number, peer in enumerate(peers)], return_exceptions=True
    )

    refusals = [answer for answer in opened if isinstance(answer, Ended)]
    assert {refusal.reason for refusal in refusals} == {"LIMIT_EXCEEDED"}
    assert len(refusals) == 98
    for peer in peers:
        peer.cancel()
    await small.server.service.servicer.emptied()
    small.forget_all()


def many_frames(count: int) -> bytes:
    return pb.GuardManyRequest(runs=[pb.RunFrames(run_id="r", frames=[pb.GuardRequest()] * count)]).SerializeToString()


@limited(frames_per_message=3)
@pytest.mark.parametrize("data", [many_frames(4), b"\x0a\x00" * 4, b"\x08\x00" * 4, b"\x0a\x7f" + b"\x12\x00" * 4])
async def test_a_message_of_too_many_frames_ends_the_stream(small: Small, data: bytes) -> None:
    with pytest.raises(Ended, match="a message of 4 frames; at most 3") as ended:
        await small.many().ask(data)

    assert (ended.value.code.name, ended.value.reason) == ("RESOURCE_EXHAUSTED", "TOO_LARGE")


def many_calls(batches: int, calls: int) -> bytes:
    full = pb.GuardRequest(calls=pb.CallBatch(calls=[pb.Call()] * calls))
    told = pb.GuardRequest(history=pb.History(records=[pb.Record()] * calls))
    return pb.GuardManyRequest(
        runs=[pb.RunFrames(run_id="r", frames=[full] * (batches - 1)), pb.RunFrames(run_id="s", frames=[told])]
    ).SerializeToString()


@limited()
async def test_a_message_of_too_many_calls_in_all_ends_the_stream(small: Small) -> None:
    with pytest.raises(Ended, match="a message of 66560 calls and records in all; at most 65536") as ended:
        await small.many().ask(many_calls(65, 1024))

    assert (ended.value.code.name, ended.value.reason) == ("RESOURCE_EXHAUSTED", "TOO_LARGE")


@limited()
async def test_a_message_of_as_many_calls_as_may_be_is_answered(small: Small) -> None:
    answers = await small.many().ask(many_calls(64, 1024))

    assert [run.run_id for run in answers.runs] == ["r", "s"]


@limited(records_per_history=2)
async def test_a_history_too_long_is_refused_and_the_run_goes_on(small: Small) -> None:
    peer = small.guard()
    opened = await peer.open()

    answer = await peer.tell(history=pb.History(records=[pb.Record(tool="x")] * 3))

    assert (refused(answer), answer.acked_seq, opened.opened.limits.records_per_history) == ("TOO_LARGE", 1, 2)
    await peer.close()


@limited(calls_per_s=3.0)
async def test_records_of_a_history_count_as_calls(small: Small) -> None:
    peer = small.guard()
    await peer.open()
    await peer.tell(history=pb.History(records=[pb.Record(tool="x")] * 3))

    answer = await peer.tell(history=pb.History(records=[pb.Record(tool="x")]))

    assert refused(answer) == "LIMIT_EXCEEDED"
    await peer.close()


@limited()
async def test_a_batch_far_too_long_is_counted_not_decoded(small: Small) -> None:
    peer = small.guard()
    await peer.open()

    answer = await peer.tell(calls=pb.CallBatch(calls=[pb.Call()] * 200_000))

    assert (refused(answer), answer.seq) == ("TOO_MANY_CALLS", 1)
    await peer.close()


LONG = "x" * 65_536


@limited()
@pytest.mark.parametrize("field", ["run_id", "agent_id", "parent_run_id"])
async def test_a_run_with_an_id_too_long_to_be_kept_is_refused(small: Small, field: str) -> None:
    peer = small.guard()
    names = {"run_id": "r"}
    answer = await peer.open(**names | {field: LONG + "x"})
    assert (refused(answer), answer.seq) == ("TOO_LARGE", 0)

    answer = await peer.open(**names | {field: LONG})

    assert answer.HasField("opened")
    await peer.close()


@limited()
@pytest.mark.parametrize("field", ["tool", "call_id", "action"])
async def test_a_call_with_a_name_too_long_to_be_kept_is_refused(small: Small, field: str) -> None:
    peer = small.guard()
    await peer.open()
    plain = {"tool": "exec", "args_json": b"{}"}
    # The second call of a tool goes a shorter way.
    for number in range(2):
        await peer.tell(calls=batch(pb.Call(**plain, call_id=f"c{number}")))
        await peer.tell(outcome=pb.Outcome(call_id=f"c{number}", result_json=b"1"))

    too_long = await peer.tell(calls=batch(pb.Call(**plain | {field: LONG + "x"})))
    fits = await peer.tell(calls=batch(pb.Call(**plain | {field: LONG})))

    assert refused(too_long) == "TOO_LARGE"
    assert fits.HasField("verdicts")
    if field != "call_id":
        records = [pb.Record(**plain | {field: LONG + "x"})]
        assert refused(await peer.tell(history=pb.History(records=records))) == "TOO_LARGE"
    await peer.close()
