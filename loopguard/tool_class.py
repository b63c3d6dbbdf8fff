"""What kind of tool a name stands for, from a short table that users may override."""

from __future__ import annotations

import re
import tomllib
from enum import IntEnum
from fnmatch import translate
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolClass(IntEnum):
    """Kinds of tools, in the order that the compiled facts know them by."""

    OTHER = 0
    READ = 1
    WRITE = 2
    POLL = 3
    SHELL = 4
    SPAWN = 5
    SEND = 6
    NOTE = 7
    MOVE = 8
    REJECT = 9


class ToolClasses:
    """Classes by name. `overrides` maps names or patterns to classes and comes before the table."""

    def __init__(self, overrides: Mapping[str, ToolClass] | None = None) -> None:
        """Lay overrides over the table that ships."""
        own = [(_compile([pattern]), tool_class) for pattern, tool_class in (overrides or {}).items()]
        self._patterns = [*own, *_shipped()]

    def find(self, tool: str) -> ToolClass:
        """Return the class of a tool, by its name in lower case."""
        plain = tool.rpartition("__")[2].replace("-", "_")
        for name in (tool, plain, plain.rpartition(".")[2]):
            for pattern, tool_class in self._patterns:
                if pattern.fullmatch(name):
                    return tool_class
        return ToolClass.OTHER


def _compile(patterns: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(translate(pattern.lower()) for pattern in patterns))


@lru_cache(maxsize=1)
def _shipped() -> list[tuple[re.Pattern[str], ToolClass]]:
    table = tomllib.loads(files("loopguard.rules").joinpath("tool_classes.toml").read_text(encoding="utf-8"))
    return [(_compile(row["tools"]), ToolClass[row["name"].upper()]) for row in table["class"]]
