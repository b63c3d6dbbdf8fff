"""Opens runs with random configurations, right and wrong ones, on the engine and on the slow reference model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard.config import Configuration
from loopguard.engine import Engine
from loopguard.errors import InvalidConfig
from loopguard.model import RunOpen
from tests.reference.configuration import check_block
from tests.reference.run import ReferenceRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WALKS = os.environ.get("LOOPGUARD_WALKS")
INTEGERS = st.one_of(st.integers(-1, 40), st.sampled_from([None, 10.0, 2.5, "5", True, [3]]))
BOOLEANS = st.sampled_from([True, False, None, 1, "on"])
BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "enabled": BOOLEANS,
        "historySize": INTEGERS,
        "warningThreshold": INTEGERS,
        "criticalThreshold": INTEGERS,
        "globalCircuitBreakerThreshold": INTEGERS,
        "unknownToolThreshold": INTEGERS,
        "detectors": st.one_of(st.none(), st.dictionaries(st.sampled_from(["pingPong", "argumentChurn"]), BOOLEANS)),
        "postCompactionGuard": st.one_of(st.none(), st.fixed_dictionaries({"windowSize": INTEGERS})),
        "failOpen": BOOLEANS,
        "maxLoops": st.just(3),
    },
)


@settings(max_examples=int(WALKS or 300), derandomize=WALKS is None, deadline=None, database=None)
@given(BLOCKS)
def test_configurations_are_refused_alike(config: dict[str, Any]) -> None:
    found = refused_key(lambda opened: Engine(Configuration.empty()).open(opened), config)

    mistakes = {key for single in singles(config) if (key := refused_key(check_alone, single))}
    # Of several mistakes inside blocks any may be named first; the merged values have an order.
    assert found in mistakes if mistakes else found == refused_key(ReferenceRun, config)


def singles(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from ({key: {inner: item}} for inner, item in value.items())
        else:
            yield {key: value}


def check_alone(opened: RunOpen) -> None:
    check_block(opened.config)


def refused_key(opener: Callable[[RunOpen], object], config: dict[str, Any]) -> str:
    try:
        opener(RunOpen("walk", config=config))
    except InvalidConfig as refusal:
        return refusal.key
    return ""
