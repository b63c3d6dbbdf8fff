"""What the fuzzers have kept, through the core and through the slow reference; read as the fuzzers read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loopguard import _core
from tests.core import reference

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
ALL_MASKS = sum(_core.MASK_KINDS.values())
_SEGMENTS_MOST = 6
_PATHS_MOST = 4


def cases(target: str) -> list[Any]:
    return [pytest.param(file.read_bytes(), id=file.name) for file in sorted((CORPUS / target).iterdir())]


def check(data: bytes, mask: int = 0, rules: dict[str, Any] | None = None) -> None:
    seen = _core.inspect(data, mask=mask, rules=None if rules is None else _core.Rules(**rules))
    wanted = reference.run(data, mask, None if rules is None else reference.Rules(**rules))
    assert (seen.canonical, seen.flags, seen.digest) == (wanted.canonical, wanted.flags, wanted.digest)


@pytest.mark.parametrize("data", cases("canon"))
def test_canonical_form(data: bytes) -> None:
    check(data)


@pytest.mark.parametrize("data", cases("mask"))
def test_masks(data: bytes) -> None:
    check(data[2:], int.from_bytes(data[:2], "big") & ALL_MASKS)
    check(data[2:], ALL_MASKS)


@pytest.mark.parametrize("data", cases("rules"))
def test_rules(data: bytes) -> None:
    check(*split_rules(data))


def split_rules(data: bytes) -> tuple[bytes, int, dict[str, Any]]:
    """Take the lines before an empty one as paths; the rest is the document."""
    rules: dict[str, Any] = {"drop": [], "keep": [], "mask": []}
    for _ in range(_PATHS_MOST):
        line, _, data = data.partition(b"\n")
        if not line:
            break
        # A key that is no UTF-8 is in no document that is JSON.
        path = tuple(line[1:].decode(errors="replace").split("."))
        if len(path) > _SEGMENTS_MOST:
            continue
        if line[:1] == b"k":
            rules["keep"].append(path)
        elif line[:1] == b"m":
            rules["mask"].append((path, ALL_MASKS))
        elif set(path) != {"**"}:
            rules["drop"].append(path)
    return data, 0, rules


def test_a_rule_is_read_as_the_fuzzer_reads_it() -> None:
    assert split_rules(b"da.*\nk**\nmb\n\n[1]") == (
        b"[1]",
        0,
        {"drop": [("a", "*")], "keep": [("**",)], "mask": [(("b",), ALL_MASKS)]},
    )
