"""What a store does: it keeps the newest snapshot of every run, and knows who may write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from loopguard.errors import LoopguardError

if TYPE_CHECKING:
    from collections.abc import Sequence


class StoreUnavailable(LoopguardError, OSError):
    """The store did not do what it was asked; the message says why, and never what was to be kept."""


class Held(NamedTuple):
    """A run as its owner knows it; `epoch` is 0 where nothing is known."""

    tenant: str
    run_id: str
    epoch: int


class Save(NamedTuple):
    """A snapshot to keep. `newest`: the run was opened here without asking the store, after all that it knows of."""

    tenant: str
    run_id: str
    epoch: int
    data: bytes
    newest: bool = False


class Deletion(NamedTuple):
    """A run that has ended. `newest` as in `Save`."""

    tenant: str
    run_id: str
    epoch: int
    newest: bool = False


class Claim(NamedTuple):
    """Whose the run is from now on: `epoch` is granted to who asked.

    `current`: nobody had the run since, so that what they know is the newest. Otherwise `data` is, `None` where others
    have ended the run.
    """

    epoch: int
    current: bool
    data: bytes | None


class Store(Protocol):
    """Keeps the newest snapshot of each run with an epoch, which fences.

    Every claim raises the epoch, and nothing with a lower one is written from then on: of two that believe they own a
    run, one is told at its next write. For use in one event loop. Everything raises `StoreUnavailable`, and may be
    asked again afterwards.
    """

    #: `sqlite` or `redis`, for logs and metrics.
    kind: str

    async def start(self) -> None:
        """Connect."""

    async def claim(self, runs: Sequence[Held]) -> list[Claim]:
        """Take runs over: raise their epochs, and load what others wrote of them since."""

    async def save(self, saves: Sequence[Save]) -> list[int]:
        """Write snapshots as one commit, and return each run's epoch.

        A higher one than asked means that others have the run and nothing was written; a `newest` one is written with
        an epoch that is higher than all before.
        """

    async def delete(self, runs: Sequence[Deletion]) -> None:
        """Forget runs, unless others have taken them over. Their epochs are remembered for a while."""

    async def expire(self) -> int:
        """Forget the runs that nobody saved for too long; return how many, as far as it is known."""

    async def close(self) -> None:
        """Let go of files and connections."""
