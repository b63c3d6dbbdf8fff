"""Which of several endpoints a run belongs to: rendezvous hashing, so that only a lost one's runs move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import xxhash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: For how long an endpoint that failed is passed over: this at first, doubled with each failure up to the largest.
_FIRST_S: Final = 1.0
_LARGEST_S: Final = 30.0


class Router:
    """The endpoints of a client and which of them have failed. Not thread-safe."""

    def __init__(self, endpoints: Sequence[str], now: Callable[[], float]) -> None:
        """Take the endpoints, in any order: each client with the same ones places a run alike."""
        self.endpoints = tuple(dict.fromkeys(endpoints))
        self._now = now
        #: Until when an endpoint is passed over, and for how long the next time.
        self._failed: dict[str, tuple[float, float]] = {}

    @property
    def several(self) -> bool:
        """Whether there is another one to go to."""
        return len(self.endpoints) > 1

    def place(self, run_id: str) -> str:
        """Return the endpoint of a run: of those that have not failed lately, or of all if every one has."""
        now = self._now()
        usable = [one for one in self.endpoints if self._failed.get(one, (now, 0.0))[0] <= now]
        return max(usable or self.endpoints, key=lambda endpoint: _weight(endpoint, run_id))

    def failed(self, endpoint: str) -> None:
        """Pass an endpoint over for a while."""
        wait_s = self._failed.get(endpoint, (0.0, _FIRST_S))[1]
        self._failed[endpoint] = (self._now() + wait_s, min(wait_s * 2, _LARGEST_S))

    def answered(self, endpoint: str) -> None:
        """Note that an endpoint is there."""
        self._failed.pop(endpoint, None)


def _weight(endpoint: str, run_id: str) -> int:
    return xxhash.xxh3_64_intdigest(f"{endpoint}\0{run_id.strip()}".encode())
