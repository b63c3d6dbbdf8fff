"""The `loopguard` key of the configuration file as a strict model, and places in the file for mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr, ValidationError

from loopguard.errors import InvalidConfig
from loopguard.loop_detection import BOOLEANS, DEFAULTS, FIELDS, INTEGERS, Path

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_UNION_MEMBERS: Final = frozenset(("NoteTable", "bool", "str", "list[str]"))


def _integer(value: object) -> object:
    # 10.0 is 10, as in `loopDetection`; "5" and true stay what they are and are refused by the strict type.
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


Threshold = Annotated[int, BeforeValidator(_integer), Field(strict=True, ge=1, le=2**53 - 1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolTable(_Table):
    """One tool's settings under `loopguard.tools`."""

    exempt: StrictBool = Field(False, description="no rolling detector judges calls of this tool")
    poll: StrictBool | list[StrictStr] = Field(
        False, description="true: every call is a poll; a list: calls whose `action` stands in it are polls"
    )
    warning_threshold: Threshold | None = Field(None, alias="warningThreshold")
    critical_threshold: Threshold | None = Field(None, alias="criticalThreshold")
    unknown_tool_threshold: Threshold | None = Field(None, alias="unknownToolThreshold")
    global_circuit_breaker_threshold: Threshold | None = Field(None, alias="globalCircuitBreakerThreshold")

    def block(self) -> dict[str, bool | int]:
        """Return the thresholds that are set, as a block of `loopDetection`."""
        set_here = self.model_dump(by_alias=True, exclude_none=True, exclude={"exempt", "poll"})
        return {str(key): value for key, value in set_here.items()}


class NoteTable(_Table):
    """Two wordings of one detector's note."""

    warning: StrictStr | None = None
    critical: StrictStr | None = None


class LoopguardTable(_Table):
    """Everything under the top-level key `loopguard`."""

    server: dict[str, Any] = Field({}, description="settings of the service")
    rules: dict[str, Any] | list[Any] = Field({}, description="further rules for volatile text and outcomes")
    profile: StrictStr = Field("openclaw", description="the set of detectors that runs get by default")
    profiles: dict[str, dict[str, Any]] = Field({}, description="thresholds of profiles other than `openclaw`")
    tools: dict[str, ToolTable] = Field({}, description="exceptions for single tools, by name")
    notes: dict[str, StrictStr | NoteTable] = Field({}, description="texts for the model, by detector")
    store: StrictStr = Field("memory", description="where runs survive a restart")


def check_loopguard(value: object) -> LoopguardTable:
    """Check the table under `loopguard`. Raises `InvalidConfig` with the path of the first mistake."""
    try:
        return LoopguardTable.model_validate({} if value is None else value)
    except ValidationError as mistake:
        errors = mistake.errors(include_url=False, include_context=False)
    path = _path_of(errors[0])
    # Each member of a union complains for itself; the one that went deepest was meant.
    first = max(
        (error for error in errors if _path_of(error)[: len(path)] == path), key=lambda error: len(_path_of(error))
    )
    path = _path_of(first)
    key = ".".join(map(str, path))
    if first["type"] == "extra_forbidden":
        raise InvalidConfig(key, f"unknown key `{key}`", path)
    shown = repr(first["input"])
    shown = shown if len(shown) <= 60 else shown[:57] + "…"
    raise InvalidConfig(key, f"`{key}`: {first['msg'][0].lower()}{first['msg'][1:]}, not {shown}", path)


def _path_of(error: ErrorDetails) -> Path:
    # pydantic names the members of a union in its paths; they are no part of the file. A tool may be called `str`.
    steps = error["loc"][:2] + tuple(step for step in error["loc"][2:] if step not in _UNION_MEMBERS)
    return ("loopguard", *(steps[:1] if steps[:1] == ("rules",) else steps))


def json_schema() -> dict[str, Any]:
    """Return a JSON schema of the configuration file, for editors."""
    table = LoopguardTable.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions = table.pop("$defs", {})
    tools = {"type": "object", "properties": {"loopDetection": {"$ref": "#/$defs/LoopDetection"}}}
    agent = {"type": "object", "properties": {"tools": tools}}
    listed = {"type": "object", "properties": {"id": {"type": "string"}, "tools": tools}}
    agents = {
        "type": "object",
        "properties": {
            "entries": {"type": "object", "additionalProperties": agent},
            "list": {"type": "array", "items": listed},
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loopguard configuration",
        "type": "object",
        "properties": {"tools": tools, "agents": agents, "loopguard": {"$ref": "#/$defs/LoopguardTable"}},
        "$defs": definitions | {"LoopDetection": _loop_detection_schema(), "LoopguardTable": table},
    }


def _loop_detection_schema() -> dict[str, Any]:
    root: dict[str, Any] = {"type": ["object", "null"], "properties": {}, "additionalProperties": False}
    for path, name in FIELDS.items():
        node: dict[str, Any] = {"type": ["integer", "null"], "minimum": 1} if path in INTEGERS else {}
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
