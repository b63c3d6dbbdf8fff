"""The keys of `tools.loopDetection`: checked block by block, merged key by key, checked again as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from loopguard.config.places import Path, show_path, show_value
from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loopguard._pack import Reader, Writer

#: A checked block: path of the key inside `loopDetection` -> value. Keys that are not set are absent.
Block = dict[str, "bool | int"]

INTEGERS: Final = {
    "historySize": "history_size",
    "warningThreshold": "warning_threshold",
    "criticalThreshold": "critical_threshold",
    "unknownToolThreshold": "unknown_tool_threshold",
    "globalCircuitBreakerThreshold": "global_circuit_breaker_threshold",
    "postCompactionGuard.windowSize": "window_size",
}
BOOLEANS: Final = {
    "enabled": "enabled",
    "detectors.genericRepeat": "generic_repeat",
    "detectors.knownPollNoProgress": "known_poll_no_progress",
    "detectors.pingPong": "ping_pong",
    "failOpen": "fail_open",
}
#: Path of every key -> the field of `LoopDetection`, in the order in which people are shown them.
FIELDS: Final[Mapping[str, str]] = MappingProxyType({"enabled": "enabled"} | INTEGERS | BOOLEANS)

_TABLES: Final = frozenset(path.split(".")[0] for path in FIELDS if "." in path)
#: JSON's interoperable integers; beyond them `10.0` and its neighbours are one double.
_LARGEST: Final = 2**53 - 1


_NO_TOOLS: Final[Mapping[str, ToolSettings]] = MappingProxyType({})


def _no_tools() -> Mapping[str, ToolSettings]:
    return _NO_TOOLS


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What the file says about one tool, known by its normal name: exempt, a poll, thresholds of its own.

    `polls` are the actions with which a call is a poll; `None` means none, an empty set means any call is.
    """

    exempt: bool = False
    polls: frozenset[str] | None = None
    limits: LoopDetection | None = None


@dataclass(frozen=True, slots=True)
class LoopDetection:
    """The effective configuration of a run. `enabled` `None`: nobody set it."""

    enabled: bool | None = None
    history_size: int = 30
    warning_threshold: int = 10
    critical_threshold: int = 20
    unknown_tool_threshold: int = 10
    global_circuit_breaker_threshold: int = 30
    generic_repeat: bool = True
    known_poll_no_progress: bool = True
    ping_pong: bool = True
    window_size: int = 3
    fail_open: bool = False
    #: By the tool's normalized name; follows from the other fields within one file, so it takes no part in equality.
    tools: Mapping[str, ToolSettings] = field(default_factory=_no_tools, compare=False)


DEFAULTS: Final = LoopDetection()


