"""Canon vectors: a JSON text, and the canonical form, digest and flags that every implementation has to find."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from loopguard._core import inspect
from loopguard.cli.masks import bits_of
from loopguard.model import Flag
from loopguard.trace import Place, parse_object, parse_value

_KEYS = frozenset(("name", "input", "mask", "canonical", "canonicalBase64", "digest", "flags"))


def run_canon(text: bytes, place: Place) -> tuple[str, list[str]]:
    """Run one case and return its name and what differs.

    `input` is base64; `canonical` is text, `canonicalBase64` stands for it where it is no UTF-8; `digest` is in
    hexadecimal, `flags` and `mask` are lists of names. Raises `InvalidTrace` for anything else.
    """
    parsed = parse_object(text, "a vector", _KEYS, place)
    fields = {key: parse_value(value, key, place) for key, value in parsed.items()}
    for key in ("name", "input", "digest"):
        if not isinstance(fields.get(key), str):
            raise place.refuse(f"a canon vector needs the string `{key}`")
    if ("canonical" in fields) == ("canonicalBase64" in fields):
        raise place.refuse("a canon vector needs `canonical` or `canonicalBase64`")
    kinds = _names(fields, "mask", place)
    mask = bits_of(",".join(kinds)) if kinds else 0
    found = inspect(_bytes(fields, "input", place), mask=mask)
    expected_flags = _names(fields, "flags", place)
    if unknown := [flag for flag in expected_flags if flag not in Flag.__members__]:
        raise place.refuse(f"there is no flag `{unknown[0]}`")
    if "canonical" in fields:
        canonical = str(fields["canonical"]).encode(errors="surrogatepass")
    else:
        canonical = _bytes(fields, "canonicalBase64", place)
    problems = []
    for what, expected, got in (
        ("canonical", canonical, found.canonical),
        ("digest", fields["digest"].lower(), found.digest.hex()),
        ("flags", sorted(expected_flags), sorted(flag.name or "" for flag in Flag(found.flags))),
    ):
        if expected != got:
            problems.append(f"{what}: expected {expected!r}, got {got!r}")
    return fields["name"], problems


def _names(fields: dict[str, Any], key: str, place: Place) -> list[str]:
    names = fields.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise place.refuse(f"`{key}` must be a list of names")
    return names


def _bytes(fields: dict[str, Any], key: str, place: Place) -> bytes:
    try:
        return base64.b64decode(fields[key], validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise place.refuse(f"`{key}` must be base64") from None
