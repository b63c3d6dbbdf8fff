"""What the detectors of profile `balanced` see of a run at the end of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.course.novelty import News

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard._facts import CallFacts, OutcomeFacts


class Count:
    """A number with its evidence: the ids of the calls counted."""

    __slots__ = ("call_ids", "number")

    def __init__(self, number: int, call_ids: Iterable[str]) -> None:
        self.number = number
        self.call_ids = call_ids


NONE: Final = Count(0, ())


class Moment:
    """What the course of a run says about a call that has just ended; a count of one is none."""

    # Defaults of the class: most calls repeat nothing, so most of these are never set.

    #: In the stretch: call and outcome equal; the call spelled otherwise; the outcome alike but for details.
    equal = near = likely = NONE
    #: How many of the equal and of the near ones are equal also before anything is masked.
    firm = near_firm = 0
    #: Whether the near ones name other pages or lines.
    near_moves = False
    #: In the stretch: this call, of whose outcomes something was masked.
    shifting = NONE
    #: In the stretch: one failure of one tool over any arguments; worded alike; one error signature of one program.
    failures = alike_failures = signatures = NONE
    #: Whether one of those failing calls was made twice.
    repeated_words = False
    #: In the stretch: one answer to whatever was asked; to questions worded alike.
    answers = alike_answers = NONE
    #: Since the last change: call and outcome equal, news between or not.
    spread = NONE
    #: Rounds of like calls without news; of equal calls and outcomes with a failure in each.
    rounds = failing_rounds = NONE
    #: In a row: one error of any tools; one edit; one target anew; sends to one address; plans; missing tools.
    cascade = same_edits = versions = sends = plans = unknown_tools = NONE
    rejections = rejections_near = NONE
    #: Responses without news.
    stall = NONE
    #: One answer to one more of many things.
    batch = False

    def __init__(self, call: CallFacts, outcome: OutcomeFacts) -> None:
        self.call = call
        self.outcome = outcome
        self.news = News.STALE
        #: Waiting is what the call is for, or what its answer asks for.
        self.poll = call.poll or outcome.pending

    @property
    def is_plain(self) -> bool:
        """Whether nothing repeats."""
        return len(self.__dict__) == _PLAIN


#: How many attributes a moment has that repeats nothing.
_PLAIN: Final = 4
