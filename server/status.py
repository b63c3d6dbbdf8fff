"""One table from reasons to gRPC codes, and the statuses built with it."""

from __future__ import annotations

from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped] # stubs, but no py.typed
from grpc import StatusCode

from loopguard.answer_codec import ERROR_DOMAIN
from loopguard.errors import InvalidConfig, InvalidFrame, LoopguardError, Reason

from .limits import LimitExceeded

CODES: Final = {
    Reason.INVALID_FRAME: StatusCode.INVALID_ARGUMENT,
    Reason.UNKNOWN_CALL: StatusCode.NOT_FOUND,
    Reason.DUPLICATE_CALL: StatusCode.INVALID_ARGUMENT,
    Reason.EMPTY_TOOL: StatusCode.INVALID_ARGUMENT,
    Reason.TOO_LARGE: StatusCode.RESOURCE_EXHAUSTED,
    Reason.TOO_MANY_CALLS: StatusCode.RESOURCE_EXHAUSTED,
    Reason.ANSWER_EXPIRED: StatusCode.OUT_OF_RANGE,
    Reason.INVALID_CONFIG: StatusCode.INVALID_ARGUMENT,
    Reason.UNSUPPORTED_SCHEME: StatusCode.FAILED_PRECONDITION,
    Reason.UNIMPLEMENTED: StatusCode.UNIMPLEMENTED,
    Reason.INTERNAL: StatusCode.INTERNAL,
    Reason.UNAUTHENTICATED: StatusCode.UNAUTHENTICATED,
    Reason.LIMIT_EXCEEDED: StatusCode.RESOURCE_EXHAUSTED,
    Reason.SHUTTING_DOWN: StatusCode.UNAVAILABLE,
    Reason.SUPERSEDED: StatusCode.ABORTED,
}


class StreamEnd(LoopguardError):
    """Ends a stream with a status; raised where the reason is known, sent by the servicer."""

    def __init__(
        self, reason: Reason, message: str, code: StatusCode | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.code = code or CODES[reason]
        self.status = build_status(reason, message, code=self.code, retry_after_s=retry_after_s)


def out_of_order(message: str) -> StreamEnd:
    """Return the end of a stream that breaks the order of frames."""
    return StreamEnd(Reason.INVALID_FRAME, message, StatusCode.FAILED_PRECONDITION)


def superseded(run_id: str) -> StreamEnd:
    """Return the end of a stream whose run was opened on another one."""
    return StreamEnd(Reason.SUPERSEDED, f"run `{run_id}` was opened on another stream")


def evicted(run_id: str) -> StreamEnd:
    """Return the end of a stream whose run was idle too long."""
    return StreamEnd(Reason.LIMIT_EXCEEDED, f"run `{run_id}` was idle too long and is forgotten")


def build_status(
    reason: Reason,
    message: str,
    *,
    key: str = "",
    code: StatusCode | None = None,
    retry_after_s: float | None = None,
) -> status_pb2.Status:
    """Build a status with `ErrorInfo`, with `BadRequest` where a `key` is to blame, with `RetryInfo` where one fits."""
    status = status_pb2.Status(code=(code or CODES[reason]).value[0], message=message)
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason.value, domain=ERROR_DOMAIN))
    if key:
        violation = error_details_pb2.BadRequest.FieldViolation(field=key, description=message)
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    if retry_after_s is not None:
        delay = Duration()
        delay.FromMilliseconds(round(retry_after_s * 1000))
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    return status


def refusal_status(refusal: InvalidFrame) -> status_pb2.Status:
    """Build the status of a refused frame."""
    key = refusal.key if isinstance(refusal, InvalidConfig) else ""
    retry_after_s = refusal.retry_after_s if isinstance(refusal, LimitExceeded) else None
    return build_status(refusal.reason, str(refusal), key=key, retry_after_s=retry_after_s)
