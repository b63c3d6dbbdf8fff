"""Work on one thing that never settles: new versions of one target, messages to one address, plans reworded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.detectors.balanced.hit import About, Hit

if TYPE_CHECKING:
    from loopguard.balanced_limits import Limits
    from loopguard.course import Moment

REWRITE: Final = "rewrite"
RESEND: Final = "resend"
PLAN: Final = "plan_churn"


def rewrite(moment: Moment, limits: Limits) -> Hit | None:
    """Find one target that is written anew in a row, without a look at it."""
    if moment.versions.number < limits.versions:
        return None
    return Hit(REWRITE, About.TARGET, moment.versions, limits.versions, "any other work")


def resend(moment: Moment, limits: Limits) -> Hit | None:
    """Find messages to one address in a row that nobody answers."""
    if moment.sends.number < limits.sends:
        return None
    return Hit(RESEND, About.TARGET, moment.sends, limits.sends, "an answer, or any other work")


def plan(moment: Moment, limits: Limits) -> Hit | None:
    """Find plans that are reworded in a row, without work between."""
    if moment.plans.number < limits.plans:
        return None
    return Hit(PLAN, About.TOOL, moment.plans, limits.plans, "any work")
