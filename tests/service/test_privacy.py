"""No text of an argument, a result or an error gets into an answer, a log line or an error message of a server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest

from loopguard import GuardClient
from loopguard.cli.vector_roads import StreamRoad
from loopguard.fingerprints import Fingerprinter
from loopguard.model import RunOpen
from loopguard.v1 import guard_pb2 as pb
from tests.service.wire import Ended, Peer, batch, done
from tests.unit.loops import loops, make_secret, play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.service.conftest import Server


@pytest.fixture(name="serving")
def _serving() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of its own process that logs all that it can."""
    process = subprocess.Popen(
        [sys.executable, "-m", "loopguard.server"],
        env={**os.environ, "LOOPGUARD_ADDRESS": "127.0.0.1:0", "LOOPGUARD_LOG_LEVEL": "debug"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield process, process.stdout.readline().split()[-1]
    process.kill()
    process.communicate()


def stop(process: subprocess.Popen[str]) -> str:
    """Return all that the server wrote."""
    process.send_signal(signal.SIGTERM)
    return "".join(process.communicate(timeout=30))


@pytest.mark.parametrize("profile", ["openclaw", "balanced"])
def test_no_secret_of_a_loop_leaves_a_server(serving: tuple[subprocess.Popen[str], str], profile: str) -> None:
    process, address = serving
    secret = make_secret(11)
    said: list[str] = []
    with GuardClient(address, deadline_s=30, on_unavailable="block") as client:
        road = StreamRoad(client)
        for number, loop in enumerate(loops(secret)):
            run = road.open(RunOpen(f"{number}", config=loop.config, profile=profile))
            said += map(repr, play(run, loop.frames))
        road.close()
    written = stop(process)

    assert '"guards"' in written
    assert [text for text in (*said, written) if secret in text] == []
    assert any("ABORT" in text for text in said)


def bad_frames(secret: str) -> list[bytes | pb.GuardRequest]:
    text = f'"{secret}"'.encode()
    call = pb.Call(tool="read", args_json=text, call_id="same")
    good = pb.GuardRequest(seq=1, calls=batch(call)).SerializeToString()
    return [
        pb.GuardRequest(calls=batch(call, call)),
        pb.GuardRequest(calls=batch(pb.Call(tool=" ", args_json=text))),
        pb.GuardRequest(calls=batch(pb.Call(tool="read", args_digest=text))),
        pb.GuardRequest(outcome=pb.Outcome(call_id="never asked", result_json=text, error_json=text)),
        pb.GuardRequest(outcome=pb.Outcome(status=99, result_json=text)),  # type: ignore[arg-type]  # no such status
        pb.GuardRequest(history=pb.History(records=[pb.Record(tool="", args_json=text)])),
        good[:-3],
        b"\xff\xff" + text,
        text,
    ]


async def test_no_secret_of_a_bad_frame_is_told(serving: tuple[subprocess.Popen[str], str]) -> None:
    process, address = serving
    secret = make_secret(12)
    said: list[str] = []
    async with grpc.aio.insecure_channel(address) as channel:
        for frame in bad_frames(secret):
            peer = Peer(channel)
            await peer.open("r")
            if not isinstance(frame, bytes):
                frame.seq = 1
            try:
                said.append(repr(await peer.ask(frame)))
                await peer.half_close()
            except Ended as end:
                said.append(str(end))
    written = await asyncio.to_thread(stop, process)

    assert sum("error" in text for text in said) == len(said)
    assert [text for text in (*said, written) if secret in text] == []


@pytest.mark.parametrize("broken", ["call", "outcome"])
async def test_no_secret_of_a_failure_of_our_own_is_told(
    broken: str,
    server: Server,
    guard: Callable[[], Peer],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    secret = make_secret(13)

    def fail(*asked: Any) -> Any:
        raise RuntimeError(f"can't read {asked[1:]} {secret}")

    peer = guard()
    await peer.open("r")
    text = f'"{secret}"'.encode()
    if broken == "outcome":
        await peer.tell(calls=batch(pb.Call(tool="read", args_json=text)))
    monkeypatch.setattr(Fingerprinter, broken, fail)
    server.take_the_long_way()

    if broken == "call":
        answer = await peer.tell(calls=batch(pb.Call(tool="read", args_json=text)))
    else:
        answer = await peer.tell(outcome=done(result=secret))
    await peer.close()

    logged = [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]
    assert any("failed: RuntimeError" in line for line in logged)
    assert [line for line in (repr(answer), *logged) if secret in line] == []
