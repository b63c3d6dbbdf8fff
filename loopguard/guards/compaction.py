"""The guard after a compaction: the run that goes on exactly as before has lost its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.fingerprints.packed import pack_call, unpack_call
from loopguard.model import Finding, Level

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer
    from loopguard.fingerprints import CallPrint, OutcomePrint

NAME: Final = "compaction_loop_persisted"


class CompactionWindow:
    """The outcomes after a compaction, as long as all of them are the same."""

    __slots__ = ("_call", "_call_ids", "_left", "_outcome", "_window")

    def __init__(self, window: int) -> None:
        self._window = window
        self._left = window
        self._call: CallPrint | None = None
        self._outcome = b""
        self._call_ids: list[str] = []

    @property
    def open(self) -> bool:
        """Whether further outcomes are watched."""
        return self._left > 0

    def take(self, call_id: str, call: CallPrint, outcome: OutcomePrint) -> Finding | None:
        """Take a reported outcome. Returns the finding if the whole window is one and the same."""
        if outcome.digest is None:
            return None
        first = self._call
        if first is None:
            self._call, self._outcome = call, outcome.digest
        elif outcome.digest != self._outcome or call.digest != first.digest or call.tool != first.tool:
            # One different outcome within the window saves the run.
            self._left = 0
            return None
        self._call_ids.append(call_id)
        self._left -= 1
        if self._left:
            return None
        return Finding(
            NAME,
            Level.CRITICAL,
            self._window,
            self._window,
            call_ids=tuple(self._call_ids),
            args_digest=call.digest,
            outcome_digest=self._outcome,
            stripped=tuple(outcome.stripped),
            cleared_by="a user message",
        )

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(self._window)
        out.number(self._left)
        out.flag(self._call is not None)
        if self._call is not None:
            pack_call(self._call, out)
        out.blob(self._outcome)
        out.texts(self._call_ids)

    @classmethod
    def unpack(cls, data: Reader) -> CompactionWindow:
        """Read one that was packed."""
        made = cls(data.number())
        made._left = data.small(made._window)
        made._call = unpack_call(data) if data.flag() else None
        made._outcome = data.blob()
        made._call_ids = data.texts()
        return made
