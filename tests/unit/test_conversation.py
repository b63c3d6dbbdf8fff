"""Random bytes and frames against both conversations: only an answer or the end of a stream may come out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from loopguard.server.conversation import GuardConversation
from loopguard.server.limits import Limits
from loopguard.server.many_conversation import ManyConversation
from loopguard.server.sessions import Sessions
from loopguard.server.status import StreamEnd
from loopguard.server.tally import Tally
from loopguard.server.watch import Hub

from loopguard import codec
from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.model import Call, CallBatch, History, Outcome, Record, RunOpen, Signal
from loopguard.v1 import guard_pb2 as pb

LIMITS = Limits(in_flight=4, frame_bytes=200, calls_per_batch=2)
FRAMES: list[Any] = [
    CallBatch([Call("exec", b"{}")]),
    CallBatch([Call("exec", b"{}"), Call(" ")]),
    CallBatch([Call("a"), Call("b"), Call("c")]),
    Outcome(),
    Outcome("c1", result=b"x" * 300),
    History([Record("exec")]),
    Signal.USER_MESSAGE,
    Signal.COMPACTION_RETRY,
    Signal.CLOSE,
]
messages = (
    st.binary(max_size=30)
    | st.builds(codec.encode_frame, st.integers(0, 9), st.sampled_from(FRAMES))
    | st.builds(lambda resume: codec.encode_open(RunOpen("r", resume=resume)), st.booleans())
)


class Silent:
    def say(self, *_: object) -> None:
        """Drop what the server says by itself."""


def conversation(kind: Any) -> Any:
    tally = Tally()
    hub = Hub(tally, clock=lambda: 0.0, kept=0)
    sessions = Sessions(Engine(Configuration.empty()), LIMITS, hub, tally, now=lambda: 0.0, version="test")
    return kind(sessions, LIMITS, "", Silent())


@given(st.lists(messages, max_size=12))
def test_any_messages_are_answered_or_end_the_stream(sent: list[bytes]) -> None:
    guard = conversation(GuardConversation)
    guard.receive(codec.encode_open(RunOpen("r")))

    for message in sent:
        try:
            answer = pb.GuardResponse.FromString(guard.receive(message))
        except StreamEnd:
            break
        assert answer.WhichOneof("answer")


@given(st.lists(st.lists(st.tuples(st.sampled_from(["r", "s", ""]), messages), max_size=5), max_size=5))
def test_any_message_of_many_runs_is_answered_frame_by_frame(sent: list[list[tuple[str, bytes]]]) -> None:
    many = conversation(ManyConversation)

    for parts in sent:
        message = b"".join(codec.encode_run(run_id, [frame]) for run_id, frame in parts)
        answer = pb.GuardManyResponse.FromString(many.receive(message))
        assert [run.run_id for run in answer.runs] == [run_id for run_id, _ in parts]
        assert all(len(run.answers) == 1 and run.answers[0].WhichOneof("answer") for run in answer.runs)


@given(st.binary(max_size=60))
def test_any_bytes_are_answered_by_a_stream_of_many(noise: bytes) -> None:
    many = conversation(ManyConversation)

    pb.GuardManyResponse.FromString(many.receive(noise))
