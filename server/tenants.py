"""What is counted for each tenant: its runs, those without stream, its calls a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard._intake import Account, TokenBucket

from .limits import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .limits import Limits
    from .session import Session


class Tenant(Account):
    """One tenant. `interrupted` are its runs without stream, those let go of longest ago first.

    `asked` is how many calls were asked since the last report, granted or not.
    """

    __slots__ = ("interrupted", "name", "runs", "runs_elsewhere")

    def __init__(self, name: str, bucket: TokenBucket) -> None:
        super().__init__(bucket)
        self.name = name
        self.runs = 0
        #: How many runs it has in other processes of this service.
        self.runs_elsewhere = 0
        self.interrupted: dict[Session, None] = {}

    def charge(self, calls: int, now: float) -> None:
        """Count calls. Raises `LimitExceeded` where they are too many for now."""
        self.asked += calls
        wait_s = self.bucket.take(calls, now)
        if wait_s:
            raise LimitExceeded("more calls a second than this tenant may ask", retry_after_s=wait_s)


class Tenants:
    """All tenants that were seen; their names come from the tokens file, so there are not many."""

    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._now = now
        self._by_name: dict[str, Tenant] = {}

    def __iter__(self) -> Iterator[Tenant]:
        return iter(self._by_name.values())

    def of(self, name: str) -> Tenant:
        """Return the tenant of this name."""
        tenant = self._by_name.get(name)
        if tenant is None:
            bucket = TokenBucket(self._limits.calls_per_s, self._now())
            tenant = self._by_name[name] = Tenant(name, bucket)
        return tenant
