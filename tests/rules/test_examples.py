"""Every rule that ships has a pair of outcomes that must be equal and one that must differ; this runs them all."""

from collections.abc import Iterable
from typing import Any

import pytest

from loopguard.errors import InvalidRule
from loopguard.fingerprints import Fingerprinter, broken_examples
from loopguard.fingerprints.examples import is_same
from loopguard.rules import FILES, Rule, RuleSet, load_rules

SHIPPED = [(profile, rule) for profile in FILES for rule in load_rules(profile).rules]


def named(cases: Iterable[tuple[str, Rule]]) -> list[Any]:
    return [pytest.param(profile, rule, id=f"{profile}:{rule.name}") for profile, rule in cases]


@pytest.mark.parametrize(("profile", "rule"), named(SHIPPED))
def test_the_pairs_of_a_rule(profile: str, rule: Rule) -> None:
    fingerprinter = Fingerprinter(load_rules(profile))

    assert is_same(fingerprinter, rule, rule.equal)
    assert not is_same(fingerprinter, rule, rule.differ)


def matters(case: tuple[str, Rule]) -> bool:
    # The set is refused without the rules for every tool.
    return not case[1].always


@pytest.mark.parametrize(("profile", "rule"), named(filter(matters, SHIPPED)))
def test_the_pairs_tell_whether_the_rule_is_there(profile: str, rule: Rule) -> None:
    others = Fingerprinter(RuleSet(other for other in load_rules(profile).rules if other is not rule))

    assert not is_same(others, rule, rule.equal) or is_same(others, rule, rule.differ)


@pytest.mark.parametrize("profile", FILES)
def test_all_pairs_of_a_profile(profile: str) -> None:
    assert broken_examples(load_rules(profile)) == []


BOOKING = {
    "name": "booking",
    "tools": ["book_*"],
    "drop": ["result.code"],
    "equal": [
        '{"tool": "book_flight", "result": {"status": "booked", "code": "QK1"}}',
        '{"tool": "book_flight", "result": {"status": "booked", "code": "QK2"}}',
    ],
    "differ": [
        '{"tool": "cancel", "result": {"status": "gone", "code": "QK1"}}',
        '{"tool": "cancel", "result": {"status": "gone", "code": "QK2"}}',
    ],
}


def test_rules_of_a_configuration_come_first() -> None:
    own = RuleSet.from_tables([BOOKING], "loopguard.rules")

    assert broken_examples(own.before(load_rules("openclaw"))) == []


def test_a_broken_pair_is_named() -> None:
    own = RuleSet.from_tables([BOOKING | {"differ": BOOKING["equal"]}], "loopguard.rules")

    broken = broken_examples(own.before(load_rules("openclaw")))

    assert broken == ["the pair of `differ` is equal at `loopguard.rules: rule[0] booking: differ`"]


@pytest.mark.parametrize(
    "record", ["", "[]", "5", '{"results": 1}', '{"status": "DONE"}', '{"status": 1}', '{"tool": null}']
)
def test_an_example_has_to_be_a_record(record: str) -> None:
    own = RuleSet.from_tables([BOOKING | {"equal": [record, record]}], "loopguard.rules")

    with pytest.raises(InvalidRule, match="booking"):
        broken_examples(own.before(load_rules("openclaw")))


def test_rules_that_leave_an_outcome_without_answer_are_refused() -> None:
    with pytest.raises(InvalidRule, match="no rule for the shaped outcome"):
        Fingerprinter(RuleSet.from_tables([BOOKING], "loopguard.rules"))
