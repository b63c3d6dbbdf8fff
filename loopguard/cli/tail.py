"""`loopguard tail`: shows what a running service finds, as it finds it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopguard.cli.app import Failure
from loopguard.cli.plain_text import plain
from loopguard.errors import GuardUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    import grpc

    from loopguard.v1 import guard_pb2 as pb

ADDRESS = "127.0.0.1:50051"
#: How long the service may take to answer, and how long to wait before asking a lost one again.
_CONNECT_S = 5.0
_AGAIN_S = 1.0


def command(
    address: Annotated[str, typer.Argument(metavar="HOST:PORT", help="The service; also unix:PATH.")] = ADDRESS,
    run: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this run; may be repeated.")] = None,
    agent: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this agent; may be repeated.")] = None,
    findings: Annotated[bool, typer.Option("--findings", help="No starts and ends of runs.")] = False,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="POSITION",
            help="Begin behind this event, LOG/EVENT of a `position` in --json, or with the `oldest`.",
        ),
    ] = None,
    token_file: Annotated[str | None, typer.Option(metavar="FILE", help="A file with the bearer token.")] = None,
    ca: Annotated[str | None, typer.Option(metavar="FILE", help="Use TLS, and trust this authority (PEM).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
) -> int:
    """Show what a running service finds, from now on, until Ctrl-C.

    A service that goes away is waited for, and asked for what was missed meanwhile.
    """
    from loopguard.v1 import guard_pb2 as pb

    request = pb.WatchRequest(run_ids=run or (), agent_ids=agent or (), findings_only=findings, announce=True)
    if since == "oldest":
        request.oldest = True
    elif since is not None:
        request.after.CopyFrom(_position(since))
    metadata = (("authorization", f"Bearer {_read(token_file).decode().strip()}"),) if token_file else ()
    authority = _read(ca) if ca else None
    show = _as_json if as_json else event_line
    once = False
    while True:
        try:
            for response in _watch(address, request, metadata, authority):
                if once and response.position.log_id != request.after.log_id:
                    print("loopguard: the service was started anew; what it told before that is gone", file=sys.stderr)
                once = True
                request.after.CopyFrom(response.position)
                if response.lost or response.HasField("event"):
                    print(show(response), flush=True)
        except GuardUnavailable as gone:
            if not once:
                raise
            print(plain(f"loopguard: {gone}; trying again"), file=sys.stderr)
        time.sleep(_AGAIN_S)


def _position(text: str) -> pb.EventPosition:
    from loopguard.v1 import guard_pb2 as pb

    log_id, _, event_id = text.rpartition("/")
    try:
        return pb.EventPosition(log_id=int(log_id or "0"), event_id=int(event_id))
    except ValueError:
        raise Failure(f"--since: `{text}` is neither `oldest` nor a position such as 1764547200000000/42") from None


def _read(file: str) -> bytes:
    return Path(file).read_bytes()


def _watch(
    address: str, request: pb.WatchRequest, metadata: Any, authority: bytes | None
) -> Iterator[pb.WatchResponse]:
    """Yield what the service tells. Raises `GuardUnavailable` or `Failure`."""
    import grpc

    from loopguard.v1 import guard_pb2_grpc

    with _channel(address, authority) as channel:
        try:
            grpc.channel_ready_future(channel).result(_CONNECT_S)
        except grpc.FutureTimeoutError:
            raise GuardUnavailable(f"no service answers at {address}") from None
        call = guard_pb2_grpc.LoopGuardServiceStub(channel).Watch(request, metadata=metadata)
        try:
            yield from call
        except grpc.RpcError as error:
            code, details = error.code(), error.details()
            if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise GuardUnavailable(f"the service at {address} is gone ({details})") from None
            raise Failure(f"{address}: {code.name}: {details}") from None
        finally:
            call.cancel()


def _channel(address: str, authority: bytes | None) -> grpc.Channel:
    import grpc

    if authority is None:
        return grpc.insecure_channel(address)
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority))


def _as_json(response: pb.WatchResponse) -> str:
    from google.protobuf.json_format import MessageToDict

    return json.dumps(MessageToDict(response), ensure_ascii=False)


def event_line(response: pb.WatchResponse) -> str:
    """Return what people are shown of an event."""
    lost = f"… {response.lost} events lost" if response.lost else ""
    if not response.HasField("event"):
        return lost
    event = response.event
    moment = time.strftime("%H:%M:%S", time.localtime(event.time.seconds))
    parts = [moment, event.run_id]
    if event.agent_id:
        parts.append(f"({event.agent_id})")
    kind = event.WhichOneof("kind")
    if kind == "run_started":
        parts.append("resumed" if event.run_started.resumed else "started")
    elif kind == "run_finished":
        ended = "forgotten" if event.run_finished.evicted else "closed"
        parts.append(f"{ended} after {event.run_finished.calls} calls")
    elif kind == "finding":
        parts.append(_finding(event.finding))
    return (lost and lost + "\n") + plain(" ".join(parts))


def _finding(told: pb.FindingEvent) -> str:
    from loopguard.v1 import guard_pb2 as pb

    action = pb.Action.Name(told.action).removeprefix("ACTION_")
    finding = told.finding
    evidence = f" [{', '.join(finding.call_ids)}]" if finding.call_ids else ""
    return f"{action} {told.tool}: {finding.detector} {finding.count}/{finding.threshold}{evidence}"
