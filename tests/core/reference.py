"""The core, slow and obvious: canonical form and key rules as DESIGN section 2 words them. Masks are beside it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import rfc8785
import xxhash

from tests.core.reference_masks import Masks

BIGINT, OVERFLOW, DUPLICATE_KEY, SURROGATE, OPAQUE = 1, 2, 4, 8, 16
OPAQUE_SEED = 0x6C6F6F7067756172
MAX_DEPTH = 256

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class NotJson(Exception):
    """The text is no JSON."""


@dataclass
class Number:
    """A number by its canonical text."""

    text: str
    flags: int = 0


@dataclass
class Object:
    """Members as they stand, duplicates too."""

    members: list[tuple[str, Any]] = field(default_factory=list)


class Parser:
    """Reads one document into lists, `Object`, `Number`, str, bool and None."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def document(self) -> Any:
        value = self.value(0)
        self.space()
        if self.at != len(self.text):
            raise NotJson
        return value

    def space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1

    def peek(self) -> str:
        self.space()
        return self.text[self.at : self.at + 1]

    def take(self, what: str) -> None:
        if not self.text.startswith(what, self.at):
            raise NotJson
        self.at += len(what)

    def value(self, depth: int) -> Any:
        first = self.peek()
        if first == '"':
            return self.string()
        if first in ("{", "["):
            if depth >= MAX_DEPTH:
                raise NotJson
            return self.object(depth) if first == "{" else self.array(depth)
        for word, value in (("true", True), ("false", False), ("null", None)):
            if first and first == word[0]:
                self.take(word)
                return value
        return self.number()

    def object(self, depth: int) -> Object:
        made = Object()
        self.take("{")
        while self.peek() != "}":
            if made.members:
                self.take(",")
            self.space()
            key = self.string()
            self.space()
            self.take(":")
            made.members.append((key, self.value(depth + 1)))
        self.take("}")
        return made

    def array(self, depth: int) -> list[Any]:
        made: list[Any] = []
        self.take("[")
        while self.peek() != "]":
            if made:
                self.take(",")
            made.append(self.value(depth + 1))
        self.take("]")
        return made

    def string(self) -> str:
        self.take('"')
        units: list[str] = []
        while not self.text.startswith('"', self.at):
            c = self.text[self.at : self.at + 1]
            if not c or c < " ":
                raise NotJson
            self.at += 1
            if c == "\\":
                c = self.text[self.at : self.at + 1]
                self.at += 1
                if c == "u":
                    digits = self.text[self.at : self.at + 4]
                    if not re.fullmatch("[0-9a-fA-F]{4}", digits):
                        raise NotJson
                    self.at += 4
                    c = chr(int(digits, 16))
                elif c in _ESCAPES:
                    c = _ESCAPES[c]
                else:
                    raise NotJson
            units.append(c)
        self.at += 1
        # Escaped halves of a pair become one character, whatever is left alone stays a surrogate.
        return "".join(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def number(self) -> Number:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise NotJson
        self.at = found.end()
        token = found.group()
        if found[1] is None and found[2] is None:
            digits = token.lstrip("-")
            big = (len(digits), digits) > (16, "9007199254740991")
            return Number("0" if token == "-0" else token, BIGINT if big else 0)
        value = float(token)
        if math.isinf(value):
            return Number(token.replace("E", "e").replace("+", ""), OVERFLOW)
        return Number(rfc8785.dumps(value).decode())


def parse(data: bytes) -> Any:
    """Return the document's tree; raises NotJson."""
    try:
        return Parser(data.decode()).document()
    except UnicodeDecodeError:
        raise NotJson from None


def place_matches(pattern: tuple[str, ...], place: tuple[Any, ...]) -> bool:
    """Tell whether a rule's path names a place; an index is an int there."""
    if not pattern:
        return not place
    if pattern[0] == "**":
        return place_matches(pattern[1:], place) or (bool(place) and place_matches(pattern, place[1:]))
    return bool(place) and pattern[0] in ("*", place[0]) and place_matches(pattern[1:], place[1:])


@dataclass
class Rules:
    """Key rules, asked anew for every place."""

    drop: list[tuple[str, ...]] = field(default_factory=list)
    keep: list[tuple[str, ...]] = field(default_factory=list)
    mask: list[tuple[tuple[str, ...], int]] = field(default_factory=list)

    def drops(self, place: tuple[Any, ...]) -> bool:
        return any(place_matches(path, place) for path in self.drop)

    def keeps(self, place: tuple[Any, ...]) -> bool:
        above = [place[:size] for size in range(len(place) + 1)]
        return not self.keep or any(place_matches(path, prefix) for path in self.keep for prefix in above)

    def bits(self, place: tuple[Any, ...]) -> int:
        best: tuple[tuple[int, int, int], int] | None = None
        for index, (path, bits) in enumerate(self.mask):
            if any(place_matches(path, place[:size]) for size in range(len(place) + 1)):
                rank = (sum(key not in ("*", "**") for key in path), path.count("*"), index)
                if best is None or rank > best[0]:
                    best = (rank, bits)
        return best[1] if best else 0


class Writer:
    """Writes a tree; what is masked is numbered in the order of the input."""

    def __init__(self, mask: int, rules: Rules | None) -> None:
        self.mask = mask
        self.rules = rules
        self.masks = Masks()
        self.flags = 0

    def string(self, text: str) -> str:
        if any("\ud800" <= c <= "\udfff" for c in text):
            self.flags |= SURROGATE
        return '"' + "".join(map(escaped, text)) + '"'

    def value(self, value: Any, place: tuple[Any, ...], key: str | None) -> str | None:
        """Return a value's text, None where rules leave it out."""
        bits = self.mask
        kept = True
        if self.rules is not None:
            bits |= self.rules.bits(place)
            if place and self.rules.drops(place):
                return None
            kept = self.rules.keeps(place)
        if isinstance(value, Object | list):
            flags = self.flags
            parts = self.object(value, place, bits) if isinstance(value, Object) else self.array(value, place)
            if place and not kept and not parts:
                self.flags = flags
                return None
            return ("{%s}" if isinstance(value, Object) else "[%s]") % ",".join(parts)
        if not kept:
            return None
        if isinstance(value, str):
            self.string(value)
            return self.string(self.masks.string(value, bits, key))
        if isinstance(value, Number):
            self.flags |= value.flags
            masked = self.masks.number(value.text, bits, key)
            return value.text if masked is None else self.string(masked)
        return json.dumps(value)

    def object(self, value: Object, place: tuple[Any, ...], bits: int) -> list[str]:
        written: dict[str, tuple[str, str]] = {}
        for key, member in value.members:
            flags = self.flags
            self.string(key)
            neutral = self.masks.nonces(key) if bits & 1 else key
            text = self.value(member, (*place, key), key)
            if text is None:
                self.flags = flags
                continue
            if key in written:
                self.flags |= DUPLICATE_KEY
            written[key] = (neutral, text)
        order = sorted(written, key=lambda key: (units(written[key][0]), units(key)))
        return [f"{self.string(written[key][0])}:{written[key][1]}" for key in order]

    def array(self, value: list[Any], place: tuple[Any, ...]) -> list[str]:
        texts = [self.value(item, (*place, index), None) for index, item in enumerate(value)]
        return [text for text in texts if text is not None]


def units(text: str) -> bytes:
    """Return a key to sort by UTF-16 code unit."""
    return text.encode("utf-16-be", "surrogatepass")


def escaped(c: str) -> str:
    """Return a character as canonical text has it."""
    if "\ud800" <= c <= "\udfff":
        return f"\\u{ord(c):04x}"
    if c < " " or c in '"\\':
        return json.dumps(c)[1:-1]
    return c


@dataclass
class Result:
    """What the core should say."""

    canonical: bytes
    digest: bytes
    flags: int


def run(data: bytes, mask: int = 0, rules: Rules | None = None) -> Result:
    """Return canonical form, digest and flags."""
    try:
        tree = parse(data)
    except NotJson:
        return Result(data, xxhash.xxh3_128_digest(data, OPAQUE_SEED), OPAQUE)
    if not isinstance(tree, Object | list):
        rules = None
    writer = Writer(mask, rules)
    text = writer.value(tree, (), None)
    if writer.masks.binary and not writer.masks.text_seen:
        writer = Writer(mask, rules)
        writer.masks.never_binary = True
        text = writer.value(tree, (), None)
    canonical = (text or "").encode()
    return Result(canonical, xxhash.xxh3_128_digest(canonical), writer.flags)
