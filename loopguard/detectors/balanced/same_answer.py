"""One answer to questions that are worded anew each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

NAME: Final = "same_answer"
_CLEARED: Final = "another answer, or a change"


def look(moment: Moment, limits: Limits) -> Hit | None:
    """Find a text that answers everything; a mere value may be the right answer to different questions."""
    size = moment.outcome.size
    if size >= limits.answer_text and moment.alike_answers.number >= limits.alike_answers:
        return Hit(NAME, About.WORDING, moment.answers, limits.alike_answers, _CLEARED)
    if size >= limits.answer_value and moment.answers.number >= limits.answers and moment.call.family:
        return Hit(NAME, About.PROGRAM, moment.answers, limits.answers, _CLEARED)
    return None
