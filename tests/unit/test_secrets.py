"""No text of an argument, a result or an error gets into a note, an event, a log line or an error message."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from loopguard.cli.vector_roads import LibraryRoad
from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidFrame, InvalidTrace
from loopguard.fingerprints import Fingerprinter
from loopguard.model import Call, CallBatch, Finding, History, Outcome, Record, RunOpen, Signal, Status, Verdict
from loopguard.trace import Place, parse_frame
from tests.unit.loops import loops, make_secret, play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard.events import Event
    from loopguard.model import Frame

SEEDS = range(5)
CRITICAL = {
    "unknown_tool_repeat", "global_circuit_breaker", "known_poll_no_progress", "ping_pong", "generic_repeat",
    "argument_churn", "identical_error", "compaction_loop_persisted",
}  # fmt: skip


@pytest.fixture(name="logged")
def _logged(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.DEBUG)
    return lambda: [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]


def findings(answer: object) -> Iterator[Finding]:
    for verdict in answer if isinstance(answer, list) else [answer]:
        if isinstance(verdict, Verdict) and verdict.finding is not None:
            yield verdict.finding


@pytest.mark.parametrize("profile", ["openclaw", "balanced"])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_secret_leaves_a_guard(seed: int, profile: str, logged: Any) -> None:
    secret = make_secret(seed)
    events: list[Event] = []
    engine = Engine(Configuration.empty(), on_event=events.append)
    told, detectors = [], set()
    for number, loop in enumerate(loops(secret)):
        run = engine.open(RunOpen(f"{number}", config=loop.config, profile=profile))
        answers = play(run, loop.frames)
        named = {finding.detector for answer in answers for finding in findings(answer)}
        assert profile == "balanced" or loop.detector in named
        detectors |= named
        told += [repr(answer) for answer in answers]

    assert [text for text in (*told, *map(repr, events), *logged()) if secret in text] == []
    assert events
    assert detectors == CRITICAL if profile == "openclaw" else len(detectors) >= 4


def bad_frames(secret: str) -> list[Frame]:
    text = f'"{secret}"'.encode()
    call = Call("read", text, "same")
    return [
        CallBatch([]),
        CallBatch([call, call]),
        CallBatch([Call("  ", text)]),
        CallBatch([Call("read", args_digest=text)]),
        Outcome("never asked", result=text, error=text),
        Outcome(status=Status.PENDING, result=text),
        History([Record("", text, result=text)]),
        History([Record("read", text, result_digest=text)]),
        RunOpen(secret),  # type: ignore[list-item]  # no frame of an open run
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_secret_gets_into_what_is_said_of_a_bad_frame(seed: int, logged: Any) -> None:
    secret = make_secret(seed)
    run = LibraryRoad(None).open(RunOpen("r"))
    said = []
    for frame in bad_frames(secret):
        with pytest.raises(InvalidFrame) as refused:
            run.apply(frame)
        said.append(str(refused.value))
    run.apply(Signal.CLOSE)
    with pytest.raises(InvalidFrame) as refused:
        run.apply(Outcome(result=f'"{secret}"'.encode()))

    assert [text for text in (*said, str(refused.value), *logged()) if secret in text] == []


@pytest.mark.parametrize(
    "line",
    [
        '{"calls": [{"tool": "read", "args": "S", "nonsense": "S"}]}',
        '{"calls": [{"tool": "read", "args": "S", "args": "S"}]}',
        '{"calls": [{"tool": "read", "args": "S}]}',
        '{"calls": [{"args": {"S": 1}}]}',
        '{"outcome": {"status": "NONSENSE", "result": "S"}}',
        '{"outcome": {"result": "S", "resultDigest": "00"}}',
        '{"outcome": {"result": "S"}, "calls": "S"}',
        '{"history": {"args": "S"}}',
        "S",
    ],
)
def test_no_secret_gets_into_what_is_said_of_a_bad_line(line: str) -> None:
    secret = make_secret(1)

    with pytest.raises(InvalidTrace) as refused:
        parse_frame(line.replace("S}", f"{secret}}}").replace('"S"', f'"{secret}"').encode(), Place("t", 1))

    assert secret not in str(refused.value)


@pytest.mark.parametrize("profile", ["openclaw", "balanced"])
@pytest.mark.parametrize("broken", ["call", "outcome"])
def test_no_secret_of_a_failure_of_our_own_is_told(
    broken: str, profile: str, logged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = make_secret(2)
    events: list[Event] = []
    sound = getattr(Fingerprinter, broken)

    def fail(printer: Fingerprinter, *asked: Any) -> Any:
        if asked[-1].private is not None if broken == "outcome" else asked[0].tool == "bad":
            raise RuntimeError(f"can't read {asked}")
        return sound(printer, *asked)

    monkeypatch.setattr(Fingerprinter, broken, fail)
    run = Engine(on_event=events.append).open(RunOpen("r", config={"enabled": True}, profile=profile))
    text = f'"{secret}"'.encode()
    frames = [CallBatch([Call("bad", text)]), Outcome(private=text), History([Record("bad", text, private=text)])]

    said = play(run, frames)

    assert any("failed" in text for text in logged())
    assert [text for text in (*map(repr, said), *map(repr, events), *logged()) if secret in text] == []


def test_no_secret_of_a_listener_that_fails_is_told(logged: Any) -> None:
    secret = make_secret(3)

    def listen(event: Event) -> None:
        raise RuntimeError(f"{event} {secret}")

    loop = loops(secret)[0]
    run = Engine(on_event=listen).open("r", config=loop.config)

    play(run, loop.frames)

    assert any("telling an event failed: RuntimeError" in text for text in logged())
    assert [text for text in logged() if secret in text] == []
