"""What runs of all profiles share: frames, calls asked, the standing abort, the post-compaction guard."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from loopguard.calls import OpenCalls
from loopguard.errors import InvalidFrame, Reason
from loopguard.events import Event
from loopguard.fingerprints import RunState
from loopguard.guards.compaction import CompactionWindow
from loopguard.model import Call, CallBatch, Frame, Mode, Outcome, Record, Signal, Verdict
from loopguard.model import History as HistoryFrame
from loopguard.verdicts import Abort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopguard._pack import Reader, Writer
    from loopguard.config import LoopDetection
    from loopguard.fingerprints import CallPrint, OutcomePrint
    from loopguard.guards.identical_error import WaitingBatch
    from loopguard.model import Finding, RunOpen
    from loopguard.surroundings import Surroundings

logger = logging.getLogger(__name__)


class Run(RunState, ABC):
    """One run. Frames are applied one at a time, in order; not thread-safe. Each profile judges in its own way."""

    __slots__ = (
        "_around",
        "agent_id",
        "config",
        "mode",
        "parent_run_id",
        "profile",
        "run_id",
        "tenant",
    )

    def __init__(
        self,
        opened: RunOpen,
        *,
        run_id: str,
        tenant: str,
        profile: str,
        config: LoopDetection,
        around: Surroundings,
    ) -> None:
        """Begin an empty run with an effective configuration; `Engine.open` does it."""
        self.run_id = run_id
        self.tenant = tenant
        self.agent_id = opened.agent_id
        self.parent_run_id = opened.parent_run_id
        self.profile = profile
        self.mode = opened.mode or Mode.ENFORCE
        self.config = config
        self.touched = around.now()
        self._around = around
        self._open = OpenCalls()

    def apply(self, frame: Frame, at: float | None = None) -> list[Verdict] | Verdict | None:
        """Take a frame at `at` seconds of the run. Calls get a list, outcomes a verdict, others `None`.

        Raises `InvalidFrame`; then nothing has changed.
        """
        answer = self.answer(frame, at)
        if isinstance(answer, str):
            verdict = Verdict(answer)
            return [verdict] if isinstance(frame, CallBatch) else verdict
        return answer

    def answer(self, frame: Frame, at: float | None = None) -> list[Verdict] | Verdict | str | None:  # noqa: ARG002  # `at` is for rules about elapsed time
        """Do what `apply` does. A mere id answers one call or outcome that is allowed with nothing to say of it.

        Nearly all answers are that, and need no verdict made for them.
        """
        if self.closed:
            raise InvalidFrame(Reason.INVALID_FRAME, "the run is closed")
        self.touched = self._around.now()
        if isinstance(frame, CallBatch):
            return self._ask(frame.calls, frame.dry_run)
        if isinstance(frame, Outcome):
            return self._take(frame)
        if isinstance(frame, HistoryFrame):
            self._record(frame.records)
        elif frame is Signal.USER_MESSAGE:
            self._begin_turn()
        elif frame is Signal.COMPACTION_RETRY:
            self._arm()
        elif frame is Signal.CLOSE:
            self.closed = True
        else:
            raise InvalidFrame(Reason.INVALID_FRAME, f"{type(frame).__name__} is no frame of an open run")
        return None

    def judge(self, calls: list[Call], *, dry_run: bool = False, at: float | None = None) -> list[Verdict]:
        """Ask about all calls of one model response; `dry_run` asks without consequences."""
        verdicts = self.apply(CallBatch(calls, dry_run), at)
        assert isinstance(verdicts, list)
        return verdicts

    def observe(self, outcome: Outcome, *, at: float | None = None) -> Verdict:
        """Tell how a call ended."""
        verdict = self.apply(outcome, at)
        assert isinstance(verdict, Verdict)
        return verdict

    def record(self, records: list[Record], *, at: float | None = None) -> None:
        """Tell of calls that already happened."""
        self.apply(HistoryFrame(records), at)

    def user_message(self, *, at: float | None = None) -> None:
        """Tell that the user wrote: a standing abort is over."""
        self.apply(Signal.USER_MESSAGE, at)

    def compaction_retry(self, *, at: float | None = None) -> None:
        """Tell that the run retries after a compaction."""
        self.apply(Signal.COMPACTION_RETRY, at)

    @property
    def armed(self) -> bool:
        """Whether the post-compaction guard watches."""
        return self._compaction is not None

    @property
    def open_calls(self) -> int:
        """How many calls were asked and not yet reported."""
        return len(self._open)

    @abstractmethod
    def pack(self, out: Writer) -> None:
        """Write into a snapshot all that answers to later frames depend on, but for how the run was opened."""

    @abstractmethod
    def unpack(self, data: Reader) -> None:
        """Take over in an empty run what was packed. Raises `ValueError`."""

    def _pack_shared(self, out: Writer, batch: WaitingBatch | None = None) -> None:
        out.number(self.calls_asked)
        out.number(self._next_number)
        self._open.pack(out, batch)
        out.flag(self._compaction is not None)
        if self._compaction is not None:
            self._compaction.pack(out)
        out.flag(self._abort is not None)
        if self._abort is not None:
            self._abort.pack(out)

    def _unpack_shared(self, data: Reader, batch: WaitingBatch | None = None) -> None:
        self.calls_asked = data.number()
        self._next_number = data.number()
        self._open = OpenCalls.unpack(data, batch)
        self._compaction = CompactionWindow.unpack(data) if data.flag() else None
        self._abort = Abort.unpack(data) if data.flag() else None

    @abstractmethod
    def _ask(self, calls: list[Call], dry_run: bool) -> list[Verdict] | str:
        """Judge a batch and answer it."""

    @abstractmethod
    def _take(self, outcome: Outcome) -> Verdict | str:
        """Take an outcome and answer it."""

    @abstractmethod
    def _record(self, records: Sequence[Record]) -> None:
        """Take calls that already happened."""

    def _begin_turn(self) -> None:
        """Let go of what a user message ends."""
        self._abort = None

    def _arm(self) -> None:
        if self.config.enabled is False:
            return
        window = self.config.window_size
        self._compaction = CompactionWindow(window)
        logger.info("post-compaction guard armed for %d attempts", window, extra={"run_id": self.run_id})

    def _persisted(self, call_id: str, call: CallPrint, outcome: OutcomePrint) -> Finding | None:
        """Show the post-compaction guard an outcome. Returns what it finds."""
        window = self._compaction
        if window is None:
            return None
        found = window.take(call_id, call, outcome)
        if not window.open:
            self._compaction = None
        return found

    def _hold(self, fired: Abort, call_id: str, tool: str) -> Abort:
        """Hold an abort against the run, unless a wider one stands. Returns what is answered."""
        standing = self._abort
        if standing is None or standing.finding.detector != fired.finding.detector:
            self._tell(fired.verdict(call_id), tool)
        if standing is not None and not standing.gives_way_to(fired):
            return standing
        if self.mode is Mode.ENFORCE:
            self._abort = fired
        return fired

    def _tell(self, verdict: Verdict, tool: str) -> None:
        if verdict.finding is not None:
            event = Event(
                self.run_id,
                verdict.call_id,
                tool,
                verdict.action,
                verdict.finding,
                verdict.note,
                verdict.scope,
                self.agent_id,
                self.tenant,
            )
            self._around.tell(event)
