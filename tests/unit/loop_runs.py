"""Loops of every kind that `balanced` is to find, made from seeds: what repeats, with noise that must not hide it.

Each entry: the step, counted from 1, at which an alarm is due at the latest, and what makes the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.honest_waiting import ids, same_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.unit.balanced_runs import Step

PAGE = "Access to this article is limited. Sign in with your institution or buy the issue to read on. " * 4
BROKEN = "!Traceback (most recent call last):\n  File \"run.py\", line 7\nModuleNotFoundError: No module named 'torch'"


def turns(count: int, *steps: Callable[[int], Step]) -> list[Step]:
    """Rounds of steps, each made from the round's number."""
    return [one(n) for n in range(count) for one in steps]


def fixed(tool: str, args: Any, answer: Any) -> Callable[[int], Step]:
    """A step that is the same in every round."""
    return lambda _: (tool, args, answer)


def shell(command: str, answer: Any = "") -> Callable[[int], Step]:
    """A command that is the same in every round."""
    return fixed("bash", {"command": command}, answer)


def spellings(commands: list[str], answer: str, count: int) -> list[Step]:
    """One command in several spellings, in turn."""
    return [("bash", {"command": commands[n % len(commands)]}, answer) for n in range(count)]


EXACT: dict[str, tuple[int, Callable[[Random], list[Step]]]] = {
    "one read": (3, lambda _: same_call("read_file", {"path": "a.py"}, ["def a(): ..."] * 6)),
    "one search without a hit": (
        3,
        lambda _: same_call("search", {"query": "the cause of it"}, ["No results found."] * 6),
    ),
    "one empty command": (3, lambda _: same_call("bash", {"command": "grep -n x y"}, [""] * 6)),
    "one failing build": (
        3,
        lambda _: same_call("bash", {"command": "make"}, ["!make: *** No rule to make target 'all'."] * 6),
    ),
    "one invalid call": (3, lambda _: same_call("create_user", {"name": ""}, ["!400 name must not be empty"] * 6)),
    "one denied call": (3, lambda _: same_call("delete_repo", {"id": 3}, ["!403 forbidden"] * 6)),
    "one rate limit without a pause": (5, lambda _: same_call("api", {"q": 1}, ["!429 too many requests"] * 9)),
    "one stuck board": (6, lambda _: same_call("board", {"team": "a"}, ["rev 3: 1 open"] * 8)),
    "one stuck job": (6, lambda _: same_call("job_status", {"id": 4}, [{"state": "RUNNING"}] * 9)),
    "a Unicode answer": (3, lambda _: same_call("查询", {"表": "用户"}, ["没有变化的结果"] * 6)),
    "keys in any order": (
        3,
        lambda c: [("query", dict(c.sample([("a", 1), ("b", 2), ("c", 3)], 3)), "the same rows") for _ in range(6)],
    ),
}
NOISY: dict[str, tuple[int, Callable[[Random], list[Step]]]] = {
    "a fresh request id in a long error": (
        3,
        lambda c: same_call("api", {"q": 1}, [f"!400 bad filter (request_id: {one})" for one in ids(c, 6)]),
    ),
    "a time before a text": (
        6,
        lambda c: same_call(
            "status_page", {}, [f"2031-01-01T10:0{n}:{c.randrange(60):02}Z all systems idle" for n in range(8)]
        ),
    ),
    "a duration behind a text": (
        6,
        lambda c: same_call(
            "bash", {"command": "pytest -q"}, [f"3 failed, 12 passed in {c.random():.2f}s" for _ in range(8)]
        ),
    ),
    "an address in a text": (
        6,
        lambda c: same_call(
            "inspect", {"o": "x"}, [f"<pkg.Set object at 0x{c.getrandbits(44):012x}>" for _ in range(8)]
        ),
    ),
    "lines in another order": (
        3,
        lambda c: same_call(
            "bash", {"command": "ls -U"}, ["\n".join(c.sample(["a.txt", "b.txt", "c.txt"], 3)) for _ in range(6)]
        ),
    ),
    "a fresh request id among the arguments": (
        3,
        lambda c: [("lookup", {"k": 5, "request_id": one}, "nothing of interest here") for one in ids(c, 6)],
    ),
    "another explanation beside the command": (
        4,
        lambda c: [("bash", {"command": "ls src", "explanation": f"look {c.random()}"}, "main.c") for _ in range(6)],
    ),
    "speed figures": (
        6,
        lambda c: same_call(
            "bash",
            {"command": "./bench"},
            [
                "\n".join(f"case {k}: {c.uniform(50, 99):.2f} MB/s on core one of the machine" for k in range(8))
                for _ in range(9)
            ],
        ),
    ),
    "other calls between": (
        12,
        lambda _: [
            step
            for n in range(8)
            for step in (
                ("stat", {"path": "x"}, "unchanged since noon"),
                *([("get", {"id": n}, f"item {n}")] if n % 2 else []),
            )
        ],
    ),
}
WORDED: dict[str, tuple[int, Callable[[Random], list[Step]]]] = {
    "spellings of a search": (
        4,
        lambda _: spellings(
            ["grep -rn name src/", "grep -nr name src", "grep -rn 'name' ./src", 'grep  -rn "name" src'],
            "a.py:3 name",
            8,
        ),
    ),
    "spellings of an overview": (
        8,
        lambda _: spellings(
            [
                "git status -s && git diff --stat",
                "git status --short; git diff --stat",
                "git diff --stat && git status -s",
            ],
            "nothing to report",
            9,
        ),
    ),
    "a page that answers everything": (
        4,
        lambda _: [
            ("browse", {"instruction": f"open the book {w} and read {x}"}, PAGE)
            for w, x in zip("abcdefgh", ("it", "page 3", "the note", "all", "on", "it now", "x", "y"), strict=True)
        ],
    ),
    "one refusal for reworded code": (
        4,
        lambda c: [
            ("python", {"code": f"import torch\nx{n} = torch.zeros({n})\nprint(x{n}, {c.random()})"}, BROKEN)
            for n in range(7)
        ],
    ),
    "one refusal for reworded SQL": (
        4,
        lambda _: [
            ("sql", {"query": f"select {a} from persons where {b} = 1"}, "!no such table: persons")
            for a, b in zip("abcdef", "uvwxyz", strict=True)
        ],
    ),
    "one refusal for many ids": (5, lambda c: [("issue_get", {"id": one}, "!404 not found") for one in ids(c, 7)]),
    "one refusal for many addressees": (
        8,
        lambda _: [("send", {"to": f"u{n}", "text": "hi"}, "!no route") for n in range(9)],
    ),
    "one error in other words": (
        7,
        lambda _: [("open_doc", {"id": f"d{n}"}, f"!cannot open 'd{n}' of shelf {n}") for n in range(9)],
    ),
    "buttons without effect": (7, lambda _: [("click", {"index": n}, "the page is unchanged") for n in range(9)]),
    "an answer about something else": (
        8,
        lambda _: [
            ("tool_search", {"q": q}, "matching tools: shell, git_log, git_diff")
            for q in (
                "stash list",
                "undo it all",
                "what was",
                "go back now",
                "the old one",
                "find it",
                "any more",
                "last try",
                "again now",
            )
        ],
    ),
    "pages past the end": (
        6,
        lambda _: [
            (
                "read_file",
                {"path": "d.rs", "offset": 900 + 40 * n, "limit": 40},
                "The file has only 320 lines and no more.",
            )
            for n in range(8)
        ],
    ),
}
ROUNDS: dict[str, tuple[int, Callable[[Random], list[Step]]]] = {
    "two questions": (6, lambda _: turns(5, fixed("lookup", {"k": 1}, "x"), fixed("search", {"q": "b"}, "y"))),
    "three questions": (9, lambda _: turns(4, *(fixed("lookup", {"k": k}, f"r{k}") for k in range(3)))),
    "five questions": (15, lambda _: turns(4, *(fixed("lookup", {"k": k}, f"r{k}") for k in range(5)))),
    "eight questions": (24, lambda _: turns(4, *(fixed("lookup", {"k": k}, f"r{k}") for k in range(8)))),
    "one edit, one red test": (
        6,
        lambda _: turns(
            5,
            fixed("edit", {"path": "a.py", "old": "x", "new": "y"}, "1 replacement"),
            shell("pytest", "1 failed: test_a"),
        ),
    ),
    "to and fro": (
        12,
        lambda _: turns(
            5,
            fixed("edit", {"path": "r.txt", "old": "1.0", "new": "2.0"}, "1 replacement"),
            shell("check", "!conflict A"),
            fixed("edit", {"path": "r.txt", "old": "2.0", "new": "1.0"}, "1 replacement"),
            shell("check", "!conflict B"),
        ),
    ),
    "a failing pair": (
        4,
        lambda _: turns(
            4, shell("rustup update", "!error: could not download"), shell("pip install x", "!error: no wheel")
        ),
    ),
    "a round with thoughts between": (
        12,
        lambda _: turns(
            5,
            shell("make", "!make: *** [all] Error 1"),
            lambda n: ("think", {"thought": f"try {n}"}, "ok"),
            fixed("read_file", {"path": "Makefile"}, "all: x"),
        ),
    ),
    "a round with one stray call": (
        11,
        lambda _: [
            *turns(2, fixed("a", {"p": 1}, "ra"), fixed("b", {"p": 2}, "rb")),
            ("z", {}, "rz"),
            *turns(4, fixed("a", {"p": 1}, "ra"), fixed("b", {"p": 2}, "rb")),
        ],
    ),
    "a round over a noisy log": (
        12,
        lambda c: turns(
            6,
            shell("systemctl restart app"),
            lambda n: ("bash", {"command": "tail -1 app.log"}, f"10:{n:02}:{c.randrange(60):02} ERROR port in use"),
        ),
    ),
}
WORK: dict[str, tuple[int, Callable[[Random], list[Step]]]] = {
    "one edit that grows a file": (
        3,
        lambda _: [
            ("insert", {"path": "a.md", "line": 1, "text": "# Title"}, f"done, {90 + n} lines now") for n in range(6)
        ],
    ),
    "one booking with fresh codes": (
        3,
        lambda c: [("book_room", {"room": 4}, f"booked, code {c.getrandbits(30):x}") for _ in range(6)],
    ),
    "one order with fresh keys": (
        3,
        lambda c: [
            ("place_order", {"sku": 7, "idempotency_key": one}, f"order {n} placed") for n, one in enumerate(ids(c, 6))
        ],
    ),
    "one message": (3, lambda _: [("send_message", {"to": "ann", "text": "hello"}, f"sent as m{n}") for n in range(6)]),
    "messages to one address": (
        6,
        lambda _: [("send_message", {"to": "ann", "text": f"are you there, {n}"}, "queued") for n in range(9)],
    ),
    "one file rewritten": (
        12,
        lambda c: [("write_file", {"path": "a.md", "content": f"draft {c.random()}"}, "ok") for _ in range(14)],
    ),
    "plans": (6, lambda c: [("update_plan", {"plan": [f"step {c.random()}"]}, "Plan updated") for _ in range(9)]),
    "invented tools": (
        3,
        lambda c: [(f"magic_{c.getrandbits(20)}", {"n": n}, f"!Unknown tool: magic_{n}") for n in range(6)],
    ),
    "replies in no format": (
        4,
        lambda c: [("<no_action>", {"text": f"t{c.random()}"}, "Please provide exactly one action.") for _ in range(7)],
    ),
    "nothing new in many ways": (
        20,
        lambda c: [
            *(("lookup", {"k": k}, f"r{k}") for k in range(6)),
            *(("lookup", {"k": k}, f"r{k}") for k in c.sample([0, 1, 2, 3, 4, 5] * 2, 12)),
            ("lookup", {"k": 0}, "r0"),
        ],
    ),
    "lines read again": (
        30,
        lambda _: [
            ("read_file", {"path": "d.rs", "offset": n % 320, "limit": 40}, f"part {n % 320} of it")
            for n in range(0, 1280, 40)
        ],
    ),
}
LOOPS = EXACT | NOISY | WORDED | ROUNDS | WORK
