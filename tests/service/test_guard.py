from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from loopguard.v1 import guard_pb2 as pb
from tests.service.wire import LOW, Ended, batch, call, done, open_frame, reason_of, refused, violated_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.service.wire import Peer

Guard = "Callable[[], Peer]"


async def test_opened_tells_what_is_in_force(guard: Callable[[], Peer]) -> None:
    peer = guard()

    response = await peer.open(" r ", agent_id="a")

    opened = response.opened
    assert (response.seq, response.acked_seq, opened.run_id, opened.epoch, opened.last_seq) == (0, 0, "r", 1, 0)
    assert opened.config.warning_threshold == LOW["warning_threshold"]
    assert opened.config.history_size == 30
    assert opened.config.detectors.ping_pong is True
    assert (opened.profile, opened.mode, opened.digest_scheme) == ("openclaw", pb.MODE_ENFORCE, 1)
    assert opened.limits.in_flight > 0
    assert opened.server_version
    await peer.close()


async def test_a_stuck_run_is_warned_blocked_and_aborted(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()

    actions = [(await peer.run(args={"command": "make"})).action for _ in range(7)]

    assert actions == [
        pb.ACTION_ALLOW,
        pb.ACTION_ALLOW,
        pb.ACTION_ALLOW,
        pb.ACTION_WARN,
        pb.ACTION_ALLOW,
        pb.ACTION_BLOCK,
        pb.ACTION_ABORT,
    ]
    await peer.close()


async def test_answers_count_up_and_name_their_frame(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()

    answers = [
        await peer.tell(user_message=pb.UserMessage()),
        await peer.tell(compaction_retry=pb.CompactionRetry()),
        await peer.tell(history=pb.History(records=[pb.Record(tool="exec")])),
        await peer.tell(calls=batch(call(), call())),
        await peer.tell(outcome=done("c2")),
    ]

    assert [answer.seq for answer in answers] == [1, 2, 3, 4, 5]
    assert [answer.acked_seq for answer in answers] == [1, 2, 3, 4, 5]
    assert [answer.durable_seq for answer in answers] == [0] * 5
    assert [answer.WhichOneof("answer") for answer in answers] == ["ack", "ack", "ack", "verdicts", "verdict"]
    assert [verdict.call_id for verdict in answers[3].verdicts.verdicts] == ["c1", "c2"]
    await peer.close()


async def test_a_dry_run_takes_a_number_and_leaves_nothing(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()

    dry = [await peer.tell(calls=pb.CallBatch(calls=[call()], dry_run=True)) for _ in range(9)]
    real = await peer.tell(calls=batch(call()))

    assert [answer.seq for answer in dry] == list(range(1, 10))
    assert {answer.verdicts.verdicts[0].action for answer in dry} == {pb.ACTION_ALLOW}
    assert real.verdicts.verdicts[0].call_id == "c1"
    await peer.close()


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe", b"1 2", b"NaN", b"[" * 300])
async def test_arguments_that_are_no_json_are_judged_with_a_flag(guard: Callable[[], Peer], text: bytes) -> None:
    peer = guard()
    await peer.open()

    asked = await peer.tell(calls=batch(pb.Call(tool="exec", args_json=text)))
    told = await peer.tell(outcome=pb.Outcome(call_id="c1", result_json=text))

    assert list(asked.verdicts.verdicts[0].flags) == [pb.JSON_FLAG_OPAQUE]
    assert list(told.verdict.flags) == [pb.JSON_FLAG_OPAQUE]
    await peer.close()


async def test_an_argument_of_four_mebibytes_is_judged(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    args = json.dumps({"text": "x" * (4 << 20)}).encode()

    actions = []
    for _ in range(6):
        answer = await peer.tell(calls=batch(pb.Call(tool="write", args_json=args)))
        actions.append(answer.verdicts.verdicts[0].action)
        await peer.tell(outcome=done())

    assert actions[-1] == pb.ACTION_BLOCK
    await peer.close()


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({"calls": pb.CallBatch()}, "INVALID_FRAME"),
        ({"calls": batch(call(" "))}, "EMPTY_TOOL"),
        ({"history": pb.History(records=[pb.Record(tool="")])}, "EMPTY_TOOL"),
        ({"calls": batch(call(call_id="x"), call(call_id="x"))}, "DUPLICATE_CALL"),
        ({"outcome": pb.Outcome(call_id="nobody")}, "UNKNOWN_CALL"),
        ({"outcome": pb.Outcome()}, "UNKNOWN_CALL"),
        ({"calls": batch(pb.Call(tool="exec", args_digest=b"short"))}, "INVALID_FRAME"),
        ({"history": pb.History(records=[pb.Record(tool="t", result_digest=b"1")])}, "INVALID_FRAME"),
        ({"history": pb.History(records=[pb.Record(tool="t", status=99)])}, "INVALID_FRAME"),
        ({"calls": batch(*[call() for _ in range(1025)])}, "TOO_MANY_CALLS"),
        ({}, "INVALID_FRAME"),
    ],
)
async def test_a_bad_frame_uses_its_number_up_and_the_run_goes_on(
    guard: Callable[[], Peer], frame: dict[str, object], reason: str
) -> None:
    peer = guard()
    await peer.open()
    await peer.run()

    bad = await peer.tell(**frame)
    good = await peer.tell(calls=batch(call()))

    assert (refused(bad), bad.seq) == (reason, 3)
    assert bad.error.status.message
    assert (good.seq, good.verdicts.verdicts[0].call_id) == (4, "c2")
    await peer.close()


@pytest.mark.parametrize(
    "garbage", [b"\xff", b"\x08", b"\x22\x05\x0a", b"\x0a\x01\xff", b"\x22\x07\x0a\x05\x12\x01\xff\x28\x01"]
)
async def test_a_message_that_is_no_protobuf_takes_the_next_number(guard: Callable[[], Peer], garbage: bytes) -> None:
    peer = guard()
    await peer.open()
    await peer.run()

    bad = await peer.ask(garbage)
    good = await peer.ask(pb.GuardRequest(seq=4, calls=batch(call())))

    assert (refused(bad), bad.seq) == ("INVALID_FRAME", 3)
    assert good.verdicts.verdicts[0].action == pb.ACTION_ALLOW
    await peer.ask(pb.GuardRequest(seq=5, close=pb.RunClose()))
    await peer.half_close()


async def test_unknown_fields_are_ignored(guard: Callable[[], Peer]) -> None:
    peer = guard()
    unknown = b"\xfa\x3e\x03new"

    opened = await peer.ask(open_frame().SerializeToString() + unknown)
    answer = await peer.ask(
        pb.GuardRequest(
            seq=1, calls=pb.CallBatch.FromString(b"\x0a" + bytes([6 + len(unknown)]) + b"\x12\x04exec" + unknown)
        ).SerializeToString()
        + unknown
    )

    assert opened.opened.run_id == "r"
    assert answer.verdicts.verdicts[0].action == pb.ACTION_ALLOW
    await peer.ask(pb.GuardRequest(seq=2, close=pb.RunClose()))
    await peer.half_close()


async def test_a_frame_before_open_ends_the_stream(guard: Callable[[], Peer]) -> None:
    with pytest.raises(Ended) as ended:
        await guard().ask(pb.GuardRequest(seq=1, calls=batch(call())))

    assert (ended.value.code.name, ended.value.reason) == ("FAILED_PRECONDITION", "INVALID_FRAME")


async def test_a_second_open_ends_the_stream_and_the_run_can_be_resumed(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    await peer.run()

    with pytest.raises(Ended) as ended:
        await peer.open()

    assert (ended.value.code.name, ended.value.reason) == ("FAILED_PRECONDITION", "INVALID_FRAME")
    again = guard()
    assert (await again.open(resume=True)).opened.last_seq == 2
    await again.close()


async def test_a_frame_after_close_ends_the_stream(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()
    await peer.tell(close=pb.RunClose())

    with pytest.raises(Ended) as ended:
        await peer.tell(calls=batch(call()))

    assert (ended.value.code.name, ended.value.reason) == ("FAILED_PRECONDITION", "INVALID_FRAME")


@pytest.mark.parametrize(
    ("opening", "reason", "key"),
    [
        (open_frame("  "), "INVALID_CONFIG", "runId"),
        (open_frame(config={"warning_threshold": 0}), "INVALID_CONFIG", "warningThreshold"),
        (open_frame(config={"history_size": -3}), "INVALID_CONFIG", "historySize"),
        (open_frame(config={"history_size": 1001}), "INVALID_CONFIG", "historySize"),
        (open_frame(config={"warning_threshold": 20}), "INVALID_CONFIG", "warningThreshold"),
        (
            open_frame(config={"post_compaction_guard": pb.PostCompactionGuardConfig(window_size=0)}),
            "INVALID_CONFIG",
            "postCompactionGuard.windowSize",
        ),
        (open_frame(profile="nobody's"), "INVALID_CONFIG", "profile"),
        (open_frame(digest_scheme=2), "UNSUPPORTED_SCHEME", ""),
        (open_frame(mode=9), "INVALID_FRAME", ""),
        (open_frame(resume=True, rebuild=True), "INVALID_FRAME", ""),
        (pb.GuardRequest(seq=1, open=pb.RunOpen(run_id="r")), "INVALID_FRAME", ""),
        (b"\xff", "INVALID_FRAME", ""),
    ],
)
async def test_a_refused_open_may_be_put_right(
    guard: Callable[[], Peer], opening: pb.GuardRequest | bytes, reason: str, key: str
) -> None:
    peer = guard()

    bad = await peer.ask(opening)
    good = await peer.open()

    assert (bad.seq, refused(bad), violated_key(bad)) == (0, reason, key)
    assert good.opened.epoch == 1
    await peer.close()


async def test_after_a_refused_open_only_an_open_may_come(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.ask(open_frame(" "))

    with pytest.raises(Ended, match="FAILED_PRECONDITION"):
        await peer.tell(calls=batch(call()))


async def test_a_failure_inside_is_an_answer_and_the_run_goes_on(
    guard: Callable[[], Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = guard()
    await peer.open()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("loopguard.run.Run.answer", fail)
        bad = await peer.tell(user_message=pb.UserMessage())
    good = await peer.tell(user_message=pb.UserMessage())

    assert (refused(bad), bad.seq) == ("INTERNAL", 1)
    assert (good.WhichOneof("answer"), good.seq) == ("ack", 2)
    await peer.close()


async def test_observe_holds_nothing_against_the_run(guard: Callable[[], Peer]) -> None:
    peer = guard()
    opened = await peer.open(mode=pb.MODE_OBSERVE)

    actions = []
    for _ in range(8):
        answer = await peer.tell(calls=batch(call(args={})))
        actions.append(answer.verdicts.verdicts[0].action)
        await peer.tell(outcome=done())

    assert opened.opened.mode == pb.MODE_OBSERVE
    assert pb.ACTION_BLOCK in actions
    assert pb.ACTION_ABORT not in actions
    await peer.close()


async def test_digests_made_by_the_client_repeat_like_arguments(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open(digest_scheme=1)

    actions = []
    for _ in range(6):
        answer = await peer.tell(calls=batch(pb.Call(tool="fetch", args_digest=b"a" * 16)))
        actions.append(answer.verdicts.verdicts[0].action)
        await peer.tell(outcome=pb.Outcome(result_digest=b"r" * 16))

    assert actions[-1] == pb.ACTION_BLOCK
    await peer.close()


async def test_a_finding_carries_its_evidence(guard: Callable[[], Peer]) -> None:
    peer = guard()
    await peer.open()

    verdict = [await peer.run(args={"a": 1}) for _ in range(6)][-1]

    finding = verdict.finding
    assert (finding.detector, finding.level, finding.count, finding.threshold) == (
        "generic_repeat",
        pb.LEVEL_CRITICAL,
        5,
        5,
    )
    assert list(finding.call_ids) == ["c1", "c2", "c3", "c4", "c5"]
    assert (len(finding.args_digest), len(finding.outcome_digest)) == (16, 16)
    assert finding.cleared_by
    assert verdict.note
    await peer.close()


def test_every_reason_has_a_code() -> None:
    from loopguard.server.status import CODES, build_status

    from loopguard.errors import Reason
    from loopguard.v1 import error_reason_pb2

    assert set(CODES) == set(Reason)
    assert {name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()} == {  # noqa: SIM118 - an enum is no dict
        "UNSPECIFIED",
        *Reason,
    }
    assert reason_of(build_status(Reason.TOO_LARGE, "m")) == "TOO_LARGE"
