"""What a server does for every message: the short way of plain frames, the write of the answer, how long it took."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, Self, TypeVar, final

from typing_extensions import disjoint_base

from loopguard._prints import RunState

_P = TypeVar("_P", bound=Place)
_T = TypeVar("_T")

@final
class TokenBucket:
    def __new__(cls, rate: float, now: float) -> Self: ...
    def set_rate(self, rate: float) -> None: ...
    def take(self, count: float, now: float) -> float: ...

@disjoint_base
class Account:
    asked: int
    bucket: TokenBucket
    def __init__(self, bucket: TokenBucket) -> None: ...

@disjoint_base
class Counts:
    allowed: int

@disjoint_base
class Place:
    run: Any
    tenant: Any
    owner: Any
    answers: list[bytes]
    last_seq: int
    durable_seq: int
    used_at: float
    dirty: bool
    def __init__(self, run: RunState, tenant: Account) -> None: ...

@disjoint_base
class Latencies:
    sum_s: Final[float]
    def __init__(self, bounds_s: Iterable[float]) -> None: ...
    @property
    def counts(self) -> list[int]: ...
    def add(self, seconds: float) -> None: ...

@final
class Writing:
    future: Final[asyncio.Future[Any] | None]
    def __init__(self, write: Callable[[bytes], Coroutine[Any, Any, None]]) -> None: ...
    def begin(self, message: bytes) -> None: ...
    def over(self) -> bool: ...

@final
class ShortWay:
    mark: Callable[[Any], None]
    def __init__(
        self, in_flight: int, now: Callable[[], float], counts: Counts, mark: Callable[[Any], None]
    ) -> None: ...
    def frame(self, place: Place, data: bytes) -> bytes | None: ...
    def runs(
        self,
        data: bytes,
        places: dict[str, _P],
        owner: object,
        held: bool,
        decode: Callable[[bytes], _T],
        take: Callable[[str, _T], bytes],
    ) -> bytes | None: ...
