"""A poll whose answer never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.sighting import Sighting, build_finding
from loopguard.model import Level

if TYPE_CHECKING:
    from loopguard.config import LoopDetection
    from loopguard.history import Facts

NAME = "known_poll_no_progress"
CLEARED_BY: Final = "another outcome of this poll"
#: `wait` returns only when there is news or its time is over: each one without news weighs more than a poll.
WAIT_LIMIT: Final = 10


def critical(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Stop a poll without progress; a `wait` after ten of them at the latest."""
    threshold = limits.critical_threshold
    if facts.wait:
        threshold = min(WAIT_LIMIT, threshold)
    if not (limits.known_poll_no_progress and facts.poll and facts.streak >= threshold):
        return None
    evidence = facts.evidence(facts.streak_trail)
    finding = build_finding(NAME, Level.CRITICAL, facts.streak, threshold, facts, evidence, CLEARED_BY)
    return Sighting(finding, {})


def warning(facts: Facts, limits: LoopDetection) -> Sighting | None:
    """Warn of a poll without progress."""
    threshold = limits.warning_threshold
    if not (limits.known_poll_no_progress and facts.poll and not facts.wait and facts.streak >= threshold):
        return None
    evidence = facts.evidence(facts.streak_trail)
    finding = build_finding(NAME, Level.WARNING, facts.streak, threshold, facts, evidence, CLEARED_BY)
    return Sighting(finding, {}, (NAME, facts.call.tool, facts.call.digest, facts.anchor))
