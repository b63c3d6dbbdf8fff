"""Merging and checking of `tools.loopDetection`: section 12 of SEMANTICS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopguard.errors import InvalidConfig

INTEGERS = {
    "historySize": 30,
    "warningThreshold": 10,
    "criticalThreshold": 20,
    "unknownToolThreshold": 10,
    "globalCircuitBreakerThreshold": 30,
}
BOOLEANS: dict[str, bool | None] = {"enabled": None, "failOpen": False}
DETECTORS = {"genericRepeat": True, "knownPollNoProgress": True, "pingPong": True}
GUARD = {"windowSize": 3}

Block = dict[str, Any]


@dataclass(frozen=True)
class Effective:
    """What a run goes by."""

    enabled: bool | None
    history_size: int
    warning: int
    critical: int
    unknown: int
    breaker: int
    generic_repeat: bool
    known_poll: bool
    ping_pong: bool
    window_size: int


def effective(blocks: list[Block | None]) -> Effective:
    """Merge the blocks, the strongest first; raise `InvalidConfig` for the first mistake."""
    # Errors, 1: in each block
    for block in blocks:
        check_block(block)
    # "null is the same as absent, for a key and for a whole block"
    present = [flat(block) for block in blocks if block is not None]
    defaults: Block = {
        **INTEGERS,
        **BOOLEANS,
        **{f"detectors.{key}": value for key, value in DETECTORS.items()},
        **{f"postCompactionGuard.{key}": value for key, value in GUARD.items()},
    }
    merged = dict(defaults)
    for block in reversed(present):
        merged.update(block)
    given = {key for block in present for key in block}

    def refuse_unless(holds: bool, left: str, right: str) -> None:
        if not holds:
            key = right if right in given else left
            raise InvalidConfig(key, f"{left} = {merged[left]} against {right} = {merged[right]}")

    warning, critical, breaker = (
        merged["warningThreshold"], merged["criticalThreshold"], merged["globalCircuitBreakerThreshold"],
    )  # fmt: skip
    # Errors, 2
    refuse_unless(warning < critical, "warningThreshold", "criticalThreshold")
    refuse_unless(critical < breaker, "criticalThreshold", "globalCircuitBreakerThreshold")
    # Errors, 3
    if merged["enabled"] is True:
        size = merged["historySize"]
        refuse_unless(breaker <= size, "globalCircuitBreakerThreshold", "historySize")
        refuse_unless(merged["unknownToolThreshold"] <= size, "unknownToolThreshold", "historySize")
    return Effective(
        enabled=merged["enabled"],
        history_size=int(merged["historySize"]),
        warning=int(warning),
        critical=int(critical),
        unknown=int(merged["unknownToolThreshold"]),
        breaker=int(breaker),
        generic_repeat=merged["detectors.genericRepeat"],
        known_poll=merged["detectors.knownPollNoProgress"],
        ping_pong=merged["detectors.pingPong"],
        window_size=int(merged["postCompactionGuard.windowSize"]),
    )


def check_block(block: Any, path: str = "loopDetection", known: tuple[str, ...] | None = None) -> None:
    if block is None:
        return
    if not isinstance(block, dict):
        raise InvalidConfig(path, "an object is needed")
    prefix = "" if path == "loopDetection" else path + "."
    names = known or (*INTEGERS, *BOOLEANS, "detectors", "postCompactionGuard")
    for key, value in block.items():
        if key not in names:
            raise InvalidConfig(prefix + key, "unknown key")
        if key == "detectors":
            check_block(value, key, tuple(DETECTORS))
        elif key == "postCompactionGuard":
            check_block(value, key, tuple(GUARD))
        elif value is None:
            continue
        elif (key in BOOLEANS or key in DETECTORS) and not isinstance(value, bool):
            raise InvalidConfig(prefix + key, f"{value!r} is no boolean")
        elif (key in INTEGERS or key in GUARD) and not is_positive_integer(value):
            raise InvalidConfig(prefix + key, f"{value!r} is no positive integer")


def is_positive_integer(value: Any) -> bool:
    """`"5"` and `true` are no integers; `10.0` is 10."""
    if isinstance(value, float):
        return value.is_integer() and value >= 1
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def flat(block: Block) -> Block:
    """Return the keys that are set, `detectors` and `postCompactionGuard` one level deeper."""
    keys = {}
    for key, value in block.items():
        if isinstance(value, dict):
            keys.update({f"{key}.{inner}": item for inner, item in value.items() if item is not None})
        elif value is not None:
            keys[key] = value
    return keys


def blocks_of(file: Block | None, agent_id: str, run_config: Block | None) -> list[Block | None]:
    """Return the run's, the agent's and the global block, from what stands in a configuration file."""
    file = file or {}
    agents = file.get("agents") or {}
    entries = agents.get("entries") or {}
    listed = [item.get("id") for item in agents.get("list") or []]
    for name in listed:
        if listed.count(name) > 1 or name in entries:
            raise InvalidConfig("agents", f"{name} stands there twice")
    found = [entries[agent_id]] if agent_id in entries else []
    found += [item for item in agents.get("list") or [] if item.get("id") == agent_id]
    return [run_config, *(block_in(agent) for agent in found), block_in(file)]


def block_in(owner: Any) -> Block | None:
    tools = (owner or {}).get("tools") or {}
    block: Block | None = tools.get("loopDetection")
    return block
