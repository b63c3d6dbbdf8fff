"""Calls and outcomes as the engine compares them, and the short way from bytes to most of them."""

from collections.abc import Iterable
from typing import Self, final

from loopguard._core import Names, Ring, Values
from loopguard.fingerprints.prints import Kind
from loopguard.guards.identical_error import WaitingBatch

@final
class CallPrint:
    tool: str
    digest: bytes
    poll: bool
    wait: bool
    send: bool
    action: str
    flags: int
    def __init__(
        self, tool: str, digest: bytes, poll: bool, wait: bool, send: bool, action: str, flags: int
    ) -> None: ...

@final
class OutcomePrint:
    kind: Kind
    digest: bytes | None
    failed: bool
    stuck: bool
    identity: bytes | None
    missing_tool: str
    flags: int
    stripped: tuple[str, ...]
    moving: tuple[str, ...]
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
    ) -> None: ...

@final
class OpenCall:
    print: CallPrint
    number: int | None
    batch: WaitingBatch | None
    place: int
    def __init__(
        self, call: CallPrint, number: int | None, batch: WaitingBatch | None = None, place: int = 0
    ) -> None: ...

def append_unless(history: Ring, call: CallPrint, call_id: str, reached: int) -> int: ...
def settle(history: Ring, number: int, printed: OutcomePrint) -> bool: ...

@final
class CallReader:
    def __new__(
        cls,
        tool: str,
        poll: bool,
        poll_actions: frozenset[str],
        send: bool,
        send_actions: frozenset[str],
        dropped: Names | None,
    ) -> Self: ...
    def print(self, args: bytes) -> CallPrint | None: ...

@final
class Condition:
    def __new__(cls, place: int, kind: int, scalars: Iterable[bytes]) -> Self: ...

@final
class Case:
    def __new__(
        cls, conditions: Iterable[Condition], tag: int, values: Values | None, stuck: bool, identity: bool
    ) -> Self: ...

@final
class OutcomeReader:
    def __new__(
        cls,
        done: Kind,
        names: Names,
        vetoes: Iterable[Iterable[Condition]],
        shaped: Iterable[Case],
        plain: Iterable[Case],
    ) -> Self: ...
    def print(self, result: bytes) -> OutcomePrint | None: ...
