"""The same call with the same outcome again, and nothing new in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit
from loopguard.tool_class import ToolClass

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

NAME: Final = "repeat"
NEAR: Final = "near_repeat"
LIKELY: Final = "likely_repeat"
#: So many more pages than spellings.
_PAGES: Final = 2
_CLEARED: Final = "anything new: another outcome, another question, a change"


def exact(moment: Moment, limits: Limits) -> Hit | None:
    """Find a call that gives what it gave before; waiting, and what may pass by itself, has longer."""
    count, outcome = moment.equal, moment.outcome
    # What was masked may be what matters: such a repeat is weaker, and never blocks.
    shifts = moment.shifting.number > 1 and moment.firm < limits.repeat
    if _led_on(moment, moment.firm < limits.repeat):
        return None
    if shifts:
        count = moment.shifting
    elif count.number < limits.repeat:
        return None
    # A bare "ok" of a tool that nobody knows may tell of a step each time.
    steps = moment.call.tool_class is ToolClass.OTHER and not (outcome.failed or outcome.informative)
    patient = moment.poll or moment.call.note or steps
    threshold = limits.poll if patient else limits.repeat
    if shifts and not patient:
        # In a text what is masked is beside the point.
        threshold = limits.likely_repeat if outcome.size >= limits.answer_text else limits.masked_repeat
    threshold += limits.transient_extra if outcome.transient else 0
    # A step from a hidden position that answers nothing may have arrived somewhere else.
    if count.number < threshold or (moment.call.tool_class is ToolClass.MOVE and not outcome.informative):
        return None
    last = limits.block_poll_attempt if patient or outcome.transient else limits.block_attempt
    firm = count.number if outcome.failed else moment.firm
    return Hit(NAME, About.CALL, count, threshold, _CLEARED, stops=firm >= last - 1)


def near(moment: Moment, limits: Limits) -> Hit | None:
    """Find a call that only its spelling tells from earlier ones."""
    count, outcome = moment.near, moment.outcome
    shifts = not outcome.failed and moment.near_firm < limits.near_repeat
    threshold = limits.masked_repeat + 1 if shifts else limits.near_repeat
    threshold += limits.transient_extra if outcome.transient else 0
    # One page after another may be blank; it is past the end some time.
    threshold += _PAGES if moment.near_moves else 0
    if count.number < threshold or _led_on(moment, shifts):
        return None
    last = limits.block_poll_attempt if outcome.transient else limits.block_attempt
    firm = count.number if outcome.failed else moment.near_firm
    stops = firm >= last - 1 and not moment.near_moves
    return Hit(NEAR, About.SPELLING, count, threshold, _CLEARED, stops=stops)


def likely(moment: Moment, limits: Limits) -> Hit | None:
    """Find a call whose outcomes differ in numbers or in details of one error; a weaker sign: one more to block."""
    count, transient = moment.likely, moment.outcome.transient
    threshold = limits.likely_repeat + (limits.transient_extra if transient or moment.poll else 0)
    if count.number < threshold:
        return None
    last = limits.block_poll_attempt if transient or moment.poll else limits.block_attempt
    stops = moment.outcome.failed and count.number >= last
    return Hit(LIKELY, About.CALL, count, threshold, _CLEARED, stops=stops)


def _led_on(moment: Moment, shifts: bool) -> bool:
    """Whether a step may have led on: where to may show in what was masked, in the blanks of a board or in a number."""
    return shifts and moment.call.tool_class is ToolClass.MOVE and not moment.outcome.failed
