"""The command line: what is printed, and with which code it ends."""

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from loopguard import cli
from loopguard.cli import replay as replay_command
from loopguard.cli import tail
from loopguard.cli.plain_text import plain
from loopguard.v1 import guard_pb2
from tests.unit.conftest import Loopguard

SAME_CALL = '{"calls": [{"tool": "read", "args": {"path": "a"}}]}\n{"outcome": {"result": "text"}}\n'


def trace(path: Path, *lines: str, run_id: str = "r") -> Path:
    path.write_text(f'{{"open": {{"runId": "{run_id}"}}}}\n' + "".join(lines))
    return path


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def answers(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_verdict_is_one_object_a_line(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL * 11)

    code, out, err = loopguard("replay", "--json", path)

    assert (code, err) == (0, "")
    read = answers(out)
    assert len(read) == 22
    assert read[0] == {"runId": "r", "step": 0, "frame": 1, "callId": "c1", "action": "ALLOW", "on": "call"}
    assert read[1] == {"runId": "r", "step": 0, "frame": 2, "callId": "c1", "action": "ALLOW", "on": "outcome"}


def test_an_alarm_names_detector_level_and_count(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL * 11)

    _, out, _ = loopguard("replay", "--json", path)

    assert answers(out)[20] == {
        "runId": "r",
        "step": 10,
        "frame": 21,
        "callId": "c11",
        "action": "WARN",
        "detector": "generic_repeat",
        "level": "warning",
        "count": 10,
        "on": "call",
    }


def test_a_replay_observes_and_goes_on_to_the_end(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL * 25)

    code, out, _ = loopguard("replay", "--json", path)

    assert code == 1
    actions = [answer["action"] for answer in answers(out) if answer["on"] == "call"]
    assert actions[20:] == ["BLOCK"] * 5
    assert len(answers(out)) == 50


def test_enforcing_ends_the_run_and_goes_on_to_the_end(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL * 25)

    code, out, _ = loopguard("replay", "--json", "--mode", "enforce", path)

    assert code == 1
    actions = [answer["action"] for answer in answers(out) if answer["on"] == "call"]
    assert actions[20:] == ["BLOCK", "ABORT", "ABORT", "ABORT", "ABORT"]


def test_the_open_frame_names_the_mode(loopguard: Loopguard, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"open": {"runId": "r", "mode": "ENFORCE"}}\n' + SAME_CALL * 23)

    _, out, _ = loopguard("replay", "--json", path)

    assert [a["action"] for a in answers(out) if a["on"] == "call"][20:] == ["BLOCK", "ABORT", "ABORT"]


def test_steps_count_calls_and_outcomes_find_theirs(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(
        tmp_path / "t.jsonl",
        '{"calls": [{"tool": "a", "callId": "x"}, {"tool": "b", "callId": "y"}]}\n',
        '{"check": [{"tool": "c"}]}\n',
        '{"outcome": {"callId": "y"}}\n{"userMessage": {}}\n',
        '{"calls": [{"tool": "c", "callId": "x"}]}\n{"outcome": {"callId": "x"}}\n',
        '{"open": {"runId": "s"}}\n{"calls": [{"tool": "a"}]}\n',
    )

    _, out, _ = loopguard("replay", "--json", path)

    assert [(a["runId"], a["step"], a["frame"], a["on"]) for a in answers(out)] == [
        ("r", 0, 1, "call"), ("r", 1, 1, "call"), ("r", 2, 2, "call"), ("r", 1, 3, "outcome"),
        ("r", 2, 5, "call"), ("r", 2, 6, "outcome"), ("s", 0, 1, "call"),
    ]  # fmt: skip


def test_a_refused_frame_is_told_and_passed_over(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(
        tmp_path / "t.jsonl",
        '{"outcome": {"callId": "no"}}\n',
        '{"calls": [{"tool": " "}]}\n',
        '{"calls": [{"tool": "a"}]}\n',
    )

    code, out, err = loopguard("replay", "--json", path)

    assert code == 0
    assert [answer["step"] for answer in answers(out)] == [1]
    assert [line.split(": ")[1:3] for line in err.splitlines()] == [
        [f"{path}:2", "frame refused, UNKNOWN_CALL"],
        [f"{path}:3", "frame refused, EMPTY_TOOL"],
    ]


def test_people_get_the_alarms_and_a_summary(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL * 25)

    code, out, _ = loopguard("replay", path)

    first, warn, block, summary = out.splitlines()
    assert code == 1
    assert "no configuration file" in first
    assert warn.startswith("r step 10 call read WARN generic_repeat warning 10 (threshold 10): ")
    assert block.startswith("r step 20-24 call read BLOCK generic_repeat critical 20-24 (threshold 20): ")
    assert summary == "1 run, 25 calls: 19 ALLOW, 1 WARN, 5 BLOCK, 0 ABORT."


def test_a_configuration_file_replaces_the_default(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL * 25)
    (tmp_path / "empty.json5").write_text("{}")

    code, out, _ = loopguard("replay", "--config", tmp_path / "empty.json5", path)

    assert (code, out) == (0, "1 run, 25 calls: 25 ALLOW, 0 WARN, 0 BLOCK, 0 ABORT.\n")


def test_many_files_folders_and_gzip_are_read(loopguard: Loopguard, tmp_path: Path) -> None:
    trace(tmp_path / "a.jsonl", SAME_CALL, run_id="a")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.jsonl.gz").write_bytes(gzip.compress(b'{"open": {"runId": "b"}}\n' + SAME_CALL.encode()))
    (tmp_path / "deep" / "labels.jsonl").write_text('{"run_id": "a"}\n')
    (tmp_path / "notes.txt").write_text("nothing")

    code, out, err = loopguard("replay", "--json", tmp_path, tmp_path / "a.jsonl")

    assert code == 0
    assert [answer["runId"] for answer in answers(out)[::2]] == ["a", "b", "a"]
    assert err == f"loopguard: {tmp_path}/deep/labels.jsonl: left out, it does not begin with `open`\n"


def test_standard_input_is_read_also_as_gzip(loopguard: Loopguard, monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"\xef\xbb\xbf" + b'{"open": {"runId": "i"}}\r\n{"calls": [{"tool": "a"}]}\r\n',):
        for sent in (data, gzip.compress(data)):
            stdin(monkeypatch, sent)

            code, out, _ = loopguard("replay", "--json", "-")

            assert (code, answers(out)[0]["runId"]) == (0, "i")


BROKEN_GZIP = gzip.compress(b'{"open": {"runId": "i"}}\n' * 99)[:-12]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"open": {"runId": "r"}}\nx', "{path}:2: a frame must be an object"),
        (b'{"open": {"runId": "r", "config": {"maxLoops": 3}}}', "{path}:1: unknown key `maxLoops`"),
        (
            b'{"open": {"runId": "r", "config": {"warningThreshold": "5"}}}',
            "{path}:1: `warningThreshold` must be an integer",
        ),
        (b'{"open": {"runId": " "}}', "{path}:1: `runId` must not be blank"),
        (b'{"open": {"runId": "r", "profile": "none"}}', "{path}:1: `profile`: there is no profile `none`"),
        (b'{"open": {"runId": "r", "digestScheme": 9}}', "{path}:1: digest scheme 9"),
        (b'{"calls": []}', "{path}:1: a frame outside of a run"),
        (BROKEN_GZIP, "{path}:"),
        (b"\x1f\x8bnothing", "{path}:1: broken gzip data"),
    ],
)
def test_unreadable_input_ends_with_one_line(loopguard: Loopguard, tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(data)

    code, _, err = loopguard("replay", "--json", path)

    assert code == 2
    assert err.startswith("loopguard: " + message.format(path=path))
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["replay"], "Missing argument 'FILE…'"),
        (["replay", "--nonsense", "x"], "No such option: --nonsense"),
        (["replay", "--mode", "watch", "x"], "'watch' is not one of observe, enforce"),
        (["replay", "nowhere.jsonl"], "nowhere.jsonl: No such file or directory"),
        (["replay", "--config", "nowhere.json5", "x"], "nowhere.json5: No such file or directory"),
        (["explain", "nowhere.jsonl"], "nowhere.jsonl: No such file or directory"),
        (["hash", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["hash"], "nothing to hash"),
        (["hash", "--mask", "nonsense", "x"], "unknown kind `nonsense`"),
        (["conformance", "nowhere.jsonl"], "nowhere.jsonl: No such file or directory"),
        (["config", "check", "nowhere.json5"], "nowhere.json5: No such file or directory"),
        (["bench", "hash", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["serve", "--port", "99999"], "less than or equal to 65535"),
        (["serve", "--address", "a:1", "--port", "1"], "excludes"),
    ],
)
def test_bad_usage_ends_with_one_line(
    loopguard: Loopguard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)

    code, out, err = loopguard(*arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("loopguard: ")
    assert err.count("\n") == 1


def test_a_folder_without_traces_is_bad_input(loopguard: Loopguard, tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"run_id": "a"}\n')

    code, _, err = loopguard("replay", tmp_path)

    assert code == 2
    assert f"{tmp_path}: no traces below this folder" in err


def test_a_token_fits_the_line_that_lets_it_in(loopguard: Loopguard, tmp_path: Path) -> None:
    from loopguard.server.tokens import Tokens

    code, out, _ = loopguard("token", "acme")
    token, entry = out.splitlines()
    (tmp_path / "tokens").write_text(entry)

    found = Tokens.load(str(tmp_path / "tokens")).find(token)

    assert code == 0
    assert len(token) >= 43
    assert found is not None
    assert found.tenant == "acme"


def test_a_token_is_made_for_no_name_that_is_none(loopguard: Loopguard) -> None:
    code, out, err = loopguard("token", "a b")

    assert (code, out) == (2, "")
    assert "tenant's name" in err


@pytest.mark.parametrize("command", ["replay", "explain", "hash", "conformance", "config check", "bench hash"])
def test_a_file_that_can_be_opened_and_not_read_is_named(loopguard: Loopguard, command: str) -> None:
    code, _, err = loopguard(*command.split(), "/proc/self/mem")

    assert code == 2
    assert err.splitlines()[-1] == "loopguard: /proc/self/mem: Input/output error"


def test_the_help_tells_the_defaults(loopguard: Loopguard) -> None:
    _, out, _ = loopguard("serve", "--help")

    words = " ".join(out.replace("│", " ").split())
    for default in ("127.0.0.1", "50051", "nowhere", "memory"):
        assert f"[default: {default}]." in words


def test_without_a_command_the_help_is_shown(loopguard: Loopguard) -> None:
    code, out, err = loopguard()

    assert (code, err) == (2, "")
    assert all(command in out for command in cli.COMMANDS)


@pytest.mark.parametrize("command", [*cli.COMMANDS, "config check", "bench hash"])
def test_every_command_explains_itself(loopguard: Loopguard, command: str) -> None:
    code, out, _ = loopguard(*command.split(), "--help")

    assert code == 0
    assert "Usage" in out


@pytest.mark.parametrize(
    ("command", "missing", "extra"),
    [("replay", ["typer", "rich"], "cli"), ("", ["rich"], "cli"), ("serve", ["grpc", "structlog"], "server")],
)
def test_a_missing_extra_is_named(
    loopguard: Loopguard, monkeypatch: pytest.MonkeyPatch, command: str, missing: list[str], extra: str
) -> None:
    monkeypatch.setattr(cli, "_installed", lambda module: module not in missing)

    code, _, err = loopguard(*filter(None, [command]))

    assert code == 2
    assert f"pip install 'loopguard-grpc[{extra}]'" in err
    assert f"(missing: {', '.join(missing)})" in err
    assert err.count("\n") == 1


def test_a_missing_client_is_named(loopguard: Loopguard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v.jsonl").write_text('{"name": "w", "message": "Call", "json": {}, "bytes": ""}')
    monkeypatch.delitem(sys.modules, "loopguard.cli.vector_wire", raising=False)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)

    code, _, err = loopguard("conformance", tmp_path / "v.jsonl")

    assert code == 2
    assert err == ("loopguard: this needs the extra `client`: pip install 'loopguard-grpc[client]' (missing: google)\n")


def test_the_version_is_told(loopguard: Loopguard) -> None:
    from loopguard import __version__

    assert loopguard("--version") == (0, f"loopguard {__version__}\n", "")


def test_an_interrupt_ends_quietly(loopguard: Loopguard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replay_command, "find_traces", interrupt)

    assert loopguard("replay", tmp_path) == (130, "", "")


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL * 2000)
    program = [sys.executable, "-c", "from loopguard.cli import main; main()", "replay", "--json", str(path)]

    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        complaints = process.stderr.read()

    assert complaints == b""
    assert process.returncode == 141


