"""Whole sessions of mixed work, waiting in the words of many systems, and attempts at many things that mostly fail."""

from __future__ import annotations

import json
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


def repaired(c: Random) -> list[Any]:
    """A bug looked for and mended the long way, with an overview now and then."""
    files = words(c, 9)
    steps: list[Any] = [("bash", {"command": "git status --short"}, ended(""))]
    for n, name in enumerate(files):
        steps += [
            (
                "bash",
                {"command": f"grep -rn '{name}' src"},
                ended(f"src/{name}.py:{c.randrange(90)}: def {name}({word(c)}):"),
            ),
            ("read_file", {"path": f"src/{name}.py"}, prose(c, 80)),
            ("edit_file", {"path": f"src/{name}.py", "old": prose(c, 4), "new": prose(c, 4)}, "1 replacement"),
            (
                "bash",
                {"command": "pytest -q"},
                ended(f"{9 - n} failed, {30 + n} passed in {c.random():.2f}s", 1) if n < 8 else ended("39 passed"),
            ),
            ("bash", {"command": "git diff --stat"}, ended(f"{n + 1} files changed, {3 * n + 4} insertions(+)")),
        ]
    return steps


def plateau(c: Random) -> list[Any]:
    """Tests whose count stays for some edits, with the same look at the same file between."""
    return each(
        9,
        lambda n: [
            ("str_replace_editor", {"command": "view", "path": "/repo/app.py", "view_range": [10, 60]}, prose(c, 90)),
            (
                "str_replace_editor",
                {"command": "str_replace", "path": "/repo/app.py", "old_str": prose(c, 4), "new_str": prose(c, 4)},
                "The file /repo/app.py has been edited successfully.",
            ),
            (
                "bash",
                {"command": "cd /repo && python -m pytest -q"},
                ended(f"{5 - n // 3} failed, {20 + n // 3} passed", 1),
            ),
        ],
    )


def domains(c: Random) -> list[Any]:
    """Names asked about of which some are there."""
    return [
        (
            "dns_lookup",
            {"name": f"{one}.example"},
            refused(f"NXDOMAIN: {one}.example") if n % 3 else {"a": [f"192.0.2.{n}"]},
        )
        for n, one in enumerate(words(c, 12))
    ]


def half_there(c: Random) -> list[Any]:
    return [
        (
            "get_user",
            {"id": n},
            {"error": {"code": 404, "message": "User not found"}} if place % 2 else {"id": n, "name": word(c)},
        )
        for place, n in enumerate(c.sample(range(9999), 12))
    ]


def tools_there(c: Random) -> list[Any]:
    return [
        ("bash", {"command": f"which {one}"}, plain(f"/usr/bin/{one}\n", 0) if n % 2 else plain("", 1))
        for n, one in enumerate(words(c, 10))
    ]


def two_each(c: Random) -> list[Any]:
    """Two calls for each of many orders, both told apart by their number only."""
    return [
        step
        for n in c.sample(range(1000, 9999), 8)
        for step in (
            ("run_sql", {"query": f"SELECT state FROM orders WHERE id = {n}"}, [{"state": "open"}]),
            ("run_sql", {"query": f"SELECT count(*) FROM parcels WHERE order_id = {n}"}, [{"count": 1}]),
        )
    ]


def curled(c: Random) -> list[Any]:
    return [
        step
        for n in c.sample(range(100, 999), 7)
        for step in (
            ("bash", {"command": f"curl -s localhost:8080/api/items/{n}"}, ended('{"state":"ok"}')),
            ("bash", {"command": f"curl -s -X POST localhost:8080/api/items/{n}/close"}, ended('{"closed":true}')),
        )
    ]


def killed(c: Random) -> list[Any]:
    return [
        step
        for n in c.sample(range(1000, 9999), 7)
        for step in (
            ("bash", {"command": f"kill {n}"}, ended("")),
            ("bash", {"command": f"ps -p {n}"}, ended("PID TTY TIME CMD", 1)),
        )
    ]


def tabs(c: Random) -> list[Any]:
    """A fresh tab for each of many pages."""
    return each(
        6,
        lambda _: [
            ("browser_create_tab", {}, {"tab_id": hexed(c, 8)}),
            ("browser_navigate", {"url": f"https://{word(c)}.example"}, prose(c, 30)),
        ],
    )


def members(c: Random) -> list[Any]:
    return [
        (
            "team_add_member",
            {"team": "ops", "user": one},
            {"ok": True, "team": {"id": 4, "name": "ops", "visibility": "private", "owner": "ann"}},
        )
        for one in words(c, 9)
    ]


def settings(c: Random) -> list[Any]:
    return [("config_update_key", {"key": one, "value": True}, {"ok": True}) for one in words(c, 9)]


def asked_models(c: Random) -> list[Any]:
    """One judge asked about many texts; most are fine."""
    return [("classify", {"prompt": prose(c, 14)}, {"label": "harmless", "confidence": 0.98}) for _ in range(9)]


