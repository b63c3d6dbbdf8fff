"""Reads from a result what rules name, as slices of the original bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Final

from loopguard import _core
from loopguard.rules.edit import Edit, edit_at
from loopguard.rules.path import Path
from loopguard.rules.rule import TYPES, Condition, Prune, Rule, Typed, Value

#: What `_core.read_result` gives, all of it canonical: flags, the whole, shaped, isError, details, text, and the picked
#: members of details.
Parts = tuple[int, bytes, bool, bool, bytes | None, bytes | None, list[bytes | None]]
Reader = Callable[[Parts], bytes | None]
#: Reads a value and appends to the list what was left out of it.
Getter = Callable[[Parts, list[str]], bytes | None]
Test = Callable[[Parts], bool]

_TYPE_OF: Final = {
    ord('"'): "string",
    ord("{"): "object",
    ord("["): "array",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}
_TYPE_CODES: Final = {name: code for code, name in enumerate(TYPES, 1)}
_INDEX: Final = {"details": 4, "text": 5, "value": 1, "message": 1}
_CONTENT: Final = _core.Names(("content",))
_ROOTS: Final[dict[str, Reader]] = {
    "details": lambda parts: parts[4],
    "text": lambda parts: parts[5],
    "content": lambda parts: _core.pick(parts[1], _CONTENT)[0],
    "value": lambda parts: parts[1],
    "message": lambda parts: parts[1],
}


def reader(path: Path, names: tuple[str, ...], action: bytes) -> Reader:
    """Return what reads a place that has no wildcard; `names` are those that were picked from `details`."""
    keys = path.keys
    root: Reader
    if path.root == "details" and keys:
        index = names.index(keys[0])
        keys = keys[1:]
        root = lambda parts: parts[6][index]  # noqa: E731 - one form for all roots
    elif path.root == "action":
        root = lambda _: action  # noqa: E731 - as above
    else:
        root = _ROOTS[path.root]
    if not keys:
        return root
    steps = tuple(_core.Names((key,)) for key in keys)

    def read(parts: Parts) -> bytes | None:
        found = root(parts)
        for step in steps:
            if found is None:
                return None
            found = _core.pick(found, step)[0]
        return found

    return read


def tests_of(rule: Rule, names: tuple[str, ...]) -> tuple[Test, ...]:
    """Return the conditions of a rule as tests."""
    return tuple(_test(condition, names) for condition in rule.when)


def all_hold(tests: tuple[Test, ...], parts: Parts) -> bool:
    """Tell whether every test holds of a shaped result."""
    for test in tests:  # noqa: SIM110 - a loop costs a third of a generator
        if not test(parts):
            return False
    return True


def _test(condition: Condition, names: tuple[str, ...]) -> Test:
    wanted = condition.scalars
    type_ = condition.type
    keys = condition.path.keys
    if condition.path.root == "details" and len(keys) == 1 and not type_:
        index = names.index(keys[0])
        return lambda parts: parts[6][index] in wanted
    read = reader(condition.path, names, b"")

    def holds(parts: Parts) -> bool:
        found = read(parts)
        if found is None:
            return False
        return _type(found) == type_ if type_ else found in wanted

    return holds


def direct(values: tuple[Value, ...], rules: tuple[Rule, ...]) -> Callable[[Parts], tuple[bytes | None, ...]] | None:
    """Return what takes all values from the parts as they are, `None` if that is not all there is to do."""
    indexes = []
    for value in values:
        if value != Value(Path(value.path.root, ())) or value.path.root not in _INDEX or edit_at(value.path, rules):
            return None
        indexes.append(_INDEX[value.path.root])
    if not indexes:
        return None
    return itemgetter(*indexes) if len(indexes) > 1 else itemgetter(slice(indexes[0], indexes[0] + 1))


def getter(value: Value, place: Callable[[Path], Reader], edit: Edit) -> Getter:
    """Return what reads a value that counts; `place` makes a reader of a path."""
    if () in edit.drop:
        return lambda *_: None
    find = place(value.path)
    if value != Value(value.path):
        find = _finder(value, find, place(value.otherwise) if value.otherwise else None)
    if not (edit or value.prune):
        return lambda parts, _: find(parts)
    change = _editor(value.prune, edit)

    def get(parts: Parts, stripped: list[str]) -> bytes | None:
        found = find(parts)
        return None if found is None else change(found, stripped)

    return get


def _finder(value: Value, read: Reader, otherwise: Reader | None) -> Reader:
    if value.exactly:
        return lambda parts: b"true" if read(parts) == value.exactly else b"false"
    only = value.only
    parse = _core.Names((value.parse,)) if value.parse else None

    def find(parts: Parts) -> bytes | None:
        found = read(parts)
        if found is not None and only and _type(found) != only:
            found = None
        if found is not None and value.trim:
            found = _core.trim(found)
            if found == b'""':
                found = None
        if found is None and otherwise is not None:
            found = otherwise(parts)
        if found is None:
            return value.default
        return found if parse is None else _parsed(found, parse)

    return find


def _editor(prune: Prune | None, edit: Edit) -> Callable[[bytes, list[str]], bytes]:
    names = tuple((f'"{name}"'.encode(), name) for name in edit.names)
    rules = core_rules(edit)
    mask = _bits(kind for keys, kinds in edit.mask if not keys for kind in kinds)
    sides = (
        (_typed(prune.member), tuple(map(_typed, prune.beside)), tuple(map(_typed, prune.beside_any)))
        if prune
        else None
    )

    def change(found: bytes, stripped: list[str]) -> bytes:
        if sides is not None:
            whole, found = found, _core.prune(found, *sides)
            if found is not whole:
                stripped.append(sides[0][0])
        if not edit:
            return found
        stripped += [name for needle, name in names if needle in found]
        if not edit.mask:
            return _core.canonicalize(found, rules=rules)
        inspection = _core.inspect(found, rules=rules, mask=mask)
        stripped += _kinds(inspection)
        return inspection.canonical

    return change


def quoted(canonical: bytes) -> bytes:
    """Return canonical JSON text as a string literal."""
    return b'"%b"' % canonical.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def core_rules(edit: Edit) -> _core.Rules | None:
    """Return the paths of an edit for the core, `None` if there are none."""
    masks = [(keys, _bits(kinds)) for keys, kinds in edit.mask if keys]
    if not (edit.drop or edit.keep or masks):
        return None
    return _core.Rules(drop=edit.drop, keep=edit.keep, mask=masks)


def _bits(kinds: Iterable[str]) -> int:
    bits = 0
    for kind in kinds:
        bits |= _core.MASK_KINDS[kind]
    return bits


def _kinds(inspection: _core.Inspection) -> list[str]:
    return [name for name, bit in _core.MASK_KINDS.items() if any(kind == bit for kind, _, _ in inspection.spans)]


def _type(data: bytes) -> str:
    return _TYPE_OF.get(data[0], "number")


def _typed(typed: Typed) -> tuple[str, int]:
    return typed.name, _TYPE_CODES[typed.type]


def _parsed(literal: bytes, key: _core.Names) -> bytes:
    """Return the object that a text spells, if it has an array under the key; else the text as it is."""
    if not literal.startswith(b'"{'):
        return literal
    seen = _core.inspect((_core.text_of(literal) or "").encode("utf-8", "surrogatepass"))
    if seen.flags & _core.OPAQUE:
        return literal
    found = _core.pick(seen.canonical, key)[0]
    return seen.canonical if found is not None and _type(found) == "array" else literal
