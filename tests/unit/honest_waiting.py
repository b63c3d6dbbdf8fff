"""Honest runs that wait, page, move about or make pictures: what repeats in them is not what matters."""

from __future__ import annotations

import base64
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from tests.unit.balanced_runs import Step


def same_call(tool: str, args: Any, answers: Iterable[Any]) -> list[Step]:
    """One call over and over, with these answers."""
    return [(tool, args, answer) for answer in answers]


def paged(tool: str, key: str, cursors: list[str], page: Callable[[int, str], Any], **args: Any) -> list[Step]:
    """A list read page by page; each answer names the next cursor."""
    ends = [*cursors[1:], ""]
    return [
        (tool, args | ({key: cursor} if cursor else {}), page(number, after))
        for number, (cursor, after) in enumerate(zip(["", *cursors[1:]], ends, strict=True))
    ]


def ids(chance: Random, count: int) -> list[str]:
    """Fresh random identifiers."""
    return [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(count)]


def tokens(chance: Random, count: int) -> list[str]:
    """Opaque page tokens."""
    return [base64.urlsafe_b64encode(chance.randbytes(18)).decode() for _ in range(count)]


def picture(chance: Random, caption: str) -> dict[str, Any]:
    """A picture with a caption, as MCP gives it."""
    data = base64.b64encode(chance.randbytes(600)).decode()
    return {"content": [{"type": "text", "text": caption}, {"type": "image", "data": data, "mimeType": "image/png"}]}


def structured(text: str, content: Any) -> dict[str, Any]:
    """An MCP answer whose text is constant and whose structured content is the answer."""
    return {"content": [{"type": "text", "text": text}], "structuredContent": content}


def down(chance: Random, most: int, steps: int) -> list[int]:
    """Numbers that fall."""
    return sorted(chance.sample(range(1, most), steps), reverse=True)


def up(chance: Random, most: int, steps: int) -> list[int]:
    """Numbers that rise."""
    return sorted(chance.sample(range(1, most), steps))


def pods(chance: Random, ready: int) -> str:
    """A table of pods, some of them ready, all of them older than before."""
    rows = [
        f"web-7d4b9c-{n}a  {int(n < ready)}/1  {'Running' if n < ready else 'Creating'}  0  {9 + 7 * ready + n}s"
        for n in range(6)
    ]
    return "\n".join(["NAME           READY   STATUS    RESTARTS   AGE", *rows]) + "\n" + "-" * chance.randrange(3)


def log_tail(epoch: int) -> str:
    """The end of a training log."""
    return "\n".join(
        f"epoch {epoch}/90 step {s} loss {9.1 / (epoch + s / 8 + 1):.4f} seen {epoch * 4000 + s * 500} samples"
        for s in range(8)
    )


def kubernetes(chance: Random) -> list[Step]:
    return same_call("kubectl_get", {"kind": "pods", "namespace": "shop"}, [pods(chance, n) for n in range(7)])


