"""One run's place in the conversation, and the stream that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from loopguard._intake import Place

if TYPE_CHECKING:
    from loopguard.model import EndReason
    from loopguard.run import Run

    from .status import StreamEnd
    from .tenants import Tenant


class Owner(Protocol):
    """The stream that has a run."""

    def run_ended(self, session: Session, reason: EndReason, end: StreamEnd) -> None:
        """Tell the client that the stream has the run no longer."""


class Session(Place):
    """One run's place in the conversation.

    `answers` is a ring of the newest encoded bodies: that of frame n stands at (n - 1) modulo its size. It grows with
    the run, so that a short run stays small. `durable_seq` is the newest frame that a store has confirmed, without a
    store 0. `dirty`: whether it has changed since its last snapshot, or nobody takes any.
    """

    __slots__ = ("claiming", "epoch", "evicted", "newest", "opened_at")

    # Fields of `Place`, which can't know these classes.
    run: Run
    tenant: Tenant
    owner: Owner | None

    def __init__(self, run: Run, tenant: Tenant, epoch: int, at: float) -> None:
        super().__init__(run, tenant)
        #: Whether it was taken from its stream because it was idle too long.
        self.evicted = False
        self.epoch = epoch
        self.opened_at = at
        self.used_at = at
        #: Whether the store has not granted this epoch yet.
        self.newest = True
        #: How many questions are under way to the store whose the run is.
        self.claiming = 0
