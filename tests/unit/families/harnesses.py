"""Digests instead of texts, calls side by side, sub-agents, and calls that a harness or a policy refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import (
    Honest,
    Loop,
    digest,
    each,
    ended,
    hexed,
    prose,
    refused,
    text,
    times,
    word,
    words,
)

if TYPE_CHECKING:
    from random import Random


def hidden(c: Random) -> list[Any]:
    return [("read", digest(c.random()), digest(c.random())) for _ in range(14)]


def hidden_poll(c: Random) -> list[Any]:
    asked = digest(c.random())
    return [("status", asked, digest(c.random())) for _ in range(9)]


def hidden_batch(c: Random) -> list[Any]:
    """Many things done, each with one and the same answer."""
    done = digest("ok")
    return [("update", digest(c.random()), done) for _ in range(16)]


def hidden_pairs(c: Random) -> list[Any]:
    """An edit and the test after it: only the test's digest stays."""
    test, red = digest(c.random()), digest(c.random())
    return each(7, lambda _: [("edit", digest(c.random()), digest("ok")), ("bash", test, red)])


def side_by_side(c: Random) -> list[Any]:
    return [[("read_file", {"path": f"src/{word(c)}.py"}, prose(c, 20)) for _ in range(5)] for _ in range(6)]


def side_and_status(c: Random) -> list[Any]:
    """A look at the state rides along with each batch of work."""
    return [
        [("git_status", {}, "clean"), *[("read_file", {"path": f"src/{word(c)}.py"}, prose(c, 20)) for _ in range(3)]]
        for n in range(3)
    ]


def twice_in_one(c: Random) -> list[Any]:
    """The same call several times in one response, over other things each time."""
    return [[("roll", {"sides": 6, "round": n}, str(c.randrange(1, 7))) for _ in range(4)] for n in range(5)]


def sub_agents(c: Random) -> list[Any]:
    return [
        [
            ("task", {"agent": "explorer", "prompt": f"Look into {name} and report what it does."}, prose(c, 30))
            for name in words(c, 3)
        ]
        for _ in range(3)
    ]


def waited(c: Random) -> list[Any]:
    agent = hexed(c, 8)
    return [
        ("spawn_agent", {"prompt": prose(c, 9)}, {"agent_id": agent}),
        *[("wait_agent", {"agent_id": agent, "timeout": 60}, {"status": "running"}) for _ in range(5)],
        ("wait_agent", {"agent_id": agent, "timeout": 60}, {"status": "done", "report": prose(c, 9)}),
    ]


def wrapped(c: Random) -> list[Any]:
    """All tools behind one: only the inner name and arguments tell them apart."""
    return [
        (
            "call_tool",
            {"server": "fs", "tool": c.choice(["read", "stat", "list"]), "arguments": {"path": f"/{word(c)}/{n}"}},
            text(prose(c, 9)),
        )
        for n in range(14)
    ]


def wrapped_writes(c: Random) -> list[Any]:
    return [
        (
            "call_tool",
            {"server": "crm", "tool": "update_contact", "arguments": {"id": n, "city": word(c)}},
            text({"ok": True}),
        )
        for n in range(12)
    ]


def todo(c: Random) -> list[Any]:
    """A list of things to do kept up to date between real steps."""
    items = words(c, 6)
    return each(
        6,
        lambda n: [
            (
                "todo_write",
                {
                    "todos": [
                        {"content": one, "status": "completed" if k < n else "pending"} for k, one in enumerate(items)
                    ]
                },
                (
                    "Todos have been modified successfully. Ensure that you continue to use the todo list to "
                    "track your progress."
                ),
            ),
            ("bash", {"command": f"make {items[n]}"}, ended(prose(c, 5))),
        ],
    )


def asked_user(c: Random) -> list[Any]:
    return [("ask_user", {"question": f"{prose(c, 5)}?"}, c.choice(["yes", "no", "yes, please"])) for _ in range(8)]


def denied_once(_: Random) -> list[Any]:
    return [
        ("bash", {"command": "rm -rf build"}, refused("The user doesn't want to proceed with this tool use.")),
        ("bash", {"command": "git clean -fdx build"}, refused("The user doesn't want to proceed with this tool use.")),
        ("bash", {"command": "ls build"}, ended("a.o")),
    ]


def memories(c: Random) -> list[Any]:
    return [("memory_store", {"text": prose(c, 8)}, "Memory stored.") for _ in range(12)]


HONEST: dict[str, Honest] = {
    "digests, all different": Honest(hidden),
    "digests of one call, all different": Honest(hidden_poll),
    "digests of many calls, one answer": Honest(hidden_batch),
    "digests of edits and one red test": Honest(hidden_pairs),
    "files read side by side": Honest(side_by_side),
    "a look at the state beside other work": Honest(side_and_status),
    "one call several times in one response": Honest(twice_in_one),
    "sub-agents over parts": Honest(sub_agents),
    "a sub-agent waited for": Honest(waited),
    "tools behind one tool": Honest(wrapped),
    "changes behind one tool": Honest(wrapped_writes),
    "things to do ticked off": Honest(todo),
    "questions to the user": Honest(asked_user),
    "a refusal that is accepted": Honest(denied_once),
    "things remembered": Honest(memories),
}


