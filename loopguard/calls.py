"""The calls of a run that were asked and not yet reported, and how calls without id are numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from loopguard.errors import InvalidFrame, Reason
from loopguard.fingerprints import OpenCall
from loopguard.fingerprints.packed import pack_call, unpack_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard._pack import Reader, Writer
    from loopguard.guards.identical_error import WaitingBatch
    from loopguard.model import Call

__all__ = ["LIMIT", "OpenCall", "OpenCalls", "number_calls"]

#: How many calls may be open; the oldest one is forgotten first.
LIMIT: Final = 1024


class OpenCalls(dict[str, OpenCall]):
    """Open calls by id, oldest first."""

    __slots__ = ()

    def add(self, call_id: str, call: OpenCall) -> None:
        """Add the newest call; an id that is used again means the newer call from now on."""
        if call_id in self:
            del self[call_id]
        self[call_id] = call
        if len(self) > LIMIT:
            del self[next(iter(self))]

    def find(self, call_id: str) -> tuple[str, OpenCall]:
        """Return a call and its id; an empty id stands for the oldest admitted call. Raises `InvalidFrame`."""
        if not call_id:
            for oldest, call in self.items():
                if call.number is not None:
                    return oldest, call
            raise InvalidFrame(Reason.UNKNOWN_CALL, "no admitted call is without outcome")
        found = self.get(call_id)
        if found is None:
            raise InvalidFrame(Reason.UNKNOWN_CALL, f"no call `{_cut(call_id)}` waits for an outcome")
        return call_id, found

    def pack(self, out: Writer, batch: WaitingBatch | None = None) -> None:
        """Write them into a snapshot; `batch` is the one whose order still counts."""
        out.number(len(self))
        for call_id, call in self.items():
            out.name(call_id)
            pack_call(call.print, out)
            out.optional(call.number)
            out.optional(call.place if batch is not None and call.batch is batch else None)

    @classmethod
    def unpack(cls, data: Reader, batch: WaitingBatch | None = None) -> OpenCalls:
        """Read those that were packed. Raises `ValueError` for a place that the batch has not."""
        made = cls()
        for _ in range(data.count()):
            call_id, printed, number, place = data.name(), unpack_call(data), data.optional(), data.optional()
            if place is None:
                call = OpenCall(printed, number)
            elif batch is None or place >= batch.size:
                raise ValueError("an open call without its batch")
            else:
                call = OpenCall(printed, number, batch, place)
            made[call_id] = call
        return made


def number_calls(calls: Sequence[Call], number: int) -> tuple[list[str], int]:
    """Return the ids of a batch, and the next number; calls without id get `cN`. Raises `InvalidFrame`.

    A number whose id stands in the same batch is passed over.
    """
    if len(calls) == 1:
        call_id = calls[0].call_id
        return ([call_id], number) if call_id else ([f"c{number}"], number + 1)
    given = {call.call_id for call in calls if call.call_id}
    ids = []
    seen = set()
    for call in calls:
        call_id = call.call_id
        if not call_id:
            while (call_id := f"c{number}") in given:
                number += 1
            number += 1
        elif call_id in seen:
            raise InvalidFrame(Reason.DUPLICATE_CALL, f"the call id `{_cut(call_id)}` stands twice in one batch")
        seen.add(call_id)
        ids.append(call_id)
    return ids, number


def _cut(text: str) -> str:
    return text if len(text) <= 64 else text[:63] + "…"
