"""Rounds of several calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

NAME: Final = "cycle"
_CLEARED: Final = "anything new: another outcome, another question, a change"


def failing(moment: Moment, limits: Limits) -> Hit | None:
    """Find rounds that are equal to the last outcome and in which something fails: nothing is left that could help."""
    count = moment.failing_rounds
    if count.number < limits.failing_rounds or moment.outcome.transient or moment.poll:
        return None
    return Hit(NAME, About.CALL, count, limits.failing_rounds, _CLEARED, stops=count.number >= limits.block_attempt - 2)


def look(moment: Moment, limits: Limits) -> Hit | None:
    """Find rounds of like calls of which none brought news, whatever noise their outcomes carry."""
    count = moment.rounds
    # Several jobs may be waited for in turn, each as long as one.
    threshold = limits.poll if moment.poll else limits.rounds
    if count.number < threshold:
        return None
    stops = count.number >= limits.block_attempt - 1 and not (moment.poll or moment.outcome.transient)
    return Hit(NAME, About.SPELLING, count, threshold, _CLEARED, stops=stops)
