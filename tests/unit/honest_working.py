"""Honest runs that work: batches, builds, tests, questions in other words, short acknowledgements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.unit.honest_waiting import ids, structured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from tests.unit.balanced_runs import Step

NAMES = ("auth", "cart", "mail", "search", "orders", "users", "billing", "stock", "audit", "images")


def bash(commands: Iterable[str], answer: Any) -> list[Step]:
    """Commands with one answer, or with the answer that a function of the place gives."""
    return [("bash", {"command": one}, answer(n) if callable(answer) else answer) for n, one in enumerate(commands)]


def over(tool: str, key: str, values: Iterable[Any], answer: Any, **rest: Any) -> list[Step]:
    """One tool over many things, with one answer."""
    return [(tool, {key: value, **rest}, answer(n) if callable(answer) else answer) for n, value in enumerate(values)]


def rounds(count: int, *make: Callable[[int], Step]) -> list[Step]:
    """Rounds of steps made from the round's number."""
    return [one(n) for n in range(count) for one in make]


def edit(path: str) -> Callable[[int], Step]:
    """An edit that differs each time."""
    return lambda n: ("edit", {"path": path, "old": f"return {n}", "new": f"return x{n} + {n}"}, "Edited 1 line")


def run(command: str, answer: Callable[[int], str]) -> Callable[[int], Step]:
    """A command run again each time."""
    return lambda n: ("bash", {"command": command}, answer(n))


PARTS = ("db", "disk", "ping", "mail", "redis")
HEALTH = json.dumps({"status": "UP", "components": {one: {"status": "UP"} for one in PARTS}})
CLEAN = "Success: no issues found in 1 source file"
FAILING = (
    "===== FAILURES =====\n    assert total(3) == 6\nE   assert 5 == 6\nFAILED t.py::test_total\n1 failed, 7 passed"
)
SAME_ERROR = "!error[E0502]: cannot borrow `self` as mutable here\nerror: could not compile `app` (bin)"

