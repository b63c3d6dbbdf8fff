from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopguard import _wire, answer_codec, codec
from loopguard.errors import InvalidConfig, InvalidFrame, Reason
from loopguard.model import (
    Ack,
    Action,
    Call,
    CallBatch,
    Finding,
    Flag,
    GoAway,
    History,
    Level,
    Limits,
    Mode,
    NeedResend,
    Opened,
    Outcome,
    Record,
    RunOpen,
    Scope,
    Signal,
    Status,
    Verdict,
)
from loopguard.v1 import guard_pb2 as pb

texts = st.text(max_size=12)
blobs = st.none() | st.binary(min_size=1, max_size=40)
digests = st.none() | st.binary(min_size=16, max_size=16)
statuses = st.none() | st.sampled_from(Status)
#: Only records can be pending.
ends = statuses.filter(lambda status: status is not Status.PENDING)


@st.composite
def exclusive(draw: st.DrawFn) -> tuple[bytes | None, bytes | None]:
    """JSON or a digest in its place."""
    data = draw(blobs)
    return (data, None) if data else (None, draw(digests))


calls = st.builds(
    lambda tool, args, call_id, action: Call(tool, args[0], call_id, args[1], action), texts, exclusive(), texts, texts
)
outcomes = st.builds(
    lambda call_id, status, result, error, private: Outcome(call_id, status, *result, error, private),
    texts,
    ends,
    exclusive(),
    blobs,
    blobs,
)
records = st.builds(
    lambda tool, args, action, status, result, error, private: Record(
        tool, *args, action, status, *result, error, private
    ),
    texts,
    exclusive(),
    texts,
    statuses,
    exclusive(),
    blobs,
    blobs,
)
frames = (
    st.builds(CallBatch, st.lists(calls, min_size=1, max_size=4), st.booleans())
    | outcomes
    | st.builds(History, st.lists(records, max_size=3))
    | st.sampled_from(Signal)
)
seqs = st.integers(0, 2**64 - 1)
times = st.none() | st.integers(-(10**18), 10**18).map(lambda nanos: nanos / 1e9)


@given(seqs, frames, times)
def test_a_frame_comes_out_as_it_went_in(seq: int, frame: Any, at: float | None) -> None:
    data = codec.number_frame(seq, codec.encode_frame(0, frame, at))

    received = codec.decode_frame(data)

    assert received is not None
    assert (received[0], received[2]) == (seq, frame)
    assert received[1] == (None if at is None else pytest.approx(at, abs=2e-9, rel=1e-15))


def test_a_pending_outcome_is_refused() -> None:
    received = codec.decode_frame(codec.encode_frame(1, Outcome(status=Status.PENDING)))

    assert received is not None
    assert isinstance(received[2], InvalidFrame)


@given(seqs, frames, times)
def test_the_short_way_reads_what_protobuf_reads(seq: int, frame: Any, at: float | None) -> None:
    data = codec.encode_frame(seq, frame, at)

    short = _wire.scan_frame(data)

    assert short == (codec._decode_any(data) if isinstance(frame, CallBatch | Outcome) else None)


@given(st.binary(max_size=60), frames, st.data())
def test_whatever_the_bytes_both_ways_agree(noise: bytes, frame: Any, data: st.DataObject) -> None:
    encoded = codec.encode_frame(1, frame)
    at = data.draw(st.integers(0, len(encoded)))
    cut = data.draw(st.integers(0, len(encoded) - at))
    mangled = encoded[:at] + noise + encoded[at + cut :]

    short = _wire.scan_frame(mangled)

    assert short is None or short == codec._decode_any(mangled)


@pytest.mark.parametrize(
    "data",
    [
        b"\x08\x01\x08\x02\x22\x03\x0a\x01\x00",
        b"\x22\x05\x0a\x03\x12\x01t\x22\x05\x0a\x03\x12\x01u",
        b"\x22\x05\x0a\x03\x12\x01t\x2a\x03\x0a\x01c",
        b"\x2a\x03\x0a\x01c\x22\x05\x0a\x03\x12\x01t",
        b"\x22\x08\x0a\x06\x12\x01t\x12\x01u",
        b"\x22\x0b\x0a\x09\x12\x01t\x1a\x01a\x22\x01d",
        b"\x22\x06\x0a\x04\x12\x02\xc3\x28",
        b"\x22\x06\x0a\x04\x12\x02\xed\xa0",
        b"\x22\x07\x0a\x03\x12\x01t\x10\x00",
        b"\x22\x08\x0a\x03\x12\x01t\x10\x80\x01",
        b"\x2a\x02\x10\x63",
        b"\x2a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x2a\x00",
        b"\x22\x00",
        b"\x12\x02\x08\x01\x12\x02\x10\x05\x2a\x00",
        b"\x12\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x2a\x00",
        b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f\x2a\x00",
        b"\x08\x80\x00\x2a\x00",
        b"\x88\x00\x01\x2a\x00",
        b"\x2a\x02\x0a\x05",
        b"\x2b\x2c",
    ],
)
def test_unusual_encodings_mean_what_protobuf_says(data: bytes) -> None:
    short = _wire.scan_frame(data)

    assert short is None or short == codec._decode_any(data)


