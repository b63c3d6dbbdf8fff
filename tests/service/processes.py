"""Servers in processes of their own, to be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def forking(**variables: str) -> Iterator[Callable[[], tuple[str, int]]]:
    """Have servers started, each by a call that returns its address and process id; all are killed at the end.

    They are killed as a group: the id of one that a test has killed may belong to another process by now.
    """
    variables = {"LOOPGUARD_ADDRESS": "127.0.0.1:0", "LOOPGUARD_LOG_LEVEL": "error", **variables}
    forker = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("forker.py")],
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert forker.stdin is not None
    assert forker.stdout is not None

    def start() -> tuple[str, int]:
        assert forker.stdin is not None
        assert forker.stdout is not None
        forker.stdin.write("start\n")
        forker.stdin.flush()
        process_id, told = sorted((forker.stdout.readline(), forker.stdout.readline()), key=len)
        return told.split()[-1], int(process_id)

    try:
        yield start
    finally:
        os.killpg(forker.pid, signal.SIGKILL)
        forker.wait()
        forker.stdin.close()
        forker.stdout.close()