WORKING: dict[str, Callable[[Random], list[Step]]] = {
    "lint of many files": lambda _: bash((f"ruff check src/{n}.py" for n in NAMES), "All checks passed!"),
    "type check of many files": lambda _: bash((f"mypy src/{n}.py" for n in NAMES), CLEAN),
    "lint of many files by a tool": lambda _: over(
        "lint", "file", [f"src/{n}.ts" for n in NAMES], "All checks passed!"
    ),
    "format of many packages": lambda _: bash(
        (f"cd pkg/{n} && npm run -s lint" for n in NAMES), "> eslint . --max-warnings=0 (clean)"
    ),
    "health of many services": lambda _: bash(
        (f"curl -s http://{n}:8080/health" for n in NAMES), '{"status":"healthy"}'
    ),
    "long health of many services": lambda _: bash(
        (f"curl -s http://{n}.svc.local/actuator/health" for n in NAMES), HEALTH
    ),
    "long health by a tool": lambda _: over(
        "http_get", "url", [f"https://{n}.example.com/health" for n in NAMES], HEALTH
    ),
    "health by service name": lambda _: over(
        "service_health", "service", NAMES, "healthy, 3 of 3 replicas", region="eu"
    ),
    "state of many units": lambda _: bash((f"systemctl is-active {n}.service" for n in NAMES), "active (running)"),
    "state of many units, no suffix": lambda _: bash(
        (f"systemctl status {n} | head -3" for n in NAMES), "Active: active (running)"
    ),
    "containers looked at": lambda _: bash(
        (f"docker inspect -f '{{{{.State.Status}}}}' {n}" for n in NAMES), "running fine"
    ),
    "rows inserted": lambda c: over("db_insert", "row", [{"name": n, "v": c.random()} for n in NAMES], "ok"),
    "rows inserted by SQL": lambda _: over(
        "sql", "query", [f"insert into t values ({n}, '{w}')" for n, w in enumerate(NAMES)], "INSERT 0 1"
    ),
    "rows updated, counted": lambda _: over(
        "execute_sql", "sql", [f"update t set a = 1 where id = {n}" for n in range(9)], "Query OK, 1 row affected"
    ),
    "contacts created": lambda _: over("crm_create_contact", "name", NAMES, lambda _: {"ok": True}, source="import"),
    "deals moved": lambda c: over("crm.update_deal", "deal_id", ids(c, 9), "Deal updated", stage="won"),
    "mails sent": lambda _: over(
        "send_email", "to", [f"{n}@example.com" for n in NAMES], "Email sent", subject="Invitation"
    ),
    "text messages by phone": lambda _: over(
        "send_sms", "phone", [f"+4930{n}00" for n in range(9)], "queued", body="Your order is ready"
    ),
    "calendar invitations": lambda _: over("create_event", "attendee", NAMES, "Event created", when="2031-03-04 10:00"),
    "bookings of many guests": lambda _: over("book_seat", "guest", NAMES, "Booking confirmed", flight="X12"),
    "tickets closed": lambda _: over("close_ticket", "id", range(100, 110), "Ticket closed and reporter informed"),
    "labels set": lambda _: over("add_label", "issue", range(20, 31), {"status": "ok", "label": "triaged"}),
    "flights asked about": lambda _: over(
        "flight_status", "number", [f"LH{n}" for n in range(400, 410)], "on schedule"
    ),
    "stock of many articles": lambda _: over(
        "get_stock", "sku", [f"SKU-{n}" for n in range(10)], "in stock (more than 10)"
    ),
    "users looked up, all alike": lambda _: over(
        "get_user", "id", range(1, 11), {"role": "member", "active": True, "plan": "free"}
    ),
    "files written": lambda _: over(
        "write_file", "path", [f"docs/{n}.md" for n in NAMES], "File written", content="# Title"
    ),
    "one line in many files": lambda _: bash((f"sed -i '1i // SPDX' src/{n}.c" for n in NAMES), ""),
    "files looked at for a licence": lambda _: bash(
        (f"head -1 src/{n}.c" for n in NAMES), "// SPDX-License-Identifier: MIT"
    ),
    "hosts pinged": lambda _: bash(
        (f"ping -c1 10.0.0.{n} | tail -1" for n in range(1, 10)), "1 packets transmitted, 1 received"
    ),
    "certificates checked": lambda _: over(
        "check_certificate", "host", [f"{n}.example.com" for n in NAMES], "valid, issued by R3"
    ),
    "directories made": lambda _: bash((f"mkdir -p out/{n}" for n in NAMES), ""),
    "packages added": lambda _: bash(
        (f"npm install {n}-lib" for n in NAMES), "added 1 package, and audited 212 packages"
    ),
    "packages looked for": lambda _: bash((f"pip show {n}lib" for n in NAMES[:3]), "!WARNING: Package(s) not found"),
    "files searched by name": lambda _: over("glob", "pattern", [f"**/{n}*.go" for n in NAMES[:6]], "No files found"),
    "words searched": lambda _: bash((f"grep -rn {n} src" for n in NAMES), ""),
    "questions without hits": lambda _: over(
        "web_search", "query", [f"{n} of the river delta" for n in NAMES[:5]], "No results found."
    ),
    "tables looked at": lambda _: over(
        "sql", "query", [f"select count(*) from {n}" for n in NAMES], lambda n: f"[({n * 7 % 5},)]"
    ),
    "tables described": lambda _: over(
        "sql", "query", [f"describe {n}" for n in NAMES], lambda n: f"id int, f{n} text"
    ),
    "empty tables": lambda _: over(
        "sql", "query", [f"select * from {n} limit 5" for n in NAMES], {"rows": [], "row_count": 0}
    ),
    "a sweep": lambda c: over("simulate", "alpha", [n / 10 for n in range(12)], lambda _: f"score {c.random():.5f}"),
    "a sweep with a flat result": lambda _: over(
        "simulate", "alpha", [n / 10 for n in range(12)], "converged: no", beta=2
    ),
    "a sweep by command": lambda _: bash(
        (f"./bench --threads {2**n} --size 1000" for n in range(9)), "throughput limited by disk"
    ),
    "a bisection": lambda c: rounds(
        7,
        run("make -s && ./check.sh", lambda _: "bad" if c.random() < 0.5 else "good"),
        lambda n: (
            "bash",
            {"command": f"git bisect {'bad' if n % 2 else 'good'}"},
            f"Bisecting: {64 >> n} revisions left\n[{c.getrandbits(64):x}] change {n}",
        ),
    ),
    "tests with other failures": lambda _: rounds(
        8, edit("sum.py"), run("pytest -q", lambda n: f"FAILED test_{n}.py::t{n} - assert {n}\n1 failed")
    ),
    "one failing test, edits here and there": lambda _: rounds(
        7, lambda n: edit(f"src/{NAMES[n]}.py")(n), run("pytest -q tests/test_sum.py", lambda _: FAILING)
    ),
    "one failing test, look and edit": lambda _: rounds(
        6,
        lambda n: ("read_file", {"path": f"src/{NAMES[n]}.py"}, f"def {NAMES[n]}(): ..."),
        edit("sum.py"),
        run("pytest -q", lambda _: FAILING),
    ),
    "one build error through edits": lambda _: rounds(6, edit("main.rs"), run("cargo build", lambda _: SAME_ERROR)),
    "shell edits and one failing test": lambda _: rounds(
        6,
        lambda n: ("bash", {"command": f"sed -i 's/limit = {n}/limit = {n * n + 1}/' conf.py"}, ""),
        run("npm test", lambda _: "✗ sum adds up\n1 failing"),
    ),
    "go builds with moving errors": lambda _: rounds(
        7, edit("main.go"), run("go build ./...", lambda n: f"!./main.go:{10 + 3 * n}:7: undefined: v{n}")
    ),
    "statements in a console": lambda _: over("python", "code", [f"x{n} = load({n})" for n in range(12)], ""),
    "values in a console": lambda _: over("ipython", "code", [f"df['{n}'].isna().sum()" for n in NAMES], "0"),
    "shapes in a console": lambda _: over("ipython", "code", [f"frames['{n}'].shape" for n in NAMES], "(1000, 12)"),
    "commits": lambda _: bash((f"git add {n}.py && git commit -qm 'part {n}'" for n in NAMES), ""),
    "overview between commits": lambda c: rounds(
        6,
        lambda n: ("bash", {"command": f"git commit -am 'part {n}'"}, f"[main {c.getrandbits(28):07x}] part {n}"),
        run("git status -s", lambda _: ""),
    ),
    "overview between shell edits": lambda _: rounds(
        6,
        lambda n: ("bash", {"command": f"echo line{n} >> notes.txt"}, ""),
        run("git diff --stat", lambda _: "notes.txt | 1 +"),
    ),
    "one save between edits": lambda _: rounds(6, edit("a.py"), lambda _: ("save_file", {"path": "a.py"}, "saved")),
    "one restart between edits": lambda _: rounds(
        6, edit("app.conf"), lambda _: ("restart_service", {"name": "app"}, "Service app restarted")
    ),
    "plan ticked between work": lambda _: rounds(
        6,
        lambda n: (
            "todo_write",
            {"todos": [f"step {k}: {'done' if k < n else 'open'}" for k in range(6)]},
            "Todos updated",
        ),
        edit("a.py"),
    ),
    "replies to many threads": lambda _: over("reply", "thread_id", range(9), "Reply posted", text="Thanks, merged."),
    "messages in one channel with work between": lambda _: rounds(
        6,
        lambda n: ("post_message", {"channel": "ops", "text": f"host {NAMES[n]} is done"}, "ok"),
        lambda n: ("patch_host", {"host": NAMES[n]}, f"patched {n} packages"),
    ),
    "an MCP tool over many ids": lambda c: over(
        "mcp__crm__get_account",
        "id",
        ids(c, 9),
        lambda n: structured("Account found.", {"tier": "gold" if n % 2 else "free"}),
    ),
    "an MCP tool with one structured answer": lambda c: over(
        "mcp__crm__check", "account", ids(c, 9), lambda _: structured("Check passed.", {"ok": True})
    ),
    "files read in German": lambda _: over(
        "datei_lesen", "pfad", [f"kap/{n}.txt" for n in NAMES], lambda n: f"Kapitel {n}: Anfang und Ende"
    ),
    "checks in Chinese": lambda _: over("检查", "文件", [f"src/{n}.py" for n in NAMES], "检查通过 没有问题"),
    "notes kept while reading": lambda _: rounds(
        8,
        lambda n: ("read_file", {"path": f"c{n}.md"}, f"chapter {n} of the book"),
        lambda n: ("think", {"thought": f"chapter {n} is about {NAMES[n]}"}, "ok"),
    ),
    "sub-agents for many parts": lambda _: over(
        "task",
        "prompt",
        [f"Review the module {n} and report what is wrong" for n in NAMES],
        "No problems found in the module.",
    ),
    "translations": lambda _: over(
        "translate", "text", [f"the {n} is red" for n in NAMES], lambda n: f"das {NAMES[n]} ist rot"
    ),
    "retries of two hosts": lambda _: bash(
        ["curl -sf http://a/x", "curl -sf http://a/x", "curl -sf http://b/x"],
        lambda n: "ok: 7" if n == 2 else "!curl: (28) timeout",
    ),
    "migrations": lambda c: bash(
        (f"alembic upgrade {c.getrandbits(48):012x}" for n in range(8)), "INFO  Context impl PostgresqlImpl."
    ),
    "cherry-picks": lambda c: bash(
        (f"git cherry-pick {c.getrandbits(40):010x}" for n in range(8)),
        lambda n: f"[rel {c.getrandbits(28):07x}] fix {n}",
    ),
}