@given(st.lists(st.tuples(texts, st.lists(st.tuples(seqs, frames), max_size=3)), max_size=3))
def test_a_message_of_many_runs_comes_out_as_it_went_in(runs: list[tuple[str, list[tuple[int, Any]]]]) -> None:
    data = b"".join(
        codec.encode_run(run_id, [codec.encode_frame(seq, frame) for seq, frame in content]) for run_id, content in runs
    )

    received = [(run_id, list(content)) for run_id, content in codec.decode_runs(data, 1 << 20)]

    expected = [
        (run_id, [codec.decode_frame(codec.encode_frame(*item)) for item in content]) for run_id, content in runs
    ]
    assert received == expected
    message = pb.GuardManyRequest.FromString(data)
    assert [(run.run_id, len(run.frames)) for run in message.runs] == [(name, len(content)) for name, content in runs]


@given(st.binary(max_size=80), st.integers(0, 100))
def test_a_mangled_message_of_many_runs_is_taken_apart_and_never_raises(noise: bytes, at: int) -> None:
    sound = codec.encode_run("run", [codec.encode_frame(1, Signal.CLOSE)]) * 2
    mangled = sound[:at] + noise + sound[at:]

    for run_id, content in codec.decode_runs(mangled, 1 << 20):
        assert isinstance(run_id, str)
        assert all(received is None or len(received) == 3 for received in content)


def test_a_frame_too_large_is_refused_by_its_number() -> None:
    large = codec.encode_frame(7, CallBatch([Call("exec", b"x" * 100)]))
    small = codec.encode_frame(8, Signal.CLOSE)

    ((run_id, content),) = codec.decode_runs(codec.encode_run("r", [large, small]), 99)

    assert run_id == "r"
    assert content[0] is not None
    assert isinstance(content[0][2], InvalidFrame)
    assert (content[0][0], content[0][2].reason) == (7, Reason.TOO_LARGE)
    assert content[1] == (8, None, Signal.CLOSE)


@pytest.mark.parametrize(
    "run",
    [
        RunOpen("r"),
        RunOpen(
            "r",
            "agent",
            "parent",
            {
                "enabled": False,
                "historySize": -3,
                "warningThreshold": 0,
                "detectors": {"pingPong": False},
                "postCompactionGuard": {"windowSize": 2},
                "failOpen": True,
            },
            Mode.OBSERVE,
            "balanced",
            1,
            False,
            True,
            7,
        ),
        RunOpen("r", config={}, resume=True),
    ],
)
def test_an_open_comes_out_as_it_went_in(run: RunOpen) -> None:
    assert codec.decode_frame(codec.encode_open(run, 1.5)) == (0, 1.5, run)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"x": None}, "x"),
        ({"detectors": {"y": True}}, "detectors.y"),
        ({"detectors": []}, "detectors"),
        ({"failOpen": "yes"}, "failOpen"),
        ({"historySize": 1.5}, "historySize"),
        ({"historySize": float("nan")}, "historySize"),
        ({"historySize": float("inf")}, "historySize"),
        ({"historySize": False}, "historySize"),
        ({"postCompactionGuard": {"windowSize": -(2**63) - 1}}, "postCompactionGuard.windowSize"),
    ],
)
def test_a_configuration_without_a_field_is_refused(config: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidConfig) as mistake:
        codec.to_config(config)

    assert mistake.value.key == key


FINDING = Finding(
    "ping_pong", Level.CRITICAL, 7, 5, "read", ("c1", "c2"), b"a" * 16, b"o" * 16, ("pid",), "a third call"
)


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(""),
        Verdict("c1"),
        Verdict("x" * 300),
        Verdict("ü"),
        Verdict("c1", Action.WARN, FINDING, "note"),
        Verdict("c1", Action.BLOCK, blocked_by="c2", note="n"),
        Verdict("c1", Action.ABORT, FINDING, scope=Scope.RUN),
        Verdict("c1", flags=Flag.OPAQUE),
        Verdict("c1", flags=~Flag(0)),
    ],
)
def test_verdicts_come_out_as_they_went_in(verdict: Verdict) -> None:
    told = codec.encode_answer(3, 2, 1, answer_codec.verdict_body(verdict))
    asked = codec.encode_answer(2**63, 0, 0, answer_codec.verdicts_body([verdict]))
    several = codec.encode_answer(1, 1, 0, answer_codec.verdicts_body([verdict, Verdict("c9")]))

    answer = answer_codec.decode_answer(told)
    assert (answer.seq, answer.acked_seq, answer.durable_seq, answer.body) == (3, 2, 1, verdict)
    assert answer_codec.decode_answer(asked).body == [verdict]
    assert answer_codec.decode_answer(asked).seq == 2**63
    assert answer_codec.decode_answer(several).body == [verdict, Verdict("c9")]


def test_other_answers_come_out_as_they_went_in() -> None:
    opened = Opened("r", 3, 9, {"historySize": 30}, "openclaw", Mode.OBSERVE, Limits(1, 2, 3, 4, 5), "1.0", 1, True)
    bodies = [
        (answer_codec.ACK, Ack()),
        (answer_codec.need_resend_body(4), NeedResend(4)),
        (answer_codec.go_away_body(2.5), GoAway(2.5)),
        (answer_codec.opened_body(opened), opened),
        (b"", None),
    ]

    assert [answer_codec.decode_answer(body).body for body, _ in bodies] == [expected for _, expected in bodies]
    assert answer_codec.decode_answers(answer_codec.many_go_away(1.0)) == ([], GoAway(1.0))


def test_an_unknown_action_is_allow_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    body = pb.GuardResponse(verdict=pb.Verdict(call_id="c", action=99)).SerializeToString()

    answer = answer_codec.decode_answer(body)

    assert answer.body == Verdict("c")
    assert "99" in caplog.text
