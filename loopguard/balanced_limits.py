"""The thresholds of profile `balanced`; docs/detection.md gives the reason of each."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from loopguard.config.places import show_value
from loopguard.errors import InvalidConfig
from loopguard.tool_class import ToolClass

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_CLASSES: Final[Mapping[str, ToolClass]] = MappingProxyType({})


def _no_classes() -> Mapping[str, ToolClass]:
    return _NO_CLASSES


@dataclass(frozen=True, slots=True)
class Limits:
    """From which count on a detector speaks; `block_` and `abort_` say from which attempt on a call is stopped."""

    repeat: int = 3
    poll: int = 6
    #: Where something was masked in a short answer.
    masked_repeat: int = 5
    near_repeat: int = 4
    likely_repeat: int = 4
    spread_repeat: int = 5
    failures: int = 4
    alike_failures: int = 3
    signatures: int = 6
    cascade: int = 6
    answers: int = 6
    alike_answers: int = 3
    rounds: int = 3
    failing_rounds: int = 2
    same_edits: int = 3
    versions: int = 12
    sends: int = 6
    plans: int = 6
    unknown_tools: int = 3
    rejections: int = 4
    rejections_near: int = 5
    handed_on: int = 2
    stall: int = 8
    #: Added where an error may pass by itself, and where a red test is no error of the tool.
    transient_extra: int = 2
    verdict_extra: int = 4
    #: Sizes of an answer in bytes: shorter ones are mere values, longer ones are texts.
    answer_value: int = 10
    answer_text: int = 100
    block_attempt: int = 5
    block_poll_attempt: int = 20
    #: Blocked batches without news between, after which the next one ends the run.
    abort_blocks: int = 3
    #: Classes of tools by name or pattern, before the table that ships.
    classes: Mapping[str, ToolClass] = field(default_factory=_no_classes, compare=False)


DEFAULT_LIMITS: Final = Limits()
#: Key in the configuration -> field.
KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "".join(part.title() if place else part for place, part in enumerate(one.name.split("_"))): one.name
        for one in fields(Limits)
        if one.name != "classes"
    }
)
_PATH: Final = ("loopguard", "profiles", "balanced")


def build_limits(table: Mapping[str, Any]) -> Limits:
    """Check what stands under `loopguard.profiles.balanced`. Raises `InvalidConfig`."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key == "classes":
            values["classes"] = _classes(value)
        elif key not in KEYS:
            _refuse(key, f"unknown key `{'.'.join((*_PATH, key))}` (value {show_value(value)})")
        else:
            values[KEYS[key]] = _count(key, value)
    limits = Limits(**values)
    if limits.block_attempt <= limits.repeat:
        _refuse("blockAttempt", f"`blockAttempt` ({limits.block_attempt}) must be above `repeat` ({limits.repeat})")
    return limits


def _count(key: str, value: object) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not 1 <= int(value) <= 10**6:  # type: ignore[call-overload]  # whole made it a number
        _refuse(key, f"`{'.'.join((*_PATH, key))}` must be an integer from 1 to 1000000, not {value!r:.60}")
    return int(value)  # type: ignore[call-overload, no-any-return]  # as above


def _classes(value: object) -> Mapping[str, ToolClass]:
    if not isinstance(value, dict):
        _refuse("classes", f"`loopguard.profiles.balanced.classes` must be an object, not {show_value(value)}")
    known = {tool_class.name.lower(): tool_class for tool_class in ToolClass}
    for name, tool_class in value.items():
        if tool_class not in known:
            message = f"`classes.{name}`: there is no class {tool_class!r:.40}; there are {', '.join(known)}"
            _refuse(f"classes.{name}", message)
    return MappingProxyType({name: known[tool_class] for name, tool_class in value.items()})


def _refuse(key: str, message: str) -> NoReturn:
    raise InvalidConfig(".".join((*_PATH, key)), message, (*_PATH, key))
