"""What the notes say, what can be changed about them, and what must never stand in them."""

from __future__ import annotations

from typing import Any

import pytest

from loopguard.errors import InvalidConfig
from loopguard.model import Mode, Status
from loopguard.notes import Notes
from tests.unit.runs import FAILURE, UNCHANGED, call, check, guarded, open_run, play, remember

WORDS: dict[str, object] = {"tool": "read", "count": 7, "threshold": 5}
BLOCKS = [
    "unknown_tool_repeat.critical",
    "global_circuit_breaker.critical",
    "known_poll_no_progress.critical",
    "ping_pong.critical",
    "generic_repeat.critical",
    "admission_failure.critical",
    "blocked_sibling",
]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_says_what_to_do_instead(name: str) -> None:
    note = Notes().of(name, WORDS)

    assert "Do not repeat it" in note
    for way_out in ("answer", "ask", "another tool", "other arguments"):
        assert way_out in note


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("unknown_tool_repeat.critical", ("ghost", "7")),
        ("global_circuit_breaker.critical", ("read", "7", "blocked")),
        ("known_poll_no_progress.critical", ("read", "7", "same arguments", "no progress")),
        ("known_poll_no_progress.warning", ("read", "7", "same arguments", "no progress", "Wait longer", "failed")),
        ("ping_pong.critical", ("7", "no progress", "blocked")),
        ("ping_pong.warning", ("7", "read", "write")),
        ("generic_repeat.critical", ("read", "7", "identical outcomes", "blocked")),
        ("generic_repeat.warning", ("read", "7", "identical arguments", "no progress", "stop")),
        ("argument_churn.warning", ("read", "7", "3 variants", "still allowed")),
        ("blocked_sibling", ("Not run", "another call")),
        ("compaction_loop_persisted.critical", ("read", "7", "window 5")),
        ("identical_error.critical", ("read", "7", "failed", "Check the arguments", "native tool calls")),
    ],
)
def test_a_note_says_what_it_has_to(name: str, parts: tuple[str, ...]) -> None:
    words = WORDS | {"missing_tool": "ghost", "paired_tool": "write", "variants": 3, "outcomes": "outcomes"}

    note = Notes().of(name, words)

    assert [part for part in parts if part not in note] == []


def test_failures_are_called_failures() -> None:
    run = guarded()
    remember(run, FAILURE, times=5)

    note = check(run).note

    assert "identical failures" in note
    assert "result" not in note


def test_unchanged_writes_are_no_failures_beside_successes() -> None:
    run = guarded()
    remember(run, UNCHANGED, "write", times=5)

    assert "identical outcomes" in check(run, "write").note


def test_a_name_from_the_model_is_cut_and_cleaned() -> None:
    run = guarded()
    name = "a\u202e\x1b[31m" + "b" * 500
    remember(run, tool=name, times=5)

    note = check(run, name).note

    assert "b" * 70 not in note
    assert "\x1b" not in note
    assert "\u202e" not in note


def test_no_argument_or_result_reaches_a_note() -> None:
    secret = '{"password": "hunter2", "command": "hunter2"}'
    endings: list[dict[str, Any]] = [
        {"status": Status.ERROR, "error": b'"Unknown tool: ghost, hunter2"'},
        {"result": b'"hunter2"'},
    ]
    for ending in endings:
        run = guarded(Mode.OBSERVE)
        notes = []
        for _ in range(6):
            notes.append(run.judge([call("exec", secret)])[0].note)
            notes.append(play(run, ending, "exec", secret).note)
        run.compaction_retry()
        notes.append(play(run, ending, "exec", secret, times=3).note)

        assert any(notes)
        assert "hunter2" not in "".join(notes)


def test_a_text_can_be_replaced_for_one_level_or_both() -> None:
    both = Notes({"generic_repeat": "{tool} again ({count} of {threshold})"})
    one = Notes({"generic_repeat": {"warning": "slow down"}})

    assert both.of("generic_repeat.warning", WORDS) == "read again (7 of 5)"
    assert both.of("generic_repeat.critical", WORDS).startswith("read again (7 of 5) Do not repeat it")
    assert one.of("generic_repeat.warning", WORDS) == "slow down"
    assert one.of("generic_repeat.critical", WORDS) == Notes().of("generic_repeat.critical", WORDS)


def test_the_advice_can_be_replaced_too() -> None:
    notes = Notes({"advice": "Lass es.", "blocked_sibling": "Nicht ausgeführt. {advice}"})

    assert notes.of("blocked_sibling", WORDS) == "Nicht ausgeführt. Lass es."


@pytest.mark.parametrize(
    "custom",
    [
        {"generic_repeat": "{args}"},
        {"generic_repeat": "{tool!r}"},
        {"generic_repeat": "{count:>1000000}"},
        {"generic_repeat": "{tool.__class__}"},
        {"generic_repeat": "{}"},
        {"generic_repeat": "{tool"},
        {"no_such_detector": "text"},
        {"argument_churn": {"critical": "text"}},
    ],
)
def test_texts_that_can_not_be_filled_are_refused(custom: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfig) as refusal:
        Notes(custom)

    assert refusal.value.key == f"loopguard.notes.{next(iter(custom))}"


@pytest.mark.parametrize("text", ["{count:>9}", "{count!r}"])
def test_a_placeholder_with_a_format_is_said_to_take_none(text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"the placeholder \{count\} takes no format"):
        Notes({"generic_repeat": text})


def test_the_note_of_a_guard_stands_on_the_outcomes_answer() -> None:
    assert "failed 3 times" in play(open_run(), FAILURE, times=3).note