def hidden_same(c: Random) -> list[Any]:
    asked, answer = digest(c.random()), digest(c.random())
    return times(12, lambda _: [("read", asked, answer)])


def hidden_turn(c: Random) -> list[Any]:
    both = [(digest(c.random()), digest(c.random())) for _ in range(2)]
    return times(10, lambda _: [("look", *one) for one in both])


def hidden_errors(c: Random) -> list[Any]:
    return times(12, lambda _: [("create", digest(c.random()), "!quota: the project may hold ten of these")])


def hidden_round(c: Random) -> list[Any]:
    """Edit and test, both the same each time, and only their digests known."""
    edit, test = digest(c.random()), digest(c.random())
    return times(10, lambda _: [("edit", edit, digest("ok")), ("bash", test, digest("red"))])


def same_batch(c: Random) -> list[Any]:
    names = words(c, 3)
    shown = {name: prose(c, 15) for name in names}
    return times(10, lambda _: [[("read_file", {"path": name}, shown[name]) for name in names]])


def shuffled_batch(c: Random) -> list[Any]:
    names = words(c, 4)
    shown = {name: prose(c, 15) for name in names}
    return times(10, lambda _: [[("read_file", {"path": name}, shown[name]) for name in c.sample(names, 4)]])


def amid_others(c: Random) -> list[Any]:
    """One call repeated in each response, beside a new one."""
    return times(
        10,
        lambda n: [
            [
                ("get_config", {"section": "core"}, "mode = fast\nlevel = 3"),
                ("read_file", {"path": f"src/{word(c)}{n}.py"}, prose(c, 15)),
            ]
        ],
    )


def delegated(c: Random) -> list[Any]:
    """One task given to a sub-agent again, with one answer."""
    task = prose(c, 15)
    return times(
        10,
        lambda _: [
            (
                "task",
                {"agent": "coder", "prompt": task},
                "I could not complete the task: the repository is not mounted in my sandbox.",
            )
        ],
    )


def delegated_reworded(c: Random) -> list[Any]:
    base = prose(c, 12)
    return times(
        12,
        lambda _: [
            (
                "task",
                {"agent": "coder", "prompt": f"{base} {prose(c, 2)}"},
                "I could not complete the task: the repository is not mounted in my sandbox.",
            )
        ],
    )


def denied(_: Random) -> list[Any]:
    forms = [
        "rm -rf build",
        "rm -r -f build",
        "rm -rf ./build",
        "rm -fr build/",
        "sudo rm -rf build",
        "find build -delete",
        "rm -rf build && ls",
    ]
    return times(
        14,
        lambda n: [
            (
                "bash",
                {"command": forms[n % 7]},
                refused("Permission to use this command was denied by the policy of this workspace."),
            )
        ],
    )


def invalid(c: Random) -> list[Any]:
    return times(
        12,
        lambda n: [
            (
                "create_task",
                {"title": prose(c, 2 + n % 3), "due": f"in {n + 1} days"},
                refused("Invalid arguments: due: expected an ISO 8601 date"),
            )
        ],
    )


def thought(c: Random) -> list[Any]:
    """Thinking aloud between looks at one and the same file."""
    shown = prose(c, 40)
    return times(10, lambda _: [("think", {"thought": prose(c, 12)}, "ok"), ("read_file", {"path": "notes.md"}, shown)])


def behind_one(c: Random) -> list[Any]:
    return times(
        12,
        lambda _: [
            (
                "call_tool",
                {"server": "crm", "tool": "find", "arguments": {"name": "ann"}},
                text({"error": {"code": -32000, "message": "Not connected", "data": {"requestId": hexed(c, 12)}}}),
            )
        ],
    )


def skipped(c: Random) -> list[Any]:
    """A thing to do that is set down again and again, while nothing is done."""
    return times(
        14,
        lambda _: [
            (
                "todo_write",
                {"todos": [{"content": prose(c, 3), "status": "in_progress"}]},
                (
                    "Todos have been modified successfully. Ensure that you continue to use the todo list to "
                    "track your progress."
                ),
            )
        ],
    )


LOOPS: dict[str, Loop] = {
    "digests of one call": Loop(hidden_same, 3, 6),
    "digests in turn": Loop(hidden_turn, 4, 7),
    "digests of calls, one error": Loop(hidden_errors, 5),
    "digests of edit and test": Loop(hidden_round, 4, 9),
    "one batch again": Loop(same_batch, 3, 7),
    "one batch in any order": Loop(shuffled_batch, 4, 8),
    "one call beside others": Loop(amid_others, 6),
    "one task given away again": Loop(delegated, 4, 8),
    "one task given away in other words": Loop(delegated_reworded, 6),
    "one denial in other spellings": Loop(denied, 5),
    "one rule of an argument broken again": Loop(invalid, 5),
    "thoughts between looks": Loop(thought, 4, 8),
    "one lost connection behind one tool": Loop(behind_one, 4, 9),
    "things to do, never done": Loop(skipped, 8),
}
