"""What the guard tells operators; an event never holds arguments or results."""

from __future__ import annotations

from dataclasses import dataclass

from loopguard.model import Action, Finding, Level, Scope


@dataclass(frozen=True, slots=True)
class Event:
    """A warning that was emitted, a batch that was blocked or aborted, or a guard that fired.

    `call_id` and `tool` are those of the call that triggered it.
    """

    run_id: str
    call_id: str
    tool: str
    action: Action
    finding: Finding
    note: str = ""
    scope: Scope | None = None
    agent_id: str = ""
    tenant: str = ""

    @property
    def detector(self) -> str:
        """The detector's name."""
        return self.finding.detector

    @property
    def level(self) -> Level:
        """How sure the detector is."""
        return self.finding.level

    @property
    def count(self) -> int:
        """What the detector counted."""
        return self.finding.count

    @property
    def threshold(self) -> int:
        """The count from which on the detector speaks."""
        return self.finding.threshold

    @property
    def paired_tool(self) -> str:
        """The other tool of a ping-pong."""
        return self.finding.paired_tool

    @property
    def log_level(self) -> str:
        """The level at which to log it: a warning as `warning`, a block or an abort as `error`."""
        return "warning" if self.action is Action.WARN else "error"
