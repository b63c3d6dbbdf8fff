"""The words of loopguard as plain data: calls, outcomes, records, frames, verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntFlag, StrEnum
from typing import Any, TypeVar

from loopguard.errors import InvalidFrame, Reason

#: Version of the canonical scheme behind every digest (canonical form, hash, seeds).
DIGEST_SCHEME = 1


class Status(StrEnum):
    """How a call ended."""

    OK = "OK"
    ERROR = "ERROR"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    DENIED = "DENIED"
    LOOP_VETO = "LOOP_VETO"
    CANCELLED = "CANCELLED"
    #: No outcome yet; only in records of `history`.
    PENDING = "PENDING"


class Action(StrEnum):
    """What to do with a call."""

    ALLOW = "ALLOW"
    WARN = "WARN"
    BLOCK = "BLOCK"
    ABORT = "ABORT"


class Level(StrEnum):
    """How sure a detector is."""

    WARNING = "warning"
    CRITICAL = "critical"


class Scope(StrEnum):
    """What an abort ends."""

    TURN = "TURN"
    RUN = "RUN"


class Mode(StrEnum):
    """Whether verdicts are held against the run."""

    ENFORCE = "ENFORCE"
    OBSERVE = "OBSERVE"


class Flag(IntFlag):
    """What was odd about a JSON text; the bits of the core."""

    BIGINT = 1
    OVERFLOW = 2
    DUPLICATE_KEY = 4
    SURROGATE = 8
    OPAQUE = 16


_Word = TypeVar("_Word", bound=StrEnum)


def _check_json(of: str, **texts: object) -> None:
    """Raise `TypeError` for JSON that doesn't come as bytes: what a caller's slip would else look like is a loop."""
    for name, text in texts.items():
        if text is not None and not isinstance(text, bytes | bytearray | memoryview):
            raise TypeError(f"{of}.{name} is JSON text as bytes, not {type(text).__name__}")


def _word_of(kind: type[_Word], word: object) -> _Word:
    """Return the member of that name. Raises `InvalidFrame` for a word that is none."""
    try:
        return kind(str(word))
    except ValueError:
        known = ", ".join(kind)
        raise InvalidFrame(Reason.INVALID_FRAME, f"{word!r:.80} is no {kind.__name__.lower()}: {known}") from None


@dataclass(slots=True)
class Call:
    """A tool call about to run.

    `args` is JSON text, `None` or empty for absent; `args_digest` (16 bytes, made by the client) stands instead of it.
    `action` tells polls and sends apart where only the digest is known.
    """

    tool: str
    args: bytes | None = None
    call_id: str = ""
    args_digest: bytes | None = None
    action: str = ""

    def __post_init__(self) -> None:
        """Raise `TypeError` for arguments that are no bytes."""
        if type(self.args) is not bytes:
            _check_json("Call", args=self.args)


@dataclass(slots=True)
class Outcome:
    """How a call ended.

    `result`, `error` and `private` are JSON text, `None` or empty for absent; `result_digest` (16 bytes) stands instead
    of `result`. `status` `None`: nobody said. An empty `call_id` is the oldest admitted call without outcome.
    """

    call_id: str = ""
    status: Status | None = None
    result: bytes | None = None
    result_digest: bytes | None = None
    error: bytes | None = None
    private: bytes | None = None

    def __post_init__(self) -> None:
        """Raise `TypeError` for JSON that is no bytes, `InvalidFrame` for an unknown status."""
        if self.status is not None and type(self.status) is not Status:
            self.status = _word_of(Status, self.status)
        _check_json("Outcome", result=self.result, error=self.error, private=self.private)


@dataclass(slots=True)
class Record:
    """A call that already happened, with its outcome; fields as in `Call` and `Outcome`."""

    tool: str
    args: bytes | None = None
    args_digest: bytes | None = None
    action: str = ""
    status: Status | None = None
    result: bytes | None = None
    result_digest: bytes | None = None
    error: bytes | None = None
    private: bytes | None = None

    def __post_init__(self) -> None:
        """Raise `TypeError` for JSON that is no bytes, `InvalidFrame` for an unknown status."""
        if self.status is not None and type(self.status) is not Status:
            self.status = _word_of(Status, self.status)
        _check_json("Record", args=self.args, result=self.result, error=self.error, private=self.private)


@dataclass(slots=True)
class RunOpen:
    """Starts or resumes a run.

    `config` holds the keys of `tools.loopDetection` as they stand in a file (camelCase, unchecked).
    """

    run_id: str
    agent_id: str = ""
    parent_run_id: str = ""
    config: dict[str, Any] | None = None
    mode: Mode | None = None
    profile: str = ""
    digest_scheme: int = 0
    resume: bool = False
    rebuild: bool = False
    decided_unavailable: int = 0

    def __post_init__(self) -> None:
        """Raise `InvalidFrame` for an unknown mode."""
        if self.mode is not None and type(self.mode) is not Mode:
            self.mode = _word_of(Mode, self.mode)


@dataclass(slots=True)
class CallBatch:
    """All calls of one model response; `dry_run` asks without consequences."""

    calls: list[Call]
    dry_run: bool = False


@dataclass(slots=True)
class History:
    """Calls that already happened."""

    records: list[Record]


class Signal(Enum):
    """Frames that carry nothing but themselves."""

    USER_MESSAGE = "userMessage"
    COMPACTION_RETRY = "compactionRetry"
    CLOSE = "close"


#: Everything that can be told to an open run.
Frame = CallBatch | Outcome | History | Signal


@dataclass(slots=True)
class Finding:
    """What a detector says, with its evidence.

    `call_ids` are the calls that count, oldest first (records of `history` have none); `args_digest` and
    `outcome_digest` are empty where they vary; `stripped` names the kinds of volatile text that were left out to find
    outcomes equal; `cleared_by` says what would end the finding.
    """

    detector: str
    level: Level
    count: int
    threshold: int
    paired_tool: str = ""
    call_ids: tuple[str, ...] = ()
    args_digest: bytes = b""
    outcome_digest: bytes = b""
    stripped: tuple[str, ...] = ()
    cleared_by: str = ""


@dataclass(slots=True)
class Verdict:
    """What the guard says of a call or of an outcome."""

    call_id: str
    action: Action = Action.ALLOW
    finding: Finding | None = None
    note: str = ""
    blocked_by: str = ""
    scope: Scope | None = None
    flags: Flag = field(default=Flag(0))


@dataclass(slots=True)
class Limits:
    """What a server accepts; 0 where it doesn't say."""

    message_bytes: int = 0
    frame_bytes: int = 0
    calls_per_batch: int = 0
    in_flight: int = 0
    history_size: int = 0
    frames_per_message: int = 0
    records_per_history: int = 0


