"""`conformance` runs vectors, and never passes what it has not compared."""

import base64
import json
from pathlib import Path

import pytest

from loopguard._core import inspect
from loopguard.cli import conformance as conformance_command
from tests.unit.conftest import Loopguard

GOOD = '{"name": "good", "steps": [{"calls": [{"tool": "t"}]}], "expect": [[{"action": "ALLOW", "finding": null}]]}'
BAD = (
    '{"name": "bad", "steps": [{"userMessage": {}}, {"calls": [{"tool": "t"}]}],'
    ' "expect": [null, [{"action": "WARN"}]]}'
)


@pytest.fixture(name="conformance")
def _conformance(loopguard: Loopguard, tmp_path: Path) -> Loopguard:
    def run(*lines: str) -> tuple[int, str, str]:
        path = tmp_path / "vectors.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return loopguard("conformance", path)

    return run


def test_good_vectors_pass(conformance: Loopguard) -> None:
    assert conformance(GOOD, "", GOOD) == (0, "2 passed, 0 failed\n", "")


def test_a_mismatch_is_told_with_step_expectation_and_answer(conformance: Loopguard) -> None:
    assert conformance(GOOD, BAD) == (
        1,
        "FAIL bad: step 1: expected [{'action': 'WARN'}], got [{'callId': 'c1', 'action': 'ALLOW'}]\n"
        "1 passed, 1 failed\n",
        "",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "no cases"),
        ("nonsense", ":1: a vector must be an object"),
        ('{"name": "x"}', ":1: a case of no known kind"),
        ('{"name": "x", "steps": [{"jump": 1}], "expect": [null]}', ":1: unknown key `jump`"),
        ('{"name": "x", "steps": [], "expect": [], "more": 1}', ":1: unknown key `more`"),
        ('{"name": "x", "input": "e30=", "digest": "00"}', "needs `canonical`"),
        ('{"name": "x", "input": "?", "digest": "00", "canonical": ""}', "`input` must be base64"),
        ('{"name": "x", "input": "e30=", "digest": "00", "canonical": "", "flags": ["ODD"]}', "there is no flag `ODD`"),
        ('{"name": "x", "input": "e30=", "digest": "00", "canonical": "", "flags": 3}', "`flags` must be a list"),
        ('{"name": "x", "input": "e30=", "digest": "00", "canonical": "", "mask": ["odd"]}', "unknown kind `odd`"),
        ('{"name": "x", "input": "e30=", "digest": "00", "canonical": "", "odd": 1}', ":1: unknown key `odd`"),
        ('{"name": "x", "bytes": "", "message": "loopguard.v1.Call"}', "needs `json`"),
        (
            '{"name": "x", "bytes": "", "message": "loopguard.v1.Nothing", "json": {}}',
            "no message `loopguard.v1.Nothing`",
        ),
        (
            '{"name": "x", "bytes": "", "message": "loopguard.v1.DESCRIPTOR", "json": {}}',
            "no message `loopguard.v1.DESCRIPTOR`",
        ),
        ('{"name": "x", "bytes": "?", "message": "loopguard.v1.Call", "json": {}}', "`bytes` must be hexadecimal"),
        (
            '{"name": "x", "bytes": "", "message": "loopguard.v1.Call", "json": {"odd": 1}}',
            "`json` is no loopguard",
        ),
    ],
)
def test_what_it_does_not_know_ends_it(conformance: Loopguard, line: str, message: str) -> None:
    code, out, err = conformance(line)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_one_empty_file_among_others_ends_it(loopguard: Loopguard, tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text(GOOD)
    (tmp_path / "empty.jsonl").write_text("\n")

    code, _, err = loopguard("conformance", tmp_path / "good.jsonl", tmp_path / "empty.jsonl")

    assert code == 2
    assert "empty.jsonl: no cases" in err


@pytest.mark.parametrize("data", [b'{"b": 1.0, "a": 1}', b"\xff\xfe", b"12345678901234567890", b'"\xc3\xa9"'])
def test_canon_vectors_are_compared_whole(conformance: Loopguard, data: bytes) -> None:
    found = inspect(data)
    flags = [name for name, bit in (("BIGINT", 1), ("OPAQUE", 16)) if found.flags & bit]
    case = {"name": "c", "input": base64.b64encode(data).decode(), "digest": found.digest.hex(), "flags": flags}
    canonical = {"canonicalBase64": base64.b64encode(found.canonical).decode()}

    assert conformance(json.dumps(case | canonical)) == (0, "1 passed, 0 failed\n", "")
    for wrong in ({"canonicalBase64": ""}, {"digest": "0" * 32}, {"flags": ["SURROGATE"]}):
        code, out, _ = conformance(json.dumps(case | canonical | wrong))
        assert code == 1
        assert out.endswith("0 passed, 1 failed\n")
        assert out.startswith("FAIL c: ")


def test_wire_vectors_are_compared_both_ways(conformance: Loopguard) -> None:
    case = {"name": "w", "message": "loopguard.v1.Call", "json": {"callId": "a", "argsJson": "e30="}}

    good = b"\x0a\x01a\x1a\x02{}".hex()
    assert conformance(json.dumps(case | {"bytes": good})) == (0, "1 passed, 0 failed\n", "")
    for wrong in (b"\x0a\x01b\x1a\x02{}", b"\x1a\x02{}\x0a\x01a", b"\xff"):
        code, out, _ = conformance(json.dumps(case | {"bytes": wrong.hex()}))
        assert code == 1
        assert out.startswith("FAIL w: ")


def test_a_server_that_nobody_runs_is_told_once(
    loopguard: Loopguard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "vectors.jsonl"
    path.write_text(f"{GOOD}\n{GOOD}\n")
    monkeypatch.setattr(conformance_command, "CONNECT_S", 0.1)

    code, out, err = loopguard("conformance", "--server", f"unix:{tmp_path / 'nobody.sock'}", path)

    assert (code, out) == (2, "")
    assert err == f"loopguard: no service answers at unix:{tmp_path / 'nobody.sock'}\n"
