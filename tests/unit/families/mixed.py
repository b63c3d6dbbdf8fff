"""Failures told in plain words, sweeps with long answers, jobs in lists, and other shapes that were still lacking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import (
    Honest,
    Loop,
    each,
    ended,
    hexed,
    plain,
    prose,
    refused,
    text,
    times,
    token,
    word,
    words,
)

if TYPE_CHECKING:
    from random import Random


def hotels(c: Random) -> list[Any]:
    """One list whatever the price: a sweep that comes to the same each time."""
    found = {
        "hotels": [
            {"name": prose(c, 3), "rating": c.randrange(50) / 10, "address": prose(c, 5), "rooms": c.randrange(9)}
            for _ in range(5)
        ]
    }
    return [("search_hotels", {"city": "Lisbon", "max_price": 80 + 40 * n}, found) for n in range(5)]


def copies(c: Random) -> list[Any]:
    licence = prose(c, 90)
    return [("read_file", {"path": f"packages/{one}/LICENSE"}, licence) for one in words(c, 5)]


def job_list(c: Random) -> list[Any]:
    """Jobs in a list, looked at until the last one has ended."""
    shown = [{"id": n, "status": "done" if n < 2 else "RUNNING", "owner": word(c)} for n in range(3)]
    return [("list_jobs", {"queue": "nightly"}, {"jobs": shown}) for _ in range(5)] + [
        ("list_jobs", {"queue": "nightly"}, {"jobs": []})
    ]


def two_jobs(_: Random) -> list[Any]:
    return [
        step
        for _ in range(4)
        for step in (
            ("get_job", {"id": "a"}, {"id": "a", "state": "running"}),
            ("get_job", {"id": "b"}, {"id": "b", "state": "running", "step": "fit"}),
        )
    ] + [("get_job", {"id": "a"}, {"id": "a", "state": "done"})]


def table(c: Random) -> list[Any]:
    rows = [f"web-{hexed(c, 5)}   0/1   ContainerCreating   0" for _ in range(3)]
    return [("bash", {"command": "kubectl get pods --no-headers"}, ended("\n".join(rows))) for _ in range(5)] + [
        (
            "bash",
            {"command": "kubectl get pods --no-headers"},
            ended(rows[0].replace("0/1   ContainerCreating", "1/1   Running")),
        )
    ]


def viewed(c: Random) -> list[Any]:
    """A view, an edit that does not fit, a second look, an edit that does."""
    return each(
        5,
        lambda n: [
            ("view", {"path": f"src/{n}.py"}, prose(c, 60)),
            (
                "str_replace",
                {"path": f"src/{n}.py", "old_str": prose(c, 4), "new_str": prose(c, 4)},
                refused("No match found for the text to replace"),
            ),
            ("str_replace", {"path": f"src/{n}.py", "old_str": prose(c, 4), "new_str": prose(c, 4)}, "ok"),
            ("bash", {"command": "go build ./..."}, ended("")),
        ],
    )


def stressed(c: Random) -> list[Any]:
    return [
        (
            "bash",
            {"command": f"go test -run TestPool -count=1 -race ./pool && echo round {n}"},
            ended(f"ok  \tpool\t{c.random():.3f}s\nround {n}"),
        )
        for n in range(8)
    ]


def columns(_: Random) -> list[Any]:
    return [
        (
            "sheet_set_format",
            {"range": f"{one}1:{one}90", "format": "0.00"},
            {
                "updated": True,
                "sheet": "Sheet1",
                "format": {"type": "NUMBER", "pattern": "0.00"},
                "conditional": [],
                "locale": "en_US",
                "frozen": {"rows": 1, "columns": 0},
                "protected": False,
            },
        )
        for one in "BCDEFGHIJ"
    ]


def accounts(c: Random) -> list[Any]:
    """Roles given in a cloud; the answer is the whole policy, with a fresh tag."""
    policy = [{"role": f"roles/{one}", "members": [f"user:{one}@example.com"]} for one in words(c, 4)]
    return [
        (
            "iam_add_binding",
            {"project": "p1", "member": f"user:{one}@example.com", "role": "roles/viewer"},
            {"bindings": policy, "etag": token(c, 8), "version": 1},
        )
        for one in words(c, 8)
    ]


def explained(c: Random) -> list[Any]:
    """Plans of queries: long, and alike but for numbers."""
    return [
        (
            "run_sql",
            {"query": f"EXPLAIN SELECT * FROM {one} WHERE id = 4"},
            text(
                f"Index Scan using {one}_pkey on {one}  "
                f"(cost=0.{c.randrange(90)}..{c.randrange(9)}.{c.randrange(90)} rows=1 "
                f"width={c.randrange(90)})\n  Index Cond: (id = 4)"
            ),
        )
        for one in words(c, 8)
    ]


def rewritten(c: Random) -> list[Any]:
    """A draft written, read by a critic, written anew."""
    return each(
        6,
        lambda _: [
            ("write_file", {"path": "draft.md", "content": prose(c, 80)}, "ok"),
            ("critic", {"path": "draft.md"}, prose(c, 30)),
        ],
    )


def levels(c: Random) -> list[Any]:
    """A valve opened step by step until the level is right."""
    return each(
        8,
        lambda n: [
            ("open_valve", {"id": 3, "by_percent": 5}, {"ok": True}),
            ("read_level", {"tank": 3}, {"level_mm": 400 + 17 * n + c.randrange(5)}),
        ],
    )


def hunted(_: Random) -> list[Any]:
    """A command that fails through several honest repairs, each another one."""
    fixes = [
        "export LD_LIBRARY_PATH=/opt/lib",
        "ldconfig",
        "ln -sf /opt/lib/libx.so /usr/lib/libx.so",
        "apt-get install -y libx",
        "chmod +x /opt/bin/app",
    ]
    said = ended("app: error while loading shared libraries: libx.so: cannot open shared object file", 127)
    return [
        step
        for fix in fixes
        for step in (("bash", {"command": fix}, ended("")), ("bash", {"command": "/opt/bin/app --version"}, said))
    ] + [("bash", {"command": "/opt/bin/app --version"}, ended("1.2"))]


def slides(c: Random) -> list[Any]:
    return [
        (
            "add_slide",
            {"title": prose(c, 3), "layout": "two columns"},
            {
                "slide_index": n,
                "layout": "two columns",
                "placeholders": ["title", "left", "right"],
                "theme": {"name": "plain", "font": "Inter", "accent": "#3355aa"},
                "notes": "",
                "hidden": False,
                "transitions": [],
            },
        )
        for n in range(9)
    ]


def silent_tools(c: Random) -> list[Any]:
    return [("mqtt_publish", {"topic": f"home/{one}/set", "payload": "OFF"}, None) for one in words(c, 9)]


def numbers_alone(c: Random) -> list[Any]:
    """One setting raised by one each time, the outcome looked at."""
    return each(
        7,
        lambda n: [
            ("set_threads", {"count": n + 1}, "ok"),
            ("benchmark", {}, {"requests_per_second": 900 + c.randrange(300)}),
        ],
    )


HONEST: dict[str, Honest] = {
    "one list of hotels whatever the price": Honest(hotels),
    "copies of one licence": Honest(copies),
    "jobs in a list": Honest(job_list),
    "two jobs under way": Honest(two_jobs),
    "a table of pods that are made": Honest(table),
    "edits that fit at the second try": Honest(viewed),
    "one test run many times": Honest(stressed),
    "columns formatted": Honest(columns),
    "roles given": Honest(accounts),
    "plans of queries": Honest(explained),
    "a draft and its critic": Honest(rewritten),
    "a valve opened further": Honest(levels),
    "several repairs of one failure": Honest(hunted),
    "slides made": Honest(slides),
    "messages to devices": Honest(silent_tools),
    "one setting raised": Honest(numbers_alone),
}


def said_plainly(message: str, warn: int = 6) -> Loop:
    """One failure in plain words, without a status, whatever the arguments."""
    return Loop(lambda c: times(14, lambda n: [("archive_box", {"box": word(c), "shelf": n}, message)]), warn)


def walls(c: Random) -> list[Any]:
    page = f"Sign in to continue. {prose(c, 60)}"
    return times(14, lambda _: [("fetch", {"url": f"https://{word(c)}.example/{word(c)}"}, page)])


def flags(_: Random) -> list[Any]:
    hit = "src/app.py:14:def start():"
    forms = [
        "grep -rn start src",
        "grep -rn 'start' src/",
        "grep -nr start ./src",
        "rg -n start src",
        "grep -rn start src --include=*.py",
        "grep -rn 'def start' src",
    ]
    return times(14, lambda n: [("bash", {"command": forms[n % 6]}, ended(hit))])


def overview(_: Random) -> list[Any]:
    return times(
        10,
        lambda _: [
            ("bash", {"command": "git status"}, ended("On branch main\nnothing to commit")),
            ("bash", {"command": "git diff"}, ended("")),
            ("bash", {"command": "git log -1 --oneline"}, ended("3fa1c2e Start")),
        ],
    )


def same_content(c: Random) -> list[Any]:
    args = {"path": "a.py", "content": prose(c, 40)}
    return times(12, lambda _: [("write_file", args, "File written")])


def two_searches(c: Random) -> list[Any]:
    one, other = prose(c, 3), prose(c, 3)
    first, second = prose(c, 60), prose(c, 60)
    return times(10, lambda _: [("web_search", {"query": one}, first), ("web_search", {"query": other}, second)])


def edit_and_red(c: Random) -> list[Any]:
    """One edit undone and made again by git, the test red each time."""
    red = ended(f"E   AssertionError: assert {c.randrange(90)} == {c.randrange(90)}\n1 failed", 1)
    edit = {"path": "a.py", "old": word(c), "new": word(c)}
    return times(
        10,
        lambda _: [
            ("edit_file", edit, "1 replacement"),
            ("bash", {"command": "pytest -q"}, red),
            ("bash", {"command": "git checkout a.py"}, ended("Updated 1 path from the index")),
        ],
    )


def spawned(c: Random) -> list[Any]:
    """A helper started anew under a fresh name, with one task."""
    task = prose(c, 12)
    return times(12, lambda _: [("spawn_agent", {"prompt": task}, {"agent_id": hexed(c, 10), "status": "started"})])


def unknown_command(c: Random) -> list[Any]:
    names = words(c, 12)
    return times(
        12,
        lambda n: [
            (
                "bash",
                {"command": f"{names[n]}ctl status"},
                plain("", 127, f"bash: line {n + 4}: {names[n]}ctl: command not found"),
            )
        ],
    )


def cookie(_: Random) -> list[Any]:
    """A banner that comes back after each click, with other references in the tree."""
    return times(
        10,
        lambda n: [
            (
                "browser_snapshot",
                {},
                text(
                    f'- dialog [ref=s{n}e2]:\n  - text: We value your privacy\n  - button "Accept" [ref=s{n}e3]\n'
                    + "- text: behind the dialog nothing can be read, since the page is dimmed until a choice is made\n"
                    * 3
                ),
            ),
            ("browser_click", {"element": "Accept", "ref": f"s{n}e3"}, "Clicked"),
        ],
    )


LOOPS: dict[str, Loop] = {
    "a parameter that is missing": said_plainly("Missing required parameter: location"),
    "access denied in plain words": said_plainly("Access denied: your role may not archive boxes."),
    "a plain 403": said_plainly("403 Forbidden"),
    "a plain failure": said_plainly("Failed to archive: the service rejected the request"),
    "walls on many pages": Loop(walls, 6),
    "one search under many flags": Loop(flags, 7),
    "the same overview": Loop(overview, 4, 8),
    "one content written again": Loop(same_content, 3, 6),
    "two searches in turn": Loop(two_searches, 4, 8),
    "one edit, undone, made again": Loop(edit_and_red, 4, 10),
    "one helper started again": Loop(spawned, 3, 6),
    "commands that are not there": Loop(unknown_command, 7),
    "a banner that comes back": Loop(cookie, 6),
}
