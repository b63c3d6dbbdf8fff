"""The packed records against the walks of the reference model, and what a record keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard.fingerprints import CallPrint, Kind, OutcomePrint
from loopguard.history import History
from tests.reference import detect
from tests.reference.outcome import Settled

if TYPE_CHECKING:
    from tests.reference.detect import Entry

TOOLS = ("exec", "read", "ghost")
KIND_NAMES = {Kind.PENDING: "pending", Kind.DONE: "done", Kind.REJECT: "reject", Kind.VETO: "veto"}


def digest(number: int) -> bytes:
    return bytes([number]) * 16


def print_of(tool: str, number: int) -> CallPrint:
    return CallPrint(tool, digest(number), False, tool == "wait", False, "", 0)


RECORDS = st.tuples(
    st.sampled_from(TOOLS),
    st.integers(0, 2),
    st.sampled_from(Kind),
    st.integers(0, 1),
    st.sampled_from((None, 0, 1)),
    st.booleans(),
    st.sampled_from(("", "ghost", "spook")),
)


def named(value: bytes | None) -> tuple[str, str] | None:
    """Return a digest as the reference has it."""
    return None if value is None else ("", value.hex())


def outcome_of(kind: Kind, number: int, identity: int | None, stuck: bool, missing: str) -> OutcomePrint:
    has_digest = kind in (Kind.DONE, Kind.REJECT)
    return OutcomePrint(
        kind,
        digest(100 + number) if has_digest else None,
        failed=stuck and has_digest,
        stuck=stuck and has_digest,
        identity=digest(200 + identity) if identity is not None and kind is Kind.DONE else None,
        missing_tool=missing if has_digest else "",
    )


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 12), st.lists(RECORDS, max_size=24), st.sampled_from(TOOLS), st.integers(0, 2))
def test_counts_equal_the_slow_walks(size: int, records: list[tuple], tool: str, number: int) -> None:  # type: ignore[type-arg]
    history = History(size)
    slow: list[Entry] = []
    for its_tool, args, kind, *rest in records:
        outcome = outcome_of(kind, *rest)
        history.append_complete(print_of(its_tool, args), outcome)
        settled = Settled(
            kind=KIND_NAMES[kind],
            digest=named(outcome.digest),
            failed=outcome.failed,
            stuck=outcome.stuck,
            failure_identity=named(outcome.identity),
            missing_tool=outcome.missing_tool or None,
        )
        slow.append(detect.Entry(its_tool, (its_tool, digest(args)), settled))
    slow = slow[-size:]
    signature = (tool, digest(number))

    facts = history.facts(print_of(tool, number), 0)

    streak, anchor = detect.signature_streak(slow, signature)
    alternation = detect.alternation_of(slow, signature)
    expected = {
        "records": sum(entry.signature == signature for entry in slow),
        "no_progress": streak,
        "exec_failures": detect.exec_failure_streak(slow, signature) if tool == "exec" else 0,
        "unknown": detect.unknown_tool_streak(slow, tool),
        "alternation": alternation.count if alternation else 0,
        "proven": bool(alternation and alternation.proof),
        "churn": detect.churn_total(slow, detect.Asked(tool, signature, "")),
    }
    if facts is None:
        # The tool stands nowhere in the history.
        assert not any(expected.values())
        return
    assert {name: getattr(facts, name) for name in expected} == expected
    assert named(facts.anchor or None) == anchor
    if alternation:
        assert facts.paired == alternation.other
    for name in ("records", "no_progress", "unknown"):
        assert len(facts.evidence(name).call_ids) == 0  # records of `history` have no ids


@given(st.lists(st.text(max_size=300), min_size=1, max_size=60), st.integers(1, 30))
def test_ids_of_any_length_stay_with_their_records(ids: list[str], size: int) -> None:
    history = History(size)

    for call_id in ids:
        history.append(TOOLS[0], digest(1), call_id)

    assert [history.record(position)[2] for position in range(len(history))] == ids[-size:]


def test_an_id_may_hold_a_lone_surrogate() -> None:
    history = History(2)

    history.append("read", digest(1), "\ud800")

    assert history.record(0)[2] == "\ud800"


def test_a_record_keeps_what_it_was_settled_with() -> None:
    history = History(3)
    number = history.append("read", digest(1), "c1")

    assert history.settle(number, Kind.DONE, digest(9), None, True, True, "ghost", ("pid",))

    assert history.record(0) == ("read", digest(1), "c1", Kind.DONE, digest(9), True, True, "ghost", ("pid",))


def test_a_record_that_left_the_window_is_not_settled() -> None:
    history = History(2)
    number = history.append("read", digest(1))
    history.append("read", digest(2))
    history.append("read", digest(3))

    assert not history.settle(number, Kind.DONE, digest(9), None, False, False, "", ())
    assert not history.settle(number + 5, Kind.DONE, digest(9), None, False, False, "", ())


def test_a_copy_goes_its_own_way() -> None:
    history = History(5)
    history.append("read", digest(1), "c1")

    twin = history.copy()
    twin.append("write", digest(2), "c2")

    assert (len(history), len(twin), type(twin)) == (1, 2, History)
    assert twin.record(0)[2] == "c1"


def test_names_that_left_the_window_are_swept() -> None:
    history = History(3)

    for index in range(500):
        number = history.append(f"tool-{index}", digest(index % 200), f"c{index}")
        history.settle(number, Kind.DONE, digest(1), None, True, True, f"missing-{index}", (f"kind-{index}",))

    assert [history.record(position)[0] for position in range(3)] == ["tool-497", "tool-498", "tool-499"]
    assert [history.record(position)[7:] for position in range(3)] == [
        (f"missing-{index}", (f"kind-{index}",)) for index in (497, 498, 499)
    ]


def test_a_huge_history_takes_no_room_before_it_is_used() -> None:
    history = History(2**53)

    history.append("read", digest(1))

    assert len(history) == 1


@pytest.mark.parametrize("wrong", [b"", b"x" * 15, b"x" * 17])
def test_a_digest_of_another_size_is_refused(wrong: bytes) -> None:
    history = History(3)

    with pytest.raises(ValueError, match="16 bytes"):
        history.append("read", wrong)


def test_a_position_outside_is_refused() -> None:
    with pytest.raises(IndexError):
        History(3).record(0)


def test_facts_are_none_where_no_count_reaches_the_lowest() -> None:
    history = History(10)
    for _ in range(4):
        history.append("read", digest(1))

    assert history.facts(print_of("read", 1), 5) is None
    assert history.facts(print_of("read", 1), 4) is not None
