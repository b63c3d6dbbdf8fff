"""What the detectors of profile `balanced` see of a run at the end of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.course.novelty import News

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard.facts import CallFacts, OutcomeFacts


class Count:
    """A number with its evidence: the ids of the calls counted."""

    __slots__ = ("call_ids", "number")

    def __init__(self, number: int, call_ids: Iterable[str]) -> None:
        self.number = number
        self.call_ids = call_ids


NONE: Final = Count(0, ())


class Moment:
    """What the course of a run says about a call that has just ended."""

    __slots__ = (
        "alike_answers",
        "alike_failures",
        "answers",
        "call",
        "cascade",
        "equal",
        "failing_rounds",
        "failures",
        "likely",
        "near",
        "news",
        "outcome",
        "plans",
        "poll",
        "rejections",
        "rejections_near",
        "repeated_words",
        "rounds",
        "same_edits",
        "sends",
        "signatures",
        "spread",
        "stall",
        "unknown_tools",
        "versions",
    )

    def __init__(self, call: CallFacts, outcome: OutcomeFacts) -> None:
        self.call = call
        self.outcome = outcome
        self.news = News.STALE
        #: Waiting is what the call is for, or what its answer asks for.
        self.poll = (call.poll or outcome.pending) and not outcome.failed
        #: In the stretch: call and outcome equal; the call spelled otherwise; the outcome alike but for details.
        self.equal = self.near = self.likely = NONE
        #: In the stretch: one failure of one tool over any arguments; worded alike; one error signature of one program.
        self.failures = self.alike_failures = self.signatures = NONE
        #: Whether one of those failing calls was made twice.
        self.repeated_words = False
        #: In the stretch: one answer to whatever was asked; to questions worded alike.
        self.answers = self.alike_answers = NONE
        #: Since the last change: call and outcome equal, news between or not.
        self.spread = NONE
        #: Rounds of like calls without news; of equal calls and outcomes with a failure in each.
        self.rounds = self.failing_rounds = NONE
        #: In a row: one error of any tools; one edit; one target anew; sends to one address; plans; missing tools.
        self.cascade = self.same_edits = self.versions = self.sends = self.plans = self.unknown_tools = NONE
        self.rejections = self.rejections_near = NONE
        #: Responses without news.
        self.stall = NONE
