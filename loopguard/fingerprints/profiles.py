"""The fingerprinter of each profile, with the rules of a configuration asked before those that ship."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loopguard.errors import InvalidConfig, InvalidRule
from loopguard.fingerprints.examples import broken_pairs
from loopguard.fingerprints.fingerprinter import Fingerprinter, shipped_fingerprinter
from loopguard.rules import RuleSet, load_rules
from loopguard.rules.loader import parse_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loopguard.rules import Rule

_SOURCE: Final = "loopguard.rules"


class Fingerprinters:
    """Fingerprinters by profile."""

    def __init__(self, tables: Sequence[Any], profiles: Iterable[str]) -> None:
        """Read what stands under `loopguard.rules`, for all profiles. Raises `InvalidConfig`."""
        self._own: dict[str, Fingerprinter] = {}
        #: In the order of the file.
        self._rules: tuple[Rule, ...] = ()
        if not tables:
            return
        try:
            self._rules = parse_rules(tables, _SOURCE)
            for profile in profiles:
                self._own[profile] = Fingerprinter(RuleSet(self._rules).before(load_rules(profile)))
        except InvalidRule as mistake:
            raise _refusal(mistake) from None

    def of(self, profile: str) -> Fingerprinter:
        """Return the fingerprinter of a known profile."""
        return self._own.get(profile) or shipped_fingerprinter(profile)

    def check_examples(self, profile: str) -> None:
        """Run the examples that the own rules carry. Raises `InvalidConfig` for the first one that doesn't hold."""
        for number, rule in enumerate(self._rules):
            try:
                broken = broken_pairs(self.of(profile), rule)
            except InvalidRule as mistake:
                raise _refusal(InvalidRule(str(mistake), (number,))) from None
            for key, message in broken:
                raise _refusal(InvalidRule(message, (number, key)))


def _refusal(mistake: InvalidRule) -> InvalidConfig:
    path = ("loopguard", "rules", *mistake.path)
    return InvalidConfig(".".join(map(str, path)), str(mistake), path)
