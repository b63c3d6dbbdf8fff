"""Fingerprints of bare JSON with kinds of volatile text masked by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard import _core
from loopguard.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable


def inspect_masked(data: bytes, kinds: Iterable[str]) -> _core.Inspection:
    """Inspect JSON with the named kinds masked; `default` stands for the default set. Raises `InvalidInput`."""
    known = {"default": _core.DEFAULT_MASK, **_core.MASK_KINDS}
    bits = 0
    for kind in kinds:
        if kind not in known:
            raise InvalidInput(f"unknown kind of volatile text `{kind[:64]}`; there are {', '.join(known)}")
        bits |= known[kind]
    return _core.inspect(data, mask=bits)
