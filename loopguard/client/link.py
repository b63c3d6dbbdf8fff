"""The runs that share one stream: what is written to it, who an answer is for, when to try again. No I/O in here."""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from google.protobuf.message import DecodeError

from loopguard import answer_codec
from loopguard.client.messages import Messages
from loopguard.client.refusals import error_of
from loopguard.client.session import Phase, RunSession
from loopguard.errors import LoopguardError, Reason, RunRefused
from loopguard.model import Answer, GoAway

if TYPE_CHECKING:
    from collections.abc import Callable

    from loopguard.client.routing import Router
    from loopguard.model import Refusal

_log = logging.getLogger("loopguard.client")

#: The metadata by which a proxy keeps the streams of a run together, and how much of a run's id it holds at most:
#: what all proxies and servers let through.
RUN_ID_METADATA: Final = "loopguard-run-id"
RUN_ID_METADATA_BYTES: Final = 256

#: gRPC's code for a server that can't be reached.
_UNAVAILABLE: Final = 14
#: Those of a server that is there and has too much to do: CANCELLED, RESOURCE_EXHAUSTED.
_BUSY: Final = frozenset({1, 8})
#: gRPC's codes with which trying again is of no use: INVALID_ARGUMENT, PERMISSION_DENIED, FAILED_PRECONDITION, ABORTED,
#: UNIMPLEMENTED, UNAUTHENTICATED.
FINAL_CODES: Final = frozenset({3, 7, 9, 10, 12, 16})


class State(Enum):
    """Where a link stands."""

    #: Nothing is known of the guard yet, or it was there a moment ago.
    CONNECTING = "connecting"
    UP = "up"
    #: The last try failed; of several endpoints, the last try at each.
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

    def __init__(self, *, many: bool, patient: bool, backoff: Backoff, endpoints: int = 1) -> None:
        """Begin without runs.

        Unless `patient`, nobody waits any longer once so many tries in a row have failed as there are endpoints.
        """
        self.many = many
        self._patient = patient
        self._endpoints = endpoints
        #: How many tries in a row have failed.
        self._failed = 0
        self.state = State.CONNECTING
        self.backoff = backoff
        self.sessions: dict[str, RunSession] = {}
        self._ready: dict[RunSession, None] = {}
        self._streaming = False
        self._answered = False
        self._leaving = False
        self._restart = False
        self._unavailable = False
        self._busy = False
        #: Whether the server takes no more streams over the connection.
        self.crowded_out = False
        self._error: LoopguardError | None = None
        #: Runs that belong on another node, as the server has said.
        self.moving: list[RunSession] = []
        self._messages = Messages()

    def add(self, session: RunSession) -> None:
        """Take a run onto the stream."""
        run_id = session.request.run_id.strip()
        older = self.sessions.get(run_id)
        if older is not None:
            older.end(RunRefused("SUPERSEDED", f"run `{run_id}` was opened again by this client"))
            self._ready.pop(older, None)
        if self._error is not None:
            session.end(self._error)
            return
        self.sessions[run_id] = session
        if self._streaming:
            session.connected(older.opens_awaited if older is not None else 0)
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

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What the stream tells a proxy on its way: which run it is for. A stream of many runs is for none."""
        if self.many:
            return ()
        return tuple((RUN_ID_METADATA, quote(run_id, safe="")[:RUN_ID_METADATA_BYTES]) for run_id in self.sessions)

    def connected(self) -> None:
        """Begin on a new stream."""
        self._streaming, self._answered, self._leaving, self._restart = True, False, False, False
        self._unavailable = self._busy = self.crowded_out = False
        self._messages.begin()
        for session in self.sessions.values():
            session.connected()
            self.touch(session)

    def lost(self) -> None:
        """Note that the stream is gone. A guard that was there a moment ago is waited for."""
        is_there = self._answered or self._leaving or self._busy
        self._failed = 0 if is_there else self._failed + 1
        is_away = self._failed >= self._endpoints
        self.state, self._streaming = State.DOWN if is_away else State.CONNECTING, False
        for session in self.sessions.values():
            session.lost()
            if is_away and not self._patient:
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
        self._unavailable, self._busy = refusal.code == _UNAVAILABLE, refusal.code in _BUSY
        self.crowded_out = refusal.reason == Reason.LIMIT_EXCEEDED
        if refusal.code not in FINAL_CODES:
            if refusal.reason == Reason.TOO_LARGE:
                self._messages.shrink()
            self.lost()
            return True
        self.fail(error_of(refusal))
        return False

    @property
    def leaving(self) -> bool:
        """Whether the server has said that it goes."""
        return self._leaving

    @property
    def lost_its_server(self) -> bool:
        """Whether the stream has ended because nobody was there, or would not be any more."""
        return self._leaving or (self._unavailable and not self._answered)

    def tell(self, router: Router, endpoint: str) -> None:
        """Tell how it went with an endpoint."""
        if self.lost_its_server:
            router.failed(endpoint)
        elif self._answered:
            router.answered(endpoint)

    def seek(self, router: Router) -> str:
        """Return the endpoint of the link's only run."""
        session = next(iter(self.sessions.values()))
        endpoint, session.redirect = session.redirect or router.place(session.request.run_id), ""
        return endpoint

    def take_moving(self) -> list[RunSession]:
        """Return the runs that belong on another node; they are here no more."""
        moving, self.moving = self.moving, []
        return moving

    def hand_over(self) -> list[RunSession]:
        """Give away all runs, for another link to take."""
        runs = list(self.sessions.values())
        for session in runs:
            self.remove(session)
            session.lost()
        return runs

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
        if self.many:
            return self._messages.take(self._ready)
        for session in self._ready:
            if session.next_bytes:
                return session.next_frame()
        self._ready.clear()
        return None

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
            self._answered = True
            if self.many and session.redirect:
                self.remove(session)
                self.moving.append(session)
                return
            if self.many:
                session.connected()
            else:
                self._restart = True
        self.touch(session)