def drawn(c: Random) -> list[Any]:
    return [
        ("generate_image", {"prompt": prose(c, 10)}, {"url": f"https://img.example/{token(c)}.png", "status": "ok"})
        for _ in range(7)
    ]


def filtered(c: Random) -> list[Any]:
    return [
        ("list_events", {"filter": f"severity >= ERROR AND service = {one}"}, {"events": [], "next": None})
        for one in words(c, 9)
    ]


def proxied(c: Random) -> list[Any]:
    """Pages behind a wall, one after the other, until one lets in."""
    return [
        ("fetch", {"url": f"https://{one}.example/"}, refused(f"403 Forbidden (request {hexed(c, 16)})"))
        for one in words(c, 4)
    ] + [("fetch", {"url": "https://open.example"}, prose(c, 50))]


def queue(c: Random) -> list[Any]:
    """Jobs taken from a queue and done, one after the other."""
    return each(
        7,
        lambda n: [
            (
                "queue_pop",
                {"queue": "mail"},
                {"job_id": hexed(c, 12), "kind": "mail", "payload": {"to": f"{word(c)}@example.com"}},
            ),
            ("render_template", {"name": "welcome", "user": word(c)}, prose(c, 20)),
            ("queue_ack", {"queue": "mail", "n": n}, {"ok": True}),
        ],
    )


def handles(c: Random) -> list[Any]:
    """A lock taken and given back round each of many changes."""

    def one(n: int) -> list[Any]:
        lock = hexed(c, 16)
        return [
            ("acquire_lock", {"name": "ledger"}, {"lease": lock, "ttl": 30}),
            ("ledger_post", {"entry": n, "amount": c.randrange(99)}, {"ok": True}),
            ("release_lock", {"lease": lock}, {"ok": True}),
        ]

    return each(7, one)


def reviewed(c: Random) -> list[Any]:
    """Sub-agents that find nothing wrong in many files."""
    return [
        ("task", {"agent": "reviewer", "prompt": f"Review src/{one}.py for races."}, "No issues found.")
        for one in words(c, 9)
    ]


def reviewed_at_length(c: Random) -> list[Any]:
    return [
        (
            "task",
            {"agent": "reviewer", "prompt": f"Review src/{one}.py for races and report."},
            f"I read {one} and found nothing wrong: {prose(c, 20)}",
        )
        for one in words(c, 7)
    ]


def compared(c: Random) -> list[Any]:
    """Two files read in turn, part by part."""
    return each(
        7,
        lambda n: [
            ("read_file", {"path": one, "offset": 50 * n, "limit": 50}, prose(c, 60)) for one in ("old.sql", "new.sql")
        ],
    )


def scored(c: Random) -> list[Any]:
    """A form of many fields filled in, each checked by one look whose answer is short."""
    return each(
        7,
        lambda n: [
            ("set_field", {"name": word(c), "value": word(c)}, "ok"),
            ("form_state", {}, {"valid": False, "missing": 7 - n}),
        ],
    )


def trained(c: Random) -> list[Any]:
    return each(
        6,
        lambda n: [
            ("train", {"lr": round(c.random(), 4), "layers": n + 1}, {"loss": round(c.random(), 4)}),
            ("evaluate", {"split": "dev"}, {"accuracy": round(c.random(), 3)}),
        ],
    )


def flat(c: Random) -> list[Any]:
    """Settings tried without effect on the figure, a new one each time."""
    return each(
        7,
        lambda n: [
            ("bash", {"command": f"sed -i 's/^{word(c)}=.*/x={n}/' tune.ini"}, ended("")),
            ("bash", {"command": "./bench"}, ended("throughput 412 MB/s")),
        ],
    )


def mail_folders(c: Random) -> list[Any]:
    return [("imap_search", {"folder": one, "criteria": "UNSEEN"}, "") for one in words(c, 9)]


def restarted(c: Random) -> list[Any]:
    """A service restarted after each of many changes of its settings."""
    return each(
        6,
        lambda n: [
            ("write_file", {"path": "/etc/app.toml", "content": prose(c, 20)}, "ok"),
            ("bash", {"command": "systemctl restart app"}, ended("")),
            (
                "bash",
                {"command": "curl -sf localhost:8000/health"},
                ended("curl: (22) The requested URL returned error: 500", 22) if n < 5 else ended("ok"),
            ),
        ],
    )


def numbered(c: Random) -> list[Any]:
    """An error with a fresh number, without a status, from a tool nobody knows."""
    return times(
        12,
        lambda _: [
            (
                "warehouse_sync",
                {"site": "north"},
                f"Error: could not reach the depot (incident INC{c.randrange(10**6)})",
            )
        ],
    )


def json_text(c: Random) -> list[Any]:
    return times(
        12,
        lambda _: [
            (
                "invoke",
                {"fn": "resize", "args": [4]},
                json.dumps({"ok": False, "error": "E_NO_HANDLER", "trace": hexed(c, 32)}),
            )
        ],
    )


