"""Two calls in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.detectors.sighting import Sighting, build_finding, outcome_words
from loopguard.model import Level

if TYPE_CHECKING:
    from loopguard.config import LoopDetection
    from loopguard.history import Evidence, Facts

NAME = "ping_pong"


def critical(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Stop two calls in turn whose outcomes both stay the same."""
    if not (limits.ping_pong and facts.proven and facts.alternation >= limits.critical_threshold):
        return None
    return _sighting(facts, Level.CRITICAL, limits.critical_threshold)


def warning(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Warn of two calls in turn, with progress or without."""
    if not (limits.ping_pong and facts.alternation >= limits.warning_threshold):
        return None
    sighting = _sighting(facts, Level.WARNING, limits.warning_threshold)
    own, other = (facts.call.tool, facts.call.digest), facts.paired
    sighting.key = (NAME, *min(own, other), *max(own, other))
    return sighting


def _sighting(facts: Facts, level: Level, threshold: int) -> Sighting:
    evidence: Evidence = facts.evidence("alternation")
    cleared_by = "a third call, or another outcome of either"
    finding = build_finding(NAME, level, facts.alternation, threshold, facts, evidence, cleared_by)
    finding.paired_tool = facts.paired[0]
    return Sighting(finding, {"paired_tool": finding.paired_tool, **outcome_words(evidence.failed)})
