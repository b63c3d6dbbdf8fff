"""Reads rules from tables; a mistake is refused with file, rule and key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from loopguard.config.places import show_value
from loopguard.errors import InvalidRule
from loopguard.rules.path import DEEP, Path, PathError, parse_path
from loopguard.rules.rule import KINDS, MASKS, SHAPES, TYPES, Condition, Prune, Rule, Target, Typed, Value
from loopguard.tool_name import ALIASES

_T = TypeVar("_T")
_NAME = re.compile(r"[ -~]+")
_KIND_OF_SHAPE = {"shaped": "generic", "plain": "value", "error": "error"}
_ROOTS_OF_SHAPE = {
    "shaped": ("details", "text", "content", "action"),
    "plain": ("value", "action"),
    "error": ("message",),
}


class Place:
    """Where in a rule file the reader is; refuses with that in the message."""

    def __init__(self, text: str, path: tuple[str | int, ...] = ()) -> None:
        self.text = text
        self.path = path

    def at(self, key: str) -> Place:
        """Return a place one step further in."""
        return Place(f"{self.text}: {key}", (*self.path, key))

    def rule(self, number: int) -> Place:
        """Return the place of one rule of the file."""
        return Place(f"{self.text}: rule[{number}]", (number,))

    def item(self, number: int) -> Place:
        """Return the place of one item of the list that is here."""
        return Place(f"{self.text}[{number}]", (*self.path, number))

    def named(self, name: str) -> Place:
        """Return the same place with a name in its message."""
        return Place(f"{self.text} {name}", self.path)

    def refuse(self, message: str, *value: object) -> NoReturn:
        """Raise `InvalidRule` with a message about this place, and about the value that stands there."""
        shown = f": {show_value(value[0])}" if value else ""
        raise InvalidRule(f"{message}{shown} at `{self.text}`", self.path)


def parse_rules(tables: object, source: str, *, examples: bool = False) -> tuple[Rule, ...]:
    """Read a list of rule tables; `examples` says whether every rule needs its example pairs.

    Raises `InvalidRule`.
    """
    place = Place(source)
    if isinstance(tables, str) or not isinstance(tables, Sequence):
        place.refuse("not a list of rules", tables)
    rules = tuple(_rule(table, place, number, examples) for number, table in enumerate(tables))
    seen: set[str] = set()
    for number, rule in enumerate(rules):
        if rule.name in seen:
            place.rule(number).refuse(f"a second rule `{rule.name}`")
        seen.add(rule.name)
    return rules


def _rule(table: object, place: Place, number: int, examples: bool) -> Rule:
    place = place.rule(number)
    fields = _table(table, place, _FIELDS)
    name = fields.get("name", "")
    if not name:
        place.refuse("no name")
    place = place.named(name)
    if "tools" not in fields:
        place.refuse("no tools")
    rule = Rule(source=place.text, **{"kind": _KIND_OF_SHAPE[fields.get("shape", "shaped")], **fields})
    _check(rule, place)
    if examples and not (rule.equal and rule.differ):
        place.refuse("no example pairs `equal` and `differ`")
    return rule


def _check(rule: Rule, place: Place) -> None:
    if rule.decides:
        _check_deciding(rule, place)
    elif not (rule.drop or rule.keep or rule.mask):
        place.refuse("nothing to do: none of `values`, `veto`, `drop`, `keep`, `mask`")
    elif rule.stuck or rule.identity or rule.volatile:
        place.refuse("`stuck`, `identity` and `volatile` are for rules with `values`")
    for condition in rule.when:
        if condition.path.root not in ("details", "text") or (rule.decides and rule.shape != "shaped"):
            place.at("when").refuse(f"`{condition.path}` is not in the `details` or `text` of a shaped result")
    for path in (*rule.keep, *(path for path, _ in rule.mask)):
        if path.root in ("args", "action"):
            place.refuse(f"`{path}`: arguments can only be dropped")
    for path in rule.drop:
        _check_drop(rule, path, place.at("drop"))


def _check_deciding(rule: Rule, place: Place) -> None:
    if rule.veto and (rule.values is not None or rule.shape != "shaped"):
        place.at("veto").refuse("not with `values`, and only for shaped results")
    if rule.identity and len(rule.values or ()) != _IDENTITY_VALUES:
        place.at("identity").refuse("needs four values: status, exit code, timed out, output")
    roots = _ROOTS_OF_SHAPE[rule.shape]
    for number, value in enumerate(rule.values or ()):
        at = place.at("values").item(number)
        for path in filter(None, (value.path, value.otherwise)):
            if path.root not in roots:
                at.refuse(f"a {rule.shape} result has no `{path.root}`")
            if path.root == "action" and not all(target.actions for target in rule.tools):
                at.refuse("`action` counts only where all `tools` name their actions")


def _check_drop(rule: Rule, path: Path, place: Place) -> None:
    if path.root == "action" or not set(path.keys) - {DEEP}:
        place.refuse(f"`{path}` can't be dropped")
    if path.root == "args" and (rule.when or rule.failed is not None or any(target.actions for target in rule.tools)):
        place.refuse(f"`{path}`: arguments are dropped for all calls of a tool or for none")


_IDENTITY_VALUES = 4
_PAIR = 2


def _table(value: object, place: Place, readers: Mapping[str, Callable[[object, Place], Any]]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        place.refuse("not a table", value)
    for key in value:
        if key not in readers:
            raise InvalidRule(f"unknown key `{key}` at `{place.text}`", (*place.path, key))
    return {key: readers[key](item, place.at(key)) for key, item in value.items()}


def _text(value: object, place: Place) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        place.refuse("not a printable ASCII string", value)
    return value


def _flag(value: object, place: Place) -> bool:
    if not isinstance(value, bool):
        place.refuse("neither true nor false", value)
    return value


def _one_of(words: Sequence[str], what: str) -> Callable[[object, Place], str]:
    def read(value: object, place: Place) -> str:
        if value not in words:
            place.refuse(f"unknown {what} `{value}` (one of {', '.join(words)})")
        return str(value)

    return read


def _list(read: Callable[[object, Place], _T]) -> Callable[[object, Place], tuple[_T, ...]]:
    def read_all(value: object, place: Place) -> tuple[_T, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            place.refuse("not a list", value)
        return tuple(read(item, place.item(number)) for number, item in enumerate(value))

    return read_all


def _some(read: Callable[[object, Place], _T]) -> Callable[[object, Place], tuple[_T, ...]]:
    def read_some(value: object, place: Place) -> tuple[_T, ...]:
        found = _list(read)(value, place)
        if not found:
            place.refuse("empty")
        return found

    return read_some


def _path(value: object, place: Place) -> Path:
    if not isinstance(value, str):
        place.refuse("not a path", value)
    try:
        return parse_path(value)
    except PathError as error:
        place.refuse(f"bad path: {error}")


def _plain_path(value: object, place: Place) -> Path:
    path = _path(value, place)
    if not path.plain or path.root in ("args", "result"):
        place.refuse(f"`{path}` has to name one place of an outcome")
    if not all(_NAME.fullmatch(key) for key in path.keys):
        place.refuse(f"`{path}` has a key that is not printable ASCII")
    return path


def _scalar(value: object, place: Place) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    text = "" if value == "" else _text(value, place)
    return b'"' + text.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _typed(value: object, place: Place) -> tuple[Typed, ...]:
    if not isinstance(value, Mapping):
        place.refuse("not a table of names and types", value)
    return tuple(
        Typed(_text(name, place), _one_of(TYPES, "type")(type_, place.at(str(name)))) for name, type_ in value.items()
    )


def _prune(value: object, place: Place) -> Prune:
    fields = _table(value, place, {"member": _member, "beside": _typed, "beside_any": _typed})
    if "member" not in fields:
        place.refuse("no member")
    return Prune(fields["member"], fields.get("beside", ()), fields.get("beside_any", ()))


def _member(value: object, place: Place) -> Typed:
    members = _typed(value, place)
    if len(members) != 1:
        place.refuse("not one member", value)
    return members[0]


def _value(value: object, place: Place) -> Value:
    if isinstance(value, str):
        return Value(_plain_path(value, place))
    fields = _table(value, place, _VALUE_FIELDS)
    if "path" not in fields:
        place.refuse("no path")
    return Value(**fields)


def _when(value: object, place: Place) -> tuple[Condition, ...]:
    if not isinstance(value, Mapping) or not value:
        place.refuse("not a table of paths and values", value)
    return tuple(_condition(_plain_path(path, place), wanted, place.at(str(path))) for path, wanted in value.items())


def _condition(path: Path, wanted: object, place: Place) -> Condition:
    if isinstance(wanted, Mapping):
        fields = _table(wanted, place, {"is": _one_of(TYPES, "type")})
        if not fields:
            place.refuse("empty")
        return Condition(path, type=fields["is"])
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return Condition(path, scalars=_some(_scalar)(wanted, place))
    return Condition(path, scalars=(_scalar(wanted, place),))


def _mask(value: object, place: Place) -> tuple[tuple[Path, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping) or not value:
        place.refuse("not a table of paths and kinds", value)
    kinds = _some(_one_of(MASKS, "mask kind"))
    return tuple((_path(path, place), kinds(names, place.at(str(path)))) for path, names in value.items())


def _target(value: object, place: Place) -> Target:
    if isinstance(value, str):
        return Target(_tool(value, place))
    fields = _table(value, place, {"tool": _tool, "actions": _some(_text)})
    if "tool" not in fields:
        place.refuse("no tool")
    return Target(**fields)


def _tool(value: object, place: Place) -> str:
    pattern = _text(value, place)
    if pattern != pattern.strip().lower():
        place.refuse(f"`{pattern}` is no normalised name (lower case, no blanks round it)")
    if pattern in ALIASES:
        place.refuse(f"`{pattern}` is called `{ALIASES[pattern]}`")
    return pattern


def _pair(value: object, place: Place) -> tuple[str, ...]:
    pair = _list(_record)(value, place)
    if len(pair) != _PAIR:
        place.refuse("not a pair of records", value)
    return pair


def _record(value: object, place: Place) -> str:
    if not isinstance(value, str):
        place.refuse("not a record as JSON text", value)
    return value


_FIELDS: Mapping[str, Callable[[object, Place], Any]] = {
    "name": _text,
    "tools": _some(_target),
    "shape": _one_of(SHAPES, "shape"),
    "failed": _flag,
    "when": _when,
    "kind": _one_of(KINDS, "kind"),
    "values": _list(_value),
    "veto": _flag,
    "stuck": _flag,
    "identity": _flag,
    "volatile": _some(_text),
    "drop": _some(_path),
    "keep": _some(_path),
    "mask": _mask,
    "equal": _pair,
    "differ": _pair,
}

_VALUE_FIELDS: Mapping[str, Callable[[object, Place], Any]] = {
    "path": _plain_path,
    "only": _one_of(TYPES, "type"),
    "otherwise": _plain_path,
    "default": _scalar,
    "exactly": _scalar,
    "trim": _flag,
    "parse": _member,
    "prune": _prune,
}
