"""What a rule says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopguard.rules.path import Path

#: Types of JSON values that a rule can ask for.
TYPES = ("string", "number", "boolean", "null", "object", "array")
#: What a result can be: shaped as MCP and OpenClaw do it, any other value, or an error's message.
SHAPES = ("shaped", "plain", "error")
#: Kinds of outcome; digests of different kinds never compare equal.
KINDS = ("error", "value", "exec", "write", "poll", "send", "memory", "generic")
#: Kinds of volatile text that can be masked; `default` stands for all that are masked by default.
MASKS = (
    "default",
    "wrapper_nonce",
    "ansi",
    "white_space",
    "timestamp",
    "duration",
    "shell_line",
    "address",
    "process_id",
    "notebook",
    "temp_path",
    "progress",
    "uuid",
    "technical_id",
    "attempt",
    "epoch",
    "binary",
)


@dataclass(frozen=True, slots=True)
class Target:
    """The tools that a rule is about: a pattern of normalised names, and the calls' `action` where only some count."""

    tool: str
    actions: tuple[str, ...] = ()

    def names(self, tool: str) -> bool:
        """Tell whether some calls of the tool with this normalised name are meant."""
        return fnmatchcase(tool, self.tool)

    def matches(self, tool: str, action: str) -> bool:
        """Tell whether a call with this normalised name and action is meant."""
        return (not self.actions or action in self.actions) and self.names(tool)


@dataclass(frozen=True, slots=True)
class Typed:
    """A member by name and type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Prune:
    """Leaves out, at every depth, `member` of an object that has all of `beside` and one of `beside_any`."""

    member: Typed
    beside: tuple[Typed, ...]
    beside_any: tuple[Typed, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One value that counts.

    The value at `path` if it has the type `only`, else the one at `otherwise`; `default` (JSON text) stands for what is
    absent or null. With `exactly` (JSON text) it is whether the value is that one. With `trim` a string counts without
    white space at its ends, and an empty one is missing. With `parse` a text that is a JSON object with such a member
    counts as that.
    """

    path: Path
    only: str = ""
    otherwise: Path | None = None
    default: bytes = b"null"
    exactly: bytes = b""
    trim: bool = False
    parse: Typed | None = None
    prune: Prune | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds where the value at `path` is one of the scalars (JSON text), or of the type."""

    path: Path
    scalars: tuple[bytes, ...] = ()
    type: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts of one tool's outcome.

    A rule with `values` (or `veto`) decides: the first that applies gives the outcome. One without only edits what
    another one compares: `drop`, `keep` and `mask` of every rule that applies are put together.
    """

    name: str
    source: str
    tools: tuple[Target, ...]
    shape: str = "shaped"
    failed: bool | None = None
    when: tuple[Condition, ...] = ()
    kind: str = "generic"
    values: tuple[Value, ...] | None = None
    veto: bool = False
    stuck: bool = False
    identity: bool = False
    volatile: tuple[str, ...] = ()
    drop: tuple[Path, ...] = ()
    keep: tuple[Path, ...] = ()
    mask: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    equal: tuple[str, ...] = ()
    differ: tuple[str, ...] = ()

    @property
    def decides(self) -> bool:
        """Whether the rule gives an outcome by itself."""
        return self.veto or self.values is not None

    @property
    def always(self) -> bool:
        """Whether the rule decides for every call of every tool, however it ended."""
        return self.values is not None and not self.when and self.failed is None and Target("*") in self.tools

    def applies_to(self, tool: str, action: str) -> bool:
        """Tell whether the rule is about calls with this normalised name and action."""
        return any(target.matches(tool, action) for target in self.tools)
