"""Calls and outcomes as the engine compares them, and the short way from bytes to most of them."""

from collections.abc import Iterable
from typing import Final, Self, final

from typing_extensions import disjoint_base

from loopguard._core import Names, Values
from loopguard._ring import Ring
from loopguard.calls import OpenCalls
from loopguard.fingerprints.kind import Kind
from loopguard.guards.compaction import CompactionWindow
from loopguard.guards.identical_error import WaitingBatch
from loopguard.verdicts import Abort

__pyx_capi__: Final[dict[str, object]]

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

def settle(history: Ring, number: int, printed: OutcomePrint) -> bool: ...

@final
class Readers:
    calls: dict[str, CallReader | None]
    outcomes: dict[tuple[str, str], OutcomeReader | None]

@disjoint_base
class Streak:
    streak: int
    batch: WaitingBatch | None

@disjoint_base
class RunState:
    closed: bool
    touched: float
    calls_asked: int
    _next_number: int
    _open: OpenCalls
    _abort: Abort | None
    _compaction: CompactionWindow | None
    _history: Ring | None
    _errors: Streak
    _readers: Readers | None
    _quiet_below: int

def admit(run: RunState, call_id: str, call: CallPrint) -> str | None: ...
def report(run: RunState, call_id: str, call: OpenCall, printed: OutcomePrint) -> bool: ...

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
