"""Trackers, chats, payments and tables behind REST interfaces."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, each, hexed, prose, refused, text, times, token, word, words

if TYPE_CHECKING:
    from random import Random


def issue(c: Random, number: int) -> dict[str, Any]:
    return {
        "id": c.randrange(10**9),
        "number": number,
        "node_id": token(c, 12),
        "title": prose(c, 5),
        "state": "open",
        "html_url": f"https://git.example/o/r/issues/{number}",
    }


def labels(c: Random) -> list[Any]:
    """Labels set on many issues; each answer lists all labels, alike everywhere."""
    told = [
        {
            "id": 4100 + n,
            "node_id": f"LA_kwDO{n}",
            "name": name,
            "color": "d73a4a",
            "description": f"{name} of the project",
            "default": False,
        }
        for n, name in enumerate(("bug", "triaged", "help wanted"))
    ]
    first = c.randrange(10, 500)
    return [
        ("github_add_labels", {"owner": "o", "repo": "r", "issue_number": first + n, "labels": ["triaged"]}, text(told))
        for n in range(9)
    ]


def pulls(c: Random) -> list[Any]:
    return [
        ("github_list_issues", {"repo": "r", "page": n + 1, "per_page": 30}, [issue(c, 30 * n + k) for k in range(4)])
        for n in range(7)
    ]


def jira(c: Random) -> list[Any]:
    key = word(c).upper()
    numbers = c.sample(range(100, 999), 9)
    return [
        step
        for number in numbers
        for step in (
            (
                "jira_get_issue",
                {"key": f"{key}-{number}"},
                {"key": f"{key}-{number}", "fields": {"status": {"name": "To Do"}, "summary": prose(c, 4)}},
            ),
            ("jira_transition", {"key": f"{key}-{number}", "transition": "31"}, ""),
        )
    ]


def channels(c: Random) -> list[Any]:
    return [
        (
            "slack_post_message",
            {"channel": f"C{hexed(c, 8).upper()}", "text": "The service is back."},
            {"ok": True, "ts": f"17{c.randrange(10**8)}.{c.randrange(10**6):06}"},
        )
        for _ in range(10)
    ]


def chat_pages(c: Random) -> list[Any]:
    cursors = [token(c, 12) for _ in range(8)]
    return [
        (
            "slack_history",
            {"channel": "C1", "limit": 20} | ({"cursor": cursors[n - 1]} if n else {}),
            {
                "ok": True,
                "messages": [{"text": prose(c, 6), "user": f"U{n}"}],
                "has_more": True,
                "response_metadata": {"next_cursor": cursors[n]},
            },
        )
        for n in range(8)
    ]


def refunds(c: Random) -> list[Any]:
    return [
        ("stripe_refund", {"charge": f"ch_{token(c, 12)}"}, {"object": "refund", "status": "succeeded"})
        for _ in range(11)
    ]


def cells(c: Random) -> list[Any]:
    return [
        (
            "sheets_update",
            {"range": f"Sheet1!B{n + 2}", "values": [[c.randrange(10, 99)]]},
            {"updatedCells": 1, "updatedRows": 1, "updatedColumns": 1},
        )
        for n in range(14)
    ]


def values(c: Random) -> list[Any]:
    return [
        ("sheets_get", {"range": f"{name.title()}!A1:D40"}, {"range": "A1:D40", "majorDimension": "ROWS", "values": []})
        for name in words(c, 8)
    ]


def customers(c: Random) -> list[Any]:
    return [
        (
            "crm_find_customer",
            {"email": f"{name}@example.com"},
            {
                "results": [],
                "total": 0,
                "paging": None,
                "message": "No customer matches this address. Check the spelling or search by name.",
            },
        )
        for name in words(c, 5)
    ] + [("crm_find_customer", {"name": word(c)}, {"results": [{"id": 4}], "total": 1})]


def payment(c: Random) -> list[Any]:
    one = f"pi_{token(c, 12)}"
    states = ["processing"] * 5 + ["succeeded"]
    return [("payment_status", {"id": one}, {"id": one, "status": state, "amount": 4200}) for state in states]


def conditional(c: Random) -> list[Any]:
    tag = hexed(c, 32)
    same = {"status": 304, "headers": {"etag": f'W/"{tag}"', "date": "Tue, 06 May 2031 10:00:00 GMT"}, "body": ""}
    return [("http_get", {"url": "https://api.example/releases", "if_none_match": tag}, same) for _ in range(8)] + [
        (
            "http_get",
            {"url": "https://api.example/releases", "if_none_match": tag},
            {"status": 200, "body": prose(c, 9)},
        )
    ]


def comments(c: Random) -> list[Any]:
    return each(
        6,
        lambda n: [
            ("github_get_pull_file", {"path": f"src/{word(c)}.py"}, prose(c, 50)),
            (
                "github_add_review_comment",
                {"pull": 7, "path": f"src/{word(c)}.py", "line": 4 + n, "body": prose(c, 8)},
                issue(c, n),
            ),
        ],
    )


def backing_off(c: Random) -> list[Any]:
    args = {"query": prose(c, 2)}
    said = [refused({"error": {"code": 429, "message": "Rate limit exceeded", "retry_after": 2**n}}) for n in range(4)]
    return [("notion_query", args, one) for one in said] + [("notion_query", args, {"results": [{"id": hexed(c, 32)}]})]


def assigned(c: Random) -> list[Any]:
    """Parts of a long answer alike for many tickets: only ids differ in the call."""
    told = {
        "success": True,
        "assignee": {
            "id": 77,
            "name": "Ann",
            "email": "ann@example.com",
            "team": {"id": 3, "name": "Support", "lead": "Bob", "time_zone": "UTC"},
        },
        "notified": ["ann@example.com", "bob@example.com"],
        "policy": {"sla_hours": 24, "escalation": "to the lead after a day", "reminders": True},
    }
    return [("zendesk_assign", {"ticket_id": one, "assignee_id": 77}, told) for one in c.sample(range(1000, 9999), 9)]


HONEST: dict[str, Honest] = {
    "labels on many issues, each answer the whole list": Honest(labels),
    "issues page by page": Honest(pulls),
    "tickets read and moved": Honest(jira),
    "one message in many channels": Honest(channels),
    "a channel's past by cursor": Honest(chat_pages),
    "refunds of many charges": Honest(refunds),
    "cells filled one by one": Honest(cells),
    "empty sheets looked at": Honest(values),
    "addresses nobody has": Honest(customers),
    "a payment under way": Honest(payment, seconds=45),
    "a feed without news, asked each minute": Honest(conditional, seconds=60),
    "a review in parts": Honest(comments),
    "a limit that is waited for": Honest(backing_off, hinted=True),
    "many tickets given to one person": Honest(assigned),
}


def same_issue(c: Random) -> list[Any]:
    args = {"repo": "r", "title": prose(c, 4), "body": prose(c, 20)}
    return times(
        12,
        lambda n: [
            (
                "github_create_issue",
                args,
                issue(c, 40 + n)
                | {"created_at": f"2031-05-06T10:{n:02}:{c.randrange(60):02}Z", "title": args["title"]},
            )
        ],
    )


def conflict(c: Random) -> list[Any]:
    args = {"key": "OPS-31", "transition": "41"}

    def said() -> Any:
        return refused(
            {
                "timestamp": 1935000000000 + c.randrange(10**9),
                "status": 409,
                "error": "Conflict",
                "path": "/rest/api/3/issue/OPS-31",
                "requestId": str(uuid.UUID(int=c.getrandbits(128))),
            }
        )

    return times(12, lambda _: [("jira_transition", args, said())])


def query_words(_: Random) -> list[Any]:
    said = refused(
        {
            "errorMessages": ["Field 'sprnt' does not exist or you do not have permission to view it."],
            "warningMessages": [],
        }
    )
    asked = [
        "project = OPS AND sprnt = 4",
        "sprnt = 4",
        "sprnt = '4' AND project = OPS",
        "project=OPS and sprnt in (4)",
        "project = OPS AND sprnt = 4 ORDER BY created",
        "sprnt is not EMPTY",
    ]
    return times(14, lambda n: [("jira_search", {"jql": asked[n % 6]}, said)])


def same_post(c: Random) -> list[Any]:
    args = {"channel": "C0AB12", "text": prose(c, 9)}
    return times(
        12,
        lambda n: [
            (
                "slack_post_message",
                args,
                {
                    "ok": True,
                    "channel": "C0AB12",
                    "ts": f"19350{n:05}.{c.randrange(10**6):06}",
                    "message": {"text": args["text"], "ts": f"19350{n:05}.{c.randrange(10**6):06}"},
                },
            )
        ],
    )


def no_channel(c: Random) -> list[Any]:
    name = word(c)
    spelt = [f"#{name}", name, name.upper(), f"#{name}s", f"{name}-team", f"@{name}", f"{name}_all", f"the-{name}"]
    return times(
        14,
        lambda n: [
            (
                "slack_post_message",
                {"channel": spelt[n % 8], "text": "Hello all"},
                {"ok": False, "error": "channel_not_found"},
            )
        ],
    )


def declined(c: Random) -> list[Any]:
    def said() -> Any:
        return {
            "error": {
                "code": "card_declined",
                "decline_code": "insufficient_funds",
                "message": "Your card has insufficient funds.",
                "request_log_url": f"https://pay.example/logs/req_{token(c, 12)}",
            }
        }

    return times(
        12,
        lambda _: [
            (
                "stripe_charge",
                {"amount": 4200, "customer": "cus_1", "idempotency_key": str(uuid.UUID(int=c.getrandbits(128)))},
                said(),
            )
        ],
    )


def formula(_: Random) -> list[Any]:
    args = {"range": "Sheet1!C9", "values": [["=SUM(B2:B8)/D$1"]]}
    return times(
        10,
        lambda _: [
            ("sheets_update", args, {"updatedCells": 1, "updatedRange": "Sheet1!C9"}),
            ("sheets_get", {"range": "Sheet1!C9"}, {"range": "Sheet1!C9", "values": [["#DIV/0!"]]}),
        ],
    )


def expired(c: Random) -> list[Any]:
    """A token fetched anew that is refused anew."""
    return times(
        12,
        lambda _: [
            (
                "oauth_refresh",
                {"client": "app"},
                {"access_token": token(c, 48), "expires_in": 3600, "token_type": "Bearer"},
            ),
            (
                "api_get",
                {"path": "/v2/me"},
                refused({"error": "insufficient_scope", "error_description": "The token lacks the scope profile.read"}),
            ),
        ],
    )


def again_validated(c: Random) -> list[Any]:
    said = "!" + json.dumps(
        {"code": "validation_error", "message": "body.parent.database_id should be defined, instead was `undefined`."}
    )
    return times(
        12,
        lambda n: [
            (
                "notion_create_page",
                {"parent": {"page_id": hexed(c, 8)}, "properties": {"Name": prose(c, 2 + n % 3)}},
                said,
            )
        ],
    )


def same_records(c: Random) -> list[Any]:
    """Filters that all lead to the same three records."""
    found = {"records": [{"id": f"rec{token(c, 9)}", "fields": {"Name": word(c), "Status": "Open"}} for _ in range(3)]}
    kinds = [
        "Status='Open'",
        "{Status}='Open'",
        "{Status} = 'Open'",
        'Status = "Open"',
        "AND({Status}='Open')",
        "LOWER({Status})='open'",
    ]
    return times(14, lambda n: [("airtable_list", {"table": "Tasks", "filter": kinds[n % 6]}, found)])


LOOPS: dict[str, Loop] = {
    "one issue filed again": Loop(same_issue, 3, 7),
    "one conflict with fresh ids": Loop(conflict, 4, 8),
    "one unknown field in other queries": Loop(query_words, 5),
    "one message posted again": Loop(same_post, 3, 7),
    "a channel that is not there": Loop(no_channel, 7),
    "a card declined again": Loop(declined, 4, 8),
    "one formula, one error": Loop(formula, 4, 8),
    "fresh tokens that are refused": Loop(expired, 5, 12),
    "one rule of a form broken again": Loop(again_validated, 5),
    "filters that find the same": Loop(same_records, 9),
}
