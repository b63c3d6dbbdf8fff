"""Small circles: pages, calls of HTTP, patches, poses and notes that come again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, hexed, prose, refused, times, word

if TYPE_CHECKING:
    from random import Random


def browser_back_and_forth(c: Random) -> list[Any]:
    a, b = prose(c, 60), prose(c, 60)
    return times(
        10, lambda _: [("browser_navigate", {"url": "https://a.example"}, a), ("browser_navigate_back", {}, b)]
    )


def reads_same_page_of_pdf(c: Random) -> list[Any]:
    p = prose(c, 80)
    return times(10, lambda _: [("pdf_read", {"path": "a.pdf", "page": 4}, p)])


def tool_call_with_trailing_spaces(c: Random) -> list[Any]:
    p = prose(c, 40)
    return times(12, lambda n: [("read_doc", {"title": "Start" + " " * (n % 4)}, p)])


HONEST: dict[str, Honest] = {}

LOOPS: dict[str, Loop] = {
    "browser back and forth": Loop(browser_back_and_forth, 5, 9),
    "same failing http with date header": Loop(
        lambda c: times(
            12,
            lambda n: [
                (
                    "http_post",
                    {"url": "https://api.example/v1/orders", "body": {"sku": 1}},
                    {
                        "status": 422,
                        "headers": {"date": f"Tue, 06 May 2031 10:00:{n:02} GMT", "x-request-id": hexed(c, 32)},
                        "body": {"error": "sku must be a string"},
                    },
                )
            ],
        ),
        4,
        9,
    ),
    "same failing http, body varies": Loop(
        lambda c: times(
            12,
            lambda n: [
                (
                    "http_post",
                    {"url": "https://api.example/v1/orders", "body": {"sku": n, "note": word(c)}},
                    {
                        "status": 422,
                        "headers": {"x-request-id": hexed(c, 32)},
                        "body": {"error": "sku must be a string"},
                    },
                )
            ],
        ),
        6,
    ),
    "apply patch fails alike": Loop(
        lambda c: times(
            12,
            lambda _: [
                (
                    "apply_patch",
                    {"patch": f"*** Update File: a.py\n@@ def start\n-    x = {word(c)}\n+    x = {word(c)}"},
                    refused("Invalid Context 0:\ndef start"),
                )
            ],
        ),
        5,
    ),
    "same jql count": Loop(
        lambda _: times(
            10,
            lambda _: [
                (
                    "jira_search",
                    {"jql": "project = X AND status = Open"},
                    {"total": 3, "issues": [{"key": "X-1"}, {"key": "X-2"}, {"key": "X-3"}]},
                )
            ],
        ),
        3,
        6,
    ),
    "reads same page of pdf": Loop(reads_same_page_of_pdf, 3, 6),
    "restart kernel rerun fail": Loop(
        lambda c: times(
            10,
            lambda _: [
                ("notebook_restart", {}, "Kernel restarted"),
                (
                    "notebook_run_all",
                    {},
                    {
                        "failed_cell": 4,
                        "ename": "ImportError",
                        "evalue": "libGL.so.1: cannot open shared object file",
                        "execution_time_ms": c.random() * 100,
                    },
                ),
            ],
        ),
        5,
        10,
    ),
    "move to same failing pose w JSON": Loop(
        lambda c: times(
            10, lambda _: [("arm_move", {"x": 1}, {"success": False, "error": "collision", "elapsed_s": c.random()})]
        ),
        3,
        6,
    ),
    "calc same thing": Loop(lambda _: times(10, lambda _: [("calculator", {"expression": "3*(4+5)"}, "27")]), 3, 6),
    "same tool alternates with failing tool": Loop(
        lambda c: times(
            10,
            lambda _: [
                ("get_schema", {"name": "orders"}, prose(c, 0) + "orders(id,total)"),
                ("insert_order", {"total": "abc"}, refused("total must be a number")),
            ],
        ),
        4,
        10,
    ),
    "tool call with trailing spaces": Loop(tool_call_with_trailing_spaces, 4, 8),
    "agent re-lists dirs a b c": Loop(
        lambda _: times(8, lambda _: [("list_dir", {"path": p}, f"{p}/x\n{p}/y") for p in ("src", "lib", "doc")]), 4, 8
    ),
}
