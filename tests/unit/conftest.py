"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loopguard import cli

Loopguard = Callable[..., tuple[int, str, str]]


@pytest.fixture(name="loopguard")
def _loopguard(capsys: pytest.CaptureFixture[str]) -> Loopguard:
    """Run the command: its exit code, what it printed, and what it complained of."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = cli.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
