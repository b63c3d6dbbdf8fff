"""Nothing new for a while, whatever is tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

NAME: Final = "stall"


def look(moment: Moment, limits: Limits) -> Hit | None:
    """Find a run without news; never enough to block."""
    if moment.stall.number < limits.stall:
        return None
    return Hit(NAME, About.RUN, moment.stall, limits.stall, "anything new")
