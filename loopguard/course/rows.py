"""Rows: things that come one after another with nothing else between, the model's own notes apart."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from loopguard.course.moment import Count

if TYPE_CHECKING:
    from collections.abc import Hashable

_EVIDENCE: Final = 32
#: Rejections are also counted within this many steps: a good reply between two bad ones does not end them.
_NEAR: Final = 9


class Row:
    """Counts equal things in a row; a batch counts once."""

    __slots__ = ("_mark", "_turn", "call_ids", "count")

    def __init__(self) -> None:
        self._mark: Hashable = None
        self._turn = -1
        self.count = 0
        self.call_ids: deque[str] = deque(maxlen=_EVIDENCE)

    def add(self, mark: Hashable, turn: int, call_id: str) -> Count:
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
