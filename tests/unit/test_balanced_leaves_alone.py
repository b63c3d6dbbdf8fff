"""Honest work that looks like a loop: profile `balanced` says nothing, or at most a word."""

from __future__ import annotations

import pytest

from tests.unit.balanced_runs import Step, open_balanced, play

EMPTY = '{"rows": [], "count": 0, "elapsed_ms": 3}'

QUIET: dict[str, list[Step]] = {
    "polling while the state moves": [("job_status", {"id": 1}, f"{10 * n} % done") for n in range(10)],
    "batch work over ids with one answer": [("flight_status", {"id": f"F{n}"}, "available") for n in range(9)],
    "paging forward": [("list_items", {"page": n}, f"items {n * 10} to {n * 10 + 9}") for n in range(9)],
    "a test run again after edits that do not help": [
        step
        for n in range(7)
        for step in (
            ("edit", {"path": "a.py", "old": f"x{n}", "new": f"y{n}"}, "1 replacement"),
            ("bash", {"command": "pytest -q"}, "FAILED test_a.py::test_b - assert 1 == 2"),
        )
    ],
    "a retry that works": [
        ("fetch", {"url": "u"}, "!503 service unavailable"),
        ("fetch", {"url": "u"}, "!503 service unavailable"),
        ("fetch", {"url": "u"}, "!503 service unavailable"),
        ("fetch", {"url": "u"}, "the page"),
    ],
    "a sweep with empty answers": [("search_flights", {"day": f"2031-01-{n:02}"}, EMPTY) for n in range(1, 13)],
    "state changed without an answer": [("bash", {"command": f"mkdir -p out/d{n}"}, "") for n in range(12)],
    "looking about with other words": [("bash", {"command": f"grep -rn {w} ."}, "") for w in "abcdefghijkl"],
    "one edit in many files": [
        ("edit", {"path": f"f{n}.py", "old": "^", "new": "# c"}, "1 replacement") for n in range(9)
    ],
    "many edits in one file": [
        ("edit", {"path": "big.py", "old": f"def f{n}():", "new": f"def f{n}():\n  'doc {n}'"}, "1 replacement")
        for n in range(14)
    ],
    "steps from a hidden position": [("press_key", {"key": "Down"}, "ok") for _ in range(9)],
    "steps that show other things": [("scroll", {"down": True}, f"block {n}") for n in range(9)],
    "back to the list between items": [
        step for n in range(6) for step in (("go_back", {}, "the list of items"), ("click", {"id": n}, f"item {n}"))
    ],
    "read again after the edit": [
        step
        for n in range(5)
        for step in (
            ("read_file", {"path": "a.py", "offset": 1, "limit": 40}, f"text {n}"),
            ("edit", {"path": "a.py", "old": f"x{n}", "new": f"y{n}"}, "1 replacement"),
        )
    ],
    "one command in many directories": [("exec", {"command": "ls", "cwd": f"/u{n}"}, f"dir {n}") for n in range(6)],
    "replies rejected now and then": [
        step
        for n in range(5)
        for step in (
            ("<no_action>", {}, "!Please provide exactly one action."),
            ("read_file", {"path": f"f{n}"}, f"text {n}"),
            ("read_file", {"path": f"g{n}"}, f"text {n} of g"),
        )
    ],
}


@pytest.mark.parametrize("name", QUIET)
def test_honest_work_hears_nothing(name: str) -> None:
    told = play(open_balanced(), QUIET[name])

    assert set(told) == {"ALLOW"}


HINTED: dict[str, list[Step]] = {
    "rows inserted and acknowledged": [("mcp.insert", {"row": n}, "ok") for n in range(20)],
    "different questions, no results": [("search", {"q": w}, "no results") for w in "abcdefgh"],
    "an edit that fails three times and is then put right": [
        *[("str_edit", {"p": "x"}, "!old text not found")] * 3,
        ("str_edit", {"p": "x", "old": "real"}, "ok"),
    ],
    "a server that is waited for": [
        *[("bash", {"command": "sleep 2 && curl -s localhost:8000"}, "!curl: (7) connection refused")] * 8,
        ("bash", {"command": "sleep 2 && curl -s localhost:8000"}, "up"),
    ],
    "two jobs asked about in turn": [
        step for _ in range(5) for step in (("process", {"action": "poll", "id": "a"}, "running"),)
    ],
}


@pytest.mark.parametrize("name", HINTED)
def test_honest_work_is_never_stopped(name: str) -> None:
    told = play(open_balanced(), HINTED[name])

    assert not [one for one in told if one.startswith(("BLOCK", "ABORT"))]


def test_pauses_that_grow_are_patience() -> None:
    times = (0, 2, 6, 14, 30, 62, 126)
    steps: list[Step] = [("build_log", {"id": 1}, "compiling")] * len(times)

    told = play(open_balanced(), steps, at=times)

    assert set(told) == {"ALLOW"}


def test_pauses_that_do_not_grow_are_none() -> None:
    steps: list[Step] = [("build_log", {"id": 1}, "part 3 of it")] * 4

    told = play(open_balanced(), steps, at=(0, 2, 4, 6))

    assert told[2] == "WARN repeat"


def test_long_pauses_are_patience_up_to_a_point() -> None:
    steps: list[Step] = [("build_log", {"id": 1}, "compiling")] * 30

    told = play(open_balanced(), steps, at=[40.0 * n for n in range(30)])

    assert set(told[:20]) == {"ALLOW"}
    assert "WARN repeat" in told
