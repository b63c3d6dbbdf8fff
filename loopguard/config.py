"""The configuration file: OpenClaw's `tools.loopDetection` and `agents`, and loopguard's own table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import pyjson5

from loopguard.errors import InvalidConfig
from loopguard.loop_detection import (
    DEFAULTS,
    Block,
    LoopDetection,
    Path,
    ToolSettings,
    check_block,
    merge,
    origins,
)
from loopguard.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from loopguard.config_file import LoopguardTable, ToolTable

__all__ = ["DEFAULTS", "Configuration", "LoopDetection", "ToolSettings", "load_configuration"]

#: How many different effective configurations are kept for sharing between runs.
_SHARED = 1024


class Configuration:
    """A checked configuration file.

    `ignored` lists the top-level keys that belong to others. The rest are the tables under `loopguard`, as they stand.
    """

    def __init__(self, data: Mapping[str, Any], source: str = "configuration") -> None:
        """Check parsed JSON5. Raises `InvalidConfig`."""
        self.source = source
        self.ignored = [key for key in data if key not in ("tools", "agents", "loopguard")]
        self._global = _block_of(data, ())
        self._agents = _agent_blocks(data.get("agents"))
        self._shared: dict[LoopDetection, LoopDetection] = {}
        self._tools: Mapping[str, ToolTable] = {}
        self._take_table(data.get("loopguard"))
        self.effective()
        for agent_id in self._agents:
            self.effective(agent_id)

    def _take_table(self, value: object) -> None:
        self.server: dict[str, Any] = {}
        self.rules: Any = {}
        self.profile = "openclaw"
        self.profiles: dict[str, dict[str, Any]] = {}
        self.store = "memory"
        self.notes = Notes()
        if value is None:
            return
        # pydantic takes longer to import than everything else here; most files have no table of ours.
        from loopguard.balanced_limits import build_limits
        from loopguard.config_file import check_loopguard

        table: LoopguardTable = check_loopguard(value)
        self.server, self.rules, self.store = table.server, table.rules, table.store
        self.profile, self.profiles = table.profile, table.profiles
        build_limits(self.profiles.get("balanced", {}))
        self._tools = table.tools
        self.notes = Notes(
            {
                detector: note if isinstance(note, str) else note.model_dump(exclude_none=True)
                for detector, note in table.notes.items()
            }
        )

    @classmethod
    def empty(cls) -> Configuration:
        """Return the configuration of an empty file: nothing is set."""
        return cls({}, "defaults")

    @classmethod
    def guarded(cls) -> Configuration:
        """Return what serves without a file: the rolling detectors are on, everything else by default."""
        return cls({"tools": {"loopDetection": {"enabled": True}}}, "defaults of the service")

    @classmethod
    def from_text(cls, text: str, source: str = "configuration") -> Configuration:
        """Parse and check JSON5. Raises `InvalidConfig`, whose message starts with the place of the mistake."""
        try:
            data = pyjson5.decode(text)
        except pyjson5.Json5DecoderException as mistake:
            _refuse_syntax(text, source, str(mistake.args[0]))
        if not isinstance(data, dict):
            raise InvalidConfig("", f"{source}: a configuration is an object, not {type(data).__name__}")
        try:
            return cls(data, source)
        except InvalidConfig as mistake:
            from loopguard.config_places import place_of

            place = place_of(text, mistake.path) if mistake.path else None
            where = f"{source}:{place.line}:{place.column}" if place else source
            raise InvalidConfig(mistake.key, f"{where}: {mistake}", mistake.path) from None

    @property
    def agents(self) -> list[str]:
        """The agents that the file names."""
        return list(self._agents)

    def effective(self, agent_id: str = "", run_config: dict[str, Any] | None = None) -> LoopDetection:
        """Merge the run's keys over the agent's block, the global block and the defaults. Raises `InvalidConfig`.

        Equal results are one object, so that many runs share it.
        """
        blocks = [check_block(run_config), self._agents.get(agent_id, {}), self._global]
        try:
            merged = merge(blocks)
        except InvalidConfig as mistake:
            raise InvalidConfig(mistake.key, str(mistake), self._path_of(agent_id, mistake.key)) from None
        shared = self._shared.get(merged)
        if shared is None:
            shared = replace(merged, tools=self._tool_settings(blocks)) if self._tools else merged
            if len(self._shared) < _SHARED:
                self._shared[merged] = shared
        return shared

    def origins(self, agent_id: str = "", run_config: dict[str, Any] | None = None) -> dict[str, str]:
        """Return where each effective value comes from: `run`, `agent`, `global` or `default`, by key."""
        named = [("run", check_block(run_config)), ("agent", self._agents.get(agent_id, {})), ("global", self._global)]
        return origins(named)

    def _tool_settings(self, blocks: list[Block]) -> Mapping[str, ToolSettings]:
        settings = {}
        for name, tool in self._tools.items():
            path: Path = ("loopguard", "tools", name)
            polls = frozenset(tool.poll) if isinstance(tool.poll, list) else frozenset() if tool.poll else None
            own = tool.block()
            try:
                limits = merge([own, *blocks]) if own else None
            except InvalidConfig as mistake:
                key = ".".join((*map(str, path), mistake.key))
                raise InvalidConfig(key, f"for the tool `{name}`: {mistake}", (*path, mistake.key)) from None
            settings[name] = ToolSettings(tool.exempt, polls, limits)
        return MappingProxyType(settings)

    def _path_of(self, agent_id: str, key: str) -> Path:
        if key in self._agents.get(agent_id, {}):
            return ("agents", "entries", agent_id, "tools", "loopDetection", *key.split("."))
        return ("tools", "loopDetection", *key.split(".")) if key in self._global else ()


def load_configuration(path: str | FilePath) -> Configuration:
    """Read a configuration file. Raises `InvalidConfig`, also where the file can't be read."""
    try:
        text = FilePath(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as mistake:
        reason = mistake.strerror if isinstance(mistake, OSError) else "not UTF-8"
        raise InvalidConfig("", f"{path}: {reason}") from None
    return Configuration.from_text(text, str(path))


def _block_of(holder: object, path: Path) -> Block:
    """Return the checked `tools.loopDetection` of the file or of an agent; other keys of `tools` are others'."""
    tools = holder.get("tools") if isinstance(holder, dict) else None
    if tools is None:
        return {}
    if not isinstance(tools, dict):
        _refuse_shape((*path, "tools"), "an object")
    return check_block(tools.get("loopDetection"), (*path, "tools", "loopDetection"))


def _agent_blocks(agents: object) -> dict[str, Block]:
    if agents is None:
        return {}
    if not isinstance(agents, dict):
        _refuse_shape(("agents",), "an object")
    entries, listed = agents.get("entries"), agents.get("list")
    if not isinstance(entries, dict | None):
        _refuse_shape(("agents", "entries"), "an object")
    if not isinstance(listed, list | None):
        _refuse_shape(("agents", "list"), "an array")
    blocks: dict[str, Block] = {}
    for agent_id, agent in (entries or {}).items():
        blocks[agent_id] = _block_of(agent, ("agents", "entries", agent_id))
    for index, agent in enumerate(listed or ()):
        path: Path = ("agents", "list", index)
        block = _block_of(agent, path)
        agent_id = agent.get("id") if isinstance(agent, dict) else None
        if not isinstance(agent_id, str):
            if block:
                raise InvalidConfig("agents", f"`agents.list[{index}]` has a loopDetection but no `id`", path)
            continue
        if agent_id in blocks:
            raise InvalidConfig("agents", f"the agent `{agent_id}` stands in `agents` twice", path)
        blocks[agent_id] = block
    return blocks


def _refuse_shape(path: Path, rule: str) -> NoReturn:
    key = ".".join(map(str, path))
    raise InvalidConfig(key, f"`{key}` must be {rule}", path)


def _refuse_syntax(text: str, source: str, message: str) -> NoReturn:
    from loopguard.config_places import syntax_place

    place = syntax_place(text, message)
    where = f"{source}:{place.line}:{place.column}" if place else source
    raise InvalidConfig("", f"{where}: not JSON5: {message}")
