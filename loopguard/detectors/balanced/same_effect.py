"""Effects that are made again: one edit, one booking, one order, whatever id or echo it answers with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

NAME: Final = "same_effect"


def look(moment: Moment, limits: Limits) -> Hit | None:
    """Find one change that succeeds again and again; outcomes need not match, since what it changes grows."""
    count = moment.same_edits
    if count.number < limits.same_edits:
        return None
    return Hit(
        NAME, About.CALL, count, limits.same_edits, "another change", stops=count.number >= limits.block_attempt - 1
    )
