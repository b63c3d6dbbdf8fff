"""Paths of rules: a root, then keys, `*` for any key or index, `**` for any depth."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: What a path may start with; `result` stands for `details` and `value` alike, whatever shape the result has.
ROOTS = ("args", "details", "text", "content", "value", "message", "result", "action")
ANY = "*"
DEEP = "**"

_BARRED = r"\x00-\x1f\ud800-\udfff"
_SEGMENT = re.compile(rf'"((?:[^"\\{_BARRED}]|\\["\\])+)"|(\*\*|\*)|([^\s".*\[\]\\{_BARRED}]+)')


class PathError(ValueError):
    """A path that can't be parsed; the message says where it breaks."""


@dataclass(frozen=True, slots=True)
class Path:
    """A place in an outcome or in arguments; `keys` hold names, `ANY` and `DEEP` (keys so spelled can't be named)."""

    root: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((self.root, *self.keys))

    @property
    def plain(self) -> bool:
        """Whether the path names one place only."""
        return ANY not in self.keys and DEEP not in self.keys


def parse_path(text: str) -> Path:
    """Parse `details.results.*.score`; a key with a dot or a blank stands in quotes: `details."a.b"`."""
    keys: list[str] = []
    at = 0
    while True:
        found = _SEGMENT.match(text, at)
        if found is None:
            raise PathError(f"no key at character {at + 1} of `{text}`")
        quoted, wildcard, bare = found.groups()
        if quoted is not None:
            quoted = re.sub(r"\\(.)", r"\1", quoted)
            if quoted in (ANY, DEEP):
                raise PathError(f"a key `{quoted}` can't be named in `{text}`")
        keys.append(quoted or wildcard or bare)
        at = found.end()
        if at == len(text):
            break
        if text[at] != ".":
            raise PathError(f"no dot at character {at + 1} of `{text}`")
        at += 1
    if keys[0] not in ROOTS:
        raise PathError(f"`{text}` starts with none of {', '.join(ROOTS)}")
    return Path(keys[0], tuple(keys[1:]))


def remainders(pattern: tuple[str, ...], place: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return what is left of a pattern below a place, one entry for each way in which it gets there.

    An empty entry means that the pattern names the place itself, or something that contains it.
    """
    if not pattern:
        return [()]
    if not place:
        return [pattern]
    head, tail = pattern[0], pattern[1:]
    if head == DEEP:
        deeper = remainders(pattern, place[1:])
        return deeper + [rest for rest in remainders(tail, place) if rest not in deeper]
    return remainders(tail, place[1:]) if head in (ANY, place[0]) else []
