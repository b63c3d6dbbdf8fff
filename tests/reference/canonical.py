"""Canonical JSON as DESIGN section 2 words it: `json`, plain recursion, and text in place of digests."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

import xxhash

from loopguard.model import Flag

OPAQUE_SEED = 0x6C6F6F7067756172
MAX_DEPTH = 256
STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True)
class Number:
    """A JSON number by its canonical text."""

    text: str


@dataclass(frozen=True)
class Opaque:
    """Bytes that are no JSON; equal only to the same bytes."""

    data: bytes


class Reader:
    """Reads one JSON text and notes what was odd about it."""

    def __init__(self) -> None:
        self.flags = Flag(0)

    def value(self, text: str) -> Any:
        return json.loads(
            text,
            parse_int=self.integer,
            parse_float=self.decimal,
            parse_constant=self.constant,
            object_pairs_hook=self.members,
        )

    def integer(self, token: str) -> Number:
        if len(token.lstrip("-")) > 16 or abs(int(token)) > 2**53 - 1:
            self.flags |= Flag.BIGINT
        return Number("0" if token == "-0" else token)

    def decimal(self, token: str) -> Number:
        if abs(float(token)) == float("inf"):
            self.flags |= Flag.OVERFLOW
            return Number(token.lower().replace("+", ""))
        return Number(ecmascript(float(token)))

    def constant(self, token: str) -> NoReturn:
        raise ValueError(token)

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            self.flags |= Flag.DUPLICATE_KEY
        return dict(pairs)


def parse(data: bytes) -> tuple[Any, Flag]:
    """Return the value of `data` and what was odd about it; an `Opaque` if it is no JSON."""
    reader = Reader()
    try:
        text = data.decode("utf-8")
        value = reader.value(text)
    except (ValueError, RecursionError):
        return Opaque(data), Flag.OPAQUE
    if depth_of(text) > MAX_DEPTH:
        return Opaque(data), Flag.OPAQUE
    if has_lone_surrogate(text):
        reader.flags |= Flag.SURROGATE
    return value, reader.flags


def ecmascript(number: float) -> str:
    """Write a finite double as ECMAScript's `Number::toString` does."""
    if number == 0:
        return "0"
    sign, digit_tuple, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, digit_tuple))
    point = len(digits) + exponent
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        body = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        body = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        body = "0." + "0" * -point + digits
    else:
        power = point - 1
        body = digits[0] + ("." + digits[1:] if digits[1:] else "") + ("e+" if power > 0 else "e-") + str(abs(power))
    return "-" * sign + body


def depth_of(text: str) -> int:
    """Return how many containers of a JSON text stand inside one another at most."""
    depth = deepest = 0
    for character in STRING.sub("", text):
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def has_lone_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for string in STRING.findall(text) for character in json.loads(string))


def write(value: Any, *, neutral: bool = False) -> str:
    """Return a value's canonical text; with `neutral` all wrapper nonces, in keys too, are zeros first."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, Number):
        return value.text
    if isinstance(value, str):
        return quote(neutralise(value) if neutral else value)
    if isinstance(value, Opaque):
        # No JSON text starts with `!`, so an opaque value equals none.
        return "!" + value.data.hex()
    if isinstance(value, list):
        return "[" + ",".join(write(item, neutral=neutral) for item in value) + "]"
    # Section 3: keys sort by their neutralised form, then by their raw form.
    keys = sorted(value, key=lambda key: (units(neutralise(key)) if neutral else b"", units(key)))
    return "{" + ",".join(write(key, neutral=neutral) + ":" + write(value[key], neutral=neutral) for key in keys) + "}"


def units(text: str) -> bytes:
    """Return the UTF-16 code units by which RFC 8785 sorts."""
    return text.encode("utf-16-be", "surrogatepass")


def quote(text: str) -> str:
    """Write a string with RFC 8785's minimal escapes; lone surrogates as lower-case escapes."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in written)


def digest(value: Any) -> bytes:
    """Return the 16 bytes that a client would send as `args_digest`."""
    if isinstance(value, Opaque):
        return xxhash.xxh3_128(value.data, seed=OPAQUE_SEED).digest()
    return xxhash.xxh3_128(write(value).encode()).digest()


NAME = "EXTERNAL_UNTRUSTED_CONTENT"
MARKER = re.compile(rf"<<<(?:END_)?{NAME}")
START = re.compile(rf'<<<{NAME} id=(\\*)"([0-9a-f]{{16}})\1">>>')


def neutralise(text: str) -> str:
    """Section 4.1: put zeros for the ids of well-formed wrapper marker pairs."""
    done = ""
    while (start := START.search(text)) is not None:
        slashes, nonce = start.groups()
        following = MARKER.search(text, start.end())
        if following is not None and is_pair(text, slashes, nonce, start.end(), following.start()):
            done += text[: start.start()] + marker("", slashes, "0" * 16)
            done += text[start.end() : following.start()] + marker("END_", slashes, "0" * 16)
            text = text[following.start() + len(marker("END_", slashes, nonce)) :]
        else:
            done += text[: start.end()]
            text = text[start.end() :]
    return done + text


def is_pair(text: str, slashes: str, nonce: str, inside_from: int, inside_to: int) -> bool:
    step = len(slashes) + 1
    quotes = re.findall(r'(\\*)"', text[inside_from:inside_to])
    return (
        text.startswith(marker("END_", slashes, nonce), inside_to)
        and step & (step - 1) == 0
        and all((len(before) + 1) % step == 0 for before in quotes)
    )


def marker(end: str, slashes: str, nonce: str) -> str:
    return f'<<<{end}{NAME} id={slashes}"{nonce}{slashes}">>>'
