"""Waiting in the words of many systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.families.shapes import (
    Honest,
    Loop,
    hexed,
    prose,
    text,
    times,
    words,
)

if TYPE_CHECKING:
    from random import Random

#: What systems say while they are at it.
UNDER_WAY = [
    "creating",
    "preparing",
    "CREATING",
    "Rendering",
    "UPDATE_IN_PROGRESS",
    "ContainerCreating",
    "in-progress",
    "syncing",
    "awaiting_approval",
    "enqueued",
    "booting",
    "RUNNABLE",
    "SUBMITTED",
]


def under_way(state: str) -> Honest:
    def make(c: Random) -> list[Any]:
        one = f"job-{hexed(c, 6)}"
        return [("get_job", {"id": one}, {"id": one, "state": state}) for _ in range(5)] + [
            ("get_job", {"id": one}, {"id": one, "state": "done", "result": prose(c, 3)})
        ]

    return Honest(make)


def watched_build(c: Random) -> list[Any]:
    lines = [f"[{n:3}/240] Compiling {one}" for n, one in enumerate(words(c, 8))]
    return [
        ("bash_output", {"shell_id": "b1"}, text({"status": "running", "stdout": "\n".join(lines[: n + 1])}))
        for n in range(8)
    ]


def quiet_terminal(c: Random) -> list[Any]:
    """A terminal without new output for a while, each look after a pause of its own."""
    return [
        ("terminal_read", {"session": 1, "wait_seconds": 40}, text({"output": "", "running": True})) for _ in range(6)
    ] + [("terminal_read", {"session": 1, "wait_seconds": 40}, text({"output": prose(c, 6), "running": False}))]


def nap(_: Random) -> list[Any]:
    """A tool that waits, then a look, over and over, until the deployment is there."""
    shown = {"deployment": "web", "ready_replicas": 0, "replicas": 3}
    return [
        step
        for _ in range(6)
        for step in (("wait", {"seconds": 60}, "Waited 60 seconds"), ("get_deployment", {"name": "web"}, shown))
    ] + [("get_deployment", {"name": "web"}, shown | {"ready_replicas": 3})]


def stuck(_: Random) -> list[Any]:
    return times(24, lambda _: [("get_job", {"id": "job-1"}, {"id": "job-1", "state": "creating"})])


def empty_page(_: Random) -> list[Any]:
    return times(
        12,
        lambda _: [
            ("browser_snapshot", {}, text("- document [ref=e1]")),
            ("browser_wait_for", {"time": 1}, text("Waited for 1")),
        ],
    )


HONEST: dict[str, Honest] = {
    **{f"a job that is {state}": under_way(state) for state in UNDER_WAY},
    "a build whose output grows": Honest(watched_build),
    "a terminal that is silent for minutes": Honest(quiet_terminal),
    "naps between looks": Honest(nap),
}


LOOPS: dict[str, Loop] = {
    "a job that is creating for ever": Loop(stuck, 7, 22),
    "an empty page waited for": Loop(empty_page, 8),
}
