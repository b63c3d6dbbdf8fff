"""`hash`, `doctor` and `bench` show what the core does."""

import json
from pathlib import Path

import pytest
import xxhash

from loopguard._core import MASK_EXAMPLES, MASK_KINDS, canonicalize
from loopguard.cli import doctor
from tests.unit.conftest import Loopguard

TEXT = b'{"b": 1.0, "a": 12345678901234567890}'
NONCE = rb'"<<<EXTERNAL_UNTRUSTED_CONTENT id=\"0123456789abcdef\">>>'
NONCE += rb'<<<END_EXTERNAL_UNTRUSTED_CONTENT id=\"0123456789abcdef\">>>"'


@pytest.fixture(name="document")
def _document(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    path.write_bytes(TEXT)
    return path


def test_a_text_is_shown_with_digest_and_flags(loopguard: Loopguard, document: Path) -> None:
    canonical = '{"a":12345678901234567890,"b":1}'

    assert loopguard("hash", document) == (
        0,
        f"canonical  {canonical}\ndigest     {xxhash.xxh3_128_hexdigest(canonical.encode())}\nflags      BIGINT\n",
        "",
    )


def test_what_is_no_json_is_shown_as_it_is(loopguard: Loopguard, document: Path) -> None:
    document.write_bytes(b"{nonsense\n")

    code, out, _ = loopguard("hash", document)

    assert code == 0
    assert out.startswith("canonical  {nonsense\ndigest     ")
    assert out.endswith("flags      OPAQUE\n")


def test_programs_get_an_object_a_line(loopguard: Loopguard, document: Path) -> None:
    code, out, _ = loopguard("hash", "--json", document, document)

    assert code == 0
    first, second = (json.loads(line) for line in out.splitlines())
    assert first == second
    assert first == {
        "file": str(document),
        "digest": xxhash.xxh3_128_hexdigest(canonicalize(TEXT)),
        "flags": ["BIGINT"],
        "canonical": '{"a":12345678901234567890,"b":1}',
    }


@pytest.mark.parametrize("mask", ["wrapper_nonce", "default", "WRAPPER-NONCE,default"])
def test_masks_are_named(loopguard: Loopguard, document: Path, mask: str) -> None:
    document.write_bytes(NONCE)

    code, out, _ = loopguard("hash", "--json", "--mask", mask, document)

    assert code == 0
    assert json.loads(out)["canonical"] == NONCE.decode().replace("0123456789abcdef", "0" * 16)


@pytest.mark.parametrize("mask", ["", " , "])
def test_a_mask_without_a_kind_is_refused(loopguard: Loopguard, document: Path, mask: str) -> None:
    code, _, err = loopguard("hash", "--mask", mask, document)

    assert code == 2
    assert "--mask: no kind is named (known: default, wrapper_nonce," in err


def test_explain_lists_the_kinds(loopguard: Loopguard) -> None:
    code, out, _ = loopguard("hash", "--explain")

    assert code == 0
    assert all(f" {kind} " in out for kind in MASK_KINDS)


@pytest.mark.parametrize("kind", MASK_KINDS)
def test_what_was_masked_is_shown(loopguard: Loopguard, document: Path, kind: str) -> None:
    document.write_bytes(MASK_EXAMPLES[kind])

    code, out, _ = loopguard("hash", "--mask", kind, "--explain", document)

    assert code == 0
    assert f"masked     {kind:<14} line " in out
    assert "flags      none" in out


def test_what_was_masked_is_told_to_programs(loopguard: Loopguard, document: Path) -> None:
    document.write_bytes(b'{\n"a": "took 0.53s",\n"took_ms": 12.5}')

    code, out, _ = loopguard("hash", "--mask", "default", "--explain", "--json", document)

    masked = json.loads(out)["masked"]
    assert code == 0
    assert [(span["kind"], span["line"]) for span in masked] == [("duration", 2), ("duration", 3)]


def test_nothing_is_masked_unless_asked(loopguard: Loopguard, document: Path) -> None:
    code, out, _ = loopguard("hash", "--explain", document)

    assert code == 0
    assert "masked     nothing\n" in out


def test_the_doctor_knows_the_build(loopguard: Loopguard) -> None:
    code, out, err = loopguard("doctor", "--json")

    report = json.loads(out)
    assert (code, err, report["problems"]) == (0, "", [])
    assert {"loopguard", "python", "hash", "cpu", "avx2", "digestScheme", "library", "extras"} <= report.keys()
    assert report["library"]["xxhash"]


def test_the_doctor_says_what_is_wrong(loopguard: Loopguard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("pydantic", "redis") else "1")

    code, out, err = loopguard("doctor")

    assert code == 1
    assert err == "PROBLEM: pydantic is missing\n"
    assert "[redis]   not complete, redis missing\n" in out


def test_a_bench_measures_every_document(loopguard: Loopguard, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(TEXT)
    (tmp_path / "b.jsonl").write_bytes(TEXT + b"\n\n[]\n")

    code, out, _ = loopguard("bench", "hash", tmp_path, "--seconds", "0.1", "--json")

    report = json.loads(out)
    assert code == 0
    assert (report["documents"], report["bytes"]) == (3, 2 * len(TEXT) + 2)
    assert 0 < report["p50Ns"] <= report["p99Ns"]
    assert report["megabytesPerSecond"] > 0


def test_a_bench_without_documents_is_bad_input(loopguard: Loopguard, tmp_path: Path) -> None:
    code, _, err = loopguard("bench", "hash", tmp_path)

    assert (code, err.count("\n")) == (2, 1)
    assert "no documents" in err
