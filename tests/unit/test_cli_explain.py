"""`explain` shows why a call got its verdict, and what would have to be equal for another one."""

import json
from pathlib import Path

import pytest

from loopguard.cli.difference import counting_difference
from tests.unit.conftest import Loopguard


def asked(tool: str, args: object, result: object, status: str = "OK") -> str:
    calls = {"calls": [{"tool": tool, "args": args}]}
    return f"{json.dumps(calls)}\n{json.dumps({'outcome': {'status': status, 'result': result}})}\n"


def trace(path: Path, *lines: str) -> Path:
    path.write_text(
        '{"open": {"runId": "quiet"}}\n{"calls": [{"tool": "x"}]}\n{"open": {"runId": "r"}}\n' + "".join(lines)
    )
    return path


def test_the_first_alarm_is_explained(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", asked("read", {"path": "a"}, "one") * 22)

    code, out, err = loopguard("explain", path)

    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "run r, step 20, call c21 (read), mode OBSERVE"
    assert lines[1] == "asked: BLOCK"
    assert lines[2] == "  generic_repeat, critical: counted 20, threshold 20"
    assert "history before this call (20 of at most 30; this call is A):" in lines
    rows = [line.split() for line in lines if line.startswith("*")]
    assert ["*", "0", "c1", "read", "A", "a"] in rows
    assert ["*", "19", "c20", "read", "A", "a"] in rows


def test_a_near_miss_is_told_by_path_and_values(loopguard: Loopguard, tmp_path: Path) -> None:
    def result(left: int, pid: int) -> dict[str, object]:
        return {
            "content": [],
            "details": {"status": "completed", "exitCode": 1, "aggregated": f"{left} left", "pid": pid},
        }

    path = trace(
        tmp_path / "t.jsonl",
        asked("exec", {"command": "make"}, result(3, 11)),
        asked("exec", {"command": "make"}, result(3, 12)),
        asked("exec", {"command": "make"}, result(2, 13)),
        asked("exec", {"command": "make all"}, result(2, 14)),
        asked("exec", {"command": "make"}, result(2, 15)),
    )

    code, out, _ = loopguard("explain", path, "--run", "r", "--call", "c5")

    assert code == 0
    assert "asked: ALLOW" in out
    assert "this call stands 3 times in the history, with 2 different outcomes, the most frequent one 2 times" in out
    assert '  the outcomes of step 1 and step 2 differ in result: details.aggregated: "3 left" → "2 left"\n' in out
    assert '  the arguments of step 3 and this call differ in command: "make all" → "make"\n' in out
    assert "pid" not in out.split("near misses:")[1]


def test_a_call_is_found_by_its_step(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", asked("a", 1, 1), asked("b", 2, 2))

    code, out, _ = loopguard("explain", path, "--run", "r", "--call", "1")

    assert (code, out.splitlines()[0]) == (0, "run r, step 1, call c2 (b), mode OBSERVE")


def test_what_an_outcome_led_to_is_told(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", asked("a", 1, "broken", "ERROR") * 3)

    _, out, _ = loopguard("explain", path)

    assert out.splitlines()[:4] == [
        "run r, step 2, call c3 (a), mode OBSERVE",
        "asked: ALLOW",
        "outcome: ABORT of the turn",
        "  identical_error, critical: counted 3, threshold 3",
    ]


def test_vetoes_stand_in_the_history(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(
        tmp_path / "t.jsonl",
        asked("read", {"path": "a"}, "one") * 20,
        '{"calls": [{"tool": "read", "args": {"path": "a"}}]}\n' * 2,
    )

    _, out, _ = loopguard("explain", path, "--mode", "enforce", "--call", "c22")

    assert "asked: ABORT of the run" in out
    assert any(line.split()[-6:] == ["20", "c21", "read", "A", "-", "veto"] for line in out.splitlines())


def test_it_says_that_detection_is_off(loopguard: Loopguard, tmp_path: Path) -> None:
    path = trace(tmp_path / "t.jsonl", asked("a", 1, 1))
    (tmp_path / "c.json5").write_text("{}")

    _, out, _ = loopguard("explain", path, "--config", tmp_path / "c.json5")

    assert "the rolling detectors are off: `enabled` is not set" in out


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--run", "no"], "no run `no`"),
        (["--call", "no"], "no call `no`"),
        (["--run", "r", "--call", "c9"], "no call `c9` in run `r`"),
    ],
)
def test_what_is_not_there_is_told(loopguard: Loopguard, tmp_path: Path, options: list[str], wanted: str) -> None:
    path = trace(tmp_path / "t.jsonl", asked("a", 1, 1))

    assert loopguard("explain", path, *options) == (2, "", f"loopguard: {path}: {wanted}\n")


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        (b'{"a": {"b": [1, 2]}}', b'{"a": {"b": [1, 3]}}', "a.b[1]: 2 → 3"),
        (b'{"a": 1}', b'{"a": 1, "b": 2}', "b: absent → 2"),
        (b'{"a": 1, "b": null}', b'{"a": 1}', "b: null → absent"),
        (b"[1]", b"[1, 2]", "all of it: [1] → [1, 2]"),
        (b"1", b"true", "all of it: 1 → true"),
        (None, b"1", "all of it: absent → 1"),
        (b"nonsense", b'"x"', 'all of it: "nonsense" → "x"'),
        (b'{"volatile": 1}', b'{"volatile": 2}', None),
    ],
)
def test_the_first_difference_that_counts_is_found(one: bytes | None, other: bytes, path: str | None) -> None:
    def digest(text: bytes) -> bytes:
        return b"same" if b"volatile" in text else text.replace(b" ", b"")

    assert counting_difference(one, other, digest) == path


