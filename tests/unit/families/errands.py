"""Many small things: forms, media, builds over workspaces, HTTP calls, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, blob, each, ended, hexed, prose, word, words

if TYPE_CHECKING:
    from random import Random


def lined(*lines: str) -> str:
    return "\n".join(lines)


def stock_checks_with_equal_long_j(c: Random) -> list[Any]:
    base = {
        "available": True,
        "warehouse": {"id": "W1", "city": "Leipzig", "hours": "8-18", "carrier": "DHL"},
        "shipping": {"standard": "2 days", "express": "next day", "cost": {"standard": 4.9, "express": 9.9}},
        "returns": "30 days",
        "tax": "included",
        "currency": "EUR",
        "notes": ["Stock is checked every hour", "Orders before noon leave the same day"],
    }
    return [("get_stock", {"sku": f"SKU-{n}"}, base) for n in c.sample(range(1000, 9999), 5)]


def delete_first_row_repeatedly_ro(c: Random) -> list[Any]:
    rows = words(c, 8)
    return each(
        7,
        lambda n: [
            ("browser_click", {"ref": "row0_delete"}, lined("- table:", *(f"  - row {r}" for r in rows[n + 1 :])))
        ],
    )


def same_command_in_many_cwd_with(c: Random) -> list[Any]:
    out = "\n".join(f"{prose(c, 6)}" for _ in range(9))
    return [("bash", {"command": f"cd packages/{w} && npm ci"}, ended(out)) for w in words(c, 5)]


HONEST: dict[str, Honest] = {
    "stock checks with equal long JSON": Honest(stock_checks_with_equal_long_j),
    "permissions asked, all granted": Honest(
        lambda c: [("check_permission", {"user": "ann", "action": w}, {"allowed": True}) for w in words(c, 10)]
    ),
    "reading shards with the same answer text": Honest(
        lambda _: [("shard_health", {"shard": n}, "green") for n in range(14)]
    ),
    "keyboard on a remote desktop": Honest(
        lambda c: [
            (
                "computer",
                {"action": "key", "text": "Tab"},
                {"content": [{"type": "image", "data": blob(c), "mimeType": "image/png"}]},
            )
            for _ in range(8)
        ]
    ),
    "same screenshot call while page loads": Honest(
        lambda c: [
            ("browser_take_screenshot", {}, {"content": [{"type": "image", "data": blob(c), "mimeType": "image/png"}]})
            for _ in range(6)
        ]
    ),
    "scroll and extract": Honest(
        lambda c: each(
            7, lambda _: [("browser_scroll", {"direction": "down"}, "Scrolled"), ("browser_get_text", {}, prose(c, 60))]
        )
    ),
    "accept all dialogs": Honest(
        lambda _: each(
            6,
            lambda n: [
                ("browser_click", {"ref": "e9", "element": "Delete"}, f"Deleted row {n}"),
                ("browser_handle_dialog", {"accept": True}, "Dialog accepted"),
            ],
        )
    ),
    "delete first row repeatedly, rows shrink": Honest(delete_first_row_repeatedly_ro),
    "undo steps": Honest(lambda c: [("undo", {}, f"Undid: {word(c)}") for _ in range(7)]),
    "pomodoro notes": Honest(
        lambda c: each(
            5,
            lambda _: [
                ("take_note", {"text": prose(c, 8)}, "Noted"),
                ("search_docs", {"query": prose(c, 3)}, prose(c, 40)),
            ],
        )
    ),
    "git rebase continue over conflicts": Honest(
        lambda c: each(
            5,
            lambda _: [
                (
                    "bash",
                    {"command": "git rebase --continue"},
                    ended(
                        (
                            f"CONFLICT (content): Merge conflict in src/{word(c)}.py\nerror: could not apply "
                            f"{hexed(c, 7)}... {prose(c, 3)}"
                        ),
                        1,
                    ),
                ),
                ("edit_file", {"path": f"src/{word(c)}.py", "old": word(c), "new": word(c)}, "1 replacement"),
                ("bash", {"command": "git add -A"}, ended("")),
            ],
        )
    ),
    "rebase, conflicts in one file": Honest(
        lambda c: each(
            6,
            lambda _: [
                (
                    "bash",
                    {"command": "git rebase --continue"},
                    ended(
                        (
                            "CONFLICT (content): Merge conflict in CHANGELOG.md\nerror: could not apply "
                            f"{hexed(c, 7)}... {prose(c, 3)}\nhint: resolve all conflicts manually"
                        ),
                        1,
                    ),
                ),
                (
                    "bash",
                    {"command": "sed -i '/^<<<<<<</,/^=======/d' CHANGELOG.md && git add CHANGELOG.md"},
                    ended(""),
                ),
            ],
        )
    ),
    "make fails further on each time": Honest(
        lambda c: each(
            6,
            lambda n: [
                ("bash", {"command": f"apt-get install -y lib{word(c)}-dev"}, ended("Setting up packages\nDone")),
                (
                    "bash",
                    {"command": "make"},
                    ended(
                        (
                            f"fatal error: {word(c)}.h: No such file or directory\nmake: *** [Makefile:{n + 10}: all] "
                            "Error 1"
                        ),
                        2,
                    ),
                ),
            ],
        )
    ),
    "npm run over workspaces": Honest(
        lambda c: [
            ("bash", {"command": f"npm run build -w packages/{w}"}, ended(f"> {w}@1.0.0 build\n> tsc -p .\n"))
            for w in words(c, 8)
        ]
    ),
    "tsc clean over packages": Honest(
        lambda c: [("bash", {"command": f"cd packages/{w} && npx tsc --noEmit"}, ended("")) for w in words(c, 9)]
    ),
    "same command in many cwd with same long output": Honest(same_command_in_many_cwd_with),
    "docker pulls": Honest(
        lambda c: [
            (
                "bash",
                {"command": f"docker pull registry.example/{w}:1"},
                ended(
                    f"1: Pulling from {w}\nDigest: sha256:{hexed(c, 64)}\nStatus: Image is up to date for "
                    f"registry.example/{w}:1\nregistry.example/{w}:1"
                ),
            )
            for w in words(c, 8)
        ]
    ),
    "curl same host health, 404 for a while then deployed": Honest(
        lambda _: (
            [("http_get", {"url": "https://app.example/new"}, {"status": 404, "body": "Not found"}) for _ in range(4)]
            + [("http_get", {"url": "https://app.example/new"}, {"status": 200, "body": "hi"})]
        ),
        seconds=40,
    ),
    "mail waits": Honest(lambda _: [("check_inbox", {"from": "bank"}, {"messages": []}) for _ in range(9)], seconds=90),
    "user approval waits": Honest(
        lambda _: [("get_approval", {"id": 4}, {"approved": False, "decided_by": None}) for _ in range(8)], seconds=120
    ),
    "long poll": Honest(
        lambda _: [("events_wait", {"since": n, "timeout": 30}, {"events": [], "last": n + 1}) for n in range(8)]
    ),
    "chunks transcribed": Honest(
        lambda c: [
            (
                "transcribe",
                {"file": "a.wav", "start_s": 30 * n, "end_s": 30 * n + 30},
                {"text": prose(c, 20) if n % 3 else ""},
            )
            for n in range(9)
        ]
    ),
    "silent audio chunks": Honest(
        lambda _: [
            ("transcribe", {"file": "a.wav", "start_s": 30 * n, "end_s": 30 * n + 30}, {"text": "", "confidence": 0.0})
            for n in range(9)
        ]
    ),
    "ocr pages blank": Honest(
        lambda _: [("ocr", {"page": n}, {"text": "[blank page]"}) for n in range(9)], hinted=True
    ),
    "translations equal": Honest(
        lambda c: [("translate", {"text": w, "to": "de"}, {"translation": w, "detected": "en"}) for w in words(c, 9)]
    ),
    "password guess in CTF": Honest(lambda c: [("try_key", {"key": w}, "wrong key") for w in words(c, 5)]),
    "checksum compare": Honest(
        lambda c: [("bash", {"command": f"sha256sum -c {w}.sha256"}, ended(f"{w}.iso: OK")) for w in words(c, 10)]
    ),
    "iterating solver": Honest(
        lambda _: [("solver_step", {"n": 1}, {"residual": 10.0 / 2**n, "iteration": n}) for n in range(12)]
    ),
    "genetic search": Honest(
        lambda c: [
            ("evaluate", {"genome": "".join(c.choice("01") for _ in range(16))}, {"fitness": c.choice([3, 4, 4, 5])})
            for _ in range(14)
        ]
    ),
    "binary search in a file": Honest(
        lambda c: [("count_lines_before", {"byte": c.randrange(10**6)}, c.randrange(10**4)) for _ in range(12)]
    ),
    "ask sql schema per table empties": Honest(lambda c: [("list_indexes", {"table": w}, []) for w in words(c, 12)]),
    "grpc list services then describe each identical": Honest(
        lambda c: [("grpc_describe", {"service": w}, "No messages are exported by this service.") for w in words(c, 5)]
    ),
    "lights scene per room same long state": Honest(
        lambda c: [
            (
                "scene_apply",
                {"room": w, "scene": "evening"},
                {
                    "applied": True,
                    "lights": [
                        {"on": True, "brightness": 40, "temperature": 2700, "transition_ms": 400} for _ in range(6)
                    ],
                },
            )
            for w in words(c, 8)
        ]
    ),
    "slack reactions": Honest(
        lambda c: [
            (
                "slack_add_reaction",
                {"channel": "C1", "timestamp": f"17{c.randrange(10**8)}.{c.randrange(10**6):06}", "name": "eyes"},
                {"ok": True},
            )
            for _ in range(9)
        ]
    ),
    "issue comments same text": Honest(
        lambda c: [
            (
                "github_create_comment",
                {"issue": n, "body": "Closing as stale."},
                {"id": c.randrange(10**9), "body": "Closing as stale."},
            )
            for n in range(40, 52)
        ]
    ),
    "forty random numbers": Honest(
        lambda c: [("random_int", {"min": 1, "max": 6}, {"value": c.randrange(1, 7)}) for _ in range(40)], hinted=True
    ),
    "create three equal users": Honest(
        lambda _: (
            [("create_user", {"role": "tester"}, {"id": n}) for n in range(2)]
            + [("list_users", {}, [{"id": 0}, {"id": 1}])]
        )
    ),
    "add equal items to cart then look": Honest(
        lambda _: [("cart_add", {"sku": "A1"}, {"items": n + 1}) for n in range(3)] + [("cart_get", {}, {"items": 3})]
    ),
    "increment version each release": Honest(
        lambda _: each(
            5,
            lambda n: [
                ("bash", {"command": "npm version patch"}, ended(f"v1.0.{n}")),
                ("bash", {"command": "npm publish"}, ended(f"+ pkg@1.0.{n}")),
            ],
        )
    ),
    "same test after each of different migrations": Honest(
        lambda c: each(
            6,
            lambda n: [
                ("run_migration", {"name": f"00{n}_{word(c)}"}, "applied"),
                ("run_tests", {}, {"passed": 40, "failed": 0}),
            ],
        )
    ),
    "agent heartbeat": Honest(lambda _: [("heartbeat", {"agent": "a"}, {"ok": True}) for _ in range(12)], seconds=60),
}

LOOPS: dict[str, Loop] = {}
