"""The files under deploy/ name what is there: settings, options, extras, and signals that do what is said of them."""

from __future__ import annotations

import re
import tomllib

import pytest
from loopguard.server.settings import PREFIX, load_settings

from loopguard import cli
from tests.project.documents import ROOT

DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "loopguard.service").read_text(encoding="utf-8")
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def environment(text: str) -> dict[str, str]:
    return dict(re.findall(rf"({PREFIX}[A-Z_]+)=(\S+)", text))


@pytest.mark.parametrize("text", [UNIT, DOCKERFILE], ids=["unit", "image"])
def test_the_environment_is_one_that_the_service_takes(text: str) -> None:
    given = environment(text)

    # Where others can connect the configuration has to say how they are kept out, so here it is said for it.
    settings, _ = load_settings({**given, f"{PREFIX}ALLOW_INSECURE": "true"})

    assert settings.metrics_address == given[f"{PREFIX}METRICS_ADDRESS"]
    assert ":9464" in given[f"{PREFIX}METRICS_ADDRESS"]


def test_an_image_without_configuration_of_its_security_does_not_serve() -> None:
    with pytest.raises(Exception, match="allowInsecure"):
        load_settings(environment(DOCKERFILE))


@pytest.mark.parametrize(
    "words",
    [
        re.search(r"ExecStart=\S+/bin/loopguard (.*)", UNIT)[1].split(),  # type: ignore[index]  # there or a failure
        re.findall(r'"([^"]+)"', " ".join(re.findall(r"^(?:ENTRYPOINT|CMD) (.*)", DOCKERFILE, re.MULTILINE)))[1:],
    ],
    ids=["unit", "image"],
)
def test_the_command_is_one_that_there_is(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command, option, file = words

    cli.run([command, "--help"])

    assert re.search(rf"{option}\b", re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out))
    assert file == "/etc/loopguard/loopguard.json5"


@pytest.mark.parametrize(
    ("text", "wanted"), [(UNIT, {"server"}), (DOCKERFILE, {"server", "redis"})], ids=["unit", "image"]
)
def test_the_extras_that_are_installed_are_those_that_there_are(text: str, wanted: set[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    extras = {name for named in re.findall(r"(?:loopguard-grpc|\.)\[([\w,]+)\]", text) for name in named.split(",")}

    assert extras == wanted
    assert extras <= project["optional-dependencies"].keys()


def test_the_unit_waits_longer_than_a_drain() -> None:
    settings, _ = load_settings({})

    assert int(re.search(r"TimeoutStopSec=(\d+)", UNIT)[1]) > settings.drain_grace_s + 5  # type: ignore[index]


def test_neither_runs_as_root() -> None:
    assert re.search(r"^User=loopguard$", UNIT, re.MULTILINE)
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
