"""One run's protocol on the client's side, without any stream: what is told again after a loss, and what is not."""

from __future__ import annotations

from loopguard.client.session import RunSession
from loopguard.model import Ack, Answer, Call, CallBatch, Limits, Mode, Opened, Outcome, RunOpen, Verdict
from loopguard.v1 import guard_pb2 as pb


def answer_open(session: RunSession, last_seq: int = 0, *, rebuilt: bool = False) -> None:
    session.receive(
        Answer(0, last_seq, 0, Opened("r", 1, last_seq, {}, "openclaw", Mode.ENFORCE, Limits(), rebuilt=rebuilt))
    )


def sent(session: RunSession) -> list[pb.GuardRequest]:
    """Take everything that may be sent now."""
    frames = []
    while session.next_bytes:
        frames.append(pb.GuardRequest.FromString(session.next_frame()))
    return frames


def told(frame: pb.GuardRequest) -> list[bytes]:
    return [record.args_json for record in frame.history.records]


def ask(session: RunSession, name: str, future: Answered | None = None) -> None:
    session.submit(CallBatch([Call("t", b'{"n":"%s"}' % name.encode(), call_id=name)]), future)


def test_a_call_of_a_lost_run_is_told_once_also_when_it_is_lost_twice() -> None:
    session = RunSession(RunOpen("r"), now=lambda: 0.0, buffer_frames=2)
    session.connected()
    answer_open(session)
    for seq, name in enumerate(("a", "b", "c"), 1):
        ask(session, name, Answered())
        sent(session)
        session.receive(Answer(seq, seq, 0, [Verdict(name)]))
    lose(session)
    session.submit(Outcome("a", result=b"{}"), None)
    assert [told(frame) for frame in sent(session)[1:]] == [[], [b'{"n":"a"}']]
    ask(session, "d")
    sent(session)

    lose(session)

    assert [told(frame) for frame in sent(session)[1:]] == [[b'{"n":"a"}']]


class Answered:
    """Somebody who waits, and is content with anything."""

    def __init__(self) -> None:
        self.has_result = False

    def done(self) -> bool:
        return self.has_result

    def set_result(self, _result: object, /) -> None:
        self.has_result = True


def lose(session: RunSession) -> None:
    """Let the server lose the run, and with it frames that are no longer kept."""
    session.lost()
    session.connected()
    answer_open(session)
    if session.wants_stream:
        session.connected()
        answer_open(session, rebuilt=True)


def test_frames_dropped_before_the_first_answer_are_not_taken_for_old_ones_of_a_run_that_is_resumed() -> None:
    session = RunSession(RunOpen("r", resume=True), now=lambda: 0.0, buffer_frames=2)
    for name in "abc":
        ask(session, name)
    session.connected()
    sent(session)

    answer_open(session, last_seq=9)

    assert session.wants_stream
    session.connected()
    [opening] = sent(session)
    assert (opening.open.resume, opening.open.rebuild) == (False, True)
    answer_open(session, rebuilt=True)
    assert [frame.seq for frame in sent(session)] == [1]
    session.receive(Answer(1, 1, 0, Ack()))
    assert not session.in_flight
