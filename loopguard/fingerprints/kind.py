"""Calls and outcomes as the engine compares them."""

from __future__ import annotations

from enum import IntEnum

from loopguard._prints import (
    CallPrint,
    OpenCall,
    OutcomePrint,
    Readers,
    RunState,
    Streak,
    admit,
    report,
    settle,
)

__all__ = [
    "CallPrint",
    "Kind",
    "OpenCall",
    "OutcomePrint",
    "Readers",
    "RunState",
    "Streak",
    "admit",
    "report",
    "settle",
]


class Kind(IntEnum):
    """What a record is."""

    PENDING = 0
    DONE = 1
    REJECT = 2
    VETO = 3
