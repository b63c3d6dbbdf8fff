"""Rows: things that come one after another with nothing else between, the model's own notes apart."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from loopguard.course.moment import Count

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

_EVIDENCE: Final = 32
#: Rejections are also counted within this many steps: a good reply between two bad ones does not end them.
_NEAR: Final = 9
#: What is equal in a row: a hash or several; `None` is no row.
Mark = int | tuple[int, ...] | None
#: How snapshots tell marks apart.
_NO_MARK, _ONE, _SEVERAL = range(3)


class Row:
    """Counts equal things in a row; a batch counts once."""

    __slots__ = ("_mark", "_turn", "call_ids", "count")

    def __init__(self) -> None:
        self._mark: Mark = None
        self._turn = -1
        self.count = 0
        self.call_ids: deque[str] = deque(maxlen=_EVIDENCE)

    def add(self, mark: Mark, turn: int, call_id: str) -> Count:
        """Count a thing; another one than before starts a new row. Returns the row so far."""
        if mark != self._mark:
            self.reset()
            self._mark = mark
        if turn != self._turn or not self.count:
            self.count += 1
        self._turn = turn
        self.call_ids.append(call_id)
        return Count(self.count, self.call_ids)

    def reset(self) -> None:
        """End the row."""
        if self.count:
            self._mark = None
            self.count = 0
            self.call_ids.clear()

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        if self._mark is None:
            out.number(_NO_MARK)
        elif isinstance(self._mark, tuple):
            out.number(_SEVERAL)
            out.words(self._mark)
        else:
            out.number(_ONE)
            out.word(self._mark)
        out.number(self._turn + 1)
        out.number(self.count)
        out.texts(self.call_ids)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        kind = data.small(_SEVERAL)
        self._mark = None if kind == _NO_MARK else data.word() if kind == _ONE else tuple(data.words())
        self._turn = data.number() - 1
        self.count = data.number()
        self.call_ids.extend(data.texts())


class Cascade:
    """Counts failures in a row with one error, whatever the tool: each shares a signature with all before."""

    __slots__ = ("_shared", "_turn", "call_ids", "count")

    def __init__(self) -> None:
        self._shared: frozenset[int] = frozenset()
        self._turn = -1
        self.count = 0
        self.call_ids: deque[str] = deque(maxlen=_EVIDENCE)

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
        self.call_ids.append(call_id)
        return Count(self.count, self.call_ids)

    def reset(self) -> None:
        """End the row."""
        if self.count:
            self._shared = frozenset()
            self.count = 0
            self.call_ids.clear()

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.words(self._shared)
        out.number(self._turn + 1)
        out.number(self.count)
        out.texts(self.call_ids)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        self._shared = frozenset(data.words())
        self._turn = data.number() - 1
        self.count = data.number()
        self.call_ids.extend(data.texts())


class Rejections:
    """Counts replies that the harness rejected: in a row, and near each other."""

    __slots__ = ("_steps", "call_ids", "in_row", "near")

    def __init__(self) -> None:
        self._steps: deque[int] = deque(maxlen=_NEAR)
        self.call_ids: deque[str] = deque(maxlen=_EVIDENCE)
        self.in_row = self.near = 0

    def add(self, step: int, call_id: str) -> None:
        """Count a rejected reply."""
        self.in_row = self.in_row + 1 if self._steps and self._steps[-1] == step - 1 else 1
        self._steps.append(step)
        self.near = sum(1 for one in self._steps if one > step - _NEAR)
        self.call_ids.append(call_id)

    def reset(self) -> None:
        """Forget them."""
        self._steps.clear()
        self.call_ids.clear()
        self.in_row = self.near = 0

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.words(self._steps)
        out.number(self.in_row)
        out.number(self.near)
        out.texts(self.call_ids)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed."""
        self._steps.extend(data.words())
        self.in_row = data.number()
        self.near = data.number()
        self.call_ids.extend(data.texts())
