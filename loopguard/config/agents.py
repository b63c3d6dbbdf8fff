"""The blocks of the file: for everybody, and for single agents as OpenClaw's newer and older files have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from loopguard.config.loop_detection import Block, check_block
from loopguard.config.places import Path, show_path, show_value
from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping


class PlacedBlock(NamedTuple):
    """A checked block, and where it stands."""

    block: Block
    path: Path


def read_block(holder: object, path: Path) -> PlacedBlock:
    """Return the checked `tools.loopDetection` of the file or of an agent; other keys of `tools` are others'."""
    tools = holder.get("tools") if isinstance(holder, dict) else None
    inner = (*path, "tools", "loopDetection")
    if tools is None:
        return PlacedBlock({}, inner)
    if not isinstance(tools, dict):
        _refuse_shape((*path, "tools"), "an object", tools)
    return PlacedBlock(check_block(tools.get("loopDetection"), inner), inner)


def read_agents(agents: object) -> Mapping[str, PlacedBlock]:
    """Return the blocks of `agents`, by id. Raises `InvalidConfig`."""
    if agents is None:
        return {}
    if not isinstance(agents, dict):
        _refuse_shape(("agents",), "an object", agents)
    entries, listed = agents.get("entries"), agents.get("list")
    if not isinstance(entries, dict | None):
        _refuse_shape(("agents", "entries"), "an object", entries)
    if not isinstance(listed, list | None):
        _refuse_shape(("agents", "list"), "an array", listed)
    blocks = {
        agent_id: _read_agent(agent, ("agents", "entries", agent_id)) for agent_id, agent in (entries or {}).items()
    }
    for index, agent in enumerate(listed or ()):
        path: Path = ("agents", "list", index)
        block = _read_agent(agent, path)
        agent_id = agent.get("id") if isinstance(agent, dict) else None
        if not isinstance(agent_id, str):
            if block.block:
                given = "" if agent_id is None else f" that is a text, but {show_value(agent_id)}"
                raise InvalidConfig("agents", f"`{show_path(path)}` has a loopDetection but no `id`{given}", path)
            continue
        if agent_id in blocks:
            raise InvalidConfig("agents", f"the agent `{agent_id}` stands in `agents` twice", path)
        blocks[agent_id] = block
    return blocks


def _read_agent(agent: object, path: Path) -> PlacedBlock:
    if not isinstance(agent, dict | None):
        _refuse_shape(path, "an object", agent)
    return read_block(agent, path)


def _refuse_shape(path: Path, rule: str, value: object) -> NoReturn:
    message = f"`{show_path(path)}` must be {rule}, not {show_value(value)}"
    raise InvalidConfig(".".join(map(str, path)), message, path)
