"""The kinds of volatile text by name, as the command line takes them."""

from __future__ import annotations

from loopguard._core import DEFAULT_MASK, MASK_KINDS
from loopguard.cli.app import Failure

DEFAULT = "default"


def bits_of(names: str) -> int:
    """Return the mask for names separated by commas; `default` stands for all kinds that are masked by default."""
    kinds = {DEFAULT: DEFAULT_MASK, **MASK_KINDS}
    bits = 0
    for name in filter(None, (part.strip().lower().replace("-", "_") for part in names.split(","))):
        if name not in kinds:
            raise Failure(f"--mask: unknown kind `{name}` (known: {', '.join(kinds)})")
        bits |= kinds[name]
    if not bits:
        raise Failure(f"--mask: no kind is named (known: {', '.join(kinds)})")
    return bits


def names_of(bits: int) -> list[str]:
    """Return the names of the kinds in a mask."""
    return [name for name, bit in MASK_KINDS.items() if bit & bits]
