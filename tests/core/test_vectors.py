"""The conformance vectors are what the reference says, and the core meets them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from loopguard import _core
from tests.core import reference

FOLDER = Path(__file__).parents[2] / "conformance"
FLAGS = {"BIGINT": 1, "OVERFLOW": 2, "DUPLICATE_KEY": 4, "SURROGATE": 8, "OPAQUE": 16}


def load(name: str) -> list[Any]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


CASES = [pytest.param(case, id=case["name"]) for name in ("canon.jsonl", "mask.jsonl") for case in load(name)]


@pytest.mark.parametrize("case", CASES)
def test_vector(case: Any) -> None:
    data = base64.b64decode(case["input"])
    mask = sum(_core.MASK_KINDS[kind] for kind in case.get("mask", []))
    text = case.get("canonical")
    canonical = base64.b64decode(case["canonicalBase64"]) if text is None else text.encode()
    expected = (canonical, case["digest"], sum(FLAGS[flag] for flag in case["flags"]))

    seen = _core.inspect(data, mask=mask)
    wanted = reference.run(data, mask)

    assert (seen.canonical, seen.digest.hex(), seen.flags) == expected
    assert (wanted.canonical, wanted.digest.hex(), wanted.flags) == expected


def test_there_are_enough_cases_with_names_of_their_own() -> None:
    assert len(load("canon.jsonl")) >= 150
    assert len({case.id for case in CASES}) == len(CASES)
