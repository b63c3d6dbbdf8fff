"""Which rules speak about one tool's calls, in order, and what they want to see of a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopguard.rules.path import Path
    from loopguard.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class Case:
    """A deciding rule with those that edit what it compares: `fixed` always, `free` where their conditions hold."""

    rule: Rule
    fixed: tuple[Rule, ...]
    free: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The cases of each shape, in the order in which they are asked.

    `names` are the members of `details` that any of them looks at.
    """

    cases: dict[str, tuple[Case, ...]]
    vetoes: tuple[Rule, ...]
    names: tuple[str, ...]


def plan_for(rules: Iterable[Rule]) -> Plan:
    """Plan with the rules that apply to a tool and action."""
    deciding: list[Rule] = []
    editing: list[Rule] = []
    for rule in rules:
        (deciding if rule.decides else editing).append(rule)
    cases: dict[str, tuple[Case, ...]] = {"shaped": (), "plain": (), "error": ()}
    for rule in deciding:
        if not rule.veto:
            cases[rule.shape] += (_case(rule, editing),)
    names = {path.keys[0]: None for path in _places((*deciding, *editing)) if path.root == "details" and path.keys}
    names |= {name: None for rule in deciding for name in rule.volatile}
    return Plan(
        cases,
        tuple(rule for rule in deciding if rule.veto),
        tuple(names),
    )


def _case(rule: Rule, editing: list[Rule]) -> Case:
    fixed = [rule]
    free = []
    for other in editing:
        if other.failed is not None and rule.failed is not None and other.failed is not rule.failed:
            continue
        settled = other.failed is None or other.failed is rule.failed
        if settled and not other.when:
            fixed.append(other)
        elif rule.shape == "shaped" or not other.when:
            free.append(other)
    return Case(rule, tuple(fixed), tuple(free))


def _places(rules: Iterable[Rule]) -> Iterator[Path]:
    for rule in rules:
        for condition in rule.when:
            yield condition.path
        for value in rule.values or ():
            yield value.path
            if value.otherwise is not None:
                yield value.otherwise
