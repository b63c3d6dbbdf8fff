"""What a client's stream does with the end that its server gives it, without any server."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from loopguard import answer_codec, codec
from loopguard.client.link import Backoff, Link
from loopguard.client.session import RunSession
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import Answer, Call, CallBatch, History, Limits, Mode, Opened, Refusal, RunOpen, Verdict
from loopguard.v1 import guard_pb2 as pb

TOO_LARGE = Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], Reason.TOO_LARGE, "a message of many bytes")


class Waiting:
    """A future that nobody has to wait for."""

    def __init__(self) -> None:
        self.result: Any = None

    def done(self) -> bool:
        return self.result is not None

    def set_result(self, result: Any, /) -> None:
        self.result = result


def opened(run_id: str, last_seq: int = 0) -> Answer:
    told = Opened(run_id, 1, last_seq, {}, "openclaw", Mode.ENFORCE, Limits())
    return Answer(0, last_seq, 0, told)


def answer(link: Link, run_id: str, *bodies: tuple[int, bytes]) -> None:
    """Let the server answer a run."""
    link.receive(codec.encode_run(run_id, [codec.encode_answer(seq, seq, 0, body) for seq, body in bodies]))


def tell_opened(link: Link, run_id: str, last_seq: int = 0) -> None:
    body = opened(run_id, last_seq).body
    assert isinstance(body, Opened)
    answer(link, run_id, (0, answer_codec.opened_body(body)))


def frames_of(message: bytes | None) -> dict[str, list[str | None]]:
    """Return the kinds of frames in a message, by run."""
    told = pb.GuardManyRequest.FromString(message or b"")
    return {run.run_id: [frame.WhichOneof("frame") for frame in run.frames] for run in told.runs}


@pytest.fixture
def link() -> Link:
    """Return a stream with the runs `a` and `b`, both open."""
    link = Link(many=True, patient=True, backoff=Backoff(lambda: 0.0))
    for run_id in "ab":
        link.add(RunSession(RunOpen(run_id), now=lambda: 0.0, many=True))
    link.connected()
    assert frames_of(link.take()) == {"a": ["open"], "b": ["open"]}
    for run_id in "ab":
        tell_opened(link, run_id)
    return link


def ask(link: Link, run_id: str) -> Waiting:
    """Ask one call."""
    future, session = Waiting(), link.sessions[run_id]
    session.submit(CallBatch([Call("t", b"{}")]), future)
    link.touch(session)
    return future


def reconnect(link: Link, **last: int) -> None:
    link.connected()
    link.take()
    for run_id in "ab":
        tell_opened(link, run_id, last.get(run_id, 0))


def test_what_was_too_large_is_given_up_and_nothing_else(link: Link) -> None:
    large = ask(link, "a")
    assert frames_of(link.take()) == {"a": ["calls"]}
    small = ask(link, "b")
    assert frames_of(link.take()) == {"b": ["calls"]}

    assert link.ended(TOO_LARGE)

    assert isinstance(large.result, InvalidFrame)
    assert large.result.reason is Reason.TOO_LARGE
    assert small.result is None
    reconnect(link)
    # Its number is used up by something without effect, so that later frames keep theirs.
    assert frames_of(link.take()) == {"a": ["history"], "b": ["calls"]}
    entry = link.sessions["a"]._outbox.entries[1]
    assert isinstance(entry.frame, History)
    answer(link, "a", (1, answer_codec.ACK))
    later = ask(link, "a")
    assert frames_of(link.take()) == {"a": ["calls"]}
    answer(link, "a", (2, answer_codec.verdicts_body([Verdict("c2")])))
    assert [verdict.call_id for verdict in later.result] == ["c2"]


def test_a_message_answered_before_is_not_what_was_too_large(link: Link) -> None:
    first = ask(link, "a")
    link.take()
    answer(link, "a", (1, answer_codec.verdicts_body([Verdict("c1")])))
    second = ask(link, "b")
    link.take()

    link.ended(TOO_LARGE)

    assert [verdict.call_id for verdict in first.result] == ["c1"]
    assert isinstance(second.result, InvalidFrame)


def test_a_frame_the_server_has_seen_meanwhile_is_resumed_behind(link: Link) -> None:
    large = ask(link, "a")
    link.take()

    link.ended(TOO_LARGE)
    reconnect(link, a=1)

    assert isinstance(large.result, InvalidFrame)
    ask(link, "a")
    assert frames_of(link.take())["a"][-1] == "calls"


def test_a_durable_frame_whose_answer_was_lost_is_sent_again_for_it(link: Link) -> None:
    first, second = ask(link, "a"), ask(link, "a")
    link.take()
    answer(link, "a", (1, answer_codec.verdicts_body([Verdict("c1")])))

    link.lost()
    link.connected()
    link.take()
    told = opened("a", last_seq=2).body
    assert isinstance(told, Opened)
    link.receive(codec.encode_run("a", [codec.encode_answer(0, 2, 2, answer_codec.opened_body(told))]))

    assert frames_of(link.take()) == {"a": ["calls"]}
    answer(link, "a", (2, answer_codec.verdicts_body([Verdict("c2")])))
    assert (first.result[0].call_id, second.result[0].call_id) == ("c1", "c2")


def test_any_other_end_gives_nothing_up(link: Link) -> None:
    asked = ask(link, "a")
    link.take()

    assert link.ended(Refusal(grpc.StatusCode.UNAVAILABLE.value[0], "", "gone"))

    assert asked.result is None
    reconnect(link)
    assert frames_of(link.take()) == {"a": ["calls"]}
