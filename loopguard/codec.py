"""Translates frames between the wire and the model; with `answer_codec` the only place that does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from loopguard import _wire
from loopguard._wire import count_calls, count_frames, encode_answer, encode_run, number_frame
from loopguard.errors import InvalidConfig, InvalidFrame, Reason
from loopguard.model import Call, CallBatch, Frame, History, Mode, Outcome, Record, RunOpen, Signal, Status
from loopguard.v1 import guard_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "NoFrame",
    "Received",
    "RefusedOpen",
    "count_calls",
    "count_frames",
    "decode_frame",
    "decode_runs",
    "encode_answer",
    "encode_frame",
    "encode_open",
    "encode_run",
    "from_config",
    "limited",
    "number_frame",
    "to_config",
    "to_mode",
]

#: Length of a client's digest.
DIGEST_BYTES = 16

#: No server allows larger batches, and none larger histories unless told to.
CALLS_MAX = 1024
RECORDS = 1024

_STATUS: dict[int, Status] = {number: Status(name[7:]) for name, number in pb.Status.items() if number}
_STATUS_NUMBER = {Status(name[7:]): number for name, number in pb.Status.items() if number}
_MODE: dict[int, Mode] = {number: Mode(name[5:]) for name, number in pb.Mode.items() if number}
_MODE_NUMBER = {Mode(name[5:]): number for name, number in pb.Mode.items() if number}

#: The keys of `tools.loopDetection` by the wire's names; a table stands for a block.
_CONFIG: dict[str, Any] = {
    "enabled": ("enabled", bool),
    "historySize": ("history_size", int),
    "warningThreshold": ("warning_threshold", int),
    "criticalThreshold": ("critical_threshold", int),
    "unknownToolThreshold": ("unknown_tool_threshold", int),
    "globalCircuitBreakerThreshold": ("global_circuit_breaker_threshold", int),
    "detectors": (
        "detectors",
        {
            "genericRepeat": ("generic_repeat", bool),
            "knownPollNoProgress": ("known_poll_no_progress", bool),
            "pingPong": ("ping_pong", bool),
        },
    ),
    "postCompactionGuard": ("post_compaction_guard", {"windowSize": ("window_size", int)}),
    "failOpen": ("fail_open", bool),
}


# Frames: from the wire


def _from_open(message: pb.RunOpen) -> RunOpen:
    mode = message.mode
    if mode and mode not in _MODE:
        raise RefusedOpen(Reason.INVALID_FRAME, f"unknown value {mode} at `open.mode`")
    return RunOpen(
        run_id=message.run_id,
        agent_id=message.agent_id,
        parent_run_id=message.parent_run_id,
        config=from_config(message.config) if message.HasField("config") else None,
        mode=_MODE.get(mode),
        profile=message.profile,
        digest_scheme=message.digest_scheme,
        resume=message.resume,
        rebuild=message.rebuild,
        decided_unavailable=message.decided_unavailable,
    )


def from_config(message: pb.LoopDetectionConfig) -> dict[str, Any]:
    """Return the fields that are set, by the keys of `tools.loopDetection`."""
    return _from_config(message, _CONFIG)


def _from_config(message: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for key, (name, kind) in table.items():
        if message.HasField(name):
            value = getattr(message, name)
            config[key] = _from_config(value, kind) if isinstance(kind, dict) else value
    return config


class NoFrame(InvalidFrame):
    """A message without number that names no frame."""

    def __init__(self) -> None:
        super().__init__(Reason.INVALID_FRAME, "a message that names no frame")


class RefusedOpen(InvalidFrame):
    """An `open` that can't be translated."""


#: What came over the wire: seq, `at` in seconds (`None` if absent), and the frame, or why it is refused.
Received = tuple[int, float | None, "Frame | RunOpen | InvalidFrame"]


