"""Outcome rules as data: what counts of which tool's outcome, and what is volatile in it."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from loopguard.errors import InvalidRule
from loopguard.rules.loader import parse_rules
from loopguard.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Rule", "RuleSet", "load_rules", "parse_file"]

#: The shipped files of each profile, asked in this order.
FILES: Mapping[str, tuple[str, ...]] = {
    "openclaw": ("openclaw.toml", "any.toml"),
    "balanced": ("openclaw.toml", "shells.toml", "results.toml", "any.toml"),
    "hash": ("openclaw.toml", "shells.toml", "results.toml", "any.toml"),
}


class RuleSet:
    """Rules in the order in which they are asked."""

    __slots__ = ("rules",)

    def __init__(self, rules: Iterable[Rule]) -> None:
        # A veto is no outcome at all, so no other rule may speak first.
        self.rules = tuple(sorted(rules, key=lambda rule: not rule.veto))

    @classmethod
    def from_tables(cls, tables: object, source: str) -> RuleSet:
        """Read rules as a configuration file has them: a list of tables, with or without examples.

        Raises `InvalidRule` with source, rule and key.
        """
        return cls(parse_rules(tables, source))

    def before(self, other: RuleSet) -> RuleSet:
        """Return a set that asks these rules first, then the other's."""
        return RuleSet((*self.rules, *other.rules))


def parse_file(text: str, source: str) -> tuple[Rule, ...]:
    """Read a rule file (TOML, one table `rule` a rule, each with its example pairs).

    Raises `InvalidRule` with source, rule and key.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRule(f"no TOML: {error} at `{source}`") from error
    for key in tables:
        if key != "rule":
            raise InvalidRule(f"unknown key `{key}` at `{source}`")
    return parse_rules(tables.get("rule", []), source, examples=True)


@cache
def load_rules(profile: str) -> RuleSet:
    """Return the shipped rules of a profile.

    Raises `KeyError` for a profile that has none of its own.
    """
    folder = files("loopguard.rules")
    rules: list[Rule] = []
    for name in FILES[profile]:
        rules += parse_file(folder.joinpath(name).read_text("utf-8"), f"rules/{name}")
    return RuleSet(rules)
