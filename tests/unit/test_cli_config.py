"""`config` says what is wrong with a file, and what is in effect."""

import json
from pathlib import Path

import pytest

from tests.unit.conftest import Loopguard

FILE = """{ // one of OpenClaw's files
  gateway: {port: 1, port: 2},
  tools: {profile: "coding", loopDetection: {enabled: true, warningThreshold: 5}},
  agents: {entries: {scout: {tools: {loopDetection: {criticalThreshold: 12}}}}},
}
"""


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    path = tmp_path / "openclaw.json"
    path.write_text("\ufeff" + FILE, encoding="utf-8")
    return path


def test_a_good_file_is_fine_and_what_is_ignored_is_told(loopguard: Loopguard, file: Path) -> None:
    assert loopguard("config", "check", file) == (
        0,
        f"{file}: fine (profile openclaw, 1 agent)\nignored, because they belong to others: gateway\n",
        "",
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("{\n tools: {loopDetection: {\n  maxLoops: 5}}}", 3, "maxLoops"),
        (
            '{\n tools: {\n loopDetection: {warningThreshold: "5"}}}',
            3,
            '`warningThreshold` must be an integer, not "5"',
        ),
        ("{\n tools: {loopDetection: {warningThreshold: 50}}}", 2, "`warningThreshold` (50) must be below"),
        ("{\n tools: [}", 2, "not JSON5"),
        ("{\n loopguard: {nonsense: 1}}", 2, "loopguard.nonsense"),
        (
            "{tools: {loopDetection: {\nhistorySize: 40,\nhistorySize: 50}}}",
            3,
            "`tools.loopDetection.historySize` stands",
        ),
        ('{loopguard: {\n profile: "nonsense"}}', 2, 'must be one of `openclaw`, `balanced`, not "nonsense"'),
        ("{loopguard: {profiles: {\n balnced: {}}}}", 2, "unknown key `loopguard.profiles.balnced`"),
        ('{loopguard: {\n store: "redis:x"}}', 2, "`loopguard.store`: an address of `redis` needs a host"),
        ("{loopguard: {tools: {Bash: {},\n exec: {}}}}", 2, "`Bash` and `exec` are one tool"),
        ("{tools: {loopDetection: {\n historySize: 1001}}}", 2, "`historySize` must be at most 1000 here, not 1001"),
        (
            "{agents: {list: [{id: 'a', tools: {loopDetection: {\n historySize: 1001}}}]}}",
            2,
            "`historySize` must be at most 1000 here, not 1001",
        ),
        (
            "{loopguard: {server: {limits: {historySize: 50}}},\n tools: {loopDetection: {\n historySize: 51}}}",
            3,
            "`historySize` must be at most 50 here, not 51",
        ),
        ("{agents: {list: [{id: 'a'},\n{id: 'a'}]}}", 2, "the agent `a` stands in `agents` twice"),
        ('{loopguard: {rules: [\n {name: "a"}]}}', 2, "no tools at `loopguard.rules: rule[0] a`"),
        ('{loopguard: {rules: [{name: "a",\n tols: []}]}}', 2, "unknown key `tols` at `loopguard.rules: rule[0]`"),
        (
            '{loopguard: {rules: [{name: "a", tools: ["x"],\n drop: ["result.["]}]}}',
            2,
            "at `loopguard.rules: rule[0]: drop[0]`",
        ),
        (
            """{loopguard: {rules: [{name: "a", tools: ["x"], drop: ["result.b"],
                 equal: ['{"result": {"c": 1}}', '{"result": {"c": 2}}']}]}}""",
            2,
            "the pair of `equal` is different at `loopguard.rules: rule[0] a: equal`",
        ),
        ("{loopguard: {profiles: {balanced: {\n repeat: 0}}}}", 2, "loopguard.profiles.balanced.repeat"),
        ("{loopguard: {server: {\n port: 5}}}", 2, "loopguard.server.port"),
        ('{loopguard: {\n store: "redis://h?nosuch=1"}}', 2, "there is no option `nosuch`"),
        ('{loopguard: {\n store: "redis://h?socket_timeout=soon"}}', 2, "socket_timeout"),
        ('{loopguard: {\n store: "redis+cluster://h?nosuch=1"}}', 2, "there is no option `nosuch`"),
        ('{loopguard: {\n store: "redis://h?decode_responses=1"}}', 2, "leave `decode_responses` out"),
        ("[]", None, "a configuration is an object, not []"),
        ("null", None, "a configuration is an object, not null"),
        ("{a:\n 1e400}", 2, "the number that starts here is too large"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    loopguard: Loopguard, file: Path, text: str, line: int | None, message: str
) -> None:
    file.write_text(text)

    code, out, err = loopguard("config", "check", file)

    assert (code, out) == (2, "")
    assert err.startswith(f"loopguard: {file}:{line}:" if line else f"loopguard: {file}: ")
    assert message in err
    assert err.count("\n") == 1


def test_bytes_that_are_no_utf8_are_bad_input(loopguard: Loopguard, file: Path) -> None:
    file.write_bytes(b"{\xff}")

    assert loopguard("config", "check", file) == (2, "", f"loopguard: {file}: not UTF-8 (byte 1)\n")


def test_effective_values_are_shown_with_their_origin(loopguard: Loopguard, file: Path) -> None:
    code, out, _ = loopguard("config", "show", file, "--agent", "scout")

    rows = [line.split("\t") for line in out.splitlines()[1:]]
    assert (code, out.splitlines()[0]) == (0, "profile openclaw")
    assert ["enabled", "true", "global"] in rows
    assert ["warningThreshold", "5", "global"] in rows
    assert ["criticalThreshold", "12", "agent"] in rows
    assert ["historySize", "30", "default"] in rows
    assert ["detectors.pingPong", "true", "default"] in rows
    assert ["postCompactionGuard.windowSize", "3", "default"] in rows


def test_effective_values_are_shown_to_programs(loopguard: Loopguard, file: Path) -> None:
    code, out, _ = loopguard("config", "show", file, "--json")

    shown = json.loads(out)
    assert code == 0
    assert shown["loopDetection"]["criticalThreshold"] == {"value": 20, "from": "default"}
    assert shown["loopDetection"]["enabled"] == {"value": True, "from": "global"}


BALANCED = '{loopguard: {profile: "balanced", profiles: {balanced: {repeat: 4, classes: {"my_wait": "poll"}}}}}'


def test_thresholds_of_balanced_are_shown_with_their_origin(loopguard: Loopguard, tmp_path: Path) -> None:
    file = tmp_path / "balanced.json5"
    file.write_text(BALANCED)

    code, out, _ = loopguard("config", "show", file)

    rows = [line.split("\t") for line in out.splitlines()[1:]]
    assert (code, out.splitlines()[0]) == (0, "profile balanced")
    assert ["enabled", "true", "default"] in rows
    assert ["profiles.balanced.repeat", "4", "global"] in rows
    assert ["profiles.balanced.blockAttempt", "5", "default"] in rows
    assert ["profiles.balanced.classes", '{"my_wait": "poll"}', "global"] in rows


def test_thresholds_of_balanced_are_shown_to_programs(loopguard: Loopguard, tmp_path: Path) -> None:
    file = tmp_path / "balanced.json5"
    file.write_text(BALANCED)

    _, out, _ = loopguard("config", "show", file, "--json")

    shown = json.loads(out)["profiles"]["balanced"]
    assert shown["repeat"] == {"value": 4, "from": "global"}
    assert shown["stall"] == {"value": 8, "from": "default"}


def test_an_agent_that_the_file_does_not_name_gets_the_global_values(loopguard: Loopguard, file: Path) -> None:
    code, out, _ = loopguard("config", "show", file, "--agent", "nobody")

    assert code == 0
    assert out.startswith("The file has no agent `nobody`")
    assert "criticalThreshold\t20\tdefault" in out


def test_the_schema_names_every_key(loopguard: Loopguard) -> None:
    code, out, _ = loopguard("config", "schema")

    schema = json.loads(out)
    assert code == 0
    assert schema["properties"].keys() >= {"tools", "agents", "loopguard"}


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ('tlsCertificate: "c.pem"', "`tlsCertificate` and `tlsKey` go together"),
        ('tlsKey: "k.pem"', "`tlsCertificate` and `tlsKey` go together"),
        ('tlsClientCa: "ca.pem"', "`tlsClientCa` needs"),
        ('address: "0.0.0.0:50051"', "can be reached from elsewhere"),
        ('tokensFile: "/nowhere/tokens"', "/nowhere/tokens: No such file"),
        ('tlsCertificate: "/nowhere/c.pem", tlsKey: "/nowhere/k.pem"', "No such file"),
    ],
)
def test_what_the_service_would_not_start_with_is_refused(
    loopguard: Loopguard, file: Path, server: str, message: str
) -> None:
    file.write_text(f"{{loopguard: {{server: {{{server}}}}}}}")

    code, out, err = loopguard("config", "check", file)

    assert (code, out) == (2, "")
    assert err.startswith(f"loopguard: {file}:")
    assert message in err
    assert err.count("\n") == 1


def test_an_open_service_with_tokens_that_is_told_to_be_one_is_fine(
    loopguard: Loopguard, file: Path, tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch()
    server = f'address: "0.0.0.0:50051", allowInsecure: true, tokensFile: {json.dumps(str(tokens))}'
    file.write_text(f"{{loopguard: {{server: {{{server}}}}}}}")

    code, _, err = loopguard("config", "check", file)

    assert (code, err) == (0, "")