def check_block(value: object, path: Path = ()) -> Block:
    """Check one block and return it flat; `None`, for a key or for the whole block, is the same as absent.

    Raises `InvalidConfig` for the first mistake: unknown keys before wrong types before integers below 1.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        where = show_path(path) or "config"
        raise InvalidConfig(
            ".".join(map(str, path)) or "config", f"`{where}` must be an object, not {show_value(value)}", path
        )
    flat = _flatten(value, path)
    for key, item in flat.items():
        if rule := _broken_type(key, item):
            raise InvalidConfig(key, f"`{key}` must be {rule}, not {show_value(item)}{_at(path)}", path + _steps(key))
    block = {
        key: int(item) if key in INTEGERS else bool(item)
        for key, item in flat.items()
        if isinstance(item, bool | int | float)
    }
    for key, number in block.items():
        if key in INTEGERS and not 1 <= number <= _LARGEST:
            rule = "at least 1" if number < 1 else f"at most {_LARGEST}"
            raise InvalidConfig(key, f"`{key}` must be {rule}, not {number}{_at(path)}", path + _steps(key))
    return block


def merge(blocks: Sequence[Block]) -> LoopDetection:
    """Merge checked blocks, the most specific first, over the defaults, and check the result as a whole."""
    values = {FIELDS[key]: value for block in reversed(blocks) for key, value in block.items()}
    merged = LoopDetection(**values)  # type: ignore[arg-type]  # check_block made each value fit its field
    _check_order(merged, blocks, "warningThreshold", "criticalThreshold", strict=True)
    _check_order(merged, blocks, "criticalThreshold", "globalCircuitBreakerThreshold", strict=True)
    if merged.enabled:
        _check_order(merged, blocks, "globalCircuitBreakerThreshold", "historySize", strict=False)
        _check_order(merged, blocks, "unknownToolThreshold", "historySize", strict=False)
    return merged


def pack_detection(config: LoopDetection, out: Writer) -> None:
    """Write an effective configuration into a snapshot, with what its file says about single tools."""
    _pack_values(config, out)
    out.number(len(config.tools))
    for name, tool in config.tools.items():
        out.text(name)
        out.flag(tool.exempt)
        out.flag(tool.polls is not None)
        out.texts(sorted(tool.polls or ()))
        out.flag(tool.limits is not None)
        if tool.limits is not None:
            _pack_values(tool.limits, out)


def unpack_detection(data: Reader) -> LoopDetection:
    """Read a configuration that was packed. Raises `ValueError`, also for values that no file can have."""
    config = _unpack_values(data)
    tools = {}
    for _ in range(data.count()):
        name, exempt, is_poll, polls = data.text(), data.flag(), data.flag(), frozenset(data.texts())
        limits = _unpack_values(data) if data.flag() else None
        tools[name] = ToolSettings(exempt, polls if is_poll else None, limits)
    return replace(config, tools=MappingProxyType(tools)) if tools else config


def _pack_values(config: LoopDetection, out: Writer) -> None:
    out.number(0 if config.enabled is None else 1 + config.enabled)
    for name in INTEGERS.values():
        out.number(getattr(config, name))
    for key, name in BOOLEANS.items():
        if key != "enabled":
            out.flag(getattr(config, name))


def _unpack_values(data: Reader) -> LoopDetection:
    block: Block = {}
    enabled = data.small(2)
    if enabled:
        block["enabled"] = enabled == 2
    for key in INTEGERS:
        block[key] = data.small(_LARGEST)
    for key in BOOLEANS:
        if key != "enabled":
            block[key] = data.flag()
    if not all(block[key] for key in INTEGERS):
        raise ValueError("a threshold of 0")
    return merge([block])


def origins(named_blocks: Sequence[tuple[str, Block]]) -> dict[str, str]:
    """Return for every key the name of the block that its effective value comes from, or `default`."""
    return {key: next((name for name, block in named_blocks if key in block), "default") for key in FIELDS}


def _check_order(merged: LoopDetection, blocks: Sequence[Block], left: str, right: str, *, strict: bool) -> None:
    low, high = getattr(merged, FIELDS[left]), getattr(merged, FIELDS[right])
    if low < high or (low == high and not strict):
        return
    # The right-hand key is the one that was meant to leave room, unless nobody wrote it.
    key = right if any(right in block for block in blocks) else left
    relation = "below" if strict else "at most"
    raise InvalidConfig(key, f"`{left}` ({low}) must be {relation} `{right}` ({high})")


def _flatten(value: dict[str, object], path: Path) -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, item in value.items():
        if key in _TABLES and isinstance(item, dict):
            flat.update((f"{key}.{inner}", inner_item) for inner, inner_item in item.items())
        elif "." in key:
            raise InvalidConfig(key, f"unknown key `{key}`{_at(path)} (value {show_value(item)})", (*path, key))
        else:
            flat[key] = item
    for key, item in flat.items():
        if key not in FIELDS and key not in _TABLES:
            raise InvalidConfig(key, f"unknown key `{key}`{_at(path)} (value {show_value(item)})", path + _steps(key))
    return {key: item for key, item in flat.items() if item is not None}


def _broken_type(key: str, item: object) -> str:
    """Return the rule that a value breaks by its type, or nothing."""
    if item is None:
        return ""
    if key in INTEGERS:
        whole = isinstance(item, int) or (isinstance(item, float) and item.is_integer() and abs(item) <= _LARGEST)
        return "" if whole and not isinstance(item, bool) else "an integer"
    if key in BOOLEANS:
        return "" if isinstance(item, bool) else "true or false"
    return "an object"


def _steps(key: str) -> Path:
    return tuple(key.split("."))


def _at(path: Path) -> str:
    return f" in `{show_path(path)}`" if path else ""
