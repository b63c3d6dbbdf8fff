"""Profile `balanced`: each detector looks at what the course of a run says about the call that just ended.

The order is precedence for the note; the evidence of all of them is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from loopguard.balanced_limits import DEFAULT_LIMITS, Limits, build_limits
from loopguard.course import Moment
from loopguard.detectors.balanced import (
    churn,
    cycle,
    error_streak,
    misuse,
    repeat,
    same_answer,
    same_effect,
    spread_repeat,
    stall,
)
from loopguard.detectors.balanced.hit import About, Hit

__all__ = ["BALANCED", "DEFAULT_LIMITS", "About", "Detector", "Hit", "Limits", "build_limits"]

Detector = Callable[[Moment, Limits], Hit | None]

BALANCED: Final[tuple[Detector, ...]] = (
    misuse.rejected_replies,
    misuse.unknown_tools,
    repeat.exact,
    cycle.failing,
    repeat.near,
    repeat.likely,
    error_streak.worded_alike,
    error_streak.one_tool,
    same_effect.look,
    same_answer.look,
    cycle.look,
    error_streak.any_tool,
    spread_repeat.look,
    churn.rewrite,
    churn.resend,
    churn.plan,
    stall.look,
)
