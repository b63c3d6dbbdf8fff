"""Rounds: sequences of two to ten calls that come again and again."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from loopguard._pack import Reader, Writer

#: The longest round that is looked for; longer ones are found by the repeats in them.
LONGEST: Final = 10
#: Two rounds are enough where every step is equal and something fails in them; longer rounds are left to the repeats.
LONGEST_EQUAL: Final = 5


class Rounds:
    """Compares each step with the one a round ago, for every length of a round at once.

    A count per length says how many newest steps in a row are as they were that many steps before.
    """

    __slots__ = ("_alike", "_equal", "_none", "_recent", "_steps", "call_ids")

    def __init__(self) -> None:
        self._steps: deque[tuple[int, int, bool]] = deque(maxlen=LONGEST * 3)
        self._recent: deque[int] = deque(maxlen=LONGEST)
        self._alike = [0] * (LONGEST + 1)
        self._equal = [0] * (LONGEST_EQUAL + 1)
        self._none = True
        self.call_ids: deque[str] = deque(maxlen=LONGEST * 3)

    def add(self, near: int, step: int, failed: bool, call_id: str) -> None:
        """Add a step: the call however spelled, call and outcome together, whether it failed with something to say."""
        steps = self._steps
        self.call_ids.append(call_id)
        if near in self._recent:
            self._compare(near, step)
        elif not self._none:
            self._alike = [0] * (LONGEST + 1)
            self._equal = [0] * (LONGEST_EQUAL + 1)
            self._none = True
        steps.append((near, step, failed))
        self._recent.append(near)

    def _compare(self, near: int, step: int) -> None:
        self._none = False
        alike, equal, steps = self._alike, self._equal, self._steps
        for length in range(1, min(len(steps), LONGEST) + 1):
            before = steps[-length]
            alike[length] = alike[length] + 1 if before[0] == near else 0
            if length <= LONGEST_EQUAL:
                equal[length] = equal[length] + 1 if before[1] == step else 0

    def reset(self) -> None:
        """Start over: what comes next has nothing to do with what was before."""
        self._steps.clear()
        self._recent.clear()
        self.call_ids.clear()
        self._alike = [0] * (LONGEST + 1)
        self._equal = [0] * (LONGEST_EQUAL + 1)

    def alike(self, since_news: int) -> tuple[int, int]:
        """Return how many rounds of like calls lie within the newest `since_news` steps, and their length."""
        if self._none:
            return 0, 0
        for length in range(2, LONGEST + 1):
            run = min(self._alike[length], since_news)
            if run >= length and self._varied(length, 0):
                return run // length + 1, length
        return 0, 0

    def failing(self) -> tuple[int, int]:
        """Return how many rounds are equal in calls and outcomes, something failing in each, and their length."""
        if self._none:
            return 0, 0
        for length in range(2, LONGEST_EQUAL + 1):
            run = self._equal[length]
            if run >= length and self._varied(length, 1) and any(self._steps[-i][2] for i in range(1, length + 1)):
                return run // length + 1, length
        return 0, 0

    def _varied(self, length: int, level: int) -> bool:
        steps = self._steps
        first = steps[-1][level]
        return any(steps[-i][level] != first for i in range(2, length + 1))

    def pack(self, out: Writer) -> None:
        """Write it into a snapshot."""
        out.number(len(self._steps))
        for near, step, failed in self._steps:
            out.word(near)
            out.word(step)
            out.flag(failed)
        out.words(self._recent)
        out.words(self._alike)
        out.words(self._equal)
        out.flag(self._none)
        out.texts(self.call_ids)

    def unpack(self, data: Reader) -> None:
        """Take over what was packed. Raises `ValueError`."""
        self._steps.extend((data.word(), data.word(), data.flag()) for _ in range(data.count()))
        self._recent.extend(data.words())
        self._alike, self._equal = data.words(), data.words()
        if len(self._alike) != LONGEST + 1 or len(self._equal) != LONGEST_EQUAL + 1:
            raise ValueError("other lengths of rounds")
        self._none = data.flag()
        self.call_ids.extend(data.texts())