@pytest.mark.parametrize("command", ["--help", "serve --help", "config schema", "doctor"])
def test_a_reader_that_is_gone_ends_a_help_quietly(command: str) -> None:
    program = [sys.executable, "-c", "from loopguard.cli import main; main()", *command.split()]
    with subprocess.Popen(["sh", "-c", "exec true"], stdin=subprocess.PIPE) as reader:
        reader.wait()
        ended = subprocess.run(program, stdout=reader.stdin, stderr=subprocess.PIPE, check=False)

    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_surrogate_in_what_is_shown_is_no_traceback(loopguard: Loopguard, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"\\ud800": 1}')

    code, _, err = loopguard("replay", path)

    assert code == 2
    assert "unknown key" in err


FORGED = "r\x1b[2J\nfake step\u2028\u202e\x9b"
SHOWN = r"r\x1b[2J\nfake step\u2028\u202e\x9b"


@pytest.mark.parametrize(
    "arguments", [["replay"], ["replay", "--summary"], ["replay", "--compare", "balanced"], ["explain"]]
)
def test_text_of_a_trace_never_acts_on_the_terminal(loopguard: Loopguard, tmp_path: Path, arguments: list[str]) -> None:
    path = tmp_path / "t.jsonl"
    frames: list[object] = [{"open": {"runId": FORGED}}]
    for number in range(11):
        frames += [{"calls": [{"tool": FORGED, "callId": f"{FORGED}{number}"}]}, {"outcome": {"result": "text"}}]
    path.write_text("".join(json.dumps(frame) + "\n" for frame in frames))

    _, out, err = loopguard(*arguments, path)

    assert SHOWN in out
    assert not {"\x1b", "\u2028", "\u202e", "\x9b"} & set(out + err)
    assert not any(line.startswith("fake") for line in out.splitlines())


