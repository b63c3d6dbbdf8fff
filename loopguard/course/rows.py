"""Rows: things that come one after another with nothing else between, the model's own notes apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from loopguard.course.moment import Count

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

_EVIDENCE: Final = 32
#: Rejections are also counted within this many steps: a good reply between two bad ones does not end them.
_NEAR: Final = 9
#: What is equal in a row: a hash or several; `None` is no row.
Mark = int | tuple[int, ...] | None


class Row:
    """Counts equal things in a row; a batch counts once."""

    __slots__ = ("_mark", "_turn", "call_ids", "count")

    def __init__(self) -> None:
        self._mark: Mark = None
        self._turn = -1
        self.count = 0
        self.call_ids: list[str] = []

    def add(self, mark: Mark, turn: int, call_id: str) -> Count:
        """Count a thing; another one than before starts a new row. Returns the row so far."""
        if mark != self._mark:
            self.reset()
            self._mark = mark
        if turn != self._turn or not self.count:
            self.count += 1
        self._turn = turn
        _append(self.call_ids, call_id, _EVIDENCE)
        return Count(self.count, self.call_ids)

    def reset(self) -> None:
        """End the row."""
        if self.count:
            self._mark = None
            self._turn = -1
            self.count = 0
            self.call_ids = []

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(self.count)
        marks = self._mark if isinstance(self._mark, tuple) else (self._mark or 0,)
        out.marks(marks)
        out.number(self._turn)
        out.names(self.call_ids)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        self.count = data.number()
        marks = data.marks()
        self._mark = marks[0] if len(marks) == 1 else tuple(marks)
        self._turn = data.number()
        self.call_ids = data.names()


class Cascade:
    """Counts failures in a row with one error, whatever the tool: each shares a signature with all before."""

    __slots__ = ("_shared", "_turn", "call_ids", "count")

    def __init__(self) -> None:
        self._shared: frozenset[int] = frozenset()
        self._turn = -1
        self.count = 0
        self.call_ids: list[str] = []

    def add(self, signatures: tuple[int, ...], turn: int, call_id: str) -> Count:
        """Count a failure. Returns the row so far."""
        shared = self._shared.intersection(signatures)
        if not shared:
            self.reset()
            shared = frozenset(signatures)
        self._shared = shared
        if turn != self._turn or not self.count:
            self.count += 1
        self._turn = turn
        _append(self.call_ids, call_id, _EVIDENCE)
        return Count(self.count, self.call_ids)

    def reset(self) -> None:
        """End the row."""
        if self.count:
            self._shared = frozenset()
            self._turn = -1
            self.count = 0
            self.call_ids = []

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(self.count)
        if self.count:
            out.marks(self._shared)
            out.number(self._turn)
            out.names(self.call_ids)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        self.count = data.number()
        if self.count:
            self._shared = frozenset(data.marks())
            self._turn = data.number()
            self.call_ids = data.names()


class Rejections:
    """Counts replies that the harness rejected: in a row, and near each other."""

    __slots__ = ("_steps", "call_ids", "in_row", "near")

    def __init__(self) -> None:
        self._steps: list[int] = []
        self.call_ids: list[str] = []
        self.in_row = self.near = 0

    def add(self, step: int, call_id: str) -> None:
        """Count a rejected reply."""
        self.in_row = self.in_row + 1 if self._steps and self._steps[-1] == step - 1 else 1
        _append(self._steps, step, _NEAR)
        self.near = sum(1 for one in self._steps if one > step - _NEAR)
        _append(self.call_ids, call_id, _EVIDENCE)

    def reset(self) -> None:
        """Forget them."""
        self._steps = []
        self.call_ids = []
        self.in_row = self.near = 0

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(len(self._steps))
        if self._steps:
            for step in self._steps:
                out.number(step)
            out.number(self.in_row)
            out.number(self.near)
            out.names(self.call_ids)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        self._steps = [data.number() for _ in range(data.count())]
        if self._steps:
            self.in_row = data.number()
            self.near = data.number()
            self.call_ids = data.names()


def _append(kept: list[Any], new: Any, limit: int) -> None:
    """Append the newest of at most so many."""
    kept.append(new)
    if len(kept) > limit:
        del kept[0]
