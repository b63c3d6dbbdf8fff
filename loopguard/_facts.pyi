"""What the texts of calls and outcomes say, as numbers to compare. Data in, data out, no policy."""

from typing import Final, Self, final

from loopguard._pack import Reader, Writer
from loopguard.tool_class import ToolClass

# What other extensions may take from it, put there by Cython.
__pyx_capi__: Final[dict[str, object]]

FAILED: Final = 1
EMPTY: Final = 2
ACKNOWLEDGED: Final = 4
PENDING: Final = 8
TRANSIENT: Final = 16
VERDICT: Final = 32
REJECTED: Final = 64
LOOSE: Final = 128
VAIN: Final = 256
PICTURE: Final = 512

CHANGES: Final = 1
WAITS: Final = 2
FREE_TEXT: Final = 4
BARE: Final = 8
VOLATILE: Final = 16
VIEWS: Final = 32
INLINE_CODE: Final = 64

@final
class Asked:
    near: Final[int]
    program: Final[int]
    family: Final[int]
    target: Final[int]
    numbers: Final[int]
    first_line: Final[int]
    end_line: Final[int]
    pause_s: Final[int]
    flags: Final[int]
    def likeness(self, other: Asked) -> float: ...
    def fills_form(self, other: Asked) -> bool: ...

@final
class CallFacts:
    tool: Final[str]
    number: Final[int]
    same: Final[int]
    near: Final[int]
    program: Final[int]
    family: Final[int]
    target: Final[int]
    numbers: Final[int]
    tool_class: Final[ToolClass]
    pause_s: Final[int]
    changes: bool
    poll: bool
    note: bool
    whole: bool
    bare: bool
    free_text: Final[bool]
    worded: Final[bool]
    def __new__(cls, tool: str, tool_class: ToolClass, digest: bytes) -> Self: ...
    @property
    def lines(self) -> tuple[int, int] | None: ...
    def ask(self, asked: Asked, action: str) -> None: ...
    def act(self, action: str) -> None: ...
    def likeness(self, other: CallFacts) -> float: ...
    def fills_form(self, other: CallFacts) -> bool: ...
    def pack(self, out: Writer, settled: bool = False) -> None: ...
    @staticmethod
    def unpack(data: Reader) -> CallFacts: ...

@final
class Counters:
    def moved_since(self, before: Counters) -> int: ...

@final
class Answered:
    bag: Final[int]
    digitless: Final[int]
    last_error: Final[int]
    first_error: Final[int]
    size: Final[int]
    flags: Final[int]
    counters: Final[Counters | None]

@final
class OutcomeFacts:
    same: int
    raw: Final[int]
    digitless: Final[int]
    counters: Final[Counters | None]
    digits: Final[Counters | None]
    signatures: Final[tuple[int, ...]]
    stripped: tuple[str, ...]
    size: Final[int]
    failed: Final[bool]
    empty: Final[bool]
    acknowledged: Final[bool]
    informative: Final[bool]
    pending: Final[bool]
    transient: Final[bool]
    vain: Final[bool]
    verdict: Final[bool]
    rejected: Final[bool]
    missing_tool: bool
    def __new__(cls, digest: bytes | None = None, failed: bool = False) -> Self: ...
    @staticmethod
    def of(answer: Answered) -> OutcomeFacts: ...
    def see(self, raw: int, counters: Counters) -> None: ...
    def equate(self, digest: bytes) -> None: ...

def describe_call(args: bytes, readable: bool, tool_class: int) -> Asked: ...
def look_at(result: bytes, readable: bool) -> tuple[int, Counters]: ...
def describe_outcome(
    result: bytes, readable: bool, told: int, shell: bool, asked: CallFacts | None = None
) -> Answered: ...
