from __future__ import annotations

from collections import Counter

import pytest

from loopguard import AsyncGuardClient, GuardClient
from loopguard.client.routing import Router

NODES = [f"node-{number}:50051" for number in range(5)]
RUNS = [f"run-{number}" for number in range(5_000)]


class Clock:
    s = 100.0

    def __call__(self) -> float:
        return self.s


def test_runs_are_spread_evenly_and_alike_whatever_the_order() -> None:
    placed = {run: Router(NODES, Clock()).place(run) for run in RUNS}

    assert placed == {run: Router(NODES[::-1], Clock()).place(run) for run in RUNS}
    assert all(800 < count < 1_200 for count in Counter(placed.values()).values())


def test_only_the_runs_of_a_lost_node_move_and_come_back_with_it() -> None:
    clock = Clock()
    router = Router(NODES, clock)
    before = {run: router.place(run) for run in RUNS}

    router.failed(NODES[2])
    without = {run: router.place(run) for run in RUNS}
    router.answered(NODES[2])

    assert {run for run in RUNS if without[run] != before[run]} == {run for run in RUNS if before[run] == NODES[2]}
    assert len({without[run] for run in RUNS if before[run] == NODES[2]}) == 4
    assert {run: router.place(run) for run in RUNS} == before


def test_a_node_that_failed_is_tried_again_later_and_later() -> None:
    clock = Clock()
    router = Router(NODES[:2], clock)
    run = next(run for run in RUNS if router.place(run) == NODES[0])
    waits = []
    for _ in range(7):
        router.failed(NODES[0])
        began = clock.s
        while router.place(run) != NODES[0]:
            clock.s += 0.5
        waits.append(clock.s - began)

    assert waits == [1, 2, 4, 8, 16, 30, 30]


def test_with_every_node_lost_runs_stay_where_they_belong() -> None:
    router = Router(NODES, Clock())
    before = {run: router.place(run) for run in RUNS}
    for node in NODES:
        router.failed(node)

    assert {run: router.place(run) for run in RUNS} == before


@pytest.mark.parametrize("client", [GuardClient, AsyncGuardClient])
def test_a_client_needs_an_endpoint(client: type[GuardClient | AsyncGuardClient]) -> None:
    with pytest.raises(ValueError, match="an endpoint at least"):
        client([])
