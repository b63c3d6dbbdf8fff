"""Translates answers between the wire and the model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped] # stubs, but no py.typed

from loopguard._wire import allowed_call_body, allowed_outcome_body
from loopguard.codec import from_config, to_config, to_mode
from loopguard.model import (
    Ack,
    Action,
    Answer,
    EndReason,
    Finding,
    Flag,
    GoAway,
    Level,
    Limits,
    Mode,
    NeedResend,
    Opened,
    Refusal,
    RunEnded,
    Scope,
    Verdict,
)
from loopguard.v1 import guard_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loopguard.events import Event

_log = logging.getLogger("loopguard.client")

#: The domain of every `google.rpc.ErrorInfo`.
ERROR_DOMAIN = "loopguard"
#: Name of the trailer that carries a `google.rpc.Status`.
STATUS_TRAILER = "grpc-status-details-bin"

_ACTION: dict[int, Action] = {number: Action(name[7:]) for name, number in pb.Action.items() if number}
# A member of an enumeration, looked up by its class, costs as much as a function call.
_ALLOW = Action.ALLOW
_ACTION_NUMBER = {Action(name[7:]): number for name, number in pb.Action.items() if number}
_SCOPE: dict[int, Scope] = {number: Scope(name[6:]) for name, number in pb.Scope.items() if number}
_SCOPE_NUMBER = {Scope(name[6:]): number for name, number in pb.Scope.items() if number}
_LEVEL: dict[int, Level] = {number: Level(name[6:].lower()) for name, number in pb.Level.items() if number}
_LEVEL_NUMBER = {Level(name[6:].lower()): number for name, number in pb.Level.items() if number}
_MODE: dict[int, Mode] = {number: Mode(name[5:]) for name, number in pb.Mode.items() if number}
_END: dict[int, EndReason] = {number: EndReason(name[15:]) for name, number in pb.RunEndReason.items() if number}
_END_NUMBER = {EndReason(name[15:]): number for name, number in pb.RunEndReason.items() if number}
_FLAG: dict[int, Flag] = {number: Flag[name[10:]] for name, number in pb.JsonFlag.items() if number}
_FLAG_NUMBERS = [
    [number for name, number in pb.JsonFlag.items() if number and Flag[name[10:]] & bits]
    for bits in range(sum(Flag) + 1)
]


# Answers: to the wire. A body is an encoded `GuardResponse` with nothing but its answer; the numbers are put before it
# when it is sent, since fields may stand in any order and the stored body of a resent frame gets newer numbers.

ACK = pb.GuardResponse(ack=pb.Ack()).SerializeToString()


def _is_plain(verdict: Verdict) -> bool:
    """Tell whether it is the verdict that nearly all verdicts are, an ALLOW with nothing to say."""
    return verdict.action is _ALLOW and not (
        verdict.finding or verdict.flags or verdict.note or verdict.blocked_by or verdict.scope
    )


def verdict_body(verdict: Verdict) -> bytes:
    """Encode the answer to an outcome."""
    if _is_plain(verdict):
        return allowed_outcome_body(verdict.call_id)
    return pb.GuardResponse(verdict=_to_verdict(verdict)).SerializeToString()


def verdicts_body(verdicts: list[Verdict]) -> bytes:
    """Encode the answer to a batch."""
    if len(verdicts) == 1 and _is_plain(verdicts[0]):
        return allowed_call_body(verdicts[0].call_id)
    return pb.GuardResponse(
        verdicts=pb.Verdicts(verdicts=[_to_verdict(verdict) for verdict in verdicts])
    ).SerializeToString()


def _to_verdict(verdict: Verdict) -> pb.Verdict:
    message = pb.Verdict(
        call_id=verdict.call_id,
        action=_ACTION_NUMBER[verdict.action],
        note=verdict.note,
        blocked_by=verdict.blocked_by,
        scope=_SCOPE_NUMBER[verdict.scope] if verdict.scope else pb.SCOPE_UNSPECIFIED,
        flags=_FLAG_NUMBERS[verdict.flags],
    )
    if verdict.finding is not None:
        message.finding.CopyFrom(to_finding(verdict.finding))
    return message


def to_finding(finding: Finding) -> pb.Finding:
    """Translate a finding."""
    return pb.Finding(
        detector=finding.detector,
        level=_LEVEL_NUMBER[finding.level],
        count=finding.count,
        threshold=finding.threshold,
        paired_tool=finding.paired_tool,
        call_ids=finding.call_ids,
        args_digest=finding.args_digest,
        outcome_digest=finding.outcome_digest,
        stripped=finding.stripped,
        cleared_by=finding.cleared_by,
    )


def to_finding_event(event: Event) -> pb.FindingEvent:
    """Translate what the guard tells operators; run and agent stand around it."""
    return pb.FindingEvent(
        call_id=event.call_id,
        tool=event.tool,
        action=_ACTION_NUMBER[event.action],
        scope=_SCOPE_NUMBER[event.scope] if event.scope else pb.SCOPE_UNSPECIFIED,
        finding=to_finding(event.finding),
        note=event.note,
    )


def to_flags(bits: int) -> list[pb.JsonFlag.ValueType]:
    """Translate the core's bits."""
    return _FLAG_NUMBERS[bits]


def opened_body(opened: Opened) -> bytes:
    """Encode the answer to `RunOpen`."""
    limits = opened.limits
    message = pb.Opened(
        run_id=opened.run_id,
        epoch=opened.epoch,
        last_seq=opened.last_seq,
        config=to_config(opened.config),
        profile=opened.profile,
        mode=to_mode(opened.mode),
        limits=pb.Limits(
            message_bytes=limits.message_bytes,
            frame_bytes=limits.frame_bytes,
            calls_per_batch=limits.calls_per_batch,
            in_flight=limits.in_flight,
            history_size=limits.history_size,
            frames_per_message=limits.frames_per_message,
            records_per_history=limits.records_per_history,
        ),
        digest_scheme=opened.digest_scheme,
        server_version=opened.server_version,
        rebuilt=opened.rebuilt,
    )
    return pb.GuardResponse(opened=message).SerializeToString()


