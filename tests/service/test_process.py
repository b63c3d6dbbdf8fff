from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import grpc.aio
import pytest

from tests.service.wire import Ended, Peer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Start = "Callable[..., subprocess.Popen[str]]"


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start servers that are ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*, address: str = "127.0.0.1:0", **variables: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LOOPGUARD_")}
        environment |= {"LOOPGUARD_ADDRESS": address} | variables
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "loopguard.server"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().split()[-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(start: Callable[..., subprocess.Popen[str]], number: int) -> None:
    process = start()
    address_of(process)

    process.send_signal(number)
    _, errors = process.communicate(timeout=30)

    assert process.returncode == 0
    assert "Traceback" not in errors
    assert '"event": "guards"' in errors.splitlines()[0]
    assert '"because": "defaults of the service"' in errors.splitlines()[0]


async def test_an_idle_stream_is_told_and_ended(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(LOOPGUARD_DRAIN_GRACE_S="0.1")
    async with grpc.aio.insecure_channel(address_of(process)) as channel:
        peer = Peer(channel)
        await peer.open()

        process.send_signal(signal.SIGTERM)
        told = await peer.read()
        with pytest.raises(Ended) as ended:
            await peer.read()

    assert told.WhichOneof("answer") == "go_away"
    assert (ended.value.code.name, ended.value.reason) == ("UNAVAILABLE", "SHUTTING_DOWN")
    assert process.wait(30) == 0


async def test_it_listens_on_a_socket_file(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'guard.sock'}"
    process = start(address=address)
    assert address_of(process) == address

    async with grpc.aio.insecure_channel(address) as channel:
        peer = Peer(channel)
        await peer.open()
        await peer.close()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"LOOPGUARD_IN_FLIGHT": "none"}, "LOOPGUARD_IN_FLIGHT"),
        ({"LOOPGUARD_IN_FLIGHT": "0"}, "LOOPGUARD_IN_FLIGHT"),
        ({"LOOPGUARD_INFLIGHT": "5"}, "unknown environment variable `LOOPGUARD_INFLIGHT`"),
        ({"LOOPGUARD_CONFIG": "/nowhere.json5"}, "/nowhere.json5"),
        ({"LOOPGUARD_TOKENS_FILE": "/nowhere"}, "/nowhere: No such file"),
        ({"LOOPGUARD_TLS_CERTIFICATE": "/nowhere", "LOOPGUARD_TLS_KEY": "/nowhere"}, "/nowhere: No such file"),
        ({"LOOPGUARD_ADDRESS": "0.0.0.0:0"}, "there is no TLS"),
    ],
)
def test_a_bad_setting_is_one_line_and_exit_2(
    start: Callable[..., subprocess.Popen[str]], variables: dict[str, str], message: str
) -> None:
    process = start(**variables)

    output, errors = process.communicate(timeout=30)

    assert (process.returncode, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_an_address_in_use_is_one_line_and_exit_2(start: Callable[..., subprocess.Popen[str]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = start(address=f"127.0.0.1:{taken.getsockname()[1]}")

        _, errors = process.communicate(timeout=30)

    assert process.returncode == 2
    assert "can't listen" in errors.splitlines()[-1]


def test_what_is_open_to_others_is_said_at_the_start(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(address="0.0.0.0:0", LOOPGUARD_ALLOW_INSECURE="true")
    address_of(process)

    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=30)

    (line,) = [line for line in errors.splitlines() if "without TLS" in line]
    assert '"level": "warning"' in line


async def test_a_sighup_reloads_and_a_bad_configuration_changes_nothing(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    file = tmp_path / "guard.json5"
    file.write_text("{tools: {loopDetection: {enabled: true, historySize: 40}}}")
    process = start(LOOPGUARD_CONFIG=str(file), LOOPGUARD_RELOAD_POLL_S="3600")
    sizes = []
    assert process.stderr is not None
    async with grpc.aio.insecure_channel(address_of(process)) as channel:
        for text, event in ((None, ""), ("{tools: 5}", "reload failed"), ("{tools: {}}", "reloaded")):
            if text is not None:
                file.write_text(text)
                process.send_signal(signal.SIGHUP)
                while f'"event": "{event}"' not in process.stderr.readline():
                    assert process.poll() is None
            peer = Peer(channel)
            sizes.append((await peer.open(config={})).opened.config.history_size)
            await peer.close()

    assert sizes == [40, 40, 30]
