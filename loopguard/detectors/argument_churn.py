"""A few sets of arguments tried over and over, all with the same failure or the same unchanged write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.detectors.sighting import Sighting, build_finding, outcome_words
from loopguard.model import Level

if TYPE_CHECKING:
    from loopguard.config import LoopDetection
    from loopguard.history import Facts

NAME = "argument_churn"


def warning(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Warn of a tool whose arguments vary while it stays stuck."""
    if not (limits.generic_repeat and not facts.poll and facts.churn >= limits.warning_threshold):
        return None
    evidence = facts.evidence("churn")
    finding = build_finding(
        NAME,
        Level.WARNING,
        facts.churn,
        limits.warning_threshold,
        facts,
        evidence,
        "another outcome of this tool, or a call of another one",
    )
    return Sighting(finding, {"variants": facts.variants, **outcome_words(evidence.failed)}, (NAME, facts.call.tool))
