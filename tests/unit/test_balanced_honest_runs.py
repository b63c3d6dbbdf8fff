"""Many kinds of honest runs, made from seeds: profile `balanced` blocks none of them and warns of none."""

from __future__ import annotations

from random import Random

import pytest

from tests.unit.balanced_runs import open_balanced, play
from tests.unit.honest_waiting import TIMED, WAITING
from tests.unit.honest_working import WORKING

HONEST = WAITING | WORKING
SEEDS = (1, 2, 3)


def test_there_are_many_of_them() -> None:
    assert len(HONEST) + len(TIMED) >= 100


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_hears_nothing(name: str) -> None:
    for seed in SEEDS:
        told = play(open_balanced(), HONEST[name](Random(seed)))

        assert set(told) == {"ALLOW"}, f"seed {seed}"


@pytest.mark.parametrize("name", TIMED)
def test_patience_hears_nothing(name: str) -> None:
    make, times = TIMED[name]

    told = play(open_balanced(), make(Random(1)), at=times)

    assert set(told) == {"ALLOW"}