def error_body(status: status_pb2.Status) -> bytes:
    """Encode the refusal of a frame."""
    return pb.GuardResponse(error=pb.FrameError(status=status)).SerializeToString()


def need_resend_body(from_seq: int) -> bytes:
    """Encode the answer to a frame that came too early."""
    return pb.GuardResponse(need_resend=pb.NeedResend(from_seq=from_seq)).SerializeToString()


def run_ended_body(reason: EndReason, status: status_pb2.Status) -> bytes:
    """Encode that a stream has a run no longer."""
    return pb.GuardResponse(run_ended=pb.RunEnded(reason=_END_NUMBER[reason], status=status)).SerializeToString()


def go_away_body(grace_s: float) -> bytes:
    """Encode that the server will shut down."""
    return pb.GuardResponse(go_away=_go_away(grace_s)).SerializeToString()


def many_go_away(grace_s: float) -> bytes:
    """Encode the message that tells a stream of many runs that the server will shut down."""
    return pb.GuardManyResponse(go_away=_go_away(grace_s)).SerializeToString()


def _go_away(grace_s: float) -> pb.GoAway:
    message = pb.GoAway()
    message.grace.FromNanoseconds(round(grace_s * 1e9))
    return message


# Answers: from the wire


def decode_answer(data: bytes) -> Answer:
    """Decode one answer; raise `DecodeError` for bytes that are none."""
    return _from_answer(pb.GuardResponse.FromString(data))


def decode_answers(data: bytes) -> tuple[list[tuple[str, list[Answer]]], GoAway | None]:
    """Decode a message of many runs into (run id, answers) and what the server says of itself."""
    message = pb.GuardManyResponse.FromString(data)
    runs = [(run.run_id, [_from_answer(answer) for answer in run.answers]) for run in message.runs]
    return runs, _from_go_away(message.go_away) if message.HasField("go_away") else None


def _from_answer(response: pb.GuardResponse) -> Answer:
    kind = response.WhichOneof("answer")
    body: Any = None
    if kind == "verdicts":
        body = [_from_verdict(verdict) for verdict in response.verdicts.verdicts]
    elif kind == "verdict":
        body = _from_verdict(response.verdict)
    elif kind == "ack":
        body = Ack()
    elif kind == "opened":
        body = _from_opened(response.opened)
    elif kind == "error":
        body = from_status(response.error.status)
    elif kind == "need_resend":
        body = NeedResend(response.need_resend.from_seq)
    elif kind == "run_ended":
        ended = response.run_ended
        body = RunEnded(_END.get(ended.reason), ended.endpoint, from_status(ended.status))
    elif kind == "go_away":
        body = _from_go_away(response.go_away)
    return Answer(response.seq, response.acked_seq, response.durable_seq, body)


def _from_go_away(message: pb.GoAway) -> GoAway:
    return GoAway(message.grace.ToNanoseconds() / 1e9)


def _from_verdict(verdict: pb.Verdict) -> Verdict:
    action = _ACTION.get(verdict.action)
    if action is None:
        _log.warning("unknown action %d in a verdict of the guard: taken as ALLOW", verdict.action)
        action = Action.ALLOW
    return Verdict(
        verdict.call_id,
        action,
        _from_finding(verdict.finding) if verdict.HasField("finding") else None,
        verdict.note,
        verdict.blocked_by,
        _SCOPE.get(verdict.scope),
        _from_flags(verdict.flags),
    )


def _from_flags(numbers: Iterable[int]) -> Flag:
    flags = Flag(0)
    for number in numbers:
        flags |= _FLAG.get(number, Flag(0))
    return flags


def _from_finding(finding: pb.Finding) -> Finding:
    return Finding(
        detector=finding.detector,
        level=_LEVEL.get(finding.level, Level.WARNING),
        count=finding.count,
        threshold=finding.threshold,
        paired_tool=finding.paired_tool,
        call_ids=tuple(finding.call_ids),
        args_digest=finding.args_digest,
        outcome_digest=finding.outcome_digest,
        stripped=tuple(finding.stripped),
        cleared_by=finding.cleared_by,
    )


def _from_opened(opened: pb.Opened) -> Opened:
    limits = opened.limits
    return Opened(
        run_id=opened.run_id,
        epoch=opened.epoch,
        last_seq=opened.last_seq,
        config=from_config(opened.config),
        profile=opened.profile,
        mode=_MODE.get(opened.mode, Mode.ENFORCE),
        limits=Limits(
            limits.message_bytes,
            limits.frame_bytes,
            limits.calls_per_batch,
            limits.in_flight,
            limits.history_size,
            limits.frames_per_message,
            limits.records_per_history,
        ),
        server_version=opened.server_version,
        digest_scheme=opened.digest_scheme,
        rebuilt=opened.rebuilt,
    )


def from_status(status: status_pb2.Status) -> Refusal:
    """Translate a status with its `ErrorInfo` and `BadRequest`."""
    reason = key = ""
    for detail in status.details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            detail.Unpack(info)
            if info.domain == ERROR_DOMAIN:
                reason = info.reason
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            request = error_details_pb2.BadRequest()
            detail.Unpack(request)
            key = request.field_violations[0].field if request.field_violations else ""
    return Refusal(status.code, reason, status.message, key)


def decode_status(data: bytes) -> Refusal:
    """Decode the trailer that carries a `google.rpc.Status`."""
    return from_status(status_pb2.Status.FromString(data))
