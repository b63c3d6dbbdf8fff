"""The detectors of each profile: order is precedence, all critical rules before all warning rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from loopguard.config import LoopDetection
from loopguard.detectors import (
    argument_churn,
    generic_repeat,
    global_circuit_breaker,
    known_poll_no_progress,
    ping_pong,
    unknown_tool_repeat,
)
from loopguard.detectors.sighting import Sighting, outcome_words
from loopguard.history import Facts

__all__ = ["PROFILES", "Detector", "Sighting", "lowest_count", "outcome_words"]

#: Looks at the facts about a call that is about to run, with the thresholds that hold for it.
Detector = Callable[[Facts, LoopDetection], Sighting | None]

OPENCLAW: Final[tuple[Detector, ...]] = (
    unknown_tool_repeat.critical,
    global_circuit_breaker.critical,
    known_poll_no_progress.critical,
    ping_pong.critical,
    generic_repeat.critical,
    known_poll_no_progress.warning,
    ping_pong.warning,
    argument_churn.warning,
    generic_repeat.warning,
)

PROFILES: Final[Mapping[str, tuple[Detector, ...]]] = MappingProxyType(
    # `balanced` has detectors of its own, which look at the course of a run (loopguard.detectors.balanced).
    {"openclaw": OPENCLAW, "balanced": ()}
)


def lowest_count(limits: LoopDetection) -> int:
    """Return the count below which no detector says anything."""
    return min(limits.warning_threshold, limits.unknown_tool_threshold, known_poll_no_progress.WAIT_LIMIT)
