"""All runs as the wire sees them: opened and resumed, let go of, forgotten."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from loopguard import answer_codec
from loopguard.config.loop_detection import FIELDS
from loopguard.errors import InvalidFrame, InvalidSnapshot, Reason
from loopguard.model import EndReason, Opened, RunOpen

from .intake import Intake
from .limits import LimitExceeded, check_names
from .logs import log_failure
from .session import Session
from .status import evicted, refusal_status, superseded
from .stored import read_session, ring_of
from .tenants import Tenants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loopguard.config import LoopDetection
    from loopguard.engine import Engine
    from loopguard.run import Run

    from .keeper import Keeper
    from .limits import Limits
    from .session import Owner
    from .tally import Tally
    from .tenants import Tenant
    from .watch import Hub

_log = logging.getLogger("loopguard.server")


def _to_block(config: LoopDetection) -> dict[str, Any]:
    """Return an effective configuration as a file would say it."""
    block: dict[str, Any] = {}
    for path, name in FIELDS.items():
        table, _, key = path.rpartition(".")
        (block.setdefault(table, {}) if table else block)[key] = getattr(config, name)
    return block


class Sessions:
    """All runs that are kept. The engine finds them by their ids, and here stands what the wire adds to each."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        hub: Hub,
        tally: Tally,
        *,
        now: Callable[[], float],
        version: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._client_limits = limits.for_clients()
        self._now = now
        self._clock = clock
        self._version = version
        self._hub = hub
        self._tally = tally
        #: Whether no run may be opened any more.
        self.draining = False
        self.tenants = Tenants(limits, now)
        self._by_run: dict[Run, Session] = {}
        #: What writes runs to a store, if there is one.
        self.keeper: Keeper | None = None
        #: Takes the frames of the runs that are here.
        self.intake = Intake(limits, tally, now=now, close=self._close)

    def __len__(self) -> int:
        return len(self._by_run)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._by_run.values())

    def keep_with(self, keeper: Keeper) -> None:
        """Have all runs written to a store."""
        self.keeper = keeper
        self.intake.short.mark = keeper.mark

    def open(self, request: RunOpen, tenant: str, owner: Owner, granted: int = 0) -> tuple[Session, bytes]:
        """Start or resume a run and return it with the body of `Opened`; `granted` is the epoch that a store gave.

        The run's older owner loses it. Raises `InvalidFrame` and changes nothing when the request is refused.
        """
        self._check(request)
        known = self.find(request.run_id, tenant)
        holder = self.tenants.of(tenant)
        at = self._now()
        if known is not None and request.resume:
            session = known
        else:
            if known is None:
                self._check_room(holder)
            session = Session(self._begin(request, tenant), holder, known.epoch if known else 0, at)
            if known is not None:
                del self._by_run[known.run]
                self._note_end(known, "replaced")
                if self.keeper is not None:
                    self.keeper.drop(known)
            else:
                holder.runs += 1
            self._by_run[session.run] = session
        if known is not None:
            holder.interrupted.pop(known, None)
            self._supersede(known, owner)
        self._note_start(session, request, known)
        session.owner = owner
        session.epoch = max(session.epoch + 1, granted)
        session.newest = session.epoch != granted
        session.used_at = at
        if self.keeper is not None and (session.newest or session is not known):
            self.keeper.mark(session)
        return session, answer_codec.opened_body(self._describe(session, rebuilt=request.rebuild))

    def claims(self, request: RunOpen, tenant: str) -> bool:
        """Tell whether a store has to be asked first whose the run is: not for one that would be refused anyway."""
        if not request.resume:
            return False
        try:
            self._check(request)
        except InvalidFrame:
            return False
        holder = self.tenants.of(tenant)
        return self.find(request.run_id, tenant) is not None or self._has_room(holder) or bool(holder.interrupted)

    def _check(self, request: RunOpen) -> None:
        if self.draining:
            raise InvalidFrame(Reason.SHUTTING_DOWN, "the server is shutting down")
        if request.resume and request.rebuild:
            raise InvalidFrame(Reason.INVALID_FRAME, "`open.resume` and `open.rebuild` exclude each other")
        check_names(request.run_id, request.agent_id, request.parent_run_id)
        self._engine.check(request)

    def _note_start(self, session: Session, request: RunOpen, known: Session | None) -> None:
        if known is None:
            how = "not_found" if request.resume else "new"
        else:
            how = "resumed" if session is known else "replaced"
        tally = self._tally
        tally.runs_opened[how] += 1
        tally.rebuilt += request.rebuild
        tally.decided_unavailable += request.decided_unavailable
        self._hub.tell_started(session.run, resumed=session is known)

    def _note_end(self, session: Session, how: str) -> None:
        self._tally.runs_ended[how] += 1
        self._hub.tell_finished(session.run, evicted=how != "closed")

    def _begin(self, request: RunOpen, tenant: str) -> Run:
        try:
            return self._engine.open(request, tenant=tenant)
        except InvalidFrame:
            raise
        except Exception as failure:
            log_failure("opening a run", failure, request.run_id)
            raise InvalidFrame(Reason.INTERNAL, "opening this run failed inside loopguard") from failure

    def find(self, run_id: str, tenant: str) -> Session | None:
        """Return a run that is here."""
        try:
            return self._by_run.get(self._engine.run(run_id, tenant))
        except InvalidFrame:
            return None

    def adopt(self, data: bytes, tenant: str, run_id: str) -> str:
        """Take a run in from a store, until somebody resumes it; return how that went, by the words of the metric."""
        holder, at = self.tenants.of(tenant), self._now()
        try:
            stored = read_session(data)
            self._check_room(holder)
            run = self._engine.restore(stored.run, run_id=run_id, tenant=tenant)
        except InvalidSnapshot as mistake:
            told = {"run_id": run_id, "because": str(mistake)}
            _log.error("a stored run can't be read, so its client has to tell it anew", extra=told)
            return "bad"
        except LimitExceeded:
            # Whoever resumes it will be told.
            return "no_room"
        session = Session(run, holder, 0, at - max(0.0, self._clock() - stored.opened_at))
        session.used_at = at
        session.last_seq = session.durable_seq = stored.last_seq
        session.dirty = False
        in_flight = self._limits.in_flight
        expired = InvalidFrame(Reason.ANSWER_EXPIRED, f"this server keeps {in_flight} answers, the last one kept less")
        session.answers = ring_of(stored, in_flight, answer_codec.error_body(refusal_status(expired)))
        holder.runs += 1
        holder.interrupted[session] = None
        self._by_run[run] = session
        return "good"

    def lose(self, session: Session) -> None:
        """Let go of a run that others have taken over, and tell its owner."""
        if session.run in self._by_run:
            owner = session.owner
            self._forget(session, "taken_over")
            if owner is not None:
                owner.run_ended(session, EndReason.SUPERSEDED, superseded(session.run.run_id))

    def _describe(self, session: Session, *, rebuilt: bool) -> Opened:
        run = session.run
        return Opened(
            run_id=run.run_id,
            epoch=session.epoch,
            last_seq=session.last_seq,
            config=_to_block(run.config),
            profile=run.profile,
            mode=run.mode,
            limits=self._client_limits,
            server_version=self._version,
            rebuilt=rebuilt,
        )

    def _supersede(self, session: Session, owner: Owner) -> None:
        older, session.owner = session.owner, None
        if older is not None and older is not owner:
            older.run_ended(session, EndReason.SUPERSEDED, superseded(session.run.run_id))

    def _check_room(self, tenant: Tenant) -> None:
        """Make room for one more run, if need be by forgetting the tenant's run interrupted longest ago."""
        if self._has_room(tenant):
            return
        if tenant.interrupted:
            self._forget(next(iter(tenant.interrupted)), "crowded_out")
            return
        limits = self._limits
        if len(self._by_run) >= limits.runs:
            raise LimitExceeded(
                f"the server holds {limits.runs} runs, as many as it may", retry_after_s=limits.run_ttl_s
            )
        raise LimitExceeded(f"this tenant has {limits.runs_per_tenant} runs, all of them in use")

    def _has_room(self, tenant: Tenant) -> bool:
        limits = self._limits
        return len(self) < limits.runs and tenant.runs + tenant.runs_elsewhere < limits.runs_per_tenant

    def charge(self, tenant: str, calls: int) -> None:
        """Count calls that belong to no run. Raises `LimitExceeded`."""
        self.tenants.of(tenant).charge(calls, self._now())

    def release(self, session: Session, owner: Owner) -> None:
        """Let go of a run whose stream has ended; it is kept for resuming, unless its tenant has too many of those."""
        if session.owner is owner:
            session.owner = None
            session.used_at = self._now()
            interrupted = session.tenant.interrupted
            interrupted[session] = None
            if len(interrupted) > self._limits.interrupted_runs:
                self._forget(next(iter(interrupted)), "crowded_out")

    def evict(self, idle_s: float) -> int:
        """Forget runs without stream that were not used for `idle_s` seconds; return how many."""
        limit = self._now() - idle_s
        forgotten = 0
        for tenant in self.tenants:
            while (oldest := next(iter(tenant.interrupted), None)) is not None and oldest.used_at <= limit:
                self._forget(oldest, "expired")
                forgotten += 1
        return forgotten

    def evict_idle(self, idle_s: float) -> int:
        """End runs that were silent on their streams for `idle_s` seconds, and tell the clients; return how many."""
        limit = self._now() - idle_s
        idle = [session for session in self._by_run.values() if session.owner and session.used_at <= limit]
        for session in idle:
            owner = session.owner
            session.evicted = True
            self._forget(session, "idle")
            if owner is not None:
                owner.run_ended(session, EndReason.EVICTED, evicted(session.run.run_id))
        return len(idle)

    def _close(self, session: Session) -> None:
        self._forget(session, "closed")

    def _forget(self, session: Session, how: str) -> None:
        session.owner = None
        session.tenant.runs -= 1
        session.tenant.interrupted.pop(session, None)
        del self._by_run[session.run]
        self._note_end(session, how)
        if self.keeper is not None:
            self._tell_keeper(self.keeper, session, how)
        self._engine.close(session.run.run_id, tenant=session.run.tenant)

    def _tell_keeper(self, keeper: Keeper, session: Session, how: str) -> None:
        if how == "taken_over":
            keeper.drop(session)
        elif how == "crowded_out":
            keeper.put_off(session)
        else:
            keeper.end(session)
