"""What-if on the command line: `replay --set`, `--compare`, `--summary`, and `tune`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from loopguard.cli import run

if TYPE_CHECKING:
    from pathlib import Path


def frames(run_id: str, answers: list[str]) -> list[str]:
    lines = [{"open": {"runId": run_id}}]
    for step, answer in enumerate(answers):
        lines.append({"calls": [{"tool": "lookup", "args": {"q": 1}}], "at": 10.0 * step})
        lines.append({"outcome": {"result": {"content": [{"type": "text", "text": answer}]}}, "at": 10.0 * step + 1})
    lines.append({"close": {}})
    return [json.dumps(line) for line in lines]


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    lines = [*frames("stuck", ["same text"] * 9), *frames("fine", [f"text {n}" for n in range(9)])]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines) + "\n")
    labels = [
        {"run_id": "stuck", "label": "loop", "loop_start": 0, "loop_end": 8},
        {"run_id": "fine", "label": "no_loop"},
    ]
    (tmp_path / "labels.json").write_text("\n".join(json.dumps(row) for row in labels))
    return tmp_path


def test_a_summary_tells_what_would_be_saved(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["replay", "--profile", "balanced", "--summary", str(traces / "runs.jsonl")])

    shown = capsys.readouterr().out.splitlines()
    assert code == 1
    assert shown[0] == "2 runs: 1 warned, 1 stopped; 5 of 18 calls saved (27.8 %), 41 s saved"
    assert shown[1] == "  stuck: 9 calls, repeat at 2, stopped at 4, 5 calls saved"


def test_a_threshold_set_otherwise(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(traces / "runs.jsonl")
    run(["replay", "--profile", "balanced", "--summary", "--set", "repeat=4", "--set", "nearRepeat=4", path])

    assert "repeat at 3" in capsys.readouterr().out


def test_two_profiles_side_by_side(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["replay", "--compare", "balanced", str(traces / "runs.jsonl")])

    shown = capsys.readouterr().out
    assert code == 0
    assert "  stuck: openclaw silent; balanced repeat at 2, stopped at 4" in shown
    assert "fine:" not in shown


@pytest.mark.parametrize("profile", ["openclaw", "balanced"])
def test_without_a_sweep_values_next_to_the_defaults_are_tried(
    traces: Path, capsys: pytest.CaptureFixture[str], profile: str
) -> None:
    labels = str(traces / "labels.json")
    code = run(["tune", "--labels", labels, "--profile", profile, str(traces / "runs.jsonl")])

    out, err = capsys.readouterr()
    names = [line.split()[0] for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert names[:2] == ["setting", "(defaults)"]
    assert {"openclaw": "warningThreshold=9", "balanced": "repeat=2"}[profile] in names


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("", "no labels"),
        ('{"run_id": "elsewhere", "label": "no_loop"}', "has a label in"),
        ('{"run_id": "stuck"}', ":1: a label needs 'label'"),
        ('{"run_id": "stuck", "label": "loop"}', ":1: a label needs 'loop_start'"),
        ("[" * 100_000, ":1: no label"),
        ("5", ":1: no label"),
    ],
)
def test_labels_that_are_none_are_told(
    traces: Path, capsys: pytest.CaptureFixture[str], labels: str, message: str
) -> None:
    (traces / "labels.json").write_text(labels)
    code = run(["tune", "--labels", str(traces / "labels.json"), str(traces / "runs.jsonl")])

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sweep", "repeat=3,9"], "--sweep repeat=9: "),
        (["--sweep", "repet=3"], "--sweep repet=3: "),
        (["--profile", "openclaw", "--sweep", "repeat=3"], "profile openclaw has no such key"),
        (["--profile", "nope"], "--profile nope"),
    ],
)
def test_a_sweep_that_can_not_be_is_told_before_anything_is_played(
    traces: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    code = run(["tune", "--labels", str(traces / "labels.json"), *options, str(traces / "runs.jsonl")])

    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("setting", ["repeat", "repet=3", "repeat=0", "repeat=x"])
def test_a_wrong_setting_is_refused(traces: Path, setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["replay", "--profile", "balanced", "--set", setting, str(traces / "runs.jsonl")])

    assert code == 2
    assert setting.split("=")[0] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ([], "repeat=4"),
        ([], "balanced.repeat=4"),
        (["--profile", "balanced"], "warningThreshold=4"),
        (["--profile", "balanced", "--compare", "balanced"], "historySize=100"),
    ],
)
def test_a_setting_that_the_profile_does_not_read_is_refused(
    traces: Path, options: list[str], setting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["replay", *options, "--set", setting, str(traces / "runs.jsonl")])

    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert shown.err.startswith(f"loopguard: --set {setting.split('=')[0]}: profile ")
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ([], "warningThreshold=4"),
        (["--compare", "balanced"], "repeat=4"),
        (["--profile", "balanced"], "balanced.repeat=4"),
        (["--profile", "balanced"], "postCompactionGuard.windowSize=2"),
    ],
)
def test_a_setting_that_one_of_the_profiles_reads_is_taken(
    traces: Path, options: list[str], setting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["replay", *options, "--set", setting, str(traces / "runs.jsonl")])

    assert code in (0, 1)
    assert capsys.readouterr().err == ""


def test_a_sweep_shows_the_trade_off(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chart = traces / "chart.svg"
    labels = str(traces / "labels.json")
    code = run(["tune", str(traces / "runs.jsonl"), "--labels", labels, "--sweep", "repeat=3,4", "--chart", str(chart)])

    shown = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in shown] == ["setting", "(defaults)", "repeat=3", "repeat=4"]
    assert shown[1].split()[1:] == ["1.00", "0", "0", "2.0"]
    assert chart.read_text().count("<circle") == 3


def test_labels_without_a_place_are_refused(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (traces / "labels.json").write_text('{"run_id": "stuck", "label": "loop"}')

    code = run(["tune", str(traces / "runs.jsonl"), "--labels", str(traces / "labels.json")])

    assert code == 2
    assert "labels.json:1" in capsys.readouterr().err
