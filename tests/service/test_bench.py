from __future__ import annotations

import json

import pytest

from loopguard.cli import run


@pytest.mark.parametrize(("command", "rate"), [("stream", []), ("many", ["--rate", "100"])])
def test_the_service_is_measured_beside_an_echo(
    command: str, rate: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    code = run(["bench", command, "--streams", "2", "--sizes", "3", "--seconds", "0.3", "--json", *rate])

    service, echo = (json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{"))
    assert code == 0
    assert (service["server"], echo["server"]) == ("loopguard", "echo")
    assert service["streams"] == 2
    assert service["size"] == 3
    assert echo["cpu_us_per_message"] > 0
    assert 0 < service["p50_us"] <= service["p99_us"] <= service["p999_us"]


def test_numbers_that_are_none_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    code = run(["bench", "stream", "--streams", "1,x"])

    assert code == 2
    assert "--streams" in capfd.readouterr().err