def by_turns(c: Random) -> list[Any]:
    """Three tools in turn on one thing; nothing comes of it."""
    one, other, third = (prose(c, 12) for _ in range(3))
    return times(
        9,
        lambda _: [
            ("inspect", {"node": "a"}, one),
            ("explain", {"node": "a"}, other),
            ("suggest", {"node": "a"}, third),
        ],
    )


def edited_back(c: Random) -> list[Any]:
    left, right = words(c, 2)
    return times(
        12,
        lambda n: [
            (
                "str_replace_based_edit_tool",
                {
                    "command": "str_replace",
                    "path": "/a.py",
                    "old_str": (left, right)[n % 2],
                    "new_str": (right, left)[n % 2],
                },
                text("The file /a.py has been edited."),
            )
        ],
    )


def asked_again(c: Random) -> list[Any]:
    question = prose(c, 7)
    return times(
        12,
        lambda n: [
            ("ask_user", {"question": f"{question}{'?' * (n % 3 + 1)}"}, "I told you already: use the second one.")
        ],
    )


def slower(c: Random) -> list[Any]:
    """One long report again and again; only its measured times differ."""
    names = words(c, 9)
    return times(
        12,
        lambda _: [
            (
                "bash",
                {"command": "npm run bench"},
                ended("\n".join(f"{one}: {c.random() * 90:.3f} ops/s over forty runs of the suite" for one in names)),
            )
        ],
    )


def cursors(c: Random) -> list[Any]:
    """Paging that starts over after each third page."""
    pages = [{"rows": [[word(c)]], "cursor": token(c)} for _ in range(3)]
    keys = [{}, {"cursor": pages[0]["cursor"]}, {"cursor": pages[1]["cursor"]}]
    return times(
        8, lambda _: [("list_rows", {"table": "t"} | key, page) for key, page in zip(keys, pages, strict=True)]
    )


def denied(c: Random) -> list[Any]:
    return times(
        12,
        lambda n: [
            (
                "transfer_funds",
                {"to": f"DE{c.randrange(10**8)}", "amount": 10 * n + 5},
                {"success": False, "reason": "The account is frozen"},
            )
        ],
    )


def same_commit(c: Random) -> list[Any]:
    said = ended("On branch main\nnothing to commit, working tree clean", 1)
    return times(12, lambda _: [("bash", {"command": f"git add -A && git commit -m 'Fix {word(c)}'"}, said)])


def same_probe(_: Random) -> list[Any]:
    code = [
        "import torch; print(torch.cuda.is_available())",
        "import torch\nprint(torch.cuda.is_available())",
        "import torch; print( torch.cuda.is_available() )",
    ]
    return times(12, lambda n: [("python", {"code": code[n % 3]}, "False\n")])


def hidden_batch(c: Random) -> list[Any]:
    return times(
        12,
        lambda _: [
            (
                "query",
                {"q": "SELECT 1"},
                {"error": "too many connections for role app", "hint": "close some", "at": c.randrange(10**9)},
            )
        ],
    )


HONEST: dict[str, Honest] = {
    "a bug mended the long way": Honest(repaired),
    "a count that stays for some edits": Honest(plateau),
    "names of which some are there": Honest(domains),
    "users of whom half are there": Honest(half_there),
    "programs of which half are there": Honest(tools_there),
    "two questions about each order": Honest(two_each),
    "two requests for each item": Honest(curled),
    "processes ended and looked for": Honest(killed),
    "a tab for each page": Honest(tabs),
    "people added to a team": Honest(members),
    "settings changed": Honest(settings),
    "texts judged": Honest(asked_models),
    "images drawn": Honest(drawn),
    "events of many services": Honest(filtered),
    "walls until one lets in": Honest(proxied, hinted=True),
    "jobs of a queue": Honest(queue),
    "a lock round each entry": Honest(handles),
    "files reviewed": Honest(reviewed),
    "files reviewed at length": Honest(reviewed_at_length),
    "two files compared": Honest(compared),
    "fields set and checked": Honest(scored),
    "models trained": Honest(trained),
    "settings without effect": Honest(flat),
    "empty folders": Honest(mail_folders),
    "many thoughts": Honest(
        lambda c: [
            (
                "sequentialthinking",
                {"thought": prose(c, 20), "thoughtNumber": n},
                {"thoughtNumber": n, "nextThoughtNeeded": True},
            )
            for n in range(14)
        ]
    ),
    "a service restarted after changes": Honest(restarted),
}


LOOPS: dict[str, Loop] = {
    "one error with fresh numbers": Loop(numbered, 4, 8),
    "one refusal in a JSON text": Loop(json_text, 4, 8),
    "three tools in turn": Loop(by_turns, 4, 8),
    "one edit and back": Loop(edited_back, 6, 10),
    "the user asked again": Loop(asked_again, 6),
    "measured again": Loop(slower, 5),
    "pages from the start again": Loop(cursors, 4, 8),
    "one account, frozen": Loop(denied, 6),
    "nothing to commit": Loop(same_commit, 6),
    "one probe in other spellings": Loop(same_probe, 6),
    "too many connections": Loop(hidden_batch, 6),
}
