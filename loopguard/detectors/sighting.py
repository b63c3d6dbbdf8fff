"""What a detector returns: a finding, and what the run needs to tell about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.model import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Hashable

    from loopguard.history import Evidence, Facts


class Sighting:
    """A finding with the key of its warning bucket and the words of its note."""

    __slots__ = ("finding", "key", "words")

    def __init__(self, finding: Finding, words: dict[str, object], key: Hashable = None) -> None:
        self.finding = finding
        self.words = words
        self.key = key


def build_finding(
    detector: str, level: Level, count: int, threshold: int, facts: Facts, evidence: Evidence, cleared_by: str
) -> Finding:
    """Build a finding about the call of `facts` from the records behind it."""
    return Finding(
        detector,
        level,
        count,
        threshold,
        call_ids=evidence.call_ids,
        args_digest=facts.call.digest if evidence.same_arguments else b"",
        outcome_digest=evidence.outcome_digest,
        stripped=evidence.stripped,
        cleared_by=cleared_by,
    )


def outcome_words(failed: bool) -> dict[str, object]:
    """Return what to call the outcomes: a failure is no result."""
    return {"outcome": "failure", "outcomes": "failures"} if failed else {"outcome": "outcome", "outcomes": "outcomes"}
