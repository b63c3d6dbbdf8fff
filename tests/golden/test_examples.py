"""The examples do what they say, each as its user would start it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with subprocess.Popen(
        [BIN / "loopguard", "serve", "--port", "0", "--log-level", "error"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1]
        server.terminate()


def example(*command: object) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={"PATH": f"{BIN}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_gateway_is_told_to_stop(address: str) -> None:
    said = example(sys.executable, EXAMPLES / "gateway.py", address).splitlines()

    assert [line.split()[0] for line in said] == ["ALLOW"] * 5 + ["WARN"] + ["ALLOW"] + ["BLOCK"] + ["the"]
    assert said[-1].startswith("the run was ended: ")


def test_the_embedded_engine_stops_only_the_stuck_run() -> None:
    said = example(sys.executable, EXAMPLES / "embed.py").splitlines()

    assert said[0].startswith("stuck:  step 5, BLOCK: search was called 4 times")
    assert said[1] == "honest: 5 steps, nothing to say"


def test_reflection_is_enough_to_talk_to_the_server(address: str) -> None:
    said = example(EXAMPLES / "reflection.sh", address)

    assert '"status": "SERVING"' in said
    assert '"digest": "4uEM9SMOy4Yxi5eid6H8zQ=="' in said
    assert '"action": "ACTION_ALLOW"' in said
