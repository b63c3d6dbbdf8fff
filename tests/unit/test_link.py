"""What a client's stream does with the end that its server gives it, without any server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grpc
import pytest
from loopguard.server.limits import CALLS_PER_MESSAGE

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


def test_a_message_of_several_frames_that_is_refused_is_sent_in_smaller_ones(link: Link) -> None:
    asked = [ask(link, run_id) for run_id in "abab"]
    assert frames_of(link.take()) == {"a": ["calls", "calls"], "b": ["calls", "calls"]}

    assert link.ended(TOO_LARGE)
    reconnect(link)

    assert [frames_of(link.take()) for _ in range(2)] == [{"a": ["calls", "calls"]}, {"b": ["calls", "calls"]}]
    assert [one.result for one in asked] == [None] * 4


def test_openings_that_are_refused_together_are_sent_in_smaller_messages() -> None:
    link = Link(many=True, patient=True, backoff=Backoff(lambda: 0.0))
    for run_id in "abcd":
        link.add(RunSession(RunOpen(run_id), now=lambda: 0.0, many=True))
    link.connected()
    link.take()

    link.ended(TOO_LARGE)
    link.connected()

    assert [list(frames_of(link.take())) for _ in range(2)] == [["a", "b"], ["c", "d"]]


def test_an_opening_too_large_by_itself_is_refused() -> None:
    link = Link(many=True, patient=True, backoff=Backoff(lambda: 0.0))
    session = RunSession(RunOpen("a"), now=lambda: 0.0, many=True)
    session.open_future = waiting = Waiting()
    link.add(session)
    link.connected()
    link.take()

    assert link.ended(TOO_LARGE)

    assert isinstance(waiting.result, InvalidFrame)
    link.connected()
    assert link.take() is None


def test_a_message_holds_no_more_calls_than_a_server_takes(link: Link) -> None:
    calls = [Call("t")] * 1024
    for number in range(100):
        session = link.sessions["ab"[number % 2]]
        session.bounds.limits = replace(session.bounds.limits, in_flight=64, calls_per_batch=1024)
        session.submit(CallBatch(calls), Waiting())
        link.touch(session)

    counts = []
    while message := link.take():
        runs = pb.GuardManyRequest.FromString(message).runs
        counts.append(sum(len(frame.calls.calls) for run in runs for frame in run.frames))

    assert sum(counts) == 100 * 1024
    assert max(counts) <= CALLS_PER_MESSAGE


def test_messages_of_a_run_that_is_gone_are_not_kept(link: Link) -> None:
    ask(link, "a")
    link.take()
    link.sessions["a"].end(InvalidFrame(Reason.TOO_LARGE, ""))
    link.remove(link.sessions["a"])

    for _ in range(3):
        ask(link, "b")
        link.take()
        answer(link, "b", (link.sessions["b"]._outbox.last, answer_codec.verdicts_body([Verdict("c1")])))

    assert len(link._messages._written) == 1


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
