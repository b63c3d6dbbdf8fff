"""What can go wrong: the caller's mistakes, the peer's, and our own."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a frame, a run or a stream was refused; the names of the wire's `ErrorReason`."""

    INVALID_FRAME = "INVALID_FRAME"
    UNKNOWN_CALL = "UNKNOWN_CALL"
    DUPLICATE_CALL = "DUPLICATE_CALL"
    EMPTY_TOOL = "EMPTY_TOOL"
    TOO_LARGE = "TOO_LARGE"
    TOO_MANY_CALLS = "TOO_MANY_CALLS"
    ANSWER_EXPIRED = "ANSWER_EXPIRED"
    INVALID_CONFIG = "INVALID_CONFIG"
    UNSUPPORTED_SCHEME = "UNSUPPORTED_SCHEME"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    INTERNAL = "INTERNAL"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    SUPERSEDED = "SUPERSEDED"


class LoopguardError(Exception):
    """Root of everything that loopguard raises by itself."""


class InvalidInput(LoopguardError, ValueError):
    """The caller's mistake. The message names what is wrong and where."""


class InvalidFrame(InvalidInput):
    """A frame that is refused; the run goes on as if it had not come."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class InvalidConfig(InvalidFrame):
    """A configuration that is refused.

    `key` is a path inside `loopDetection` (`postCompactionGuard.windowSize`), or `runId`, or `agents`, or a path from
    the file's top (`loopguard.profile`). `path` is where the mistake stands in its file, from the top, if in one.
    """

    def __init__(self, key: str, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(Reason.INVALID_CONFIG, message)
        self.key = key
        self.path = path


class InvalidTrace(InvalidInput):
    """A trace or vector file that can't be read; the message starts with `file:line`."""


class InvalidSnapshot(InvalidInput):
    """A snapshot of a run that can't be read: cut, changed, of another version, or of something else."""


class InvalidRule(InvalidInput):
    """A rule file that is refused; the message names file, rule and key.

    `path` is where the mistake stands in the list of rules: the rule's index first, then keys.
    """

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class GuardUnavailable(LoopguardError, ConnectionError):
    """The peer's fault: no guard answered in time."""


class RunRefused(LoopguardError, ConnectionError):
    """The peer refused the run or the frame; `reason` is the wire's."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class InternalError(LoopguardError, RuntimeError):
    """Our fault: something that can't happen did."""
