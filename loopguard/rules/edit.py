"""What rules leave out of one value: paths below it, kinds of text in it, or the value as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopguard.rules.path import ANY, DEEP, Path, remainders

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard.rules.rule import Rule

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Paths start at the value; `gone` says that nothing of it counts, `mask` names kinds for all text in it."""

    gone: bool = False
    drop: tuple[Keys, ...] = ()
    keep: tuple[Keys, ...] = ()
    mask: tuple[str, ...] = ()
    masks_below: tuple[tuple[Keys, tuple[str, ...]], ...] = ()

    @property
    def idle(self) -> bool:
        """Whether the value counts as it is."""
        return not (self.gone or self.drop or self.keep or self.mask or self.masks_below)

    @property
    def names(self) -> tuple[str, ...]:
        """The last keys of the dropped paths, to tell what was left out."""
        return tuple(sorted({keys[-1] for keys in self.drop} - {ANY, DEEP}))


def edit_at(place: Path, rules: Iterable[Rule]) -> Edit:
    """Return what the rules together do to the value at a place."""
    rules = tuple(rules)
    drop = [keys for rule in rules for path in rule.drop for keys in _below(path, place)]
    keeping = [path for rule in rules for path in rule.keep if _same_root(path, place)]
    keep = [keys for path in keeping for keys in _below(path, place)]
    masks = [(keys, kinds) for rule in rules for path, kinds in rule.mask for keys in _below(path, place)]
    return Edit(
        gone=() in drop or bool(keeping and not keep),
        drop=tuple(drop),
        keep=() if () in keep else tuple(keep),
        mask=tuple(kind for keys, kinds in masks if not keys for kind in kinds),
        # In the core the nearest path alone counts, here all that cover a place do.
        masks_below=tuple((keys, _covering(masks, keys)) for keys, _ in masks if keys),
    )


def _covering(masks: list[tuple[Keys, tuple[str, ...]]], place: Keys) -> tuple[str, ...]:
    return tuple({kind: None for keys, kinds in masks if keys and () in remainders(keys, place) for kind in kinds})


def _same_root(path: Path, place: Path) -> bool:
    return path.root == place.root or (path.root == "result" and place.root in ("details", "value"))


def _below(path: Path, place: Path) -> list[Keys]:
    return remainders(path.keys, place.keys) if _same_root(path, place) else []
