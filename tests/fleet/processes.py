"""Programs that a fleet consists of: started on ports that they keep, killed, frozen, started again."""

from __future__ import annotations

import asyncio
import random
import signal
import socket
import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Below the ports that Linux gives to clients, one of which could take that of a server that is down for a moment.
_PORTS = range(15_000, 32_000)
_PATIENCE_S = 60.0
_POLL_S = 0.02


def free_port() -> int:
    """Return a port of the loopback interface on which nobody listens."""
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Program:
    """One program with its log; `port` is where it answers once it is ready."""

    def __init__(self, name: str, folder: Path, command: Sequence[str], port: int) -> None:
        self.name = name
        self.port = port
        self.address = f"127.0.0.1:{port}"
        self._command = command
        self._log = folder / f"{name}.log"
        self._process: asyncio.subprocess.Process | None = None
        self._frozen = False

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(*self._command, stdout=log, stderr=log)
        async with asyncio.timeout(_PATIENCE_S):
            while not await self.is_ready():
                if self._process.returncode is not None:
                    raise ChildProcessError(f"{self.name} did not start:\n{self._log.read_text()[-2_000:]}")
                await asyncio.sleep(_POLL_S)

    async def is_ready(self) -> bool:
        """Tell whether it takes connections."""
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    @property
    def process_id(self) -> int:
        """The id of the process that was started last."""
        assert self._process is not None
        return self._process.pid

    async def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal that ends it, and wait until it has."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.send_signal(how)
        self.thaw()
        await self._process.wait()

    def freeze(self) -> None:
        """Stop it where it stands; its connections stay open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        self._frozen = True

    def thaw(self) -> None:
        """Let a frozen one go on."""
        if self._frozen and self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGCONT)
        self._frozen = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end(signal.SIGKILL)


def build_node(name: str, folder: Path, config: str = "{}", *, drain_grace_s: float = 5.0) -> Program:
    """Return a loopguard node with the configuration file `config`."""
    file = folder / f"{name}.json5"
    file.write_text(config, encoding="utf-8")
    port = free_port()
    serve = ["serve", "--address", f"127.0.0.1:{port}", "--config", str(file), "--log-level", "warning"]
    command = [sys.executable, "-c", "from loopguard.cli import main; main()", *serve]
    return Program(name, folder, [*command, "--drain-grace", str(drain_grace_s)], port)