def test_long_values_are_cut_to_where_they_differ() -> None:
    one, other = (f'"{"x" * 500} {word} {"y" * 500}"'.encode() for word in ("left", "right"))

    found = counting_difference(one, other, lambda text: text)

    assert found == f"all of it: …{'x' * 15} left {'y' * 37}… → …{'x' * 15} right {'y' * 36}…"


def test_failed_commands_that_are_equal_but_for_moving_parts_say_so(loopguard: Loopguard, tmp_path: Path) -> None:
    def failed(seconds: int) -> dict[str, object]:
        output = f"failed after {seconds}s, pid {seconds}00"
        return {"content": [], "details": {"status": "failed", "exitCode": 1, "aggregated": output}}

    commands = "".join(asked("exec", {"command": "make"}, failed(seconds)) for seconds in range(20))
    path = trace(tmp_path / "t.jsonl", commands, asked("exec", {"command": "make"}, failed(99)))

    code, out, _ = loopguard("explain", path)

    assert code == 0
    assert "  left out to find them equal: duration, process_id" in out
    assert "left out of the failure: duration, process_id" in out


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (
            "tools: {Read: {warningThreshold: 2, criticalThreshold: 4}}",
            "warning from 2, critical from 4 without",
        ),
        ("tools: {read: {exempt: true}}", "the rolling detectors leave this tool alone: `exempt` is true"),
        ("profile: 'balanced'", "the most frequent one 2 times\n"),
    ],
)
def test_what_counts_for_this_run_and_tool_is_told(
    loopguard: Loopguard, tmp_path: Path, own: str, expected: str
) -> None:
    path = trace(tmp_path / "t.jsonl", asked("read", {"path": "a"}, "one") * 3)
    file = tmp_path / "f.json5"
    file.write_text(f"{{tools: {{loopDetection: {{enabled: true}}}}, loopguard: {{{own}}}}}")

    code, out, _ = loopguard("explain", path, "--run", "r", "--call", "2", "--config", file)

    assert code == 0
    assert expected in out
