"""Faults that the service has to survive as a process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from loopguard.server.settings import Settings
from loopguard.server.status import StreamEnd
from loopguard.server.tokens import entry_of

from loopguard.errors import Reason
from loopguard.v1 import guard_pb2 as pb
from tests.service.conftest import running
from tests.service.test_process import address_of, start
from tests.service.wire import Ended, Peer, batch, call, done, open_frame

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["start"]

Start = "Callable[..., subprocess.Popen[str]]"


async def test_health_is_watched_through_a_drain() -> None:
    async with (
        running(Settings(address="127.0.0.1:0", drain_grace_s=30)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel)
        await peer.open()
        request = health_pb2.HealthCheckRequest(service="loopguard.v1.LoopGuardService")
        watch = health_pb2_grpc.HealthStub(channel).Watch(request)
        before = await watch.read()

        stopping = asyncio.create_task(server.service.stop())
        after = await watch.read()
        assert (await peer.read()).HasField("go_away")
        await peer.close()
        await stopping

        assert before.status == health_pb2.HealthCheckResponse.SERVING
        assert after.status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_a_sigterm_under_load_loses_no_answer(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(LOOPGUARD_DRAIN_GRACE_S="20")
    async with grpc.aio.insecure_channel(address_of(process)) as channel:
        peers = [Peer(channel) for _ in range(20)]
        started, under_way = asyncio.Event(), set[int]()

        async def work(number: int, peer: Peer) -> int:
            """Work until told to go, finish the call at hand, and close the run."""
            await peer.open(f"r{number}")
            calls = 0
            while True:
                answer = await peer.tell(calls=batch(call(args={"n": calls})))
                if answer.HasField("go_away"):
                    answer = await peer.read()
                    going = True
                else:
                    going = False
                assert answer.seq == 2 * calls + 1, answer
                reported = await peer.tell(outcome=done(result=calls))
                if reported.HasField("go_away"):
                    reported, going = await peer.read(), True
                assert reported.HasField("verdict"), reported
                calls += 1
                if calls == 5:
                    under_way.add(number)
                if len(under_way) == len(peers):
                    started.set()
                if going:
                    await peer.close()
                    return calls

        working = [asyncio.create_task(work(number, peer)) for number, peer in enumerate(peers)]
        await started.wait()
        process.send_signal(signal.SIGTERM)
        calls = await asyncio.gather(*working)

    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert min(calls) >= 1
    assert "Traceback" not in errors


def test_a_full_disk_for_the_log_stops_nothing(tmp_path: Path) -> None:
    file = tmp_path / "guard.json5"
    file.write_text("{}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOOPGUARD_")}
    environment |= {"LOOPGUARD_ADDRESS": "127.0.0.1:0", "LOOPGUARD_CONFIG": str(file)}
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123  # a device
        process = subprocess.Popen(
            [sys.executable, "-m", "loopguard.server"], env=environment, stdout=subprocess.PIPE, stderr=full, text=True
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]

            async def play() -> int:
                async with grpc.aio.insecure_channel(address) as channel:
                    peer = Peer(channel)
                    await peer.open()
                    process.send_signal(signal.SIGHUP)
                    action = 0
                    for _ in range(6):
                        action = (await peer.run(args={"same": 1})).action
                    await peer.close()
                    return action

            assert asyncio.run(play()) == pb.ACTION_BLOCK
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.communicate()


async def test_a_log_that_nobody_reads_stops_nothing(start: Callable[..., subprocess.Popen[str]]) -> None:
    """More findings than fit into a pipe and into the queue before it, and nobody at the other end."""
    process = start(LOOPGUARD_DRAIN_GRACE_S="0")
    many_runs = 2_000
    async with grpc.aio.insecure_channel(address_of(process)) as channel:
        many = Peer(channel, "GuardMany")
        frames = [open_frame("r")]
        for seq in range(1, 9, 2):
            frames.append(pb.GuardRequest(seq=seq, calls=batch(call(args={"same": 1}))))
            frames.append(pb.GuardRequest(seq=seq + 1, outcome=done()))
        frames.append(pb.GuardRequest(seq=9, close=pb.RunClose()))
        message = pb.GuardManyRequest(runs=[pb.RunFrames(run_id="r", frames=frames)] * 250)
        for _ in range(many_runs // 250):
            answer = await asyncio.wait_for(many.ask(message), 30)
            warned = [each.answers[7].verdicts.verdicts[0].action for each in answer.runs]
            assert warned == [pb.ACTION_WARN] * 250
        await many.half_close()

    process.send_signal(signal.SIGTERM)

    assert await asyncio.to_thread(process.wait, 20) == 0


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack("!I", len(payload))[1:] + bytes((kind, flags)) + struct.pack("!I", stream) + payload


def _headers(path: bytes) -> bytes:
    """Encode the headers of a gRPC call, each as a literal that is not indexed."""
    fields = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path),
        (b":authority", b"x"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    )
    return b"".join(b"\x00%c%b%c%b" % (len(name), name, len(value), value) for name, value in fields)


async def test_twenty_thousand_resets_on_one_connection_hurt_no_other() -> None:
    resets = 20_000
    async with (
        running(Settings(address="127.0.0.1:0", drain_grace_s=0)) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        peer = Peer(channel)
        await peer.open()
        host, _, port = server.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b""))
        headers, reset = _headers(b"/loopguard.v1.LoopGuardService/Guard"), struct.pack("!I", 8)
        swallowing = asyncio.create_task(_swallow(reader))

        async def storm() -> None:
            for first in range(0, resets, 100):
                frames = [
                    _frame(1, 4, stream, headers) + _frame(3, 0, stream, reset)
                    for stream in range(2 * first + 1, 2 * (first + 100), 2)
                ]
                writer.write(b"".join(frames))
                await writer.drain()

        storming = asyncio.create_task(storm())
        answered = 0
        while not storming.done():
            answered += (await peer.tell(calls=batch(call(args={"n": answered})))).HasField("verdicts")
        await storming
        writer.close()
        await swallowing

        assert answered > 0
        await peer.close()
        async with asyncio.timeout(30):
            while server.service.servicer._connections:
                await asyncio.sleep(0.01)
        assert server.service.servicer.open_streams == 0


async def _swallow(reader: asyncio.StreamReader) -> None:
    try:
        while await reader.read(1 << 16):
            pass
    except ConnectionError:
        return


def test_logs_for_people(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(LOOPGUARD_LOG_FORMAT="console")
    address_of(process)

    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)

    assert "guards" in errors
    with pytest.raises(json.JSONDecodeError):
        json.loads(errors.splitlines()[0])


#: Whoever runs the tests in the background has SIGINT ignored, and the children inherit that.
INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from loopguard.cli import main; main()"
)


async def test_tail_shows_what_is_found(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(entry_of("acme", "secret"))
    (tmp_path / "token").write_text("secret\n")
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, tokens_file=str(tmp_path / "tokens"))
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        for arguments in ([], ["--json", "--findings"]):
            tail = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                INTERRUPTIBLE,
                "tail",
                server.address,
                "--token-file",
                str(tmp_path / "token"),
                *arguments,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                while not len(server.service.hub):
                    await asyncio.sleep(0.01)
                peer = Peer(channel, metadata=(("authorization", "Bearer secret"),))
                await peer.open("r", agent_id="a")
                for _ in range(4):
                    await peer.run(args={"same": 1})
                await peer.close()

                assert tail.stdout is not None
                lines = [
                    (await asyncio.wait_for(tail.stdout.readline(), 10)).decode() for _ in range(1 if arguments else 3)
                ]
            finally:
                tail.send_signal(signal.SIGINT)
                _, errors = await asyncio.wait_for(tail.communicate(), 20)
            while len(server.service.hub):
                await asyncio.sleep(0.01)

            assert "Traceback" not in errors.decode()
            if arguments:
                told: dict[str, Any] = json.loads(lines[0])
                assert told["event"]["finding"]["finding"]["detector"] == "generic_repeat"
            else:
                assert [line.split(" ", 1)[1] for line in lines] == [
                    "r (a) started\n",
                    "r (a) WARN exec: generic_repeat 3/3 [c1, c2, c3]\n",
                    "r (a) closed after 4 calls\n",
                ]


async def test_tail_asks_for_what_it_missed_while_the_service_was_away(tmp_path: Path) -> None:
    settings = Settings(address=f"unix:{tmp_path}/socket", drain_grace_s=0)

    async def play(run_id: str) -> None:
        async with grpc.aio.insecure_channel(settings.address) as channel:
            peer = Peer(channel)
            await peer.open(run_id)
            await peer.close()

    async def lines(count: int) -> list[str]:
        assert tail.stdout is not None
        told = [(await asyncio.wait_for(tail.stdout.readline(), 20)).decode() for _ in range(count)]
        return [line.split(" ", 1)[1] for line in told]

    async with running(settings) as server:
        await play("before")
        tail = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", INTERRUPTIBLE, "tail", settings.address, "--since", "oldest"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        first = await lines(2)
        for watching in server.service.servicer._watching:
            watching.end(StreamEnd(Reason.SHUTTING_DOWN, "gone for a moment"))
        await play("meanwhile")
        second = await lines(2)
    async with running(settings):
        await play("anew")
        third = await lines(2)
        tail.send_signal(signal.SIGINT)
        _, errors = await asyncio.wait_for(tail.communicate(), 20)

    told = (("before", first), ("meanwhile", second), ("anew", third))
    for run_id, shown in told:
        assert shown == [f"{run_id} started\n", f"{run_id} closed after 0 calls\n"]
    assert [line.partition(" (")[0] for line in errors.decode().splitlines()] == [
        f"loopguard: the service at {settings.address} is gone",
        f"loopguard: the service at {settings.address} is gone",
        "loopguard: the service was started anew; what it told before that is gone",
    ]


@pytest.mark.parametrize("since", ["new", "1/", "1/x", "-1", "1/2/3", str(1 << 64)])
def test_tail_refuses_what_is_no_position(since: str) -> None:
    command = [sys.executable, "-c", "from loopguard.cli import main; main()", "tail", f"--since={since}"]

    tail = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert (tail.returncode, tail.stdout) == (2, "")
    assert tail.stderr.startswith(f"loopguard: --since: `{since}` is neither")
    assert tail.stderr.count("\n") == 1


@pytest.mark.parametrize(("token", "said"), [(None, "UNAUTHENTICATED"), ("wrong", "UNAUTHENTICATED")])
async def test_tail_says_why_it_may_not_watch(tmp_path: Path, token: str | None, said: str) -> None:
    (tmp_path / "tokens").write_text(entry_of("acme", "secret"))
    arguments = []
    if token is not None:
        (tmp_path / "token").write_text(token)
        arguments = ["--token-file", str(tmp_path / "token")]
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, tokens_file=str(tmp_path / "tokens"))
    async with running(settings) as server:
        command = [sys.executable, "-c", "from loopguard.cli import main; main()", "tail", server.address, *arguments]
        tail = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        _, errors = await asyncio.wait_for(tail.communicate(), 20)

    assert tail.returncode == 2
    assert said in errors.decode()
    assert errors.count(b"\n") == 1


def test_tail_of_nobody_is_one_line_and_exit_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [sys.executable, "-c", "from loopguard.cli import main; main()", "tail", f"127.0.0.1:{port}"]

    tail = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert (tail.returncode, tail.stdout) == (2, "")
    assert "no service answers" in tail.stderr
    assert tail.stderr.count("\n") == 1


async def test_streams_over_the_limit_do_not_count_as_open() -> None:
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, streams_per_connection=1)
    async with running(settings) as server, grpc.aio.insecure_channel(server.address) as channel:
        peer = Peer(channel)
        await peer.open()
        for _ in range(3):
            with pytest.raises(Ended):
                await Peer(channel).open("other")

        assert server.service.servicer.open_streams == 1
        assert server.service.tally.refusals["LIMIT_EXCEEDED"] == 3
        await peer.close()


@pytest.mark.parametrize(
    "bad",
    [
        "{loopguard: {profile: 'nonsense'}}",
        "{loopguard: {server: {port: 5}}}",
        "{tools: {loopDetection: {historySize: 100000}}}",
        "{tools: {loopDetection: {criticalThreshold: 1}}}",
        "{",
    ],
)
async def test_a_bad_configuration_leaves_the_last_good_one_in_use(tmp_path: Path, bad: str) -> None:
    from loopguard.config import load_configuration

    file = tmp_path / "guard.json5"
    file.write_text("{tools: {loopDetection: {enabled: true, warningThreshold: 4}}}")
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0, config=str(file))
    async with (
        running(settings, load_configuration(str(file))) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        file.write_text(bad)

        await server.service.reload()

        peer = Peer(channel)
        opened = await peer.open(config={})
        assert (opened.opened.config.warning_threshold, opened.opened.profile) == (4, "openclaw")
        assert server.service.tally.reloads == {("configuration", "bad"): 1}
        await peer.close()
