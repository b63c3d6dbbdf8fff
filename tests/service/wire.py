"""A bare client that speaks protobuf to a server, and what its messages are made of."""

from __future__ import annotations

import json
from typing import Any

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from loopguard.v1 import guard_pb2 as pb

METHOD = "/loopguard.v1.LoopGuardService/"
LOW = {
    "enabled": True,
    "warning_threshold": 3,
    "critical_threshold": 5,
    "global_circuit_breaker_threshold": 8,
    "unknown_tool_threshold": 5,
}


class Ended(Exception):
    """The server ended the stream."""

    def __init__(self, error: grpc.aio.AioRpcError) -> None:
        self.code = error.code()
        self.reason = ""
        for name, value in error.trailing_metadata() or ():
            if name == "grpc-status-details-bin":
                self.reason = reason_of(status_pb2.Status.FromString(value))
        super().__init__(f"{self.code} {self.reason}: {error.details()}")


class Peer:
    """One raw stream of `Guard` or `GuardMany`."""

    def __init__(self, channel: grpc.aio.Channel, method: str = "Guard", metadata: Any = None) -> None:
        self._call: Any = channel.stream_stream(METHOD + method)(metadata=metadata)
        self._many = method == "GuardMany"
        self._seq = 0

    async def send(self, data: bytes) -> None:
        try:
            await self._call.write(data)
        except grpc.aio.AioRpcError as error:
            raise Ended(error) from None

    async def read(self) -> Any:
        try:
            data = await self._call.read()
        except grpc.aio.AioRpcError as error:
            raise Ended(error) from None
        if data is grpc.aio.EOF:
            code = await self._call.code()
            if code is not grpc.StatusCode.OK:
                raise AssertionError(f"the stream ended with {code}")
            return None
        return (pb.GuardManyResponse if self._many else pb.GuardResponse).FromString(data)

    async def ask(self, message: Any) -> Any:
        await self.send(message if isinstance(message, bytes) else message.SerializeToString())
        return await self.read()

    async def open(self, run_id: str = "r", **fields: Any) -> pb.GuardResponse:
        self._seq = 0
        response = await self.ask(open_frame(run_id, **fields))
        self._seq = response.opened.last_seq
        return response

    async def tell(self, **frame: Any) -> pb.GuardResponse:
        """Send the next frame of a `Guard` stream."""
        self._seq += 1
        return await self.ask(pb.GuardRequest(seq=self._seq, **frame))

    async def run(self, tool: str = "exec", args: Any = None, **outcome: Any) -> pb.Verdict:
        """Ask for a call and report its outcome; return the call's verdict."""
        response = await self.tell(calls=batch(call(tool, args)))
        (verdict,) = response.verdicts.verdicts
        if verdict.action in (pb.ACTION_ALLOW, pb.ACTION_WARN):
            await self.tell(outcome=done(verdict.call_id, **outcome))
        return verdict

    async def close(self) -> None:
        """Close the run and then the stream, which has to end well."""
        response = await self.tell(close=pb.RunClose())
        assert response.WhichOneof("answer") == "ack", response
        await self.half_close()

    async def half_close(self) -> None:
        await self._call.done_writing()
        assert await self.read() is None

    def cancel(self) -> None:
        self._call.cancel()


def open_frame(run_id: str = "r", *, config: dict[str, Any] | None = None, **fields: Any) -> pb.GuardRequest:
    opening = pb.RunOpen(run_id=run_id, **fields)
    opening.config.CopyFrom(pb.LoopDetectionConfig(**(LOW if config is None else config)))
    return pb.GuardRequest(open=opening)


def call(tool: str = "exec", args: Any = None, call_id: str = "") -> pb.Call:
    return pb.Call(tool=tool, args_json=b"" if args is None else json.dumps(args).encode(), call_id=call_id)


def batch(*calls: pb.Call) -> pb.CallBatch:
    return pb.CallBatch(calls=calls)


def done(call_id: str = "", result: Any = "same", **fields: Any) -> pb.Outcome:
    return pb.Outcome(call_id=call_id, status=pb.STATUS_OK, result_json=json.dumps(result).encode(), **fields)


def reason_of(status: status_pb2.Status) -> str:
    for detail in status.details:
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            assert info.domain == "loopguard"
            return info.reason
    return ""


def refused(response: pb.GuardResponse) -> str:
    """Return the reason of a refused frame."""
    assert response.WhichOneof("answer") == "error", response
    return reason_of(response.error.status)


def violated_key(response: pb.GuardResponse) -> str:
    for detail in response.error.status.details:
        request = error_details_pb2.BadRequest()
        if detail.Unpack(request):
            return request.field_violations[0].field
    return ""
