"""Paths of keys, and where they stand in a JSON5 text, which is read for that only when there is a mistake."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Where something stands in its file, from the top; empty for the block of an `open` frame.
Path = tuple["str | int", ...]

_VALUE_SHOWN: Final = 60


class Place(NamedTuple):
    """A line and a column, both from 1."""

    line: int
    column: int


def place_of(text: str, path: Path) -> Place | None:
    """Return where the key at `path` stands, or the deepest part of the path that does; `None` without json-five."""
    found: Place | None = None
    depth = -1
    for key_path, place in _walk(text):
        if len(key_path) > depth and key_path == path[: len(key_path)]:
            found, depth = place, len(key_path)
    return found


def duplicate_keys(text: str) -> list[tuple[str, Place]]:
    """Return the keys that stand twice in one object, by path, with the place of each later one."""
    seen: set[Path] = set()
    duplicates = []
    for path, place in _walk(text):
        if path in seen:
            duplicates.append((".".join(map(str, path)), place))
        seen.add(path)
    return duplicates


def placed(mistake: InvalidConfig, text: str, source: str) -> InvalidConfig:
    """Return the mistake with its place in the file before its message."""
    place = place_of(text, mistake.path) if mistake.path else None
    where = f"{source}:{place.line}:{place.column}" if place else source
    return InvalidConfig(mistake.key, f"{where}: {mistake}", mistake.path)


def show_path(path: Path) -> str:
    """Return a path as people write it: `agents.list[2].tools`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def show_value(value: object) -> str:
    """Return a value as it stands in the file, cut to a few words."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= _VALUE_SHOWN else text[: _VALUE_SHOWN - 1] + "…"


def _walk(text: str) -> Iterator[tuple[Path, Place]]:
    try:
        from json5.loader import ModelLoader, loads
    except ImportError:
        return
    try:
        root = loads(text, loader=ModelLoader()).value
    except Exception:  # noqa: BLE001  # json-five has no family of errors, and a place is a courtesy
        return
    yield from _walk_node(root, ())


def _walk_node(node: Any, path: Path) -> Iterator[tuple[Path, Place]]:
    for pair in getattr(node, "key_value_pairs", ()):
        key = getattr(pair.key, "characters", None)
        step = (*path, pair.key.name if key is None else key)
        yield step, Place(pair.key.lineno, pair.key.col_offset + 1)
        yield from _walk_node(pair.value, step)
    if hasattr(node, "values") and not hasattr(node, "key_value_pairs"):
        for index, item in enumerate(node.values):
            step = (*path, index)
            yield step, Place(item.lineno, item.col_offset + 1)
            yield from _walk_node(item, step)
