"""The loop that serves is woken up once for all events that are there, and for every later one."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections import deque
from functools import partial

from loopguard.server.loop import Loop

#: Starts a server of gRPC's on the loop, and prints the class of each socket that gRPC has it read.
REAL = """
import socket
import grpc.aio
from loopguard.server.loop import Loop
import uvloop

class Told(Loop):
    def add_reader(self, fd, *rest):
        super().add_reader(fd, *rest)
        if isinstance(fd, socket.socket):
            print(type(fd).__name__)

async def main():
    server = grpc.aio.server()
    server.add_insecure_port("127.0.0.1:0")
    await server.start()
    await server.stop(0)

uvloop.run(main(), loop_factory=Told)
"""


class PollerCompletionQueue:
    """Hands events on as gRPC's queue of this name does."""

    def __init__(self) -> None:
        self.reader, self.writer = socket.socketpair()
        self.reader.setblocking(False)
        self.events: deque[int] = deque()
        self.rounds: list[list[int]] = []

    def push(self, *events: int) -> None:
        for event in events:
            self.events.append(event)
            self.writer.send(b"1")

    def _handle_events(self, _loop: object) -> None:
        self.reader.recv(1)
        self.rounds.append(list(self.events))
        self.events.clear()


def test_events_that_are_there_are_taken_in_one_round() -> None:
    queue = PollerCompletionQueue()

    async def play() -> None:
        asyncio.get_running_loop().add_reader(queue.reader, partial(queue._handle_events, "loop"))
        for events in ((1, 2, 3), (4,), (5, 6)):
            queue.push(*events)
            while queue.events:
                await asyncio.sleep(0)
        # A byte too many would have come by now.
        for _ in range(10):
            await asyncio.sleep(0)
        asyncio.get_running_loop().remove_reader(queue.reader)

    with queue.reader, queue.writer, asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(play())

    assert queue.rounds == [[1, 2, 3], [4], [5, 6]]


def test_sockets_of_others_are_read_as_they_ask() -> None:
    ours, theirs = socket.socketpair()
    got: list[bytes] = []

    async def play() -> None:
        asyncio.get_running_loop().add_reader(ours, lambda: got.append(ours.recv(1)))
        theirs.send(b"abc")
        while len(got) < 3:
            await asyncio.sleep(0)
        asyncio.get_running_loop().remove_reader(ours)

    with ours, theirs, asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(play())

    assert got == [b"a", b"b", b"c"]


def test_grpc_s_own_socket_is_known() -> None:
    ran = subprocess.run([sys.executable, "-c", REAL], stdout=subprocess.PIPE, text=True, check=True, timeout=60)

    assert ran.stdout.split() == ["_Wakeups"]