@dataclass(slots=True)
class Opened:
    """Answers `RunOpen`; `config` is the effective one, keys as in a file."""

    run_id: str
    epoch: int
    last_seq: int
    config: dict[str, Any]
    profile: str
    mode: Mode
    limits: Limits
    server_version: str = ""
    digest_scheme: int = DIGEST_SCHEME
    rebuilt: bool = False


@dataclass(slots=True)
class Ack:
    """Answers a frame that carries no question."""


@dataclass(slots=True)
class Refusal:
    """Why a frame or a stream was refused; `reason` is the wire's, `key` names the mistake in a configuration."""

    code: int
    reason: str
    message: str
    key: str = ""


@dataclass(slots=True)
class NeedResend:
    """Answers a frame that came too early: the server waits for `from_seq`."""

    from_seq: int


class EndReason(StrEnum):
    """Why a stream has a run no longer."""

    SUPERSEDED = "SUPERSEDED"
    WRONG_NODE = "WRONG_NODE"
    PROTOCOL = "PROTOCOL"
    EVICTED = "EVICTED"


@dataclass(slots=True)
class RunEnded:
    """The stream has the run no longer; `refusal` is what a stream of its own would have ended with."""

    reason: EndReason | None
    endpoint: str = ""
    refusal: Refusal | None = None


@dataclass(slots=True)
class GoAway:
    """The server will shut down in `grace_s` seconds."""

    grace_s: float


@dataclass(slots=True)
class Answer:
    """One answer of the server, with the number of the frame that it answers; `body` `None`: a kind not known here."""

    seq: int
    acked_seq: int
    durable_seq: int
    body: Opened | list[Verdict] | Verdict | Ack | Refusal | NeedResend | RunEnded | GoAway | None
