"""The JSON schema of one rule, for editors: which keys there are and what they look like."""

from __future__ import annotations

from typing import Any, Final

from loopguard.rules.rule import KINDS, MASKS, SHAPES, TYPES

Schema = dict[str, Any]

_NAME: Final[Schema] = {"type": "string", "pattern": "^[ -~]+$"}
_PATH: Final[Schema] = {"type": "string", "minLength": 1}
_FLAG: Final[Schema] = {"type": "boolean"}
_SCALAR: Final[Schema] = {"type": ["string", "boolean"]}
_TYPE: Final[Schema] = {"type": "string", "enum": list(TYPES)}
_TYPED: Final[Schema] = {"type": "object", "additionalProperties": _TYPE}
_MEMBER: Final[Schema] = {**_TYPED, "minProperties": 1, "maxProperties": 1}


def rule_schema() -> Schema:
    """Return the schema of a table under `loopguard.rules`; the loader checks more than a schema can say."""
    target = _table({"tool": _NAME, "actions": _some(_NAME)}, "tool")
    prune = _table({"member": _MEMBER, "beside": _TYPED, "beside_any": _TYPED}, "member")
    value = _table(
        {
            "path": _PATH,
            "only": _TYPE,
            "otherwise": _PATH,
            "default": _SCALAR,
            "exactly": _SCALAR,
            "trim": _FLAG,
            "parse": _MEMBER,
            "prune": prune,
        },
        "path",
    )
    condition = {"anyOf": [_SCALAR, _some(_SCALAR), _table({"is": _TYPE}, "is")]}
    pair = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
    fields: Schema = {
        "name": _NAME,
        "tools": _some({"anyOf": [_NAME, target]}),
        "shape": {"type": "string", "enum": list(SHAPES), "default": "shaped"},
        "failed": _FLAG,
        "when": {"type": "object", "additionalProperties": condition, "minProperties": 1},
        "kind": {"type": "string", "enum": list(KINDS)},
        "values": {"type": "array", "items": {"anyOf": [_PATH, value]}},
        "veto": _FLAG,
        "stuck": _FLAG,
        "identity": _FLAG,
        "volatile": _some(_NAME),
        "drop": _some(_PATH),
        "keep": _some(_PATH),
        "mask": {
            "type": "object",
            "additionalProperties": _some({"type": "string", "enum": list(MASKS)}),
            "minProperties": 1,
        },
        "equal": pair,
        "differ": pair,
    }
    return _table(fields, "name", "tools")


def _some(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


def _table(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
