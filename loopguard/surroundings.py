"""What all runs of an engine share: fingerprints, notes, the clock, and where events and failures go."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from loopguard.errors import InvalidFrame, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loopguard.events import Event
    from loopguard.fingerprints import CallPrint, Fingerprinter, OutcomePrint, Readers
    from loopguard.model import Call, Finding, Outcome, Record
    from loopguard.notes import Notes

logger = logging.getLogger(__name__)


class Surroundings:
    """Shared by many runs. `failures` counts what loopguard itself failed on."""

    __slots__ = ("_fingerprinter", "_notes", "_on_event", "failures", "now")

    def __init__(
        self,
        fingerprinter: Fingerprinter,
        notes: Notes,
        now: Callable[[], float],
        on_event: Callable[[Event], None] | None,
    ) -> None:
        """Start without failures."""
        self._fingerprinter = fingerprinter
        self._notes = notes
        self._on_event = on_event
        self.now = now
        self.failures = 0

    @property
    def readers(self) -> Readers | None:
        """What reads calls and outcomes in one step."""
        return self._fingerprinter.readers

    def print_calls(self, calls: Sequence[Call], run_id: str) -> list[CallPrint | None]:
        """Fingerprint a batch; a call that loopguard itself fails on has no print. Raises `InvalidFrame`."""
        return [self.print_call(call, run_id) for call in calls]

    def print_call(self, call: Call, run_id: str) -> CallPrint | None:
        """Fingerprint a call; `None` where loopguard itself fails. Raises `InvalidFrame`."""
        try:
            return self._fingerprinter.call(call)
        except InvalidFrame:
            raise
        except Exception as failure:  # noqa: BLE001  # whatever it is, the batch gets an answer
            self.fail("fingerprinting a call", failure, run_id)
            return None

    def print_outcome(self, call: CallPrint, outcome: Outcome, run_id: str) -> OutcomePrint:
        """Fingerprint an outcome. Raises `InvalidFrame`, also where loopguard itself fails."""
        try:
            return self._fingerprinter.outcome(call, outcome)
        except InvalidFrame:
            raise
        except Exception as failure:  # noqa: BLE001  # whatever it is, the record stays pending
            self.fail("fingerprinting an outcome", failure, run_id)
            raise InvalidFrame(Reason.INTERNAL, "the outcome could not be taken") from None

    def print_records(self, records: Sequence[Record], run_id: str) -> list[tuple[CallPrint, OutcomePrint]]:
        """Fingerprint records, all or none. Raises `InvalidFrame`, also where loopguard itself fails."""
        printer = self._fingerprinter
        printed = []
        try:
            for record in records:
                call = printer.call(record)
                printed.append((call, printer.outcome(call, record)))
        except InvalidFrame:
            raise
        except Exception as failure:  # noqa: BLE001  # whatever it is, nothing is recorded
            self.fail("fingerprinting a record", failure, run_id)
            raise InvalidFrame(Reason.INTERNAL, "the records could not be taken") from None
        return printed

    def note(self, finding: Finding, tool: str, words: Mapping[str, object]) -> str:
        """Return the text for the model about a finding."""
        filled = {"tool": tool, "count": finding.count, "threshold": finding.threshold, **words}
        return self._notes.of(f"{finding.detector}.{finding.level}", filled)

    def sibling_note(self, tool: str) -> str:
        """Return the text for a call that isn't run because of another one."""
        return self._notes.of("blocked_sibling", {"tool": tool})

    def tell(self, event: Event) -> None:
        """Hand an event to whoever listens."""
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception as failure:  # noqa: BLE001  # a listener must not turn an answer into an error
            self.fail("telling an event", failure, event.run_id)

    def fail(self, doing: str, failure: Exception, run_id: str) -> None:
        """Count and log a failure of our own; not its text, which may quote arguments."""
        self.failures += 1
        trace = failure.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"
        logger.error("%s failed: %s at %s", doing, type(failure).__name__, where, extra={"run_id": run_id})
