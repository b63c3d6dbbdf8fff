"""The same call with the same outcome, other news between, but no change that could have made it worth asking again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

NAME: Final = "spread_repeat"


def look(moment: Moment, limits: Limits) -> Hit | None:
    """Find repeats with other work between; never enough to block."""
    if moment.spread.number < limits.spread_repeat:
        return None
    cleared_by = "a change, or leaving this call alone for a while"
    return Hit(NAME, About.CALL, moment.spread, limits.spread_repeat, cleared_by)
