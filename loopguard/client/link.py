"""The runs that share one stream: what is written to it, who an answer is for, when to try again. No I/O in here."""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from loopguard import answer_codec, codec
from loopguard.client.session import Phase, RunSession, error_of
from loopguard.errors import LoopguardError, RunRefused
from loopguard.model import Answer, GoAway

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.model import Refusal

_log = logging.getLogger("loopguard.client")

#: How much goes into one message of a stream of many runs, at most.
MESSAGE_FRAMES: Final = 512
MESSAGE_BYTES: Final = 1 << 20

#: gRPC's codes with which trying again is of no use: INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION, ABORTED,
#: UNIMPLEMENTED, UNAUTHENTICATED.
FINAL_CODES: Final = frozenset({3, 7, 9, 10, 12, 16})


class State(Enum):
    """Where a link stands."""

    CONNECTING = "connecting"
    UP = "up"
    #: The last try failed.
    DOWN = "down"


class Backoff:
    """How long to wait before the next try: a random part of a span that doubles from try to try."""

    def __init__(self, random: Callable[[], float], first_s: float = 0.05, largest_s: float = 2.0) -> None:
        self._random = random
        self._first_s = first_s
        self._largest_s = largest_s
        self._tries = 0

    def next_s(self) -> float:
        """Return the seconds to wait."""
        span = min(self._largest_s, self._first_s * 2.0**self._tries)
        self._tries = min(self._tries + 1, 16)
        return span * self._random()

    def reset(self) -> None:
        """Begin anew; the peer has answered."""
        self._tries = 0


class Link:
    """One stream of `Guard` (with a single run) or of `GuardMany`, through all its reconnects."""

    def __init__(self, *, many: bool, patient: bool, backoff: Backoff) -> None:
        """Begin without runs; unless `patient`, nobody waits any longer once a try has failed."""
        self.many = many
        self._patient = patient
        self.state = State.CONNECTING
        self.backoff = backoff
        self.sessions: dict[str, RunSession] = {}
        self._ready: dict[RunSession, None] = {}
        self._streaming = False
        self._answered = False
        self._leaving = False
        self._restart = False
        self._error: LoopguardError | None = None

    def add(self, session: RunSession) -> None:
        """Take a run onto the stream."""
        run_id = session.request.run_id.strip()
        older = self.sessions.get(run_id)
        if older is not None:
            older.end(RunRefused("SUPERSEDED", f"run `{run_id}` was opened again by this client"))
        if self._error is not None:
            session.end(self._error)
            return
        self.sessions[run_id] = session
        if self._streaming:
            session.connected()
        self.touch(session)

    def remove(self, session: RunSession) -> None:
        """Drop a run that is over."""
        run_id = session.request.run_id.strip()
        if self.sessions.get(run_id) is session:
            del self.sessions[run_id]
        self._ready.pop(session, None)

    def touch(self, session: RunSession) -> None:
        """Note that a run has something to send."""
        self._ready[session] = None

    def connected(self) -> None:
        """Begin on a new stream."""
        self._streaming, self._answered, self._leaving, self._restart = True, False, False, False
        for session in self.sessions.values():
            session.connected()
            self.touch(session)

    def lost(self) -> None:
        """Note that the stream is gone."""
        self.state, self._streaming = State.DOWN, False
        for session in self.sessions.values():
            session.lost()
            if not (self._patient or self._answered):
                session.give_up_waiting()

    def fail(self, error: LoopguardError) -> None:
        """Give all runs up."""
        self.state, self._streaming = State.DOWN, False
        self._error = error
        for session in list(self.sessions.values()):
            session.end(error)
        self.sessions.clear()

    def ended(self, refusal: Refusal) -> bool:
        """Note how the stream ended; return whether to try again."""
        if refusal.code not in FINAL_CODES:
            self.lost()
            return True
        self.fail(error_of(refusal))
        return False

    @property
    def finished(self) -> bool:
        """Whether the stream has no use any more."""
        return not self.many and all(session.phase is Phase.OVER for session in self.sessions.values())

    @property
    def wants_stream(self) -> bool:
        """Whether to go on with a new stream."""
        return self._restart or (self._leaving and not any(session.in_flight for session in self.sessions.values()))

    def take(self) -> bytes | None:
        """Return the next message to write, `None` if there is none now."""
        if self._leaving or self._restart:
            return None
        return self._take_many() if self.many else self._take_one()

    def _take_one(self) -> bytes | None:
        for session in self._ready:
            for frame in session.outgoing():
                return frame
        self._ready.clear()
        return None

    def _take_many(self) -> bytes | None:
        parts, frames, size = [], 0, 0
        most = MESSAGE_FRAMES
        while self._ready and frames < most and size < MESSAGE_BYTES:
            session = next(iter(self._ready))
            most = min(most, session.limits.frames_per_message)
            if frames >= most:
                break
            outgoing = []
            for frame in session.outgoing():
                outgoing.append(frame)
                size += len(frame)
                if frames + len(outgoing) >= most or size >= MESSAGE_BYTES:
                    break
            else:
                del self._ready[session]
            if outgoing:
                frames += len(outgoing)
                parts.append(codec.encode_run(session.request.run_id, outgoing))
        return b"".join(parts) or None

    def receive(self, data: bytes) -> None:
        """Take a message of the server."""
        try:
            if self.many:
                runs, go_away = answer_codec.decode_answers(data)
            else:
                answer = answer_codec.decode_answer(data)
                go_away = answer.body if isinstance(answer.body, GoAway) else None
                runs = [(run_id, [answer]) for run_id in self.sessions]
        except DecodeError:
            _log.warning("the guard sent a message that can't be decoded; asking again")
            self._restart = True
            return
        for run_id, answers in runs:
            session = self.sessions.get(run_id.strip())
            if session is not None:
                self._deliver(session, answers)
        if go_away is not None:
            self._leaving = True

    def _deliver(self, session: RunSession, answers: list[Answer]) -> None:
        for answer in answers:
            session.receive(answer)
        if session.phase is Phase.OVER:
            self.remove(session) if self.many else None
            return
        if session.phase is Phase.OPEN:
            self.state, self._answered = State.UP, True
            self.backoff.reset()
        if session.wants_stream:
            if self.many:
                session.connected()
            else:
                self._restart = True
        self.touch(session)
