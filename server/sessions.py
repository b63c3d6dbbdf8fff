"""A run as the wire sees it: who owns it, which frames were seen, what was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from loopguard import answer_codec, codec
from loopguard.codec import NoFrame
from loopguard.config.loop_detection import FIELDS
from loopguard.errors import InvalidFrame, Reason
from loopguard.model import DIGEST_SCHEME, CallBatch, EndReason, History, Opened, Outcome, RunOpen, Signal

from .limits import LimitExceeded
from .logs import log_failure
from .status import StreamEnd, evicted, refusal_status, superseded
from .tenants import Tenants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loopguard.codec import Received
    from loopguard.config import LoopDetection
    from loopguard.engine import Engine
    from loopguard.model import Frame
    from loopguard.run import Run

    from .limits import Limits
    from .tally import Tally
    from .tenants import Tenant
    from .watch import Hub

_NO_PROTOBUF = InvalidFrame(Reason.INVALID_FRAME, "a message that is no valid protobuf")


class Owner(Protocol):
    """The stream that has a run."""

    def run_ended(self, session: Session, reason: EndReason, end: StreamEnd) -> None:
        """Tell the client that the stream has the run no longer."""


class Session:
    """One run's place in the conversation.

    `answers` is a ring of the newest encoded bodies: that of frame n stands at (n - 1) modulo its size. It grows with
    the run, so that a short run stays small.
    """

    __slots__ = ("answers", "epoch", "evicted", "last_seq", "opened_at", "owner", "run", "tenant", "used_at")

    def __init__(self, run: Run, tenant: Tenant, epoch: int, at: float) -> None:
        self.run = run
        self.tenant = tenant
        #: Whether it was taken from its stream because it was idle too long.
        self.evicted = False
        self.epoch = epoch
        self.last_seq = 0
        self.answers: list[bytes] = []
        self.owner: Owner | None = None
        self.opened_at = at
        self.used_at = at


def _to_block(config: LoopDetection) -> dict[str, Any]:
    """Return an effective configuration as a file would say it."""
    block: dict[str, Any] = {}
    for path, name in FIELDS.items():
        table, _, key = path.rpartition(".")
        (block.setdefault(table, {}) if table else block)[key] = getattr(config, name)
    return block


def _check_scheme(request: RunOpen) -> None:
    if request.digest_scheme not in (0, DIGEST_SCHEME):
        raise InvalidFrame(
            Reason.UNSUPPORTED_SCHEME, f"digest scheme {request.digest_scheme} is not served, {DIGEST_SCHEME} is"
        )


def _expected(frame: Frame | RunOpen | InvalidFrame) -> Frame:
    if isinstance(frame, InvalidFrame):
        raise frame
    if isinstance(frame, RunOpen):
        raise InvalidFrame(Reason.INVALID_FRAME, "a second `open`")
    return frame


class Sessions:
    """All runs that are kept. The engine finds them by their ids, and here stands what the wire adds to each."""

    def __init__(
        self, engine: Engine, limits: Limits, hub: Hub, tally: Tally, *, now: Callable[[], float], version: str
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._client_limits = limits.for_clients()
        self._now = now
        self._version = version
        self._hub = hub
        self._tally = tally
        #: Whether no run may be opened any more.
        self.draining = False
        self.tenants = Tenants(limits, now)
        self._by_run: dict[Run, Session] = {}

    def __len__(self) -> int:
        return len(self._by_run)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._by_run.values())

    def open(self, request: RunOpen, tenant: str, owner: Owner) -> tuple[Session, bytes]:
        """Start or resume a run and return it with the body of `Opened`.

        The run's older owner loses it. Raises `InvalidFrame` and changes nothing when the request is refused.
        """
        if self.draining:
            raise InvalidFrame(Reason.SHUTTING_DOWN, "the server is shutting down")
        if request.resume and request.rebuild:
            raise InvalidFrame(Reason.INVALID_FRAME, "`open.resume` and `open.rebuild` exclude each other")
        known = self._find(request.run_id, tenant)
        holder = self.tenants.of(tenant)
        at = self._now()
        if known is not None and request.resume:
            _check_scheme(request)
            self._engine.check(request)
            session = known
        else:
            if known is None:
                self._check_room(holder)
            session = Session(self._begin(request, tenant), holder, known.epoch if known else 0, at)
            if known is not None:
                del self._by_run[known.run]
                self._note_end(known, "replaced")
            else:
                holder.runs += 1
            self._by_run[session.run] = session
        if known is not None:
            holder.interrupted.pop(known, None)
            self._supersede(known, owner)
        self._note_start(session, request, known)
        session.owner = owner
        session.epoch += 1
        session.used_at = at
        return session, answer_codec.opened_body(self._describe(session, rebuilt=request.rebuild))

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

    def refuse(self, refusal: InvalidFrame) -> bytes:
        """Count a refusal and return it as the body of an answer."""
        self.count_refusal(refusal.reason)
        return answer_codec.error_body(refusal_status(refusal))

    def count_refusal(self, reason: Reason) -> None:
        """Count a refusal that is answered by something else than a `FrameError`."""
        self._tally.refusals[reason.value] += 1

    def _begin(self, request: RunOpen, tenant: str) -> Run:
        try:
            return self._engine.open(request, tenant=tenant)
        except InvalidFrame:
            raise
        except Exception as failure:
            log_failure("opening a run", failure, request.run_id)
            raise InvalidFrame(Reason.INTERNAL, "opening this run failed inside loopguard") from failure

    def _find(self, run_id: str, tenant: str) -> Session | None:
        try:
            return self._by_run.get(self._engine.run(run_id, tenant))
        except InvalidFrame:
            return None

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
        limits = self._limits
        full = len(self._by_run) >= limits.runs
        if not full and tenant.runs + tenant.runs_elsewhere < limits.runs_per_tenant:
            return
        if tenant.interrupted:
            self._forget(next(iter(tenant.interrupted)), "crowded_out")
            return
        if full:
            raise LimitExceeded(
                f"the server holds {limits.runs} runs, as many as it may", retry_after_s=limits.run_ttl_s
            )
        raise LimitExceeded(f"this tenant has {limits.runs_per_tenant} runs, all of them in use")

    def receive(self, session: Session, received: Received | None) -> bytes:
        """Take one frame of an open run and return its encoded answer; `None` is a message that can't be decoded."""
        expected = session.last_seq + 1
        if received is None:
            seq, body = expected, self.refuse(_NO_PROTOBUF)
        else:
            seq, at, frame = received
            if seq != expected:
                return self._out_of_turn(session, seq, frame)
            body = self._observe(session, frame, at)
        session.last_seq = seq
        size = self._limits.in_flight
        if seq <= size:
            session.answers.append(body)
        else:
            session.answers[(seq - 1) % size] = body
        return codec.encode_answer(seq, seq, 0, body)

    def _out_of_turn(self, session: Session, seq: int, frame: Frame | RunOpen | InvalidFrame) -> bytes:
        last = session.last_seq
        if seq > last:
            body = answer_codec.need_resend_body(last + 1)
        elif seq == 0:
            misplaced = InvalidFrame(Reason.INVALID_FRAME, "seq 0 belongs to `open`")
            body = self.refuse(frame if isinstance(frame, NoFrame) else misplaced)
        elif seq <= last - self._limits.in_flight:
            message = f"the answer to frame {seq} is no longer kept; the oldest is {last - self._limits.in_flight + 1}"
            body = self.refuse(InvalidFrame(Reason.ANSWER_EXPIRED, message))
        else:
            body = session.answers[(seq - 1) % self._limits.in_flight]
        return codec.encode_answer(seq, last, 0, body)

    def _observe(self, session: Session, frame: Frame | RunOpen | InvalidFrame, at: float | None) -> bytes:
        session.used_at = now = self._now()
        try:
            # In the order of how often they come: nearly all frames are calls and outcomes.
            if type(frame) is CallBatch:
                if len(frame.calls) > self._limits.calls_per_batch:
                    raise self._too_many(len(frame.calls))
                session.tenant.charge(len(frame.calls), now)
            elif type(frame) is not Outcome:
                frame = _expected(frame)
                if type(frame) is History:
                    session.tenant.charge(len(frame.records), now)
                if frame is Signal.CLOSE:
                    self._forget(session, "closed")
                    return answer_codec.ACK
            answer = session.run.apply(frame, now - session.opened_at if at is None else at)
        except InvalidFrame as refusal:
            return self.refuse(refusal)
        except Exception as failure:  # noqa: BLE001 - whatever fails in one frame, the run and its stream go on
            log_failure("judging a frame", failure, session.run.run_id)
            return self.refuse(InvalidFrame(Reason.INTERNAL, "judging this frame failed inside loopguard"))
        if answer is None:
            return answer_codec.ACK
        if isinstance(answer, list):
            self._tally.judge(answer)
            return answer_codec.verdicts_body(answer)
        self._tally.observe(answer)
        return answer_codec.verdict_body(answer)

    def _too_many(self, calls: int) -> InvalidFrame:
        limit = self._limits.calls_per_batch
        return InvalidFrame(Reason.TOO_MANY_CALLS, f"{calls} calls in one batch; at most {limit}")

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

    def _forget(self, session: Session, how: str) -> None:
        session.owner = None
        session.tenant.runs -= 1
        session.tenant.interrupted.pop(session, None)
        del self._by_run[session.run]
        self._note_end(session, how)
        self._engine.close(session.run.run_id, tenant=session.run.tenant)
