"""What the texts of calls and outcomes say, as numbers to compare. Data in, data out, no policy."""

from typing import Final, final

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
    def pack(self) -> bytes: ...
    @staticmethod
    def unpack(packed: bytes) -> Asked: ...

@final
class Counters:
    def moved_since(self, before: Counters) -> int: ...
    def pack(self) -> bytes: ...
    @staticmethod
    def unpack(packed: bytes) -> Counters: ...

@final
class Answered:
    bag: Final[int]
    digitless: Final[int]
    last_error: Final[int]
    first_error: Final[int]
    size: Final[int]
    flags: Final[int]
    counters: Final[Counters | None]

def number_of(text: str) -> int: ...
def describe_call(args: bytes, readable: bool, tool_class: int) -> Asked: ...
def look_at(result: bytes, readable: bool) -> tuple[int, Counters]: ...
def describe_outcome(result: bytes, readable: bool, told: int, shell: bool, asked: Asked | None = None) -> Answered: ...
