"""Tells a patient repeat, which leaves the world time to move, from an impatient one, by times or by sleeps."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

#: From this pause on waiting is patient, as it is where each pause is that much longer than the one before.
_LONG_PAUSE_S: Final = 30.0
_GROWTH: Final = 1.5
#: Patience ends some time.
_MOST: Final = 20
_KEPT: Final = 64


class Patience:
    """How many repeats of a call were patient, since it last brought news."""

    __slots__ = ("_calls", "_slept")

    def __init__(self) -> None:
        #: How long the run has slept so far: its clock where no times are known.
        self._slept = 0.0
        #: For each call: span, time, newest pause, patient repeats.
        self._calls: OrderedDict[int, tuple[int, float, float, int]] = OrderedDict()

    def take(self, same: int, span: int, at: float | None, pause_s: float) -> int:
        """Note when a call was asked and how long it says that it waits.

        Returns how many of its repeats in this span were patient.
        """
        if at is None:
            if not (self._slept or pause_s):
                return 0
            self._slept += pause_s
            at = self._slept
        calls = self._calls
        found = calls.pop(same, None)
        known, before, pause, patient = found or (span, at, 0.0, 0)
        if known != span:
            pause, patient = 0.0, 0
        gap = max(at - before, pause_s) if found else 0.0
        if gap >= _LONG_PAUSE_S or (pause > 0 and gap >= _GROWTH * pause):
            patient = min(patient + 1, _MOST)
        calls[same] = (span, at, gap, patient)
        if len(calls) > _KEPT:
            calls.popitem(last=False)
        return patient

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.real(self._slept)
        out.words(self._calls)
        for span, at, pause, patient in self._calls.values():
            out.number(span)
            out.real(at)
            out.real(pause)
            out.number(patient)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        self._slept = data.real()
        self._calls = OrderedDict(
            (same, (data.number(), data.real(), data.real(), data.number())) for same in data.words()
        )