WAITING: dict[str, Callable[[Random], list[Step]]] = {
    "pods come up one by one": kubernetes,
    "a rollout that advances": lambda c: same_call(
        "bash",
        {"command": "kubectl rollout status deploy/web --timeout=5s"},
        [
            f"Waiting for deployment web rollout to finish: {n} of 12 updated replicas are available..."
            for n in up(c, 12, 7)
        ],
    ),
    "a taxi that comes nearer": lambda c: same_call(
        "ride", {"id": 4}, [f"Your driver arrives in {n} minutes" for n in down(c, 20, 8)]
    ),
    "an auction that ends": lambda c: same_call(
        "auction", {"lot": 9}, [f"{n} seconds left, highest bid 40 EUR" for n in down(c, 99, 9)]
    ),
    "a session about to end": lambda c: same_call(
        "token_info", {}, [f"Token is valid, expires in {n}s" for n in down(c, 900, 8)]
    ),
    "parts of a job": lambda _: same_call("worker", {"queue": "q"}, [f"Part {n} of 10 done" for n in range(1, 11)]),
    "shards of an index": lambda _: same_call(
        "reindex_info", {"index": "a"}, [f"shard {n}/16 relocated" for n in range(2, 14)]
    ),
    "percentages": lambda c: same_call("upload", {"file": "a.iso"}, [f"progress {n}%" for n in up(c, 100, 9)]),
    "a bar": lambda _: same_call(
        "fetch_model", {"m": "x"}, [f"[{'#' * n}{'.' * (12 - n)}] downloading" for n in range(12)]
    ),
    "a clock asked between steps": lambda c: [
        step
        for n in range(6)
        for step in (
            ("bash", {"command": "date"}, f"Tue Mar  4 10:{n:02}:{c.randrange(60):02} UTC 2031"),
            ("measure", {}, f"{c.random():.9f} bar"),
        )
    ],
    "the time of a meeting waited for": lambda _: same_call(
        "clock", {}, [f"2031-03-04T10:{n:02}:00Z" for n in range(4)]
    ),
    "a pipeline": lambda _: same_call(
        "get_pipeline", {"id": 77}, [{"id": 77, "status": "running", "jobs": {"done": n, "of": 14}} for n in range(9)]
    ),
    "a pipeline that says little": lambda _: same_call(
        "gh_run", {"id": 5}, ["in_progress"] * 3 + ["completed: failure"]
    ),
    "a build log that grows": lambda c: same_call(
        "read_log", {"job": 3}, ["\n".join(f"[{k}/40] cc -c f{k}.c" for k in range(n)) for n in up(c, 40, 8)]
    ),
    "a training log": lambda c: same_call(
        "bash", {"command": "cat train.log | tail -8"}, [log_tail(n) for n in up(c, 90, 8)]
    ),
    "metrics of a run": lambda c: same_call("metrics", {"run": "r1"}, [{"log": log_tail(n)} for n in up(c, 90, 7)]),
    "a queue that drains": lambda c: same_call(
        "queue", {"name": "mail"}, [{"depth": n, "consumers": 3} for n in down(c, 4000, 9)]
    ),
    "quiet sleeps before a look": lambda _: [
        step
        for n in range(6)
        for step in (("bash", {"command": "sleep 120"}, ""), ("bash", {"command": "ls out | wc -l"}, f"{n * 3 + 1}"))
    ],
    "long quiet sleeps": lambda _: same_call("bash", {"command": "sleep 600"}, [""] * 8),
    "sleep and look in one": lambda _: same_call(
        "bash", {"command": "sleep 90; tail -1 build.log"}, ["linking"] * 7 + ["done 0"]
    ),
    "terraform": lambda _: same_call(
        "tf_state", {"run": "a"}, [f"aws_db_instance.main: Still creating... [{n}m0s elapsed]" for n in range(1, 5)]
    ),
    "a page of a table with opaque cursors": lambda c: paged(
        "list_orders", "cursor", ids(c, 9), lambda n, after: {"items": [{"id": 100 + n}], "next_cursor": after}
    ),
    "empty pages with opaque cursors": lambda c: paged(
        "scan", "cursor", ids(c, 9), lambda _, after: {"items": [], "next_cursor": after}, filter="status=failed"
    ),
    "empty pages with page tokens": lambda c: paged(
        "gmail_search",
        "pageToken",
        tokens(c, 8),
        lambda _, after: {"messages": [], "nextPageToken": after},
        q="from:bank",
    ),
    "a cursor kept by the tool": lambda c: same_call(
        "next_page_of_results", {"size": 50}, [{"items": [], "next_cursor": one} for one in ids(c, 8)]
    ),
    "pages by number": lambda _: [
        ("list_users", {"page": n}, [{"id": n * 20 + k} for k in range(3)]) for n in range(1, 12)
    ],
    "a file by offsets": lambda _: [
        ("read_file", {"path": "big.c", "offset": n, "limit": 200}, f"int f{n}();\n" * 20) for n in range(1, 2400, 200)
    ],
    "pictures of a screen": lambda c: same_call(
        "screenshot", {}, [picture(c, "Screenshot captured") for _ in range(9)]
    ),
    "pictures with an argument": lambda c: same_call(
        "computer", {"action": "screenshot"}, [picture(c, "Screenshot taken") for _ in range(4)]
    ),
    "clicks and pictures": lambda c: [
        step
        for n in range(7)
        for step in (
            ("computer", {"action": "left_click", "coordinate": [c.randrange(900), c.randrange(700)]}, "ok"),
            ("computer", {"action": "screenshot"}, picture(c, "Screenshot taken")),
        )
    ],
    "clicks that answer with a picture": lambda c: [
        (
            "computer",
            {"action": "left_click", "coordinate": [40 * n, 30 * n]},
            picture(c, "Action performed, new screenshot follows"),
        )
        for n in range(9)
    ],
    "browser snapshots": lambda c: [
        step
        for n in range(7)
        for step in (
            ("browser_click", {"ref": f"e{c.randrange(10**6)}"}, "Clicked"),
            ("browser_snapshot", {}, f"- page: shop, step {n}\n- button 'Next' [ref=e{n}]"),
        )
    ],
    "a form filled in": lambda c: [
        ("browser_type", {"ref": f"e{n}", "text": f"value {c.random()}"}, "Typed text into the element")
        for n in range(9)
    ],
    "keys pressed": lambda _: [("press_key", {"key": "Tab"}, "ok") for _ in range(8)],
    "scrolling": lambda _: [("browser_scroll", {"dy": 700}, f"viewport at {700 * n} of 9000") for n in range(9)],
    "images of reworded prompts": lambda c: [
        (
            "generate_image",
            {"prompt": f"a red fox in {w} light, oil on canvas"},
            picture(c, "Here is the image you asked for."),
        )
        for w in ("morning", "evening", "winter", "street", "moon", "green", "soft", "harsh")
    ],
    "images of one prompt": lambda c: same_call(
        "generate_image",
        {"prompt": "a logo"},
        [{"url": f"https://cdn.example/{one}.png", "status": "ok"} for one in ids(c, 4)],
    ),
    "structured answers under one text": lambda c: same_call(
        "stock", {"sym": "X"}, [structured("Quote fetched.", {"price": p / 100}) for p in up(c, 9999, 8)]
    ),
    "structured rows under one text": lambda c: [
        (
            "run_sql",
            {"sql": f"select * from t where day = {n}"},
            structured("Query executed successfully", {"rows": [[n, c.random()]]}),
        )
        for n in range(9)
    ],
    "a game that goes on": lambda _: [
        ("game_step", {"action": a}, f"turn {n}: hp {40 - n}") for n, a in enumerate("aabacaabda")
    ],
    "dice": lambda c: same_call("roll", {"sides": 20}, [f"{c.randrange(1, 21)}" for _ in range(5)] + ["20, you win"]),
    "a sensor": lambda c: same_call("read_sensor", {"id": "t1"}, [f"{20 + c.random() * 4:.2f} C" for _ in range(12)]),
    "a chat waited for": lambda _: same_call(
        "get_messages", {"channel": "ops"}, [{"messages": [f"m{k}" for k in range(n)]} for n in range(1, 8)]
    ),
    "retry that says how long": lambda _: same_call(
        "api", {"q": 1}, [f"!429 too many requests, retry after {n} s" for n in (8, 4, 2)] + ["result 7"]
    ),
}

#: Times of the calls, for runs in which they matter.
TIMED: dict[str, tuple[Callable[[Random], list[Step]], list[float]]] = {
    "back-off that pays": (
        lambda _: same_call("api", {"q": 1}, ["!503 service unavailable"] * 6 + ["result 7"]),
        [0, 1, 3, 7, 15, 31, 63],
    ),
    "a quiet job looked at each minute": (
        lambda _: same_call("job", {"id": 2}, ["phase 2"] * 12 + ["over"]),
        [60.0 * n for n in range(13)],
    ),
    "an export that takes an hour": (
        lambda _: same_call("export_state", {"id": 2}, [{"state": "EXPORTING"}] * 12 + [{"state": "READY"}]),
        [300.0 * n for n in range(13)],
    ),
    "growing pauses": (
        lambda _: same_call("deploy_info", {"id": 2}, ["phase 1"] * 6 + ["phase 2"]),
        [0, 2, 5, 11, 23, 50, 99],
    ),
}
