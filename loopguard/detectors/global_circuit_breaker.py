"""The last resort: any call, polls too, whose outcome stays the same for very long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.detectors.sighting import Sighting, build_finding, outcome_words
from loopguard.model import Level

if TYPE_CHECKING:
    from loopguard.config import LoopDetection
    from loopguard.history import Facts

NAME = "global_circuit_breaker"


def critical(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Stop a call without progress, whatever detector is switched off."""
    if facts.streak < limits.global_circuit_breaker_threshold:
        return None
    evidence = facts.evidence(facts.streak_trail)
    finding = build_finding(
        NAME,
        Level.CRITICAL,
        facts.streak,
        limits.global_circuit_breaker_threshold,
        facts,
        evidence,
        "another outcome of this call",
    )
    return Sighting(finding, outcome_words(evidence.failed))
