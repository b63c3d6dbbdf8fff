"""One tool that doesn't exist, called again and again with whatever arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.detectors.sighting import Sighting, build_finding
from loopguard.model import Level

if TYPE_CHECKING:
    from loopguard.config import LoopDetection
    from loopguard.history import Facts

NAME = "unknown_tool_repeat"


def critical(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Stop a tool that was missing so many times in a row."""
    if facts.unknown < limits.unknown_tool_threshold:
        return None
    evidence = facts.evidence("unknown")
    finding = build_finding(
        NAME,
        Level.CRITICAL,
        facts.unknown,
        limits.unknown_tool_threshold,
        facts,
        evidence,
        "a call of another tool, or any other outcome of this one",
    )
    return Sighting(finding, {"missing_tool": facts.missing_tool})
