"""The same call again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.detectors.sighting import Sighting, build_finding, outcome_words
from loopguard.model import Level

if TYPE_CHECKING:
    from loopguard.config import LoopDetection
    from loopguard.history import Facts

NAME = "generic_repeat"


def critical(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Stop a call that gave the same outcome so many times."""
    if not (limits.generic_repeat and not facts.poll and facts.streak >= limits.critical_threshold):
        return None
    evidence = facts.evidence(facts.streak_trail)
    finding = build_finding(
        NAME,
        Level.CRITICAL,
        facts.streak,
        limits.critical_threshold,
        facts,
        evidence,
        "another outcome of this call",
    )
    return Sighting(finding, outcome_words(evidence.failed))


def warning(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Warn of a call that was made so many times, whatever came of it."""
    if not (limits.generic_repeat and not facts.poll and facts.records >= limits.warning_threshold):
        return None
    evidence = facts.evidence("records")
    finding = build_finding(
        NAME,
        Level.WARNING,
        facts.records,
        limits.warning_threshold,
        facts,
        evidence,
        "other calls, until these have left the history",
    )
    return Sighting(finding, outcome_words(evidence.failed), (NAME, facts.call.tool, facts.call.digest))
