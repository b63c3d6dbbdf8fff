"""Where a key stands in a JSON5 text; read only when there is a mistake to point at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loopguard.loop_detection import Path


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


def syntax_place(text: str, message: str) -> Place | None:
    """Return the place that a message of pyjson5 names by its character's index."""
    match = re.search(r"near (\d+)", message)
    if match is None:
        return None
    before = text[: max(int(match[1]) - 1, 0)]
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


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
            yield from _walk_node(item, (*path, index))
