"""The kinds of volatile text by name, as the command line takes them."""

from __future__ import annotations

from loopguard import _core
from loopguard.cli.app import Failure
from loopguard.rules.rule import MASKS

DEFAULT = "default"

#: What each kind looks like in a tool's outcome.
MASK_EXAMPLES = {
    "wrapper_nonce": '<<<EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>> … and its end marker',
}


def bits_of(names: str) -> int:
    """Return the mask for names separated by commas; `default` stands for all that are masked by default."""
    bits = 0
    for name in filter(None, (part.strip().lower() for part in names.split(","))):
        if name not in MASKS:
            raise Failure(f"--mask: unknown kind `{name}` (known: {', '.join(MASKS)})")
        bits |= _bit(name)
    return bits


def names_of(bits: int) -> list[str]:
    """Return the names of the kinds in a mask."""
    return [name for name in MASKS if name != DEFAULT and _bit(name) & bits]


def _bit(name: str) -> int:
    found = getattr(_core, name.upper())
    assert isinstance(found, int)
    return found
