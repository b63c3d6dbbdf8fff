"""What rules leave out of one value: paths below it, kinds of text in it, or the value as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopguard.rules.path import ANY, DEEP, Path, remainders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from loopguard.rules.rule import Rule

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Paths start at the value; an empty one is the value itself."""

    drop: tuple[Keys, ...] = ()
    keep: tuple[Keys, ...] = ()
    mask: tuple[tuple[Keys, tuple[str, ...]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.drop or self.keep or self.mask)

    @property
    def names(self) -> tuple[str, ...]:
        """The last keys of the dropped paths, to tell what was left out."""
        last = (keys[-1] for keys in self.drop if keys)
        return tuple(sorted({name for name in last if name not in (ANY, DEEP)}))


def edit_at(place: Path, rules: Iterable[Rule]) -> Edit:
    """Return what the rules together do to the value at a place."""
    rules = tuple(rules)
    return Edit(
        drop=tuple(keys for rule in rules for path in rule.drop for keys in _below(path, place)),
        keep=tuple(keys for rule in rules for path in rule.keep for keys in _below(path, place)),
        mask=tuple((keys, kinds) for rule in rules for path, kinds in rule.mask for keys in _below(path, place)),
    )


def _below(path: Path, place: Path) -> Iterator[Keys]:
    if path.root == place.root or (path.root == "result" and place.root in ("details", "value")):
        yield from remainders(path.keys, place.keys)
