from __future__ import annotations

import pytest
from loopguard.server.limits import Limits
from loopguard.server.settings import LimitSettings, Settings

from loopguard._intake import TokenBucket


def test_a_second_s_worth_is_taken_at_once_and_no_more() -> None:
    bucket = TokenBucket(10, 0.0)

    waits = [bucket.take(5, 0.0), bucket.take(5, 0.0), bucket.take(1, 0.0)]

    assert waits == [0.0, 0.0, pytest.approx(0.1)]


def test_what_was_refused_fits_after_the_time_that_was_told() -> None:
    bucket = TokenBucket(10, 0.0)
    bucket.take(10, 0.0)

    wait_s = bucket.take(4, 0.1)

    assert wait_s == pytest.approx(0.3)
    assert bucket.take(4, 0.1 + wait_s + 1e-9) == 0.0


def test_a_batch_larger_than_the_rate_leaves_a_debt() -> None:
    bucket = TokenBucket(10, 0.0)

    first, second = bucket.take(30, 0.0), bucket.take(1, 1.0)

    assert (first, second) == (0.0, pytest.approx(1.1))


def test_time_unused_is_not_saved_up() -> None:
    bucket = TokenBucket(10, 0.0)

    assert [bucket.take(10, 1_000.0), bucket.take(1, 1_000.0) > 0] == [0.0, True]


def test_a_clock_that_jumps_back_takes_nothing_away() -> None:
    bucket = TokenBucket(10, 100.0)

    assert [bucket.take(5, 0.0), bucket.take(5, -50.0), bucket.take(1, -50.0) > 0] == [0.0, 0.0, True]


def test_every_limit_can_be_set() -> None:
    names = set(Limits.__dataclass_fields__)

    assert set(LimitSettings.model_fields) == names
    assert Settings().limits() == Limits()
