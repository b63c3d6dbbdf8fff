"""Puts the rules about one tool into the form in which the core asks them in one step, as far as it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard import _prints
from loopguard.fingerprints.kind import Kind
from loopguard.fingerprints.reading import PICKED, TYPE_CODES, compiled
from loopguard.rules.rule import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard import _core
    from loopguard.rules.plan import Case, Plan
    from loopguard.rules.rule import Condition

#: The tag byte before the values of each kind of outcome; a new kind goes to the end.
TAGS = {kind: number for number, kind in enumerate(("private", "digest", *KINDS), 1)}


def outcome_reader(plan: Plan, names: _core.Names) -> _prints.OutcomeReader | None:
    """Return what reads outcomes that neither failed nor have an error, `None` where that would seldom be enough."""
    vetoes = [_conditions(rule.when, plan.names) for rule in plan.vetoes]
    general = next((case for case in plan.cases["shaped"] if not case.rule.when and case.rule.failed is not True), None)
    if None in vetoes or general is None or compiled(general, plan.names) is None:
        return None
    return _prints.OutcomeReader(
        Kind.DONE,
        names,
        [conditions for conditions in vetoes if conditions is not None],
        _cases(plan.cases["shaped"], plan.names),
        _cases(plan.cases["plain"], plan.names),
    )


def _cases(cases: Sequence[Case], names: tuple[str, ...]) -> list[_prints.Case]:
    made = []
    for case in cases:
        rule = case.rule
        if rule.failed is True:
            continue
        conditions = _conditions(rule.when, names)
        # A case that asks for more than the core can tell leaves itself and all behind it to the long way.
        values = None if conditions is None else compiled(case, names)
        made.append(_prints.Case(conditions or (), TAGS[rule.kind], values, rule.stuck, rule.identity))
        if conditions is None:
            break
    return made


def _conditions(when: Sequence[Condition], names: tuple[str, ...]) -> list[_prints.Condition] | None:
    """Return the conditions of a rule, `None` if one of them is about anything but a member of `details`."""
    made = []
    for condition in when:
        if condition.path.root != "details" or len(condition.path.keys) != 1:
            return None
        place = PICKED + names.index(condition.path.keys[0])
        made.append(_prints.Condition(place, TYPE_CODES.get(condition.type, 0), condition.scalars))
    return made
