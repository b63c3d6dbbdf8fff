"""Reads from a result what rules name, as slices of the original bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from loopguard import _core
from loopguard.rules.edit import Edit, edit_at
from loopguard.rules.rule import TYPES, Condition, Prune, Rule, Typed, Value

if TYPE_CHECKING:
    from loopguard.rules.path import Path
    from loopguard.rules.plan import Case

#: What `_core.read_result` gives, all of it canonical: flags, the whole, shaped, isError, details, text, and the picked
#: members of details.
Parts = tuple[int, bytes, bool, bool, bytes | None, bytes | None, list[bytes | None]]
#: Reads a value from the parts and appends to the list what was left out of it.
Reader = Callable[[Parts, list[str]], bytes | None]
Test = Callable[[Parts], bool]

_TYPE_OF: Final = {
    ord('"'): "string",
    ord("{"): "object",
    ord("["): "array",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}
_NULL: Final = b"null"
TYPE_CODES: Final = {name: code for code, name in enumerate(TYPES, 1)}
#: The last of the parts, the members that were picked.
PICKED: Final = 6
_INDEX: Final = {"details": 4, "text": 5, "value": 1, "message": 1}
_CONTENT: Final = _core.Names(("content",))
_ROOTS: Final[dict[str, Reader]] = {
    "details": lambda parts, _: parts[4],
    "text": lambda parts, _: parts[5],
    "content": lambda parts, _: _core.pick(parts[1], _CONTENT)[0],
    "value": lambda parts, _: parts[1],
    "message": lambda parts, _: parts[1],
}


def place_reader(path: Path, names: tuple[str, ...], action: bytes) -> Reader:
    """Return what reads a place that has no wildcard; `names` are those that were picked from `details`."""
    keys = path.keys
    root: Reader
    if path.root == "details" and keys:
        index = names.index(keys[0])
        keys = keys[1:]
        root = lambda parts, _: parts[6][index]  # noqa: E731 - one form for all roots
    elif path.root == "action":
        root = lambda *_: action  # noqa: E731 - as above
    else:
        root = _ROOTS[path.root]
    if not keys:
        return root
    steps = tuple(_core.Names((key,)) for key in keys)

    def read(parts: Parts, stripped: list[str]) -> bytes | None:
        found = root(parts, stripped)
        for step in steps:
            if found is None:
                return None
            found = _core.pick(found, step)[0]
        return found

    return read


def test_of(rule: Rule, names: tuple[str, ...]) -> Test | None:
    """Return what tells whether all conditions of a rule hold of a shaped result, `None` if it has none."""
    if len(rule.when) > 1 and all(_is_of_member(condition) for condition in rule.when):
        return _members_test([(names.index(condition.path.keys[0]), condition.scalars) for condition in rule.when])
    tests = tuple(_test(condition, names) for condition in rule.when)
    if len(tests) <= 1:
        return tests[0] if tests else None

    def hold(parts: Parts) -> bool:
        for test in tests:  # noqa: SIM110 - a loop costs a third of a generator
            if not test(parts):
                return False
        return True

    return hold


def any_of(tests: tuple[Test | None, ...]) -> Test:
    """Return what tells whether one of the tests holds; `None` always does."""
    asked = tuple(test for test in tests if test is not None)
    if len(asked) < len(tests):
        return lambda _: True
    if len(asked) == 1:
        return asked[0]

    def hold(parts: Parts) -> bool:
        for test in asked:  # noqa: SIM110 - as above
            if test(parts):
                return True
        return False

    return hold


def _members_test(wanted: list[tuple[int, tuple[bytes, ...]]]) -> Test:
    """Return what asks the usual conditions together; the first one mostly says no, and nothing is called for it."""

    def hold(parts: Parts) -> bool:
        picked = parts[6]
        for index, scalars in wanted:  # noqa: SIM110 - as above
            if picked[index] not in scalars:
                return False
        return True

    return hold


def _is_of_member(condition: Condition) -> bool:
    """Tell whether a condition is about the value of a member of `details`."""
    return condition.path.root == "details" and len(condition.path.keys) == 1 and not condition.type


def _test(condition: Condition, names: tuple[str, ...]) -> Test:
    wanted = condition.scalars
    type_ = condition.type
    keys = condition.path.keys
    if _is_of_member(condition):
        index = names.index(keys[0])
        return lambda parts: parts[6][index] in wanted
    read = place_reader(condition.path, names, b"")

    def holds(parts: Parts) -> bool:
        found = read(parts, [])
        if found is None:
            return False
        return _type(found) == type_ if type_ else found in wanted

    return holds


def compiled(case: Case, names: tuple[str, ...]) -> _core.Values | None:
    """Return what reads all values of a case in one step, `None` if it wants more of them than the core can do."""
    if case.free:
        return None
    rows = []
    for value in case.rule.values or ():
        place = _place(value.path, names, case.fixed)
        otherwise = -1 if value.otherwise is None else _place(value.otherwise, names, case.fixed)
        if place is None or otherwise is None or value.parse or value.prune:
            return None
        # Without another place null stays what it is, there or not.
        default = b"" if value.otherwise is None and value.default == _NULL else value.default
        rows.append((place, otherwise, TYPE_CODES.get(value.only, 0), value.trim, value.exactly, default))
    return _core.Values(rows, [(PICKED + names.index(name), name) for name in case.rule.volatile])


def _place(path: Path, names: tuple[str, ...], rules: tuple[Rule, ...]) -> int | None:
    """Return where a value stands in the parts, `None` for one that isn't there as it counts."""
    if not edit_at(path, rules).idle:
        return None
    if path.root == "details" and len(path.keys) == 1:
        return PICKED + names.index(path.keys[0])
    return None if path.keys else _INDEX.get(path.root)


