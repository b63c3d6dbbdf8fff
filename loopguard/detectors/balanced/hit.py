"""What a detector of profile `balanced` says: how many, how sure, and which calls it is about."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopguard.course import Count


class About(IntEnum):
    """Which later calls a hit is about; others run on."""

    #: This call, argument for argument.
    CALL = 0
    #: This call, however spelled.
    SPELLING = 1
    #: Calls of this program that are worded like this one.
    WORDING = 2
    #: Calls of this program.
    PROGRAM = 3
    #: Calls of this tool on this target.
    TARGET = 4
    #: Calls of this tool.
    TOOL = 5
    #: Calls of tools that do not exist.
    MISSING_TOOL = 6
    #: Replies that the harness rejects.
    FORMAT = 7
    #: The run as a whole.
    RUN = 8


class Hit:
    """A detector's word. `stops` says that the evidence is enough to block what it is about."""

    __slots__ = ("about", "cleared_by", "count", "detector", "stops", "threshold")

    def __init__(
        self, detector: str, about: About, count: Count, threshold: int, cleared_by: str, *, stops: bool = False
    ) -> None:
        self.detector = detector
        self.about = about
        self.count = count
        self.threshold = threshold
        self.cleared_by = cleared_by
        self.stops = stops
