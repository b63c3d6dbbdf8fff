"""Replies that never become a call: tools that do not exist, formats that the harness rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

UNKNOWN: Final = "unknown_tools"
FORMAT: Final = "rejected_replies"


def unknown_tools(moment: Moment, limits: Limits) -> Hit | None:
    """Find calls of tools that do not exist, under whatever names, with no success between."""
    count = moment.unknown_tools
    if count.number < limits.unknown_tools:
        return None
    stops = count.number >= limits.block_attempt
    return Hit(UNKNOWN, About.MISSING_TOOL, count, limits.unknown_tools, "a call that works", stops=stops)


def rejected_replies(moment: Moment, limits: Limits) -> Hit | None:
    """Find replies rejected in a row, or most of the newest ones."""
    row = moment.rejections
    if row.number >= limits.rejections:
        stops = row.number >= limits.block_attempt
        return Hit(FORMAT, About.FORMAT, row, limits.rejections, "a reply in the right format", stops=stops)
    near = moment.rejections_near
    if near.number >= limits.rejections_near:
        stops = near.number >= limits.rejections_near + 1
        return Hit(FORMAT, About.FORMAT, near, limits.rejections_near, "replies in the right format", stops=stops)
    return None
