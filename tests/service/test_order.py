from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from loopguard.server.settings import Settings

from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import running
from tests.service.wire import Ended, Peer, batch, call, done, open_frame, refused, violated_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.service.conftest import Server


def frame(seq: int, **kind: object) -> pb.GuardRequest:
    return pb.GuardRequest(seq=seq, **kind)


async def end(peer: Peer, seq: int) -> None:
    answer = await peer.ask(frame(seq, close=pb.RunClose()))
    assert answer.WhichOneof("answer") == "ack"
    await peer.half_close()


async def test_a_frame_seen_before_gets_its_answer_and_is_not_observed_twice(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    asked = await peer.ask(frame(1, calls=batch(call(args={}))))
    told = await peer.ask(frame(2, outcome=done("c1")))

    again = [await peer.ask(frame(1, calls=batch(call(args={})))) for _ in range(9)]
    told_again = await peer.ask(frame(2, outcome=done("c1")))
    later = await peer.ask(frame(3, calls=batch(call(args={}))))

    assert {(answer.seq, answer.acked_seq) for answer in again} == {(1, 2)}
    assert {answer.verdicts.SerializeToString() for answer in again} == {asked.verdicts.SerializeToString()}
    assert told_again.verdict == told.verdict
    assert later.verdicts.verdicts[0].call_id == "c2"
    assert not later.verdicts.verdicts[0].HasField("finding")
    await end(peer, 4)


async def test_a_refusal_is_the_stored_answer(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    first = await peer.ask(frame(1, outcome=done("nobody")))

    again = await peer.ask(frame(1, calls=batch(call())))

    assert refused(first) == "UNKNOWN_CALL"
    assert again == first
    await end(peer, 2)


async def test_a_frame_behind_a_gap_is_dropped(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()

    early = await peer.ask(frame(3, calls=batch(call())))
    first = await peer.ask(frame(1, calls=batch(call())))

    assert (early.seq, early.acked_seq, early.need_resend.from_seq) == (3, 0, 1)
    assert (first.seq, first.verdicts.verdicts[0].call_id) == (1, "c1")
    await end(peer, 2)


async def test_zero_is_the_number_of_open_alone(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()

    answer = await peer.ask(frame(0, calls=batch(call())))

    assert (answer.seq, refused(answer)) == (0, "INVALID_FRAME")
    await end(peer, 1)


async def test_an_answer_below_the_ring_has_expired() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", in_flight=3, drain_grace_s=0)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel)
        opened = await peer.open()
        for seq in range(1, 6):
            await peer.ask(frame(seq, calls=batch(call())))

        answers = [await peer.ask(frame(seq, calls=batch(call()))) for seq in range(1, 6)]

        assert opened.opened.limits.in_flight == 3
        assert [refused(answer) for answer in answers[:2]] == ["ANSWER_EXPIRED"] * 2
        assert [answer.verdicts.verdicts[0].call_id for answer in answers[2:]] == ["c3", "c4", "c5"]
        await end(peer, 6)


async def test_a_frame_beyond_the_limit_uses_its_number_up() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", message_bytes=1 << 20, frame_bytes=1000, drain_grace_s=0)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel)
        await peer.open()

        large = await peer.ask(frame(1, calls=batch(call(args="x" * 1000))))
        small = await peer.ask(frame(2, calls=batch(call(args="x"))))

        assert (large.seq, refused(large)) == (1, "TOO_LARGE")
        assert small.verdicts.verdicts[0].action == pb.ACTION_ALLOW
        await end(peer, 3)


async def test_a_message_a_little_too_large_gets_our_answer_and_not_grpcs() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", message_bytes=1 << 20, frame_bytes=1 << 20, drain_grace_s=0)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel)
        await peer.open()

        answer = await peer.ask(frame(1, calls=batch(call(args="x" * (1 << 20)))))

        assert refused(answer) == "TOO_LARGE"
        await end(peer, 2)


async def test_a_stream_that_ends_is_no_close(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    await peer.ask(frame(1, calls=batch(call())))
    await peer.half_close()

    again = guard()
    opened = (await again.open(resume=True)).opened
    answer = await again.ask(frame(1, calls=batch(call())))

    assert (opened.epoch, opened.last_seq) == (2, 1)
    assert answer.verdicts.verdicts[0].call_id == "c1"
    await end(again, 2)


async def test_resume_goes_on_where_the_run_was(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    for _ in range(5):
        await peer.run(args={})
    peer.cancel()

    again = guard()
    await again.open(resume=True)
    verdict = await again.run(args={})

    assert (verdict.call_id, verdict.action) == ("c6", pb.ACTION_BLOCK)
    await again.close()


async def test_an_unknown_run_is_resumed_as_an_empty_one(guard: Callable[[], Peer]) -> None:
    peer = guard()

    opened = (await peer.open(resume=True)).opened

    assert (opened.epoch, opened.last_seq) == (1, 0)
    await peer.close()


async def test_open_without_resume_starts_anew(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    for _ in range(5):
        await peer.run(args={})
    await peer.half_close()

    again = guard()
    opened = (await again.open()).opened
    verdict = await again.run(args={})

    assert (opened.epoch, opened.last_seq) == (2, 0)
    assert (verdict.call_id, verdict.action) == ("c1", pb.ACTION_ALLOW)
    await again.close()


async def test_a_refused_open_leaves_the_open_run_alone(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    await peer.run()

    other = guard()
    bad = await other.ask(open_frame(config={"warning_threshold": 0}))
    verdict = await peer.run()

    assert refused(bad) == "INVALID_CONFIG"
    assert verdict.call_id == "c2"
    await other.half_close()
    await peer.close()


@pytest.mark.parametrize("resume", [True, False])
async def test_the_newer_owner_takes_the_run_over(guard: Callable[[], Peer], resume: bool) -> None:
    older, newer = guard(), guard()
    await older.open()
    await older.run()

    opened = (await newer.open(resume=resume)).opened
    told = await older.read()
    with pytest.raises(Ended) as ended:
        await older.read()

    assert (opened.epoch, opened.last_seq) == (2, 2 if resume else 0)
    assert (told.seq, told.run_ended.reason) == (2, pb.RUN_END_REASON_SUPERSEDED)
    assert (ended.value.code.name, ended.value.reason) == ("ABORTED", "SUPERSEDED")
    await newer.close()


async def test_a_rebuilt_run_says_so_and_takes_the_history(guard: Callable[[], Peer]) -> None:
    peer = guard()
    records = [pb.Record(tool="exec", args_json=b"{}", status=pb.STATUS_OK, result_json=b'"same"')] * 5

    opened = (await peer.open(rebuild=True)).opened
    told = await peer.tell(history=pb.History(records=records))
    verdict = await peer.run(args={})

    assert (opened.rebuilt, opened.last_seq) == (True, 0)
    assert (told.WhichOneof("answer"), told.seq) == ("ack", 1)
    assert verdict.action == pb.ACTION_BLOCK
    await peer.close()


async def test_a_closed_run_is_forgotten_and_its_id_free(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    await peer.run()
    await peer.close()

    again = guard()
    opened = (await again.open(resume=True)).opened

    assert (opened.epoch, opened.last_seq) == (1, 0)
    await again.close()


async def test_a_run_without_stream_is_kept_for_its_time_and_no_longer(
    guard: Callable[[], Peer], server: Server
) -> None:
    left, held = guard(), guard()
    await left.open("left")
    await held.open("held")
    await left.half_close()

    server.clock.s += 899
    early = server.sessions.evict(900)
    server.clock.s += 1
    late = server.sessions.evict(900)

    assert (early, late) == (0, 1)
    await held.close()


async def test_a_clock_that_jumps_back_changes_nothing(guard: Callable[[], Peer], server: Server) -> None:
    peer = guard()
    await peer.open()

    actions = []
    for at in (5, -3, 0, 9, -7, 1):
        request = pb.GuardRequest(seq=len(actions) * 2 + 1, calls=batch(call(args={})))
        request.at.seconds, request.at.nanos = at, 5 if at > 0 else 0
        server.clock.s -= 100
        actions.append((await peer.ask(request)).verdicts.verdicts[0].action)
        await peer.ask(frame(len(actions) * 2, outcome=done()))

    assert actions[-1] == pb.ACTION_BLOCK
    assert server.sessions.evict(900) == 0
    await end(peer, 13)


async def test_the_oldest_run_without_stream_makes_room() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", runs=2, drain_grace_s=0)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        first, second, third = Peer(channel), Peer(channel), Peer(channel)
        await first.open("first")
        await second.open("second")

        full = await third.ask(open_frame("third"))
        await first.half_close()
        taken = await third.open("third")

        assert refused(full) == "LIMIT_EXCEEDED"
        assert taken.opened.epoch == 1
        assert len(server.sessions) == 2
        await second.close()
        await third.close()


@pytest.mark.parametrize(
    ("fields", "key"),
    [({"config": {"history_size": 0}}, "historySize"), ({"config": {"history_size": 5000}}, "historySize"),
     ({"profile": "none"}, "profile")],
)  # fmt: skip
async def test_resuming_with_a_bad_configuration_is_refused_and_leaves_the_run(
    guard: Callable[[], Peer], fields: dict[str, Any], key: str
) -> None:
    owner, other = guard(), guard()
    await owner.open("r")

    answer = await other.open("r", resume=True, **fields)

    assert (refused(answer), violated_key(answer)) == ("INVALID_CONFIG", key)
    await owner.close()


async def test_a_resumed_run_keeps_its_configuration(guard: Callable[[], Peer]) -> None:
    owner, other = guard(), guard()
    first = await owner.open("r")

    answer = await other.open("r", resume=True, config={"history_size": 77})

    assert answer.opened.config == first.opened.config
    await other.close()
