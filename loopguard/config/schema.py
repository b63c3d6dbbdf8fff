"""The JSON schema of the configuration file, for editors."""

from __future__ import annotations

from typing import Any, Final

from loopguard.balanced_limits import DEFAULT_LIMITS, KEYS
from loopguard.config.loop_detection import BOOLEANS, DEFAULTS, FIELDS, INTEGERS
from loopguard.config.own_table import LoopguardTable
from loopguard.tool_class import ToolClass

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE: Final = "#/$defs/{model}"


def json_schema(*, rules: Schema | None = None, server: Schema | None = None) -> Schema:
    """Return the schema; `rules` and `server` are those of a rule and of the service's table, which stand elsewhere."""
    table = LoopguardTable.model_json_schema(by_alias=True, ref_template=_REFERENCE)
    definitions = table.pop("$defs", {})
    definitions["ProfilesTable"]["properties"]["balanced"] = {
        "$ref": _REFERENCE.format(model="BalancedTable"),
        "default": {},
    }
    if rules is not None:
        definitions["RuleTable"] = rules
        table["properties"]["rules"]["items"] = {"$ref": _REFERENCE.format(model="RuleTable")}
    if server is not None:
        definitions["ServerTable"] = server
        table["properties"]["server"] = {"$ref": _REFERENCE.format(model="ServerTable"), "default": {}}
    tools = {"type": ["object", "null"], "properties": {"loopDetection": {"$ref": "#/$defs/LoopDetection"}}}
    agent = {"type": "object", "properties": {"tools": tools}}
    listed = {"type": "object", "properties": {"id": {"type": "string"}, "tools": tools}}
    agents = {
        "type": ["object", "null"],
        "properties": {
            "entries": {"type": ["object", "null"], "additionalProperties": agent},
            "list": {"type": ["array", "null"], "items": listed},
        },
    }
    own = {"anyOf": [{"$ref": "#/$defs/LoopguardTable"}, {"type": "null"}]}
    return {
        "$schema": DIALECT,
        "title": "loopguard configuration",
        "type": "object",
        "properties": {"tools": tools, "agents": agents, "loopguard": own},
        "$defs": definitions
        | {"BalancedTable": _balanced(), "LoopDetection": _loop_detection(), "LoopguardTable": table},
    }


def _loop_detection() -> Schema:
    root: Schema = {"type": ["object", "null"], "properties": {}, "additionalProperties": False}
    for path, name in FIELDS.items():
        node: Schema = {"type": ["integer", "null"], "minimum": 1, "maximum": 2**53 - 1} if path in INTEGERS else {}
        if path in BOOLEANS:
            node = {"type": ["boolean", "null"]}
        if (default := getattr(DEFAULTS, name)) is not None:
            node["default"] = default
        *tables, key = path.split(".")
        home = root
        for table in tables:
            fresh = {"type": ["object", "null"], "properties": {}, "additionalProperties": False}
            home = home["properties"].setdefault(table, fresh)
        home["properties"][key] = node
    return root


def _balanced() -> Schema:
    properties: Schema = {
        key: {"type": "integer", "minimum": 1, "maximum": 10**6, "default": getattr(DEFAULT_LIMITS, name)}
        for key, name in KEYS.items()
    }
    classes = {"enum": [tool_class.name.lower() for tool_class in ToolClass]}
    properties["classes"] = {"type": "object", "additionalProperties": classes, "default": {}}
    return {"type": "object", "properties": properties, "additionalProperties": False}