def decode_frame(data: bytes, records: int = RECORDS) -> Received | None:
    """Decode one frame; `None` if it is no valid protobuf, and refused if it names no known frame.

    A history of more than `records` is refused without being decoded.
    """
    return _wire.scan_frame(data) or _decode_any(data, records)


def _decode_any(data: bytes, most_records: int = RECORDS) -> Received | None:
    seq, calls, records = _wire.measure_frame(data)
    if calls > CALLS_MAX:
        message = f"{calls} calls in one batch; at most {CALLS_MAX}"
        return seq, None, InvalidFrame(Reason.TOO_MANY_CALLS, message)
    if records > most_records:
        message = f"{records} records in one history; at most {most_records}"
        return seq, None, InvalidFrame(Reason.TOO_LARGE, message)
    try:
        request = pb.GuardRequest.FromString(data)
    except DecodeError:
        return None
    kind = request.WhichOneof("frame")
    if kind is None and request.seq == 0:
        # Fields that aren't ours and no number: no message of this protocol.
        return None if len(UnknownFieldSet(request)) else (0, None, NoFrame())
    at = request.at.seconds + request.at.nanos / 1e9 if request.HasField("at") else None
    frame: Frame | RunOpen | InvalidFrame
    try:
        frame = _from_open(request.open) if kind == "open" else _from_frame(request, kind)
    except InvalidFrame as refusal:
        frame = refusal
    return request.seq, at, frame


def _from_frame(request: pb.GuardRequest, kind: str | None) -> Frame:
    if kind == "calls":
        batch = request.calls
        if not batch.calls:
            raise InvalidFrame(Reason.INVALID_FRAME, "a batch without calls")
        return CallBatch([_from_call(call) for call in batch.calls], batch.dry_run)
    if kind == "outcome":
        return _from_outcome(request.outcome)
    if kind == "history":
        return History([_from_record(record) for record in request.history.records])
    if kind == "user_message":
        return Signal.USER_MESSAGE
    if kind == "compaction_retry":
        return Signal.COMPACTION_RETRY
    if kind == "close":
        return Signal.CLOSE
    raise InvalidFrame(Reason.INVALID_FRAME, "a frame that is none of those known here")


def _from_call(call: pb.Call) -> Call:
    digest = call.args_digest
    return Call(
        call.tool,
        call.args_json or None,
        call.call_id,
        _digest(digest, "args_digest") if digest else None,
        call.action,
    )


def _from_outcome(outcome: pb.Outcome) -> Outcome:
    status = _status(outcome.status) if outcome.status else None
    if status is Status.PENDING:
        raise InvalidFrame(Reason.INVALID_FRAME, "status PENDING stands only in `history`")
    digest = outcome.result_digest
    return Outcome(
        outcome.call_id,
        status,
        outcome.result_json or None,
        _digest(digest, "result_digest") if digest else None,
        outcome.error_json or None,
        outcome.semantic_json or None,
    )


def _from_record(record: pb.Record) -> Record:
    return Record(
        tool=record.tool,
        args=record.args_json or None,
        args_digest=_digest(record.args_digest, "args_digest") if record.args_digest else None,
        action=record.action,
        status=_status(record.status) if record.status else None,
        result=record.result_json or None,
        result_digest=_digest(record.result_digest, "result_digest") if record.result_digest else None,
        error=record.error_json or None,
        private=record.semantic_json or None,
    )


def _status(number: int) -> Status:
    status = _STATUS.get(number)
    if status is None:
        raise InvalidFrame(Reason.INVALID_FRAME, f"unknown value {number} at `status`")
    return status


def _digest(digest: bytes, field: str) -> bytes:
    if len(digest) != DIGEST_BYTES:
        raise InvalidFrame(Reason.INVALID_FRAME, f"`{field}` has {len(digest)} bytes, not {DIGEST_BYTES}")
    return digest


# Frames: to the wire


def to_config(config: Mapping[str, Any]) -> pb.LoopDetectionConfig:
    """Translate the keys of `tools.loopDetection`; raise `InvalidConfig` for what the wire has no field for."""
    message = pb.LoopDetectionConfig()
    _to_config(message, config, _CONFIG, "")
    return message