def value_reader(value: Value, place: Callable[[Path], Reader], rules: tuple[Rule, ...]) -> Reader:
    """Return what reads a value that counts, edited by the rules; `place` makes a reader of a path."""
    first = _edited(_found(value, place(value.path)), value.prune, edit_at(value.path, rules))
    if value.otherwise is None and value.default == _NULL:
        return first
    other = value_reader(Value(value.otherwise), place, rules) if value.otherwise else None
    default = value.default

    def read(parts: Parts, stripped: list[str]) -> bytes | None:
        found = first(parts, stripped)
        if found is None and other is not None:
            found = other(parts, stripped)
        return default if found is None or found == _NULL else found

    return read


def _found(value: Value, read: Reader) -> Reader:
    """Return what reads a value if it is as the rule wants it."""
    only, trim, exactly = value.only, value.trim, value.exactly
    if exactly:
        return lambda parts, stripped: b"true" if read(parts, stripped) == exactly else b"false"
    if not (only or trim or value.parse):
        return read
    parse = value.parse
    parsed = _core.Names((parse.name,)) if parse else None

    def find(parts: Parts, stripped: list[str]) -> bytes | None:
        found = read(parts, stripped)
        if found is None or (only and _type(found) != only):
            return None
        if trim and found.startswith(b'"'):
            found = _core.trim(found)
            if found == b'""':
                return None
        if parse is None or parsed is None:
            return found
        return _parsed(found, parsed, parse.type)

    return find


def _edited(read: Reader, prune: Prune | None, edit: Edit) -> Reader:
    """Return what reads a value without what rules leave out."""
    if edit.gone:
        return lambda *_: None
    if edit.idle and prune is None:
        return read
    names = tuple((f'"{name}"'.encode(), name) for name in edit.names)
    pruner = None
    if prune is not None:
        pruner = _core.Pruner(_typed(prune.member), _each(prune.beside), _each(prune.beside_any))
    rules = core_rules(edit)
    mask = _bits(edit.mask)
    masks = bool(edit.mask or edit.masks_below)

    def change(parts: Parts, stripped: list[str]) -> bytes | None:
        found = read(parts, stripped)
        if found is None:
            return None
        if pruner is not None and prune is not None:
            kept = pruner.prune(found)
            if kept is not found:
                stripped.append(prune.member.name)
                found = kept
        stripped += [name for needle, name in names if needle in found]
        if not masks:
            is_container = found.startswith((b"{", b"["))
            return _core.canonicalize(found, rules=rules) if is_container and rules is not None else found
        masked, kinds = _core.canonicalize_kinds(found, rules=rules, mask=mask)
        if kinds:
            stripped += [name for name, bit in _core.MASK_KINDS.items() if bit & kinds]
        return masked

    return change


def quoted(canonical: bytes) -> bytes:
    """Return canonical JSON text as a string literal."""
    return b'"%b"' % canonical.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def core_rules(edit: Edit) -> _core.Rules | None:
    """Return the paths of an edit for the core, `None` if there are none."""
    if not (edit.drop or edit.keep or edit.masks_below):
        return None
    return _core.Rules(edit.drop, edit.keep, [(keys, _bits(kinds)) for keys, kinds in edit.masks_below])


def _bits(kinds: Iterable[str]) -> int:
    bits = 0
    for kind in kinds:
        bits |= _core.DEFAULT_MASK if kind == "default" else _core.MASK_KINDS[kind]
    return bits


def _each(members: tuple[Typed, ...]) -> tuple[tuple[str, int], ...]:
    return tuple(_typed(member) for member in members)


def _type(data: bytes) -> str:
    return _TYPE_OF.get(data[0], "number")


def _typed(typed: Typed) -> tuple[str, int]:
    return typed.name, TYPE_CODES[typed.type]


def _parsed(literal: bytes, key: _core.Names, type_: str) -> bytes:
    """Return the object that a text spells, if it has a member of that key and type; else the text as it is."""
    if not literal.startswith(b'"{'):
        return literal
    seen = _core.inspect((_core.text_of(literal) or "").encode("utf-8", "surrogatepass"))
    if seen.flags & _core.OPAQUE:
        return literal
    found = _core.pick(seen.canonical, key)[0]
    return seen.canonical if found is not None and _type(found) == type_ else literal
