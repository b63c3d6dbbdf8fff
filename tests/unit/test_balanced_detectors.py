"""Each detector of profile `balanced` on both sides of its threshold: silent a step before, warning at it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from loopguard.model import Call, Outcome, Status
from tests.unit.balanced_runs import Step, call, first_alarm, open_balanced, play, remember

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = "The page you asked for is shown here in full, with its title, its text and the links at the bottom of it. " * 2
LOG = "epoch {n} of the training is over, loss {n}.5, accuracy {n}.25, samples {n}00, learning rate {n}.1\n" * 4


def repeat(args: object, text: str, tool: str = "lookup") -> Iterator[Step]:
    while True:
        yield tool, args, text


def numbered(make: Callable[[int], Step]) -> Iterator[Step]:
    number = 0
    while True:
        yield make(number)
        number += 1


def in_turn(*steps: Step) -> Iterator[Step]:
    while True:
        yield from steps


def spread(number: int) -> Step:
    return ("lookup", {"k": "same"}, "one") if number % 2 == 0 else ("lookup", {"k": f"n{number}"}, f"other {number}")


CASES: dict[str, tuple[Iterator[Step], int, str]] = {
    "the same call and answer": (repeat({"q": 1}, "x"), 3, "repeat"),
    "a job asked about": (repeat({"id": 7}, "job is running"), 6, "repeat"),
    "a failure that may pass": (repeat({"q": 1}, "!429 too many requests"), 5, "repeat"),
    "an unpaid account": (repeat({"q": 1}, "!429 no credit left"), 3, "repeat"),
    "blanks and slashes": (
        in_turn(
            ("bash", {"command": "grep -rn  name src/"}, "a.py:3 name"),
            ("bash", {"command": "grep -nr name src"}, "a.py:3 name"),
            ("bash", {"command": "grep -rn 'name' ./src"}, "a.py:3 name"),
            ("bash", {"command": 'grep -rn "name"   src/'}, "a.py:3 name"),
        ),
        4,
        "near_repeat",
    ),
    "outcomes that differ in numbers": (
        numbered(lambda n: ("train", {"config": "a"}, LOG.format(n=(7, 3, 9, 5, 8)[n % 5]))),
        4,
        "likely_repeat",
    ),
    "one failure, free text reworded": (
        numbered(
            lambda n: (
                "sql",
                {"query": f"select name, {'abc'[n % 3]} from people where id < {n} limit 3"},
                "!no table people",
            )
        ),
        3,
        "error_streak",
    ),
    "one failure, structured arguments": (
        numbered(lambda n: ("issue_get", {"id": n}, "!404 not found")),
        4,
        "error_streak",
    ),
    "one signature, details differ": (
        numbered(lambda n: ("issue_get", {"id": f"i{n}"}, f"!cannot find 'i{n}' in list {n}")),
        6,
        "error_streak",
    ),
    "one error of many tools": (numbered(lambda n: (f"tool_{n}", {"n": n}, f"!EPERM {n}")), 6, "error_cascade"),
    "a red test again and again": (
        numbered(lambda n: ("bash", {"command": f"run {n} tests of part p{n}p again please"}, "!Test did not pass.")),
        7,
        "error_streak",
    ),
    "a text that answers everything": (
        numbered(lambda n: ("surf", {"instruction": f"open the book at page {n} and read the note"}, PAGE)),
        3,
        "same_answer",
    ),
    "a sentence that answers everything": (
        numbered(lambda n: ("click", {"index": n}, "page#77 unchanged")),
        6,
        "same_answer",
    ),
    "two rounds with a failure": (
        in_turn(("lookup", {"k": 1}, "x"), ("build", {"k": 2}, "!boom")),
        4,
        "cycle",
    ),
    "three rounds without one": (
        in_turn(("lookup", {"k": 1}, "x"), ("look", {"k": 2}, "y"), ("see", {"k": 3}, "z")),
        7,
        "repeat",
    ),
    "other news between": (numbered(spread), 9, "spread_repeat"),
    "one edit that takes each time": (
        numbered(lambda n: ("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}, f"done, {90 + n} lines now")),
        3,
        "same_effect",
    ),
    "one booking with fresh codes": (
        numbered(lambda n: ("book_room", {"room": 4}, f"booked, code QK{n}TR")),
        3,
        "same_effect",
    ),
    "one booking with fresh request ids": (
        numbered(lambda n: ("book_room", {"room": 4, "request_id": f"r-{n}"}, f"booked, code QK{n}TR")),
        3,
        "same_effect",
    ),
    "a file written anew": (
        numbered(lambda n: ("write", {"path": "a.md", "content": f"try-{n}"}, f"ok {n}")),
        12,
        "rewrite",
    ),
    "messages to one address": (numbered(lambda n: ("send", {"to": "x", "text": f"t{n}"}, "queued")), 6, "resend"),
    "a plan reworded": (numbered(lambda n: ("update_plan", {"plan": [f"s{n}"]}, "Plan updated")), 6, "plan_churn"),
    "replies in no format": (
        numbered(lambda n: ("<no_action>", {"text": f"t{n}"}, "Please provide exactly one action.")),
        4,
        "rejected_replies",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_warns_at_the_threshold_and_not_before(name: str) -> None:
    steps, due, detector = CASES[name]

    alarm = first_alarm(islice(steps, due + 1))

    assert alarm == (due, f"WARN {detector}")


KEYS = {
    "repeat": ("the same call and answer", 3),
    "poll": ("a job asked about", 6),
    "sameEdits": ("one booking with fresh codes", 3),
    "cascade": ("one error of many tools", 6),
}


@pytest.mark.parametrize("key", KEYS)
def test_a_threshold_can_be_set(key: str) -> None:
    make = {
        "repeat": lambda _: ("lookup", {"q": 1}, "x"),
        "poll": lambda _: ("lookup", {"q": 1}, "still running"),
        "sameEdits": lambda n: ("book_room", {"room": 4}, f"booked, code QK{n}TR"),
        "cascade": lambda n: (f"tool_{n}", {"n": n}, f"!EPERM {n}"),
    }[key]
    _, usual = KEYS[key]

    alarm = first_alarm(islice(numbered(make), usual + 3), **{key: usual + 1, "blockAttempt": 9})

    assert alarm is not None
    assert alarm[0] == usual + 1


def test_unknown_tools_under_any_name_are_one_storm() -> None:
    run = open_balanced()
    told = []
    for number in range(3):
        asked = run.judge([Call(f"magic_{number}", b"{}")])[0]
        told.append(run.observe(Outcome(asked.call_id, status=Status.UNKNOWN_TOOL)).action)

    assert told == ["ALLOW", "ALLOW", "WARN"]


def test_a_run_without_news_is_told_so() -> None:
    steps: list[Step] = [("lookup", {"k": k}, f"v{k}") for k in range(9)]
    again = [("lookup", {"k": (k * 5 + 2) % 9}, f"v{(k * 5 + 2) % 9}") for k in range(8)]
    run = open_balanced(spreadRepeat=99, repeat=9, nearRepeat=99, rounds=99, blockAttempt=99)

    told = play(run, [*steps, *again])

    assert told == ["ALLOW"] * 16 + ["WARN stall"]


def test_lines_already_read_are_no_news() -> None:
    first = [("read_file", {"path": "d.rs", "offset": n, "limit": 40}, f"lines {n}") for n in range(0, 320, 40)]
    second = [("read_file", {"path": "d.rs", "offset": n, "limit": 40}, f"part {n}") for n in range(20, 280, 30)]

    told = play(open_balanced(), [*first, *second])

    assert told[:8] == ["ALLOW"] * 8
    assert "WARN stall" in told[8:]


def test_calls_of_one_response_are_one_attempt() -> None:
    run = open_balanced()
    asked = run.judge([Call("read_file", b'{"path": "a"}')] * 6)

    told = [run.observe(Outcome(one.call_id, result=b'"text"')).action for one in asked]

    assert told == ["ALLOW"] * 6


def test_a_client_that_hashes_by_itself_is_watched_too() -> None:
    run = open_balanced()
    told = []
    for _ in range(3):
        asked = run.judge([Call("lookup", args_digest=b"a" * 16)])[0]
        told.append(run.observe(Outcome(asked.call_id, result_digest=b"r" * 16)).action)

    assert told == ["ALLOW", "ALLOW", "WARN"]


def test_what_already_happened_counts() -> None:
    run = open_balanced()
    remember(run, islice(repeat({"q": 1}, "x"), 3))

    assert run.judge([call("lookup", {"q": 1})])[0].action == "WARN"
