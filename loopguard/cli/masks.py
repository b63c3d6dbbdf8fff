"""The kinds of volatile text by name, as the command line takes them."""

from __future__ import annotations

from loopguard._core import MASK_KINDS
from loopguard.cli.app import Failure

DEFAULT = "default"

#: What each kind looks like in a tool's outcome, as JSON text in which the kind is found.
MASK_EXAMPLES = {
    "wrapper_nonce": (
        r'"<<<EXTERNAL_UNTRUSTED_CONTENT id=\"0123456789abcdef\">>> text'
        r' <<<END_EXTERNAL_UNTRUSTED_CONTENT id=\"0123456789abcdef\">>>"'
    ),
}


def bits_of(names: str) -> int:
    """Return the mask for names separated by commas; `default` stands for all kinds that are masked by default."""
    bits = 0
    for name in filter(None, (part.strip().lower().replace("-", "_") for part in names.split(","))):
        if name == DEFAULT:
            bits |= sum(MASK_KINDS.values())
        elif name in MASK_KINDS:
            bits |= MASK_KINDS[name]
        else:
            raise Failure(f"--mask: unknown kind `{name}` (known: {', '.join((DEFAULT, *MASK_KINDS))})")
    return bits


def names_of(bits: int) -> list[str]:
    """Return the names of the kinds in a mask."""
    return [name for name, bit in MASK_KINDS.items() if bit & bits]