def test_the_table_of_a_terminal_shows_names_escaped(
    loopguard: Loopguard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL.replace("read", r"t\nfake step\u0007") * 11, run_id=r"r\nfake")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    _, out, _ = loopguard("replay", path)

    assert r"t\nfake step\x07" in out
    assert not any(line.lstrip().startswith("fake") for line in out.splitlines())


def test_a_complaint_stays_one_line(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", SAME_CALL)

    code, _, err = loopguard("explain", "--run", "a\nb\x1b", path)

    assert code == 2
    assert r"a\nb\x1b" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("options", [[], ["--json"], ["--summary"], ["--mode", "enforce"]])
@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_a_replay_of_nothing_passes_no_gate(
    loopguard: Loopguard, monkeypatch: pytest.MonkeyPatch, options: list[str], data: bytes
) -> None:
    stdin(monkeypatch, data)

    code, _, err = loopguard("replay", *options, "-")

    assert (code, err) == (2, "loopguard: no frames in -\n")


def test_a_comparison_of_nothing_is_refused(loopguard: Loopguard, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.touch()

    assert loopguard("replay", "--compare", "balanced", path) == (2, "", f"loopguard: no frames in {path}\n")


def test_an_empty_file_beside_another_is_fine(loopguard: Loopguard, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()

    code, _, err = loopguard("replay", empty, trace(tmp_path / "t.jsonl", SAME_CALL))

    assert (code, err) == (0, "")


@pytest.mark.parametrize("options", [["--summary"], ["--compare", "balanced"]])
def test_totals_are_no_json(loopguard: Loopguard, tmp_path: Path, options: list[str]) -> None:
    code, out, err = loopguard("replay", "--json", *options, trace(tmp_path / "t.jsonl", SAME_CALL))

    assert (code, out) == (2, "")
    assert options[0] in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("hash - <&-", "standard input is closed"),
        ("replay --json - <&-", "standard input is closed"),
        ("doctor >&-", "standard output is closed"),
        ("--version >&-", "standard output is closed"),
        ("--version >/dev/full", "No space left on device"),
        ("--help >/dev/full", "No space left on device"),
        ("doctor >/dev/full", "No space left on device"),
    ],
)
def test_a_stream_that_takes_nothing_is_told_in_a_line(words: str, complaint: str) -> None:
    script = f'exec "$0" -c "from loopguard.cli import main; main()" {words}'

    ended = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"loopguard: {complaint}\n")


def test_nobody_to_complain_to_is_silence() -> None:
    script = 'exec "$0" -c "from loopguard.cli import main; main()" hash - <&- >&- 2>&-'

    ended = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (2, b"", b"")


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0x202E, 0x2066])
def test_plain_text_has_no_character_that_acts(code: int) -> None:
    shown = plain(f"a{chr(code)}é")

    assert shown.isprintable()
    assert shown[0] + shown[-1] == "aé"
    assert chr(code) not in shown


def test_plain_text_leaves_letters_alone() -> None:
    assert plain("Ünïcode 日本 \\ ok") == "Ünïcode 日本 \\ ok"


def test_an_event_shows_names_escaped() -> None:
    event = guard_pb2.Event(run_id=FORGED, agent_id=FORGED, finding=guard_pb2.FindingEvent(tool=FORGED))

    shown = tail.event_line(guard_pb2.WatchResponse(event=event, lost=1))

    assert shown.count(SHOWN) == 3
    assert shown.splitlines()[0] == "… 1 events lost"
    assert len(shown.splitlines()) == 2
