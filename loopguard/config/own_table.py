"""The `loopguard` key of the configuration file as a strict model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictStr, ValidationError

from loopguard.balanced_limits import build_limits
from loopguard.config.places import Path, show_path, show_value
from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_UNION_MEMBERS: Final = frozenset(("NoteTable", "StoreTable", "bool", "str", "list[str]"))
#: What pydantic calls a type -> what people do.
_TYPES: Final = {
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "int_type": "must be an integer",
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}


def _integer(value: object) -> object:
    # 10.0 is 10, as in `loopDetection`; "5" and true stay what they are and are refused by the strict type.
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


Threshold = Annotated[int, Field(strict=True, ge=1, le=2**53 - 1), BeforeValidator(_integer)]


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


class StoreTable(_Table):
    """Where runs survive, and when an answer may go out."""

    address: StrictStr = Field("memory", description="`memory`, `sqlite:PATH` or `redis://…`")
    durability: Literal["behind", "sync"] = Field(
        "behind", description="`sync`: an answer waits until what it tells of is written"
    )


class ProfilesTable(_Table):
    """Thresholds of profiles other than `openclaw`, whose own stand in `loopDetection`."""

    balanced: dict[str, Any] = Field(default={}, description="thresholds of the profile `balanced`")


class LoopguardTable(_Table):
    """Everything under the top-level key `loopguard`."""

    server: dict[str, Any] = Field({}, description="settings of the service")
    rules: list[Any] = Field([], description="further rules for volatile text and outcomes, asked before those shipped")
    profile: Literal["openclaw", "balanced"] = Field(
        "openclaw", description="the set of detectors that runs get by default"
    )
    profiles: ProfilesTable = Field(ProfilesTable(), description="thresholds of profiles other than `openclaw`")
    tools: dict[str, ToolTable] = Field({}, description="exceptions for single tools, by name")
    notes: dict[str, StrictStr | NoteTable] = Field({}, description="texts for the model, by detector")
    store: StrictStr | StoreTable = Field(
        "memory", description="where runs survive: `memory`, `sqlite:PATH`, `redis://…`, or a table with its `address`"
    )


def check_loopguard(value: object) -> LoopguardTable:
    """Check the table under `loopguard`. Raises `InvalidConfig` with the path of the first mistake."""
    try:
        table = LoopguardTable.model_validate({} if value is None else value)
    except ValidationError as mistake:
        raise _refusal(mistake.errors(include_url=False)) from None
    build_limits(table.profiles.balanced)
    return table


def _refusal(errors: list[ErrorDetails]) -> InvalidConfig:
    path = _path_of(errors[0])
    # Each member of a union complains for itself; the one that went deepest was meant.
    first = max(
        (error for error in errors if _path_of(error)[: len(path)] == path), key=lambda error: len(_path_of(error))
    )
    path = _path_of(first)
    key = ".".join(map(str, path))
    if first["type"] == "extra_forbidden":
        return InvalidConfig(key, f"unknown key `{show_path(path)}` (value {show_value(first['input'])})", path)
    return InvalidConfig(key, f"`{show_path(path)}` {_rule(errors, first)}, not {show_value(first['input'])}", path)


def _rule(errors: list[ErrorDetails], first: ErrorDetails) -> str:
    """Return the rule that a value breaks; one of a union breaks several."""
    here = [error for error in errors if _path_of(error) == _path_of(first)]
    rules = [_TYPES[error["type"]].removeprefix("must be ") for error in here if error["type"] in _TYPES]
    if rules:
        return f"must be {' or '.join(dict.fromkeys(rules))}"
    if first["type"] == "literal_error":
        expected = first["ctx"]["expected"].replace("'", "`").replace(" or ", ", ")
        return f"must be {'one of ' if ',' in expected else ''}{expected}"
    if first["type"] in ("greater_than_equal", "less_than_equal"):
        bound = "at least" if first["type"].startswith("greater") else "at most"
        return f"must be {bound} {next(iter(first['ctx'].values()))}"
    return re.sub(r"^Input should", "must", first["msg"])


def _path_of(error: ErrorDetails) -> Path:
    # pydantic names the members of a union in its paths; they are no part of the file. A tool may be called `str`.
    place = error["loc"]
    named = 1 if place[:1] == ("store",) else 2
    return ("loopguard", *place[:named], *(step for step in place[named:] if step not in _UNION_MEMBERS))
