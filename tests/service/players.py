"""One script of frames for both clients, and an awaitable face for the one that blocks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from loopguard import AsyncGuardClient, Call, GuardClient, Outcome, Record, Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CONFIG = {"enabled": True, "warningThreshold": 3, "criticalThreshold": 5, "globalCircuitBreakerThreshold": 8}
#: Client and kind of stream.
KINDS = ["threads", "threads-many", "tasks", "tasks-many"]


def still() -> float:
    """Tell the time of a run in which none passes: `balanced` is patient with pauses, and a restart is one."""
    return 0.0


class Run:
    """A run of either client, with methods to await."""

    def __init__(self, run: Any) -> None:
        self.raw = run

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.raw, name)
        if asyncio.iscoroutinefunction(method):
            return method
        return lambda *args, **kwargs: asyncio.to_thread(method, *args, **kwargs)


class Client:
    """Either client, with methods to await."""

    def __init__(self, kind: str, target: str, **settings: Any) -> None:
        made = {"on_unavailable": "wait", "random": lambda: 0.0, "many": kind.endswith("many"), **settings}
        self.raw: Any = (AsyncGuardClient if kind.startswith("tasks") else GuardClient)(target, **made)

    async def open_run(self, run_id: str = "r", **opening: Any) -> Run:
        opening = {"config": CONFIG, **opening}
        if isinstance(self.raw, AsyncGuardClient):
            return Run(await self.raw.open_run(run_id, **opening))
        return Run(await asyncio.to_thread(self.raw.open_run, run_id, **opening))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if isinstance(self.raw, AsyncGuardClient):
            await self.raw.close()
        else:
            await asyncio.to_thread(self.raw.close)


def call(tool: str = "exec", args: bytes | None = b"{}", call_id: str = "") -> Call:
    return Call(tool, args, call_id)


def done(call_id: str = "", result: bytes = b'"same"') -> Outcome:
    return Outcome(call_id, Status.OK, result)


#: A run that is warned and blocked, with every kind of frame: (method, arguments).
SCRIPT: list[tuple[str, tuple[Any, ...]]] = [
    ("record", ([Record("exec", b"{}", status=Status.OK, result=b'"same"')] * 2,)),
    ("judge", ([call(), call("read", b'{"path":"a"}')],)),
    ("report", (done("c2", b'"text"'),)),
    ("report", (done("c1"),)),
    ("check", ([call()],)),
    ("judge", ([call()],)),
    ("report", (done(),)),
    ("compaction_retry", ()),
    ("judge", ([call()],)),
    ("report", (done("c4"),)),
    ("judge", ([call()],)),
    ("user_message", ()),
    ("judge", ([call("read", b'{"path":"a"}')],)),
]


async def play(run: Run, before: Callable[[int], Awaitable[None]] | None = None) -> list[Any]:
    """Play the script and return what was answered; `before` is told the index of each frame."""
    answers = []
    for index, (method, arguments) in enumerate(SCRIPT):
        if before is not None:
            await before(index)
        answers.append(await getattr(run, method)(*arguments))
    return answers