def _to_config(message: Any, config: Mapping[str, Any], table: Mapping[str, Any], path: str) -> None:
    for key, value in config.items():
        where = f"{path}{key}"
        if key not in table:
            raise InvalidConfig(where, f"unknown key `{where}`")
        if value is None:
            continue
        name, kind = table[key]
        if isinstance(kind, dict):
            if not hasattr(value, "items"):
                raise InvalidConfig(where, f"`{where}` is {value!r}, not a block")
            block = getattr(message, name)
            block.SetInParent()
            _to_config(block, value, kind, f"{where}.")
        elif kind is bool:
            if not isinstance(value, bool):
                raise InvalidConfig(where, f"`{where}` is {value!r}, not true or false")
            setattr(message, name, value)
        else:
            setattr(message, name, _integer(value, where))


def _integer(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise InvalidConfig(where, f"`{where}` is {value!r}, not an integer")
    if not -(2**63) <= value < 2**63:
        raise InvalidConfig(where, f"`{where}` is {value!r}, beyond 64 bits")
    return int(value)


def encode_open(run: RunOpen, at: float | None = None) -> bytes:
    """Encode the frame that opens `run`; raise `InvalidConfig` for what the wire has no field for."""
    message = pb.RunOpen(
        run_id=run.run_id,
        agent_id=run.agent_id,
        parent_run_id=run.parent_run_id,
        mode=to_mode(run.mode),
        profile=run.profile,
        digest_scheme=run.digest_scheme,
        resume=run.resume,
        rebuild=run.rebuild,
        decided_unavailable=run.decided_unavailable,
    )
    if run.config is not None:
        message.config.CopyFrom(to_config(run.config))
    request = pb.GuardRequest(open=message)
    _stamp(request, at)
    return request.SerializeToString()


def encode_frame(seq: int, frame: Frame, at: float | None = None) -> bytes:
    """Encode any frame but `open`."""
    request = pb.GuardRequest(seq=seq)
    _stamp(request, at)
    if isinstance(frame, CallBatch):
        request.calls.dry_run = frame.dry_run
        for call in frame.calls:
            _to_call(call, request.calls.calls.add())
        request.calls.SetInParent()
    elif isinstance(frame, Outcome):
        _to_outcome(frame, request.outcome)
        request.outcome.SetInParent()
    elif isinstance(frame, History):
        for record in frame.records:
            _to_record(record, request.history.records.add())
        request.history.SetInParent()
    elif frame is Signal.USER_MESSAGE:
        request.user_message.SetInParent()
    elif frame is Signal.COMPACTION_RETRY:
        request.compaction_retry.SetInParent()
    else:
        request.close.SetInParent()
    return request.SerializeToString()


def to_mode(mode: Mode | None) -> pb.Mode.ValueType:
    """Translate a mode."""
    return pb.MODE_UNSPECIFIED if mode is None else _MODE_NUMBER[mode]


def _stamp(request: pb.GuardRequest, at: float | None) -> None:
    if at is not None:
        nanos = round(at * 1e9)
        sign = -1 if nanos < 0 else 1
        request.at.seconds, request.at.nanos = sign * (abs(nanos) // 10**9), sign * (abs(nanos) % 10**9)


def _to_call(call: Call, message: pb.Call) -> None:
    message.call_id, message.tool, message.action = call.call_id, call.tool, call.action
    if call.args_digest:
        message.args_digest = call.args_digest
    elif call.args:
        message.args_json = call.args


def _to_outcome(outcome: Outcome, message: pb.Outcome) -> None:
    message.call_id = outcome.call_id
    _to_ending(outcome, message)


def _to_record(record: Record, message: pb.Record) -> None:
    message.tool, message.action = record.tool, record.action
    if record.args_digest:
        message.args_digest = record.args_digest
    elif record.args:
        message.args_json = record.args
    _to_ending(record, message)


def _to_ending(ending: Outcome | Record, message: pb.Outcome | pb.Record) -> None:
    if ending.status is not None:
        message.status = _STATUS_NUMBER[ending.status]
    if ending.result_digest:
        message.result_digest = ending.result_digest
    elif ending.result:
        message.result_json = ending.result
    if ending.error:
        message.error_json = ending.error
    if ending.private:
        message.semantic_json = ending.private


_VARINT_KIND, _DELIMITED_KIND = 0, 2
_FIXED_BYTES = {1: 8, 5: 4}
_UINT64 = 2**64 - 1
_VARINT_BITS = 70


def with_durable(answer: bytes, durable_seq: int) -> bytes:
    """Return an encoded answer with another `durable_seq`: of a field that stands twice, the last one counts."""
    return answer + pb.GuardResponse(durable_seq=durable_seq).SerializeToString()


def decode_runs(
    data: bytes, frame_bytes: int, records: int = RECORDS
) -> Iterable[tuple[str, Sequence[Received | None]]]:
    """Decode a `GuardManyRequest` into (run id, frames).

    `None` is a frame that can't be decoded; a part that can't be told to belong to any run has the run id "". Frames of
    more than `frame_bytes`, and histories of more than `records`, are refused.
    """
    # Only a message beyond the frame limit can hold such a frame, so the others aren't measured.
    decode = partial(_decode_any, most_records=records)
    runs = _wire.scan_runs(data, decode) if len(data) <= frame_bytes else None
    return _walk_runs(data, frame_bytes, records) if runs is None else runs


def _walk_runs(data: bytes, frame_bytes: int, records: int) -> Iterable[tuple[str, Sequence[Received | None]]]:
    """Take a message apart by hand, so that one run's bad bytes cost no other run its frames."""
    parts, rest = _fields(data)
    told = rest is None
    for number, part in [*parts, *([(1, rest)] if rest else [])]:
        if number != 1:
            continue
        fields, cut = _fields(part)
        name = b""
        frames: list[Received | None] = []
        for field, value in fields:
            if field == 1:
                name = value
            elif field == 2:
                frames.append(limited(decode_frame(value, records), len(value), frame_bytes))
        if cut is not None:
            frames.append(None)
            told = True
        try:
            yield name.decode(), frames
        except UnicodeDecodeError:
            told = False
    if not told:
        yield "", [None]


def limited(received: Received | None, size: int, frame_bytes: int) -> Received | None:
    """Put a refusal in place of a frame that is too large."""
    if size <= frame_bytes or received is None:
        return received
    seq, at, frame = received
    refuse = RefusedOpen if isinstance(frame, RunOpen | RefusedOpen) else InvalidFrame
    return seq, at, refuse(Reason.TOO_LARGE, f"a frame of {size} bytes; at most {frame_bytes}")


def _fields(data: bytes) -> tuple[list[tuple[int, bytes]], bytes | None]:
    """Return the length-delimited fields up to the first fault.

    With it what there is of a field that is cut off, empty for any other fault, `None` if there is none.
    """
    fields: list[tuple[int, bytes]] = []
    at = 0
    try:
        while at < len(data):
            tag, at = _read_varint(data, at)
            kind = tag & 7
            if kind == _VARINT_KIND:
                _, at = _read_varint(data, at)
            elif kind in _FIXED_BYTES:
                at += _FIXED_BYTES[kind]
            elif kind == _DELIMITED_KIND:
                size, at = _read_varint(data, at)
                if at + size > len(data):
                    return fields, data[at:]
                fields.append((tag >> 3, data[at : at + size]))
                at += size
            else:
                return fields, b""
    except IndexError:
        return fields, b""
    return fields, None if at == len(data) else b""


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & _UINT64, at
        shift += 7
        if shift == _VARINT_BITS:
            raise IndexError(at)
