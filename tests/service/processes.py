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
    """Have servers started, each by a call that returns its address and process id; all are killed at the end."""
    told = {"LOOPGUARD_ADDRESS": "127.0.0.1:0", "LOOPGUARD_LOG_LEVEL": "error", **variables}
    forker = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("forker.py")],
        env={**os.environ, **told},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert forker.stdin is not None
    assert forker.stdout is not None
    running_ids: list[int] = []

    def start() -> tuple[str, int]:
        assert forker.stdin is not None
        assert forker.stdout is not None
        forker.stdin.write("start\n")
        forker.stdin.flush()
        lines = sorted((forker.stdout.readline(), forker.stdout.readline()), key=len)
        running_ids.append(int(lines[0]))
        return lines[1].split()[-1], running_ids[-1]

    try:
        yield start
    finally:
        for process_id in running_ids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        forker.communicate(timeout=10)
