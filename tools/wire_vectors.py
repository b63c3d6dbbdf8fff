"""Writes conformance/wire.jsonl: messages of the protocol as JSON and as bytes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # stubs, but no py.typed

from loopguard.v1 import guard_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message

FILE = Path(__file__).parents[1] / "conformance" / "wire.jsonl"

DIGEST = bytes(range(16))
FINDING = pb.Finding(
    detector="ping_pong",
    level=pb.LEVEL_CRITICAL,
    count=20,
    threshold=20,
    paired_tool="read",
    call_ids=["c1", "c2"],
    args_digest=DIGEST,
    outcome_digest=DIGEST[::-1],
    stripped=["pid", "duration"],
    cleared_by="another outcome of either",
)
CONFIG = pb.LoopDetectionConfig(
    enabled=True,
    history_size=30,
    warning_threshold=10,
    critical_threshold=20,
    unknown_tool_threshold=10,
    global_circuit_breaker_threshold=30,
    detectors=pb.DetectorConfig(generic_repeat=True, known_poll_no_progress=False, ping_pong=True),
    post_compaction_guard=pb.PostCompactionGuardConfig(window_size=3),
    fail_open=False,
)
CALL = pb.Call(call_id="c1", tool="exec", args_json=b'{"command":"make"}')
RECORD = pb.Record(tool="exec", args_json=b"{}", status=pb.STATUS_OK, result_json=b'"done"')
VERDICT = pb.Verdict(call_id="c1", action=pb.ACTION_ALLOW)
TIME = Timestamp(seconds=1_700_000_000, nanos=250_000_000)


def status(code: int, reason: str, message: str, key: str = "", retry_s: int = 0) -> status_pb2.Status:
    """Build a status as the service does."""
    built = status_pb2.Status(code=code, message=message)
    built.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain="loopguard"))
    if key:
        violation = error_details_pb2.BadRequest.FieldViolation(field=key, description=message)
        built.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    if retry_s:
        built.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=Duration(seconds=retry_s)))
    return built


def cases() -> Iterator[tuple[str, Message]]:
    """Yield every case: its name and the message."""
    yield from requests()
    yield from answers()
    yield from parts()
    yield from enums()
    yield from other_calls()


def requests() -> Iterator[tuple[str, Message]]:
    """Yield frames, and messages of many runs."""
    yield "request/empty", pb.GuardRequest()
    yield "request/open", pb.GuardRequest(open=pb.RunOpen(run_id="r"))
    yield (
        "request/open with everything",
        pb.GuardRequest(
            at=Duration(),
            open=pb.RunOpen(
                run_id="r",
                agent_id="coder",
                parent_run_id="p",
                config=CONFIG,
                mode=pb.MODE_OBSERVE,
                profile="balanced",
                digest_scheme=1,
                resume=True,
                decided_unavailable=3,
            ),
        ),
    )
    yield "request/open to rebuild", pb.GuardRequest(open=pb.RunOpen(run_id="r", rebuild=True))
    yield "request/calls", pb.GuardRequest(seq=1, calls=pb.CallBatch(calls=[CALL]))
    yield (
        "request/calls at a time",
        pb.GuardRequest(seq=300, at=Duration(seconds=1, nanos=500_000_000), calls=pb.CallBatch(calls=[CALL, CALL])),
    )
    yield "request/check", pb.GuardRequest(seq=2, calls=pb.CallBatch(calls=[CALL], dry_run=True))
    yield "request/outcome", pb.GuardRequest(seq=3, outcome=pb.Outcome(call_id="c1", result_json=b"null"))
    yield "request/empty outcome", pb.GuardRequest(seq=3, outcome=pb.Outcome())
    yield "request/history", pb.GuardRequest(seq=4, history=pb.History(records=[RECORD]))
    yield "request/empty history", pb.GuardRequest(seq=1, history=pb.History())
    yield "request/user message", pb.GuardRequest(seq=5, user_message=pb.UserMessage())
    yield "request/compaction retry", pb.GuardRequest(seq=6, compaction_retry=pb.CompactionRetry())
    yield "request/close", pb.GuardRequest(seq=7, close=pb.RunClose())
    yield "request/largest seq", pb.GuardRequest(seq=2**64 - 1, close=pb.RunClose())
    yield "many/empty", pb.GuardManyRequest()
    yield (
        "many/two runs",
        pb.GuardManyRequest(
            runs=[
                pb.RunFrames(run_id="a", frames=[pb.GuardRequest(seq=1, calls=pb.CallBatch(calls=[CALL]))]),
                pb.RunFrames(run_id="b", frames=[pb.GuardRequest(open=pb.RunOpen(run_id="b"))]),
            ]
        ),
    )
    yield (
        "many/one run twice",
        pb.GuardManyRequest(
            runs=[pb.RunFrames(run_id="a", frames=[pb.GuardRequest(seq=seq, close=pb.RunClose())]) for seq in (1, 2)]
        ),
    )
    yield "many/frames of a run", pb.RunFrames(run_id="ü", frames=[pb.GuardRequest(seq=1), pb.GuardRequest(seq=2)])


def answers() -> Iterator[tuple[str, Message]]:
    """Yield answers, and messages of many runs."""
    opened = pb.Opened(
        run_id="r",
        epoch=2,
        last_seq=7,
        config=CONFIG,
        profile="openclaw",
        mode=pb.MODE_ENFORCE,
        limits=pb.Limits(
            message_bytes=1 << 24,
            frame_bytes=1 << 24,
            calls_per_batch=256,
            in_flight=64,
            history_size=1000,
            frames_per_message=4096,
            records_per_history=1024,
        ),
        digest_scheme=1,
        server_version="0.1.0",
        rebuilt=True,
    )
    config_error = status(3, "INVALID_CONFIG", "`historySize` must be at least 1, not 0", "historySize")
    yield "answer/opened", pb.GuardResponse(acked_seq=7, durable_seq=5, opened=opened)
    yield "answer/verdicts", pb.GuardResponse(seq=1, acked_seq=1, verdicts=pb.Verdicts(verdicts=[VERDICT, VERDICT]))
    yield "answer/verdict", pb.GuardResponse(seq=2, acked_seq=2, verdict=VERDICT)
    yield "answer/ack", pb.GuardResponse(seq=3, acked_seq=3, ack=pb.Ack())
    yield "answer/refused open", pb.GuardResponse(error=pb.FrameError(status=config_error))
    yield (
        "answer/refused frame",
        pb.GuardResponse(
            seq=4,
            acked_seq=4,
            error=pb.FrameError(status=status(5, "UNKNOWN_CALL", "no call `x` waits for an outcome")),
        ),
    )
    yield (
        "answer/limit",
        pb.GuardResponse(
            seq=5, acked_seq=5, error=pb.FrameError(status=status(8, "LIMIT_EXCEEDED", "too many calls", retry_s=2))
        ),
    )
    yield "answer/need resend", pb.GuardResponse(seq=9, acked_seq=5, need_resend=pb.NeedResend(from_seq=6))
    yield (
        "answer/superseded",
        pb.GuardResponse(
            seq=5,
            acked_seq=5,
            run_ended=pb.RunEnded(
                reason=pb.RUN_END_REASON_SUPERSEDED, status=status(10, "SUPERSEDED", "opened on another stream")
            ),
        ),
    )
    yield (
        "answer/wrong node",
        pb.GuardResponse(run_ended=pb.RunEnded(reason=pb.RUN_END_REASON_WRONG_NODE, endpoint="10.0.0.2:50051")),
    )
    yield "answer/go away", pb.GuardResponse(seq=5, acked_seq=5, go_away=pb.GoAway(grace=Duration(seconds=5)))
    yield (
        "many/answers",
        pb.GuardManyResponse(
            runs=[pb.RunAnswers(run_id="a", answers=[pb.GuardResponse(seq=1, acked_seq=1, ack=pb.Ack())])]
        ),
    )
    yield "many/go away", pb.GuardManyResponse(go_away=pb.GoAway(grace=Duration(nanos=500_000_000)))
    yield "many/answers of a run", pb.RunAnswers(run_id="b", answers=[pb.GuardResponse(seq=2, verdict=VERDICT)])


def parts() -> Iterator[tuple[str, Message]]:
    """Yield what frames and answers are made of."""
    yield "call/without arguments", pb.Call(tool="exec")
    yield "call/arguments as JSON", CALL
    yield "call/arguments set and empty", pb.Call(tool="exec", args_json=b"")
    yield "call/arguments as a digest", pb.Call(tool="process", args_digest=DIGEST, action="poll")
    yield "call/arguments that are no JSON", pb.Call(tool="exec", args_json=b"\xff\x00{")
    yield "call/a name beyond ASCII", pb.Call(call_id="é", tool="öffnen", args_json='{"a":"𝄞"}'.encode())
    yield "outcome/result as JSON", pb.Outcome(status=pb.STATUS_OK, result_json=b'{"content":[]}')
    yield "outcome/result as a digest", pb.Outcome(call_id="c2", result_digest=DIGEST)
    yield "outcome/error", pb.Outcome(call_id="c3", status=pb.STATUS_ERROR, error_json=b'"no such file"')
    yield "outcome/private", pb.Outcome(call_id="c4", result_json=b"1", semantic_json=b'{"a":1}')
    yield "record/as JSON", RECORD
    yield "record/as digests", pb.Record(tool="t", args_digest=DIGEST, action="send", result_digest=DIGEST)
    yield "record/error and private", pb.Record(tool="t", error_json=b"{}", semantic_json=b"null")
    yield "config/nothing set", pb.LoopDetectionConfig()
    yield "config/everything", CONFIG
    yield (
        "config/set to nothing",
        pb.LoopDetectionConfig(
            enabled=False, history_size=0, warning_threshold=-3, detectors=pb.DetectorConfig(ping_pong=False)
        ),
    )
    yield "config/window", pb.PostCompactionGuardConfig(window_size=0)
    yield "config/largest", pb.LoopDetectionConfig(history_size=2**63 - 1, critical_threshold=-(2**63))
    yield "verdict/warn", pb.Verdict(call_id="c1", action=pb.ACTION_WARN, finding=FINDING, note="slow down")
    yield "verdict/blocked sibling", pb.Verdict(call_id="c2", action=pb.ACTION_BLOCK, blocked_by="c1", note="not run")
    yield "verdict/abort", pb.Verdict(call_id="c1", action=pb.ACTION_ABORT, finding=FINDING, scope=pb.SCOPE_RUN)
    yield "verdict/flags", pb.Verdict(call_id="c1", action=pb.ACTION_ALLOW, flags=[*range(1, 6)])
    yield "verdict/action of a newer server", pb.Verdict(call_id="c1", action=99)
    yield "finding", FINDING


def enums() -> Iterator[tuple[str, Message]]:
    """Yield every value of every enum in a message that has one."""
    for name, number in pb.Status.items():
        yield f"enum/{name}", pb.Record(tool="t", status=number)
    for name, number in pb.Mode.items():
        yield f"enum/{name}", pb.RunOpen(run_id="r", mode=number)
    for name, number in pb.Action.items():
        yield f"enum/{name}", pb.Verdict(action=number)
    for name, number in pb.Scope.items():
        yield f"enum/{name}", pb.Verdict(scope=number)
    for name, number in pb.Level.items():
        yield f"enum/{name}", pb.Finding(level=number)
    for name, number in pb.JsonFlag.items():
        yield f"enum/{name}", pb.FingerprintResponse(flags=[number])
    for name, number in pb.RunEndReason.items():
        yield f"enum/{name}", pb.RunEnded(reason=number)


def other_calls() -> Iterator[tuple[str, Message]]:
    """Yield the messages of `Fingerprint` and `Watch`."""
    yield "fingerprint/request", pb.FingerprintRequest(json=b'{"b":1,"a":2}', masks=["default"], include_canonical=True)
    yield (
        "fingerprint/response",
        pb.FingerprintResponse(digest=DIGEST, flags=[pb.JSON_FLAG_BIGINT], canonical=b'{"a":2,"b":1}', digest_scheme=1),
    )
    yield "watch/request", pb.WatchRequest(run_ids=["r"], agent_ids=["coder"], findings_only=True)
    yield "watch/request from the oldest event", pb.WatchRequest(oldest=True, announce=True)
    yield "watch/request after an event", pb.WatchRequest(after=pb.EventPosition(log_id=2**63 + 1, event_id=41))
    yield "watch/announced", pb.WatchResponse(position=pb.EventPosition(log_id=2**63 + 1, event_id=41))
    started = pb.RunStarted(parent_run_id="p", profile="openclaw", resumed=True)
    yield (
        "watch/started",
        pb.WatchResponse(
            event=pb.Event(time=TIME, run_id="r", agent_id="coder", run_started=started),
            lost=2,
            position=pb.EventPosition(log_id=2**63 + 1, event_id=42),
        ),
    )
    yield "watch/finished", pb.Event(time=TIME, run_id="r", run_finished=pb.RunFinished(evicted=True, calls=12))
    yield (
        "watch/finding",
        pb.Event(
            time=TIME,
            run_id="r",
            finding=pb.FindingEvent(
                call_id="c1", tool="exec", action=pb.ACTION_ABORT, scope=pb.SCOPE_TURN, finding=FINDING, note="stop"
            ),
        ),
    )


def line(name: str, message: Message) -> dict[str, Any]:
    """Return a case as the file has it."""
    return {
        "name": name,
        "message": message.DESCRIPTOR.full_name,
        "json": json_format.MessageToDict(message),
        "bytes": message.SerializeToString(deterministic=True).hex(),
    }


def main() -> int:
    """Write the file; return the exit code."""
    lines = [json.dumps(line(name, message), ensure_ascii=False) for name, message in cases()]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {len(lines)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
