"""Many kinds of loops, made from seeds: profile `balanced` warns of each in time."""

from __future__ import annotations

from random import Random

import pytest

from tests.unit.balanced_runs import first_alarm
from tests.unit.loop_runs import LOOPS


def test_there_are_many_of_them() -> None:
    assert len(LOOPS) >= 40


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_loop_is_seen_in_time(name: str, seed: int) -> None:
    due, make = LOOPS[name]

    alarm = first_alarm(make(Random(seed)))

    assert alarm is not None
    assert alarm[0] <= due
