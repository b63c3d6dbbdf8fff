"""Tells a patient repeat, which leaves the world time to move, from an impatient one, by times or by sleeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard._course import Pauses

if TYPE_CHECKING:
    from loopguard._facts import CallFacts
    from loopguard._pack import Reader, Writer

#: From this pause on waiting is patient, as it is where each pause is that much longer than the one before.
_LONG_PAUSE_S: Final = 30.0
_GROWTH: Final = 1.5
#: Patience ends some time.
_MOST: Final = 20
_KEPT: Final = 64


class Patience:
    """How many repeats of a call were patient, since it last brought news."""

    __slots__ = ("_pauses", "_slept_s")

    def __init__(self) -> None:
        #: How long the run has slept so far: its clock where no times are known.
        self._slept_s = 0
        self._pauses: Pauses | None = None

    def take(self, call: CallFacts, span: int, at: float | None) -> int:
        """Note when a call was asked. Returns how many of its repeats in this span were patient."""
        if at is None:
            if not (self._slept_s or call.pause_s):
                return 0
            self._slept_s += call.pause_s
            at = self._slept_s
        if self._pauses is None:
            self._pauses = Pauses(_LONG_PAUSE_S, _GROWTH, _MOST, _KEPT)
        return self._pauses.take(call, span, at)

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(self._slept_s)
        out.flag(self._pauses is not None)
        if self._pauses is not None:
            self._pauses.pack(out)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        self._slept_s = data.number()
        if data.flag():
            self._pauses = Pauses(_LONG_PAUSE_S, _GROWTH, _MOST, _KEPT)
            self._pauses.unpack(data)
