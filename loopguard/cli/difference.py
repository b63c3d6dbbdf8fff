"""Where two JSON values differ, and which of the differences count for a digest."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from loopguard.errors import InvalidTrace
from loopguard.trace import Place, parse_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SHOWN_MAX = 60
_CONTEXT = 16
_ABSENT = object()
_TRIED_MAX = 200


def counting_difference(one: bytes | None, other: bytes | None, digest: Callable[[bytes], bytes | None]) -> str | None:
    """Return the first path whose value alone changes `digest`, with both values; `None` where no single path does.

    A path that is named by no rule can differ without counting; so each one is tried by itself.
    """
    before = digest(one or b"")
    left, right = _value(one), _value(other)
    for tried, (path, mine, theirs) in enumerate(_differences(left, right, ())):
        if tried == _TRIED_MAX:
            break
        if digest(_text(_with(left, path, theirs))) != before:
            return f"{_shown_path(path)}: {_shown_pair(mine, theirs)}"
    return None


def _value(text: bytes | None) -> Any:
    if not text:
        return _ABSENT
    try:
        return parse_value(text, "value", Place("", 0))
    except InvalidTrace:
        # What is no JSON is compared as a whole.
        return text.decode(errors="backslashreplace")


def _differences(one: Any, other: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            yield from _differences(one.get(key, _ABSENT), other.get(key, _ABSENT), (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _differences(mine, theirs, (*path, index))
    elif type(one) is not type(other) or one != other:
        yield path, one, other


def _with(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    """Return `value` with what stands at `path` replaced; the rest is shared."""
    if not path:
        return new
    step = path[0]
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if new is _ABSENT and len(path) == 1:
        copy.pop(step)
    else:
        copy[step] = _with(copy.get(step) if isinstance(copy, dict) else copy[step], path[1:], new)
    return copy


def _text(value: Any) -> bytes:
    return b"" if value is _ABSENT else json.dumps(value, ensure_ascii=True).encode()


def _shown_path(path: tuple[str | int, ...]) -> str:
    return (
        "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".") or "all of it"
    )


def _shown_pair(one: Any, other: Any) -> str:
    """Return both values on a line; long ones from shortly before the place where they begin to differ."""
    left, right = _shown(one), _shown(other)
    pairs = enumerate(zip(left, right, strict=False))
    same = next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))
    start = same - _CONTEXT if same > _SHOWN_MAX // 2 else 0
    return f"{_cut(left, start)} → {_cut(right, start)}"


def _shown(value: Any) -> str:
    return "absent" if value is _ABSENT else json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int) -> str:
    shown = f"…{text[start:]}" if start else text
    return shown if len(shown) <= _SHOWN_MAX else shown[: _SHOWN_MAX - 1] + "…"
