"""Calls and outcomes as the engine compares them."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """What a record is."""

    PENDING = 0
    DONE = 1
    REJECT = 2
    VETO = 3


class CallPrint:
    """A call as the engine sees it.

    `action` is the arguments' top-level string of that name (of a call sent as digest: what the client said), `digest`
    16 bytes, `flags` those of the arguments.
    """

    __slots__ = ("action", "digest", "flags", "poll", "send", "tool", "wait")

    def __init__(self, tool: str, digest: bytes, poll: bool, wait: bool, send: bool, action: str, flags: int) -> None:
        self.tool = tool
        self.digest = digest
        self.poll = poll
        self.wait = wait
        self.send = send
        self.action = action
        self.flags = flags


class OutcomePrint:
    """An outcome as the engine sees it.

    `digest` is `None` for what is pending and for a veto; `identity` says that a command failed in the end, and how;
    `missing_tool` is empty where no tool was missing; `stripped` names volatile keys and kinds of text that were left
    out of the digest, `moving` those that the identity leaves out besides.
    """

    __slots__ = ("digest", "failed", "flags", "identity", "kind", "missing_tool", "moving", "stripped", "stuck")

    def __init__(
        self,
        kind: Kind,
        digest: bytes | None = None,
        failed: bool = False,
        stuck: bool = False,
        identity: bytes | None = None,
        missing_tool: str = "",
        flags: int = 0,
        stripped: tuple[str, ...] = (),
        moving: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.digest = digest
        self.failed = failed
        self.stuck = stuck
        self.identity = identity
        self.missing_tool = missing_tool
        self.flags = flags
        self.stripped = stripped
        self.moving = moving
