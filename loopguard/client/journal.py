"""What a client remembers of a run's calls, so that a lost run can be told again as `history`."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from loopguard.model import Action, Outcome, Record, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard.model import Call, Verdict

#: How many calls may be open; the oldest one is forgotten first, as the server does.
OPEN_CALLS: Final = 1024


@dataclass(slots=True)
class Entry:
    """One call.

    `outcome` `None`: not reported; `kept`: still among the newest; `lost`: the server knows nothing of it.
    """

    call: Call
    outcome: Outcome | None = None
    vetoed: bool = False
    kept: bool = False
    lost: bool = False

    @property
    def size_bytes(self) -> int:
        """How much JSON it holds."""
        size = len(self.call.args or b"")
        if self.outcome is not None:
            size += sum(len(part or b"") for part in (self.outcome.result, self.outcome.error, self.outcome.private))
        return size

    def record(self) -> Record:
        """Return it as a record of `history`."""
        call, outcome = self.call, self.outcome or Outcome(status=Status.LOOP_VETO if self.vetoed else Status.PENDING)
        return Record(
            tool=call.tool,
            args=call.args,
            args_digest=call.args_digest,
            action=call.action,
            status=outcome.status,
            result=outcome.result,
            result_digest=outcome.result_digest,
            error=outcome.error,
            private=outcome.private,
        )


class Journal:
    """The newest calls of a run in the order in which they were asked, and those still open."""

    def __init__(self, size: int, size_bytes: int) -> None:
        self._size = size
        self._limit_bytes = size_bytes
        self._bytes = 0
        self._entries: deque[Entry] = deque()
        self._open: dict[str, Entry] = {}
        self._numbered = 0

    def resize(self, size: int) -> None:
        """Keep `size` calls from now on."""
        self._size = size
        self._trim()

    def number(self, calls: Sequence[Call]) -> list[Call]:
        """Return the calls, those without id as copies with the next `cN`; the numbers aren't used up yet."""
        count = self._numbered
        taken = {call.call_id for call in calls if call.call_id}
        numbered = []
        for call in calls:
            if call.call_id:
                numbered.append(call)
                continue
            count += 1
            while f"c{count}" in taken:
                count += 1
            numbered.append(replace(call, call_id=f"c{count}"))
        return numbered

    def use_numbers(self, asked: Sequence[Call], numbered: Sequence[Call]) -> int:
        """Use up the numbers that `number` gave; return how far they went before, for `unnumber`."""
        before = self._numbered
        given = [call.call_id for old, call in zip(asked, numbered, strict=True) if not old.call_id]
        if given:
            self._numbered = int(given[-1][1:])
        return before

    def unnumber(self, before: int, calls: Sequence[Call]) -> None:
        """Give the numbers of a refused batch back, if no later batch has taken any."""
        if any(call.call_id == f"c{self._numbered}" for call in calls):
            self._numbered = before

    def ask(self, calls: Sequence[Call], verdicts: Sequence[Verdict], *, standing_abort: bool) -> None:
        """Note a batch with what was said of it."""
        if standing_abort:
            return
        trigger = next((call for call, verdict in zip(calls, verdicts, strict=False) if _is_blocked(verdict)), None)
        for call in calls:
            entry = Entry(call)
            if trigger is None:
                self._append(entry)
            else:
                entry.vetoed = True
                if (call.tool, call.args, call.args_digest) == (trigger.tool, trigger.args, trigger.args_digest):
                    self._append(entry)
            self._await(entry)

    def block(self, calls: Sequence[Call]) -> None:
        """Note a batch that was blocked without the guard, which therefore must not hear of it unless it runs."""
        for call in calls:
            self._await(Entry(call, vetoed=True, lost=True))

    def _await(self, entry: Entry) -> None:
        call_id = entry.call.call_id
        self._open.pop(call_id, None)
        self._open[call_id] = entry
        if len(self._open) > OPEN_CALLS:
            del self._open[next(iter(self._open))]

    def settle(self, outcome: Outcome) -> Entry | None:
        """Note how a call ended and return it; `None` if no such call is open."""
        call_id = outcome.call_id or next((name for name, entry in self._open.items() if not entry.vetoed), "")
        entry = self._open.pop(call_id, None)
        if entry is None:
            return None
        before = entry.size_bytes
        if entry.vetoed:
            entry = Entry(entry.call, lost=entry.lost)
        entry.outcome = outcome
        if entry.kept:
            self._bytes += entry.size_bytes - before
            self._trim()
        else:
            self._append(entry)
        return entry

    def lose(self) -> list[Record]:
        """Note that the server knows nothing of all this, and return what it has to be told."""
        for entry in self._open.values():
            entry.lost = True
        return [entry.record() for entry in self._entries if entry.outcome is not None or entry.vetoed]

    def _append(self, entry: Entry) -> None:
        entry.kept = True
        self._entries.append(entry)
        self._bytes += entry.size_bytes
        self._trim()

    def _trim(self) -> None:
        while len(self._entries) > self._size or (self._bytes > self._limit_bytes and self._entries):
            oldest = self._entries.popleft()
            oldest.kept = False
            self._bytes -= oldest.size_bytes


def _is_blocked(verdict: Verdict) -> bool:
    return verdict.action in (Action.BLOCK, Action.ABORT) and not verdict.blocked_by
