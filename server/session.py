"""One run's place in the conversation, and the stream that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from loopguard.model import EndReason
    from loopguard.run import Run

    from .status import StreamEnd
    from .tenants import Tenant


class Owner(Protocol):
    """The stream that has a run."""

    def run_ended(self, session: Session, reason: EndReason, end: StreamEnd) -> None:
        """Tell the client that the stream has the run no longer."""


class Session:
    """One run's place in the conversation.

    `answers` is a ring of the newest encoded bodies: that of frame n stands at (n - 1) modulo its size. It grows with
    the run, so that a short run stays small.
    """

    __slots__ = (
        "answers",
        "claiming",
        "dirty",
        "durable_seq",
        "epoch",
        "evicted",
        "last_seq",
        "newest",
        "opened_at",
        "owner",
        "run",
        "tenant",
        "used_at",
    )

    def __init__(self, run: Run, tenant: Tenant, epoch: int, at: float) -> None:
        self.run = run
        self.tenant = tenant
        #: Whether it was taken from its stream because it was idle too long.
        self.evicted = False
        self.epoch = epoch
        self.last_seq = 0
        self.answers: list[bytes] = []
        self.owner: Owner | None = None
        self.opened_at = at
        self.used_at = at
        #: The newest frame that a store has confirmed; without a store it stays 0.
        self.durable_seq = 0
        #: Whether it has changed since its last snapshot, or nobody takes any.
        self.dirty = True
        #: Whether the store has not granted this epoch yet.
        self.newest = True
        #: How many questions are under way to the store whose the run is.
        self.claiming = 0
