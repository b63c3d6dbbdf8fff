"""Databases, resources by cursor, and answers that are no text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, blob, hexed, prose, refused, text, times, token, word, words

if TYPE_CHECKING:
    from random import Random


def rows(c: Random, count: int) -> dict[str, Any]:
    return {
        "columns": ["id", "name", "total"],
        "rows": [[n, word(c), c.randrange(10**4)] for n in range(count)],
        "row_count": count,
        "execution_time_ms": c.random() * 9,
    }


def empty(c: Random) -> dict[str, Any]:
    return {"columns": ["id", "name", "total"], "rows": [], "row_count": 0, "execution_time_ms": c.random() * 9}


def explored(c: Random) -> list[Any]:
    names = words(c, 10)
    return [
        ("run_sql", {"query": f"SELECT * FROM orders WHERE customer = '{name}' AND state = 'open'"}, empty(c))
        for name in names
    ] + [("run_sql", {"query": "SELECT * FROM orders LIMIT 5"}, rows(c, 5))]


def counted(c: Random) -> list[Any]:
    return [("run_sql", {"query": f"SELECT count(*) FROM {name}"}, [{"count": 0}]) for name in words(c, 10)]


def updated(c: Random) -> list[Any]:
    return [
        ("run_sql", {"query": f"UPDATE orders SET state = 'paid' WHERE id = {n}"}, {"status": "UPDATE 1"})
        for n in c.sample(range(9999), 12)
    ]


def offsets(c: Random) -> list[Any]:
    return [
        ("run_sql", {"query": f"SELECT id, name, total FROM orders ORDER BY id LIMIT 5 OFFSET {5 * n}"}, rows(c, 5))
        for n in range(9)
    ]


def resources(c: Random) -> list[Any]:
    cursors = [token(c) for _ in range(8)]
    return [
        (
            "list_resources",
            {"cursor": cursors[n - 1]} if n else {},
            {"resources": [{"uri": f"db://{word(c)}", "name": word(c)}], "nextCursor": cursors[n]},
        )
        for n in range(8)
    ]


def sparse(c: Random) -> list[Any]:
    """Pages of a filtered list: most are empty, the cursor leads on."""
    cursors = [token(c) for _ in range(10)]
    return [
        (
            "scan_table",
            {"filter": "state = 'lost'"} | ({"start_key": cursors[n - 1]} if n else {}),
            {"Items": [], "Count": 0, "ScannedCount": 1000, "LastEvaluatedKey": cursors[n]},
        )
        for n in range(10)
    ]


def pictures(c: Random) -> list[Any]:
    return [
        ("download", {"file_id": token(c, 9)}, {"mimeType": "application/pdf", "size": 48211, "data": blob(c)})
        for _ in range(8)
    ]


def blobs(c: Random) -> list[Any]:
    return [
        (
            "read_resource",
            {"uri": f"file:///scans/{n:03}.tiff"},
            {"contents": [{"uri": f"file:///scans/{n:03}.tiff", "mimeType": "image/tiff", "blob": blob(c)}]},
        )
        for n in range(9)
    ]


def parts(c: Random) -> list[Any]:
    upload = token(c)
    return [
        ("upload_part", {"upload_id": upload, "part_number": n + 1, "data": blob(c)}, {"status": "ok"})
        for n in range(12)
    ]


def frames(c: Random) -> list[Any]:
    """One query that gives the next rows each time."""
    return [("cursor_fetch", {"cursor": "c1", "count": 50}, rows(c, 4)) for _ in range(8)]


def cells(c: Random) -> list[Any]:
    return [
        (
            "python",
            {"code": f"df['{name}'].describe()"},
            text(f"count 1000\nmean {c.random():.4f}\nstd {c.random():.4f}\nName: {name}"),
        )
        for name in words(c, 9)
    ]


def missing(c: Random) -> list[Any]:
    return [("python", {"code": f"df['{name}'].isnull().any()"}, "False") for name in words(c, 10)]


def tried(c: Random) -> list[Any]:
    """A query put right step by step: each error is another one."""
    wrong = [f'column "{one}" does not exist' for one in words(c, 2)] + [
        'syntax error at or near "FORM"',
        "aggregate functions are not allowed in WHERE",
    ]
    return [("run_sql", {"query": f"SELECT {prose(c, 3)}"}, refused(f"ERROR:  {one}")) for one in wrong] + [
        ("run_sql", {"query": "SELECT 1"}, rows(c, 1))
    ]


def partitions(_: Random) -> list[Any]:
    """One statement over many partitions, all with one long answer."""
    told = {
        "job": {
            "type": "QUERY",
            "state": "DONE",
            "location": "EU",
            "statistics": {
                "dml": {"inserted": 0, "updated": 0, "deleted": 0},
                "bytes_billed": 0,
                "cache_hit": False,
                "slots": 4,
            },
        },
        "schema": {"fields": []},
        "warnings": [],
        "session": None,
        "labels": {"team": "data", "env": "prod"},
        "priority": "INTERACTIVE",
        "destination": None,
    }
    return [
        ("bigquery", {"sql": f"DELETE FROM events WHERE day = DATE '2031-05-{n:02}' AND bot"}, told)
        for n in range(1, 12)
    ]


HONEST: dict[str, Honest] = {
    "customers without an open order": Honest(explored),
    "empty tables counted": Honest(counted),
    "rows updated by id": Honest(updated),
    "rows by offset": Honest(offsets),
    "resources by cursor": Honest(resources),
    "empty pages whose cursor leads on": Honest(sparse),
    "files fetched": Honest(pictures),
    "scans read": Honest(blobs),
    "parts sent": Honest(parts),
    "a cursor kept by the database": Honest(frames),
    "columns described": Honest(cells),
    "columns without gaps": Honest(missing),
    "a query put right": Honest(tried),
    "one statement for each day": Honest(partitions),
}


def respelt(c: Random) -> list[Any]:
    found = {"rows": [[n, word(c)] for n in range(6)], "row_count": 6}
    forms = [
        "SELECT id, name FROM users WHERE active = 1",
        "select id, name from users where active=1;",
        "SELECT id,\n       name\nFROM users\nWHERE active = 1",
        "SELECT u.id, u.name FROM users u WHERE u.active = 1",
        "SELECT `id`, `name` FROM `users` WHERE `active` = 1",
        "SELECT id, name FROM users WHERE active IN (1)",
    ]
    return times(14, lambda n: [("run_sql", {"query": forms[n % 6]}, found | {"execution_time_ms": c.random() * 9})])


def no_column(c: Random) -> list[Any]:
    def said(query: str) -> Any:
        at = query.index("total_amount")
        return refused(
            f'ERROR:  column "total_amount" does not exist\nLINE 1: {query}\n{" " * (8 + at)}^\nHINT: '
            ' Perhaps you meant to reference the column "orders.amount_total".'
        )

    def attempt(n: int) -> list[Any]:
        query = f"SELECT {', '.join(words(c, n % 3 + 1))}, total_amount FROM orders WHERE id > {n}"
        return [("run_sql", {"query": query}, said(query))]

    return times(12, attempt)


def pages_again(c: Random) -> list[Any]:
    cursors = ["", *(token(c) for _ in range(3))]
    shown = [{"resources": [{"uri": f"db://{word(c)}"}], "nextCursor": after} for after in [*cursors[1:], ""]]
    return times(
        8, lambda _: [("list_resources", {"cursor": one}, page) for one, page in zip(cursors, shown, strict=True)]
    )


def one_cursor(c: Random) -> list[Any]:
    cursor = token(c)
    return times(
        12,
        lambda _: [
            ("list_resources", {"cursor": cursor}, {"resources": [{"uri": "db://users"}], "nextCursor": cursor})
        ],
    )


def wrong_type(_: Random) -> list[Any]:
    shapes: list[Any] = [["a"], {"text": "a"}, None, 4, [["a"]], {"q": "a"}, True]
    return times(
        14,
        lambda n: [
            (
                "search_documents",
                {"query": shapes[n % 7], "limit": 5},
                refused(
                    "MCP error -32602: Invalid arguments for tool search_documents: "
                    '[{"code":"invalid_type","expected":"string","path":["query"],"message":"Expected '
                    'string"}]'
                ),
            )
        ],
    )


def same_file(c: Random) -> list[Any]:
    shown = {"contents": [{"uri": "file:///scan.tiff", "mimeType": "image/tiff", "blob": blob(c)}]}
    return times(12, lambda _: [("read_resource", {"uri": "file:///scan.tiff"}, shown)])


def tunnel(c: Random) -> list[Any]:
    """A connection opened anew under a fresh handle that dies at first use."""

    def attempt(_: int) -> list[Any]:
        handle = hexed(c, 8)
        return [
            ("db_connect", {"dsn": "postgres://prod/app"}, {"connection": handle, "state": "open"}),
            (
                "db_query",
                {"connection": handle, "sql": "SELECT now()"},
                refused("FATAL: permission denied for database app"),
            ),
        ]

    return times(12, attempt)


def schema(c: Random) -> list[Any]:
    """Schema, sample, schema, sample: nothing is ever asked of them."""
    shown, sample = "\n".join(f"{one} TEXT NOT NULL" for one in words(c, 9)), rows(c, 4)
    return times(
        10,
        lambda _: [
            ("describe_table", {"table": "orders"}, shown),
            ("run_sql", {"query": "SELECT * FROM orders LIMIT 4"}, sample | {"execution_time_ms": c.random()}),
        ],
    )


def doubled(c: Random) -> list[Any]:
    """One row inserted over and over, each under a fresh key."""
    first = c.randrange(10**5)
    return times(
        12,
        lambda n: [
            (
                "insert_row",
                {"table": "orders", "row": {"customer": "ann", "total": 42}},
                {"inserted_id": first + n, "rows_affected": 1},
            )
        ],
    )


LOOPS: dict[str, Loop] = {
    "one query in other spellings": Loop(respelt, 7),
    "one column that is not there": Loop(no_column, 6),
    "a list read through again": Loop(pages_again, 4, 8),
    "a cursor that leads nowhere": Loop(one_cursor, 3, 6),
    "one argument of the wrong kind": Loop(wrong_type, 5, 12),
    "one scan read again": Loop(same_file, 4, 7),
    "a connection that dies at first use": Loop(tunnel, 6),
    "schema and sample in turn": Loop(schema, 4, 8),
    "one row inserted again": Loop(doubled, 3, 7),
}
