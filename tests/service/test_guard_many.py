from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from loopguard.server.settings import Settings

from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import running
from tests.service.wire import Ended, Peer, batch, call, done, open_frame, reason_of, refused

if TYPE_CHECKING:
    from tests.service.conftest import Server


class Many:
    """One stream of many runs, with a counter a run."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.peer = Peer(channel, "GuardMany")
        self._last: dict[str, int] = {}

    def frame(self, run_id: str, **kind: object) -> pb.RunFrames:
        self._last[run_id] = self._last.get(run_id, 0) + 1
        return pb.RunFrames(run_id=run_id, frames=[pb.GuardRequest(seq=self._last[run_id], **kind)])

    async def ask(self, *runs: pb.RunFrames) -> list[tuple[str, pb.GuardResponse]]:
        """Send one message and return what answers it, flat."""
        return flat(await self.peer.ask(pb.GuardManyRequest(runs=runs)))

    async def open(self, *run_ids: str, **fields: object) -> list[tuple[str, pb.GuardResponse]]:
        answers = await self.ask(
            *[pb.RunFrames(run_id=run_id, frames=[open_frame(run_id, **fields)]) for run_id in run_ids]
        )
        for run_id, answer in answers:
            self._last[run_id] = answer.opened.last_seq
        return answers

    async def close(self, *run_ids: str) -> None:
        answers = await self.ask(*[self.frame(run_id, close=pb.RunClose()) for run_id in run_ids])
        assert [answer.WhichOneof("answer") for _, answer in answers] == ["ack"] * len(run_ids)
        await self.peer.half_close()


def flat(message: pb.GuardManyResponse) -> list[tuple[str, pb.GuardResponse]]:
    return [(run.run_id, answer) for run in message.runs for answer in run.answers]


def ended(answer: pb.GuardResponse) -> tuple[int, str]:
    assert answer.WhichOneof("answer") == "run_ended", answer
    return answer.run_ended.reason, reason_of(answer.run_ended.status)


@pytest.fixture
def many(channel: grpc.aio.Channel) -> Many:
    return Many(channel)


async def test_a_message_is_answered_by_one_in_its_order(many: Many) -> None:
    opened = await many.open("a", "b", "c")

    answers = await many.ask(
        many.frame("b", calls=batch(call())),
        many.frame("a", calls=batch(call(), call())),
        many.frame("b", outcome=done("c1")),
        many.frame("c", user_message=pb.UserMessage()),
    )

    assert [(run_id, answer.opened.run_id) for run_id, answer in opened] == [("a", "a"), ("b", "b"), ("c", "c")]
    assert [(run_id, answer.seq, answer.acked_seq, answer.WhichOneof("answer")) for run_id, answer in answers] == [
        ("b", 1, 1, "verdicts"),
        ("a", 1, 1, "verdicts"),
        ("b", 2, 2, "verdict"),
        ("c", 1, 1, "ack"),
    ]
    await many.close("a", "b", "c")


async def test_runs_share_nothing(many: Many) -> None:
    await many.open("stuck", "fresh")
    for _ in range(5):
        await many.ask(many.frame("stuck", calls=batch(call(args={}))), many.frame("stuck", outcome=done()))

    answers = await many.ask(
        many.frame("stuck", calls=batch(call(args={}))), many.frame("fresh", calls=batch(call(args={})))
    )

    assert [answer.verdicts.verdicts[0].action for _, answer in answers] == [pb.ACTION_BLOCK, pb.ACTION_ALLOW]
    await many.close("stuck", "fresh")


async def test_open_and_frames_may_share_a_message(many: Many) -> None:
    frames = [open_frame("a"), pb.GuardRequest(seq=1, calls=batch(call())), pb.GuardRequest(seq=2, close=pb.RunClose())]

    answers = await many.ask(pb.RunFrames(run_id="a", frames=frames))

    assert [answer.WhichOneof("answer") for _, answer in answers] == ["opened", "verdicts", "ack"]
    await many.peer.half_close()


async def test_a_bad_frame_touches_no_other_run(many: Many) -> None:
    await many.open("a", "b")

    answers = await many.ask(
        many.frame("a", calls=batch(call(" "))),
        many.frame("b", calls=batch(call())),
        many.frame("a", calls=batch(call())),
    )

    assert refused(answers[0][1]) == "EMPTY_TOOL"
    assert [answer.verdicts.verdicts[0].call_id for _, answer in answers[1:]] == ["c1", "c1"]
    await many.close("a", "b")


async def test_a_broken_frame_costs_only_itself(many: Many) -> None:
    await many.open("a", "b")
    sound = many.frame("b", calls=batch(call())).SerializeToString()
    broken = b"\x0a\x01a" + b"\x12\x02\xff\xff"

    response = flat(await many.peer.ask(delimited(broken) + delimited(sound)))

    assert [(run_id, answer.seq) for run_id, answer in response] == [("a", 1), ("b", 1)]
    assert refused(response[0][1]) == "INVALID_FRAME"
    assert response[1][1].verdicts.verdicts[0].action == pb.ACTION_ALLOW
    many.frame("a")
    await many.close("a", "b")


async def test_a_truncated_message_is_answered_as_far_as_it_goes(many: Many) -> None:
    await many.open("a", "b")
    first = delimited(many.frame("a", calls=batch(call())).SerializeToString())
    cut = delimited(many.frame("b", calls=batch(call())).SerializeToString())[:-4]

    response = flat(await many.peer.ask(first + cut))

    assert [(run_id, answer.seq) for run_id, answer in response] == [("a", 1), ("b", 1)]
    assert refused(response[1][1]) == "INVALID_FRAME"
    await many.close("a", "b")


@pytest.mark.parametrize("garbage", [b"\xff", b"\x0a", b"\x0a\x7f", b"\x0a\x04\x0a\x02\xff\xfe"])
async def test_what_belongs_to_no_run_is_answered_to_none(many: Many, garbage: bytes) -> None:
    response = flat(await many.peer.ask(garbage))

    assert [(run_id, answer.seq, refused(answer)) for run_id, answer in response] == [("", 0, "INVALID_FRAME")]
    await many.peer.half_close()


async def test_a_frame_before_open_ends_that_run_only(many: Many) -> None:
    await many.open("a")

    answers = await many.ask(many.frame("nobody", calls=batch(call())), many.frame("a", calls=batch(call())))

    assert ended(answers[0][1]) == (pb.RUN_END_REASON_PROTOCOL, "INVALID_FRAME")
    assert answers[1][1].verdicts.verdicts[0].action == pb.ACTION_ALLOW
    await many.close("a")


async def test_a_second_open_ends_that_run_and_it_can_be_resumed(many: Many) -> None:
    await many.open("a", "b")
    await many.ask(many.frame("a", calls=batch(call())))

    second = await many.ask(pb.RunFrames(run_id="a", frames=[open_frame("a")]))
    after = await many.ask(many.frame("a", calls=batch(call())), many.frame("b", calls=batch(call())))
    ((_, resumed),) = await many.open("a", resume=True)

    assert ended(second[0][1]) == (pb.RUN_END_REASON_PROTOCOL, "INVALID_FRAME")
    assert ended(after[0][1])[0] == pb.RUN_END_REASON_PROTOCOL
    assert after[1][1].verdicts.verdicts[0].action == pb.ACTION_ALLOW
    assert resumed.opened.last_seq == 1
    await many.close("a", "b")


async def test_a_closed_run_may_be_opened_again_on_the_stream(many: Many) -> None:
    await many.open("a")
    await many.ask(many.frame("a", close=pb.RunClose()))

    after = await many.ask(many.frame("a", calls=batch(call())))
    ((_, again),) = await many.open("a")

    assert ended(after[0][1])[0] == pb.RUN_END_REASON_PROTOCOL
    assert (again.opened.epoch, again.opened.last_seq) == (1, 0)
    await many.close("a")


async def test_a_refused_open_is_answered_to_that_run(many: Many) -> None:
    answers = await many.ask(
        pb.RunFrames(run_id=" ", frames=[open_frame(" ")]),
        pb.RunFrames(run_id="a", frames=[open_frame("b")]),
        pb.RunFrames(run_id="a", frames=[open_frame("a", config={"history_size": 0})]),
        pb.RunFrames(run_id=" a", frames=[open_frame("a ")]),
    )

    assert [refused(answer) for _, answer in answers[:3]] == ["INVALID_CONFIG", "INVALID_FRAME", "INVALID_CONFIG"]
    assert [run_id for run_id, _ in answers] == [" ", "a", "a", " a"]
    assert answers[3][1].opened.run_id == "a"
    await many.close("a")


async def test_one_run_is_taken_over_and_the_stream_goes_on(many: Many, channel: grpc.aio.Channel) -> None:
    await many.open("a", "b")
    await many.ask(many.frame("a", calls=batch(call())))
    thief = Peer(channel)

    opened = await thief.open("a", resume=True)
    told = flat(await many.peer.read())
    answers = await many.ask(many.frame("a", calls=batch(call())), many.frame("b", calls=batch(call())))

    assert (opened.opened.epoch, opened.opened.last_seq) == (2, 1)
    assert [run_id for run_id, _ in told] == ["a"]
    assert ended(told[0][1]) == (pb.RUN_END_REASON_SUPERSEDED, "SUPERSEDED")
    assert ended(answers[0][1]) == (pb.RUN_END_REASON_SUPERSEDED, "SUPERSEDED")
    assert answers[1][1].verdicts.verdicts[0].call_id == "c1"
    await thief.close()
    await many.close("b")


async def test_a_stream_of_one_run_is_taken_over_by_a_stream_of_many(many: Many, channel: grpc.aio.Channel) -> None:
    older = Peer(channel)
    await older.open("a")

    await many.open("a", resume=True)
    told = await older.read()
    with pytest.raises(Ended, match="ABORTED SUPERSEDED"):
        await older.read()

    assert told.run_ended.reason == pb.RUN_END_REASON_SUPERSEDED
    await many.close("a")


async def test_resent_and_early_frames_are_per_run(many: Many) -> None:
    await many.open("a", "b")
    (first,) = await many.ask(many.frame("a", calls=batch(call())))

    answers = await many.ask(
        pb.RunFrames(
            run_id="a",
            frames=[pb.GuardRequest(seq=1, calls=batch(call())), pb.GuardRequest(seq=9, calls=batch(call()))],
        ),
        many.frame("b", calls=batch(call())),
    )

    assert answers[0][1].verdicts == first[1].verdicts
    assert answers[1][1].need_resend.from_seq == 2
    assert answers[2][1].seq == 1
    await many.close("a", "b")


async def test_runs_survive_their_stream(many: Many, channel: grpc.aio.Channel) -> None:
    await many.open("a", "b")
    await many.ask(many.frame("a", calls=batch(call())))
    await many.peer.half_close()

    again = Many(channel)
    answers = await again.open("a", "b", resume=True)

    assert [answer.opened.last_seq for _, answer in answers] == [1, 0]
    await again.close("a", "b")


async def test_a_frame_beyond_the_limit_is_refused_alone() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", message_bytes=1 << 20, frame_bytes=1000, drain_grace_s=0)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        many = Many(channel)
        await many.open("a", "b")

        answers = await many.ask(
            many.frame("a", calls=batch(call(args="x" * 1000))), many.frame("b", calls=batch(call(args="x")))
        )

        assert refused(answers[0][1]) == "TOO_LARGE"
        assert answers[1][1].verdicts.verdicts[0].action == pb.ACTION_ALLOW
        await many.close("a", "b")


async def test_an_empty_message_has_an_empty_answer(many: Many, server: Server) -> None:
    assert await many.ask() == []
    assert server.service.servicer.open_streams == 1
    await many.peer.half_close()


def delimited(run: bytes) -> bytes:
    assert len(run) < 128
    return b"\x0a" + bytes([len(run)]) + run


async def test_a_frame_of_a_run_never_opened_is_taken_in_by_nobody(many: Many) -> None:
    frame = pb.RunFrames(run_id="new", frames=[pb.GuardRequest(seq=7, calls=batch(call()))])

    ((_, answer),) = await many.ask(frame)

    assert ended(answer) == (pb.RUN_END_REASON_PROTOCOL, "INVALID_FRAME")
    assert (answer.seq, answer.acked_seq) == (7, 0)
    await many.peer.half_close()


@pytest.mark.parametrize("empty", [pb.GuardRequest().SerializeToString(), b"\x08\x00"])
async def test_a_message_without_frame_uses_no_number_up(many: Many, empty: bytes) -> None:
    await many.open("a")
    data = b"".join(delimited(b"\x0a\x01" + name + b"\x12" + bytes([len(empty)]) + empty) for name in (b"a", b"b"))

    answers = flat(await many.peer.ask(data))

    assert [(run_id, answer.seq, answer.acked_seq) for run_id, answer in answers] == [("a", 0, 0), ("b", 0, 0)]
    assert [answer.error.status.message for _, answer in answers] == ["a message that names no frame"] * 2
    await many.close("a")


async def test_a_server_that_drains_takes_no_run_on_a_stream_that_it_has() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", drain_grace_s=30)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        many = Many(channel)
        await many.open("a")
        draining = asyncio.create_task(server.service.stop())
        assert (await many.peer.read()).HasField("go_away")

        ((_, answer),) = await many.open("b")

        assert refused(answer) == "SHUTTING_DOWN"
        await many.close("a")
        await draining
