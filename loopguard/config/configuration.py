"""A checked configuration file, and the effective values of a run."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from loopguard.config.agents import PlacedBlock, read_agents, read_block
from loopguard.config.loop_detection import Block, LoopDetection, ToolSettings, check_block, merge, origins
from loopguard.config.places import Path, placed, show_path
from loopguard.config.syntax import parse_json5
from loopguard.errors import InvalidConfig
from loopguard.notes import Notes
from loopguard.tool_name import normal_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from loopguard.config.own_table import LoopguardTable, ToolTable

#: How many different effective configurations are kept for sharing between runs.
_SHARED = 1024
_NO_BLOCK = PlacedBlock({}, ())


class Configuration:
    """A checked configuration file.

    `ignored` lists the top-level keys that belong to others, `text` is what was read, empty where that was no text. The
    rest are the tables under `loopguard`, as they stand; what only the engine and the service know of them (`rules`,
    `server`) is checked by those.
    """

    def __init__(self, data: Mapping[str, Any], source: str = "configuration") -> None:
        """Check parsed JSON5. Raises `InvalidConfig`."""
        self.source = source
        self.ignored = [key for key in data if key not in ("tools", "agents", "loopguard")]
        self.text = ""
        self._global = read_block(data, ())
        self._agents = read_agents(data.get("agents"))
        self._shared: dict[LoopDetection, LoopDetection] = {}
        self._tools: Mapping[str, tuple[str, ToolTable]] = {}
        self._take_table(data.get("loopguard"))
        for agent_id in ("", *self._agents):
            self.effective(agent_id)

    def _take_table(self, value: object) -> None:
        self.server: dict[str, Any] = {}
        self.rules: list[Any] = []
        self.profile = "openclaw"
        self.profiles: dict[str, dict[str, Any]] = {}
        self.store: dict[str, str] = {}
        self.notes = Notes()
        if value is None:
            return
        # pydantic takes longer to import than everything else here; most files have no table of ours.
        from loopguard.config.own_table import check_loopguard

        table: LoopguardTable = check_loopguard(value)
        self.server, self.rules = table.server, table.rules
        self.profile, self.profiles = table.profile, table.profiles.model_dump(exclude_unset=True)
        store = table.store
        self.store = {"address": store} if isinstance(store, str) else store.model_dump(exclude_unset=True)
        self._tools = _by_normal_name(table.tools)
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
        data = parse_json5(text, source)
        try:
            made = cls(data, source)
        except InvalidConfig as mistake:
            raise placed(mistake, text, source) from None
        made.text = text
        return made

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Put the place in the file before the message of an `InvalidConfig` that is raised inside."""
        try:
            yield
        except InvalidConfig as mistake:
            raise (placed(mistake, self.text, self.source) if self.text else mistake) from None

    @property
    def agents(self) -> list[str]:
        """The agents that the file names."""
        return list(self._agents)

    def effective(self, agent_id: str = "", run_config: dict[str, Any] | None = None) -> LoopDetection:
        """Merge the run's keys over the agent's block, the global block and the defaults. Raises `InvalidConfig`.

        Equal results are one object, so that many runs share it.
        """
        own = self._agents.get(agent_id, _NO_BLOCK).block
        blocks = [check_block(run_config), own, self._global.block]
        try:
            merged = merge(blocks)
        except InvalidConfig as mistake:
            whose = f" for the agent `{agent_id}`" if own and not blocks[0] else ""
            path = self.path_of(agent_id, mistake.key)
            raise InvalidConfig(mistake.key, f"{mistake}{whose}", path) from None
        shared = self._shared.get(merged)
        if shared is None:
            shared = replace(merged, tools=self._tool_settings(blocks)) if self._tools else merged
            if len(self._shared) < _SHARED:
                self._shared[merged] = shared
        return shared

    def origins(self, agent_id: str = "", run_config: dict[str, Any] | None = None) -> dict[str, str]:
        """Return where each effective value comes from: `run`, `agent`, `global` or `default`, by key."""
        own = self._agents.get(agent_id, _NO_BLOCK).block
        return origins([("run", check_block(run_config)), ("agent", own), ("global", self._global.block)])

    def path_of(self, agent_id: str, key: str) -> Path:
        """Return where the effective value of a key stands in the file; empty if it doesn't."""
        for block, path in (self._agents.get(agent_id, _NO_BLOCK), self._global):
            if key in block:
                return (*path, *key.split("."))
        return ()

    def _tool_settings(self, blocks: list[Block]) -> Mapping[str, ToolSettings]:
        settings = {}
        for name, (written, tool) in self._tools.items():
            path: Path = ("loopguard", "tools", written)
            polls = frozenset(tool.poll) if isinstance(tool.poll, list) else frozenset() if tool.poll else None
            own = tool.block()
            try:
                limits = merge([own, *blocks]) if own else None
            except InvalidConfig as mistake:
                key = ".".join((*map(str, path), mistake.key))
                raise InvalidConfig(key, f"for the tool `{written}`: {mistake}", (*path, mistake.key)) from None
            settings[name] = ToolSettings(tool.exempt, polls, limits)
        return MappingProxyType(settings)


def load_configuration(path: str | FilePath) -> Configuration:
    """Read a configuration file. Raises `InvalidConfig`, also where the file can't be read."""
    try:
        text = FilePath(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as mistake:
        reason = mistake.strerror if isinstance(mistake, OSError) else "not UTF-8"
        raise InvalidConfig("", f"{path}: {reason}") from None
    return Configuration.from_text(text, str(path))


def _by_normal_name(tools: Mapping[str, ToolTable]) -> Mapping[str, tuple[str, ToolTable]]:
    """Return the tools by the name that calls are compared under, each with the name that the file has."""
    named: dict[str, tuple[str, ToolTable]] = {}
    for written, table in tools.items():
        name = normal_name(written)
        path = ("loopguard", "tools", written)
        key = show_path(path)
        if not name:
            raise InvalidConfig(key, "`loopguard.tools`: a tool has a name", path)
        if name in named:
            message = f"`{key}`: `{named[name][0]}` and `{written}` are one tool, `{name}`; write it once"
            raise InvalidConfig(key, message, path)
        named[name] = (written, table)
    return named
