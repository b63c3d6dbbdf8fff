"""Failures with fresh arguments: one tool that gives one error, or one error whatever the tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

NAME: Final = "error_streak"
CASCADE: Final = "error_cascade"
_CLEARED: Final = "a success of this tool, another error, or a change"


def worded_alike(moment: Moment, limits: Limits) -> Hit | None:
    """Find one failure over calls worded alike; structured arguments, new each time, are a sweep instead."""
    count = moment.alike_failures
    extra = _extra(moment, limits)
    if count.number < limits.alike_failures + extra or not (moment.call.free_text or moment.repeated_words):
        return None
    passing = moment.poll or moment.outcome.transient
    last = limits.block_poll_attempt if passing else limits.block_attempt + extra
    stops = moment.failures.number >= last - 1
    return Hit(NAME, About.WORDING, moment.failures, limits.alike_failures + extra, _CLEARED, stops=stops)


def one_tool(moment: Moment, limits: Limits) -> Hit | None:
    """Find one failure of one tool, or one signature of its errors, over any arguments.

    What it stops are attempts that come again.
    """
    lasting = not (moment.poll or moment.outcome.transient or moment.outcome.verdict)
    for count, threshold in (
        (moment.failures, limits.failures + _extra(moment, limits)),
        (moment.signatures, limits.signatures + (limits.transient_extra if moment.outcome.transient else 0)),
    ):
        if count.number >= threshold:
            stops = lasting and count.number >= limits.block_attempt - 1
            return Hit(NAME, About.PROGRAM, count, threshold, _CLEARED, stops=stops)
    return None


def any_tool(moment: Moment, limits: Limits) -> Hit | None:
    """Find one error in a row over whatever tools."""
    threshold = limits.cascade + (limits.transient_extra if moment.outcome.transient else 0)
    if moment.cascade.number < threshold:
        return None
    return Hit(CASCADE, About.RUN, moment.cascade, threshold, "any success, or another error")


def _extra(moment: Moment, limits: Limits) -> int:
    outcome = moment.outcome
    return (limits.transient_extra if outcome.transient else 0) + (limits.verdict_extra if outcome.verdict else 0)
