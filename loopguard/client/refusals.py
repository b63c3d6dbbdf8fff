"""What a caller is told of a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopguard.errors import GuardUnavailable, InvalidConfig, InvalidFrame, LoopguardError, Reason, RunRefused

if TYPE_CHECKING:
    from loopguard.model import Refusal

#: Refusals that say that the guard could not do its work; the others are somebody's mistake.
_FAILURES = frozenset({Reason.INTERNAL, Reason.ANSWER_EXPIRED})
#: Refusals of a stream or a run rather than of what a frame says.
_PEER = frozenset(
    {
        Reason.UNSUPPORTED_SCHEME,
        Reason.UNIMPLEMENTED,
        Reason.UNAUTHENTICATED,
        Reason.LIMIT_EXCEEDED,
        Reason.SHUTTING_DOWN,
        Reason.SUPERSEDED,
    }
)


def error_of(refusal: Refusal) -> LoopguardError:
    """Return what to raise for a refusal."""
    try:
        reason = Reason(refusal.reason)
    except ValueError:
        return RunRefused(refusal.reason, refusal.message)
    if reason is Reason.INVALID_CONFIG:
        return InvalidConfig(refusal.key, refusal.message)
    if reason in _FAILURES:
        return GuardUnavailable(refusal.message)
    return RunRefused(reason, refusal.message) if reason in _PEER else InvalidFrame(reason, refusal.message)
