"""Families of runs over tools and shapes of answers of every kind: profile `balanced` tells loops from honest work."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.unit.balanced_runs import open_balanced, play
from tests.unit.families import (
    circles,
    clusters,
    code,
    data,
    errands,
    habits,
    harnesses,
    mixed,
    packages,
    services,
    sessions,
    waiting,
    web,
    world,
)

if TYPE_CHECKING:
    from tests.unit.balanced_runs import Step, Turn
    from tests.unit.families.shapes import Honest, Loop, Steps

AREAS = (
    web,
    services,
    clusters,
    code,
    packages,
    data,
    world,
    harnesses,
    sessions,
    waiting,
    mixed,
    errands,
    circles,
    habits,
)
HONEST: dict[str, Honest] = {name: one for area in AREAS for name, one in area.HONEST.items()}
LOOPS: dict[str, Loop] = {name: one for area in AREAS for name, one in area.LOOPS.items()}


def thought(number: int) -> Step:
    """The model's own words, which say nothing about the world."""
    return "think", {"thought": f"now for number {number}"}, "ok"


def with_thoughts(turns: Steps) -> list[Turn]:
    """A thought after every second turn."""
    return [one for number, turn in enumerate(turns) for one in ((turn, thought(number)) if number % 2 else (turn,))]


def first(told: list[str], actions: tuple[str, ...]) -> int | None:
    """The place of the first of these actions."""
    return next((place for place, one in enumerate(told) if one.startswith(actions)), None)


def test_there_are_many_of_them() -> None:
    assert len(HONEST) == sum(len(area.HONEST) for area in AREAS) >= 90
    assert len(LOOPS) == sum(len(area.LOOPS) for area in AREAS) >= 70


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("thinks", [False, True])
def test_honest_work_is_left_alone(name: str, seed: int, thinks: bool) -> None:
    make, seconds, hinted = HONEST[name]
    turns = make(Random(seed))

    told = play(open_balanced(), with_thoughts(turns) if thinks else turns, at=count(0, seconds) if seconds else ())

    assert first(told, ("BLOCK", "ABORT") if hinted else ("WARN", "BLOCK", "ABORT")) is None, told


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("thinks", [False, True])
def test_a_loop_is_seen_and_ended(name: str, seed: int, thinks: bool) -> None:
    make, warn, block = LOOPS[name]
    chance = Random(seed)
    attempts: list[Steps] = [[*one, thought(n)] if thinks and n % 2 else one for n, one in enumerate(make(chance))]
    before: list[Turn] = [("read_file", {"path": f"a{n}"}, f"text {n} of {chance.random()}") for n in range(3)]
    #: The number of the attempt that each turn belongs to; 0 is none.
    of = [0] * len(before) + [number for number, turns in enumerate(attempts, 1) for _ in turns]

    told = play(open_balanced(), [*before, *(turn for turns in attempts for turn in turns)])

    warned, blocked = first(told, ("WARN", "BLOCK")), first(told, ("BLOCK",))
    assert warned is not None
    assert 2 <= of[warned] <= warn
    assert not block or (blocked is not None and of[blocked] <= block)
