"""The short way of plain frames against the long one: the same answers, the same runs, the same counts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from loopguard.server.conversation import GuardConversation
from loopguard.server.limits import Limits
from loopguard.server.many_conversation import ManyConversation
from loopguard.server.sessions import Sessions
from loopguard.server.tally import Tally
from loopguard.server.watch import Hub

from loopguard import codec
from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.model import Call, CallBatch, Outcome, RunOpen, Signal, Status
from loopguard.v1 import guard_pb2 as pb
from tests.unit.run_state import state_of

RUNS = ("r", "s", "")
TOOLS = ("exec", " Read ", "process", "message", "command_status", "mcp__a__b", "")
ARGS = (b"{}", b'{"a":1}', b'{"action":"poll","id":"x"}', b'{"action":"send"}', b'{"n":1e400}', b"no json", b"[", b"")
IDS = ("", "", "", "c2", "x", "y" * 9, "é")
SHAPED = b'{"content":[{"type":"text","text":"%s"}],"details":{"status":"%s","exitCode":%d}}'
RESULTS = (
    *(b'"a"', b"1", b'{"ok":true}', b"no json", b"", b'{"isError":true}', b'{"a":1,"a":2}'),
    *(SHAPED % said for said in ((b"t", b"completed", 0), (b"t", b"completed", 1), (b"t", b"failed", 2))),
    b'{"details":{"status":"blocked"}}',
)
DIGEST = bytes(range(16))

calls = st.builds(Call, st.sampled_from(TOOLS), st.sampled_from(ARGS), st.sampled_from(IDS))
asked = st.builds(CallBatch, st.lists(calls, min_size=1, max_size=1)) | st.builds(
    CallBatch, st.lists(calls, min_size=1, max_size=3), st.booleans()
)
told = st.builds(Outcome, st.sampled_from(IDS), st.sampled_from((None, Status.OK)), st.sampled_from(RESULTS))
odd = st.builds(
    Outcome,
    st.sampled_from(IDS),
    st.sampled_from((None, *Status)).filter(lambda status: status is not Status.PENDING),
    st.sampled_from(RESULTS),
    st.none(),
    st.sampled_from((None, b'"unknown tool: x"')),
    st.sampled_from((None, b"1")),
)
others = st.sampled_from(
    [
        CallBatch([Call("exec", args_digest=DIGEST)]),
        CallBatch([Call("process", args_digest=DIGEST[::-1], action="poll")]),
        CallBatch([Call("message", args_digest=DIGEST[::-1], action="send", call_id="x")]),
        CallBatch([Call("exec", b"{}", action="poll")]),
        Outcome(result_digest=DIGEST),
        Outcome("x", Status.OK, result_digest=DIGEST[::-1]),
        Outcome("x", Status.ERROR, result_digest=DIGEST),
        Signal.USER_MESSAGE,
        Signal.COMPACTION_RETRY,
    ]
)
frames = asked | asked | told | told | told | odd | others | others


class Silent:
    def say(self, *_: object) -> None: ...


class Side:
    """A server without streams, whose runs may have their short way taken from them."""

    def __init__(self, kind: Any, *, short: bool, limits: Limits, enabled: bool = True) -> None:
        self.tally = Tally()
        self.at = 0.0
        self.short = short
        configuration = Configuration.guarded() if enabled else Configuration.empty()
        hub = Hub(self.tally, clock=lambda: 0.0, kept=0)
        engine = Engine(configuration, now=self.now)
        self.sessions = Sessions(engine, limits, hub, self.tally, now=self.now, version="test")
        self.conversation = kind(self.sessions, limits, "", Silent())

    def now(self) -> float:
        return self.at

    def receive(self, message: bytes) -> bytes:
        if not self.short:
            for session in self.sessions:
                session.run._readers = None
        answer: bytes = self.conversation.receive(message)
        return answer

    def state(self) -> Any:
        return (
            [
                (state_of(session.run), session.run.touched, session.answers, session.last_seq, session.used_at)
                for session in self.sessions
            ],
            [(tenant.asked, tenant.bucket.take(1, self.at)) for tenant in self.sessions.tenants],
            self.tally.samples(),
        )


def sides(kind: Any, **options: Any) -> tuple[Side, Side]:
    return Side(kind, short=True, **options), Side(kind, short=False, **options)


@given(
    st.lists(st.tuples(st.integers(-1, 1), frames, st.sampled_from((None, 0.5)), st.floats(0, 1)), max_size=40),
    st.booleans(),
    st.sampled_from((2, 500_000)),
)
def test_a_run_on_a_stream_of_its_own(sent: list[Any], enabled: bool, calls_per_s: float) -> None:
    limits = Limits(in_flight=4, calls_per_s=calls_per_s)
    short, long = sides(GuardConversation, limits=limits, enabled=enabled)
    opening = codec.encode_open(RunOpen("r"))
    assert short.receive(opening) == long.receive(opening)

    seq = 1
    for skew, frame, at, passed_s in sent:
        message = codec.encode_frame(max(1, seq + (skew if passed_s > 0.9 else 0)), frame, at)
        short.at = long.at = short.at + passed_s
        answer = short.receive(message)
        assert answer == long.receive(message)
        seq = pb.GuardResponse.FromString(answer).acked_seq + 1

    assert short.state() == long.state()


@given(st.lists(st.lists(st.tuples(st.sampled_from(RUNS), frames | st.just(Signal.CLOSE)), max_size=8), max_size=8))
def test_many_runs_on_a_stream(sent: list[list[tuple[str, Any]]]) -> None:
    short, long = sides(ManyConversation, limits=Limits(in_flight=4))
    opening = b"".join(codec.encode_run(run_id, [codec.encode_open(RunOpen(run_id))]) for run_id in RUNS)
    assert short.receive(opening) == long.receive(opening)

    seqs = dict.fromkeys(RUNS, 0)
    for parts in sent:
        message = b""
        for run_id, frame in parts:
            seqs[run_id] += 1
            message += codec.encode_run(run_id, [codec.encode_frame(seqs[run_id], frame)])
        assert short.receive(message) == long.receive(message)

    assert short.state() == long.state()


@given(st.binary(max_size=12), st.integers(0, 60), st.integers(0, 12), frames)
def test_bytes_that_are_not_quite_a_frame(noise: bytes, at: int, cut: int, frame: Any) -> None:
    for kind in (GuardConversation, ManyConversation):
        short, long = sides(kind, limits=Limits())
        opening = codec.encode_open(RunOpen("r"))
        message = codec.encode_frame(1, frame)
        message = message[:at] + noise + message[at + cut :]
        if kind is ManyConversation:
            opening, message = codec.encode_run("r", [opening]), codec.encode_run("r", [message])
        assert short.receive(opening) == long.receive(opening)
        assert short.receive(message) == long.receive(message)
        assert short.state() == long.state()


@given(st.binary(max_size=12), st.integers(0, 60), st.integers(0, 12))
def test_bytes_that_are_not_quite_a_message_of_many(noise: bytes, at: int, cut: int) -> None:
    short, long = sides(ManyConversation, limits=Limits())
    opening = codec.encode_run("r", [codec.encode_open(RunOpen("r"))])
    asks = codec.encode_frame(1, CallBatch([Call("exec", b"{}")]))
    message = codec.encode_run("r", [asks, codec.encode_frame(2, Outcome(result=b"1"))])
    message = message[:at] + noise + message[at + cut :]

    assert short.receive(opening) == long.receive(opening)
    assert short.receive(message) == long.receive(message)
    assert short.state() == long.state()


def test_the_short_way_is_taken() -> None:
    side = Side(GuardConversation, short=True, limits=Limits())
    side.receive(codec.encode_open(RunOpen("r")))
    for turn in range(3):
        side.receive(codec.encode_frame(2 * turn + 1, CallBatch([Call("exec", b'{"n":%d}' % turn)])))
        side.receive(codec.encode_frame(2 * turn + 2, Outcome(result=b"%d" % turn)))
    (session,) = side.sessions

    asked = side.sessions.intake.short.frame(session, codec.encode_frame(7, CallBatch([Call("exec", b"{}")])))
    told = side.sessions.intake.short.frame(session, codec.encode_frame(8, Outcome(result=b"1")))
    twice = side.sessions.intake.short.frame(session, codec.encode_frame(8, Outcome(result=b"1")))

    assert None not in (asked, told)
    assert twice is None
