"""Habits of honest agents: steps of unknown tools, looks for news, preludes of commands, keys sent to a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import Honest, Loop, each, ended, plain, prose, times, word, words

if TYPE_CHECKING:
    from random import Random


def until(empty: Any, last: Any, tool: str, args: Any) -> Honest:
    """Looks for something new, until there is."""
    return Honest(lambda _: [*[(tool, args, empty)] * 5, (tool, args, last)])


def stepped(tool: str, args: Any, answer: Any, count: int = 9) -> Honest:
    """One step of a tool that nobody knows, some times over."""
    return Honest(
        lambda c: [*[(tool, args, answer)] * 3, ("look", {}, prose(c, 8)), *[(tool, args, answer)] * (count - 3)],
        hinted=True,
    )


def prelude(command: str) -> Honest:
    """A command before each piece of work that sets the stage for it."""
    return Honest(
        lambda c: each(
            8,
            lambda _: [
                ("bash", {"command": command}, ended("")),
                ("bash", {"command": f"grep -n {word(c)} README.md"}, ended(prose(c, 9))),
            ],
        )
    )


def pager(c: Random) -> list[Any]:
    return each(
        7,
        lambda _: [
            ("send_keys", {"session": "main", "keys": "Space"}, "ok"),
            ("capture_pane", {"session": "main"}, prose(c, 50)),
        ],
    )


def drawing(c: Random) -> list[Any]:
    return each(
        7,
        lambda n: [
            ("select_layer", {"name": "ground"}, "ok"),
            ("draw_rect", {"x": c.randrange(900), "y": 10 * n, "w": 4, "h": 4}, "ok"),
            ("deselect", {}, "ok"),
        ],
    )


def seated(c: Random) -> list[Any]:
    """Rounds of play in which the agent may only wait for its turn."""
    return [
        *each(4, lambda n: [("game_state", {}, f"It is not your turn yet. Cards in the deck: {40 - 3 * n}")]),
        ("play_card", {"card": word(c)}, "played"),
    ]


def transactions(c: Random) -> list[Any]:
    return each(
        6,
        lambda n: [
            ("run_sql", {"query": "BEGIN"}, "BEGIN"),
            ("run_sql", {"query": f"INSERT INTO log VALUES ({n}, '{word(c)}')"}, "INSERT 0 1"),
            ("run_sql", {"query": "COMMIT"}, "COMMIT"),
        ],
    )


def pages_gone_to(c: Random) -> list[Any]:
    return each(8, lambda n: [("goto_page", {"page": n + 1}, "ok"), ("read_visible", {}, prose(c, 40))])


def printed(c: Random) -> list[Any]:
    return [("print_label", {"printer": "p1", "copies": 1, "text": one}, {"queued": True}) for one in words(c, 10)]


HONEST: dict[str, Honest] = {
    "no new messages for a while": until(
        "No new messages.", "1 new message from Ann: yes", "read_chat", {"room": "ops"}
    ),
    "an inbox that is empty for a while": until(
        {"messages": []}, {"messages": [{"id": 4}]}, "check_inbox", {"from": "bank"}
    ),
    "a queue that is empty for a while": until(
        {}, {"Messages": [{"Body": "go"}]}, "sqs_receive_message", {"queue": "in"}
    ),
    "nothing new in a feed": until("Nothing new since the last look", "2 entries", "feed_read", {"feed": "a"}),
    "updates waited for": until(
        {"ok": True, "result": []}, {"ok": True, "result": [{"update_id": 4}]}, "get_updates", {"offset": 4}
    ),
    "not ready yet": until("The report is not available yet.", "Report: 4 pages", "report_fetch", {"id": 4}),
    "steps forward": stepped("move_forward", {}, "ok"),
    "the volume turned up": stepped("volume_up", {"step": 2}, {"ok": True}),
    "rows added": stepped("add_row", {"sheet": "a"}, "Row added"),
    "a pump that gives ten at a time": stepped("pump_dose", {"ml": 10}, {"status": "done"}),
    "a button pressed on a device": stepped("device_button", {"button": "plus"}, None),
    "a shell that is told where it is": prelude("cd /repo"),
    "a shell that is given its environment": prelude("source .venv/bin/activate"),
    "a shell that is given a variable": prelude("export PYTHONPATH=src"),
    "a pager moved on by keys": Honest(pager),
    "shapes drawn on one layer": Honest(drawing),
    "a game in which others play": Honest(seated),
    "transactions": Honest(transactions),
    "pages gone to": Honest(pages_gone_to),
    "labels printed": Honest(printed),
}


def nowhere(_: Random) -> list[Any]:
    return times(24, lambda _: [("move_forward", {}, "ok")])


def no_mail(_: Random) -> list[Any]:
    return times(24, lambda _: [("read_chat", {"room": "ops"}, "No new messages.")])


def around(c: Random) -> list[Any]:
    """The same place gone to, the same thing seen."""
    shown = prose(c, 12)
    return times(
        12, lambda _: [("bash", {"command": "cd /repo"}, plain("", 0)), ("bash", {"command": "ls"}, plain(shown, 0))]
    )


LOOPS: dict[str, Loop] = {
    "steps that lead nowhere": Loop(nowhere, 7, 22),
    "messages that never come": Loop(no_mail, 7, 22),
    "one place gone to again": Loop(around, 4, 8),
}
