"""Shapes of answers that tools give, and what a family of runs is made of."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.unit.balanced_runs import Turn

Steps = Sequence["Turn"]


class Loop(NamedTuple):
    """Attempts at one thing that lead nowhere.

    An alarm is due at the end of attempt `warn`, a block at the end of attempt `block`; 0: nothing is certain enough.
    """

    make: Callable[[Random], list[Steps]]
    warn: int
    block: int = 0


class Honest(NamedTuple):
    """Work that gets on; with `seconds` that much time lies between two steps. `hinted`: a warning is no fault."""

    make: Callable[[Random], Steps]
    seconds: float = 0
    hinted: bool = False


def text(data: Any) -> dict[str, Any]:
    """JSON as the text of an MCP answer."""
    return {"content": [{"type": "text", "text": data if isinstance(data, str) else json.dumps(data, indent=2)}]}


def refused(message: Any) -> dict[str, Any]:
    """A failure as MCP tells it."""
    return text(message) | {"isError": True}


def ended(output: str, code: int = 0) -> dict[str, Any]:
    """What a shell tells of a command, with its exit code."""
    return text(output) | {"details": {"status": "completed", "exitCode": code, "aggregated": output}}


def plain(output: str, code: int, errors: str = "") -> dict[str, Any]:
    """What a plain shell wrapper returns."""
    return {"stdout": output, "stderr": errors, "exit_code": code}


def digest(*parts: object) -> bytes:
    """What a client sends that keeps texts to itself."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


def hexed(chance: Random, length: int) -> str:
    """Hexadecimal digits."""
    return f"{chance.getrandbits(4 * length):0{length}x}"


def token(chance: Random, size: int = 24) -> str:
    """An opaque text, as identifiers and secrets are."""
    return base64.urlsafe_b64encode(chance.randbytes(size)).decode().rstrip("=")


def blob(chance: Random, size: int = 900) -> str:
    """Bytes as base64."""
    return base64.b64encode(chance.randbytes(size)).decode()


def word(chance: Random) -> str:
    """A name that means nothing."""
    return "".join(chance.choice("bcdfgklmnprst") + chance.choice("aeiou") for _ in range(chance.randrange(2, 5)))


def words(chance: Random, count: int) -> list[str]:
    """Names, all different."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[word(chance)] = None
    return list(found)


def prose(chance: Random, count: int) -> str:
    """A text of so many words."""
    return " ".join(word(chance) for _ in range(count))


def times(count: int, make: Callable[[int], Steps]) -> list[Any]:
    """Attempts, each made from its number."""
    return [make(n) for n in range(count)]


def each(count: int, make: Callable[[int], Steps]) -> list[Any]:
    """Steps of rounds, each made from its number."""
    return [step for n in range(count) for step in make(n)]
