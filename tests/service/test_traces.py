from __future__ import annotations

import asyncio
import gzip
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

import grpc.aio
import pytest
from loopguard.server.service import Service
from loopguard.server.settings import Settings
from loopguard.server.traces import Traces, open_traces
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from loopguard.config import Configuration
from loopguard.errors import InvalidConfig
from tests.service.test_process import address_of, start
from tests.service.wire import Peer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Callable

__all__ = ["start"]

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
async def traced() -> AsyncIterator[tuple[str, InMemorySpanExporter]]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = Settings(address="127.0.0.1:0", drain_grace_s=0)
    service = Service(settings, Configuration.empty(), traces=Traces(provider))
    yield await service.start(), exporter
    await service.stop()


async def test_a_stream_and_its_findings_are_spans_of_the_caller_s_trace(
    traced: tuple[str, InMemorySpanExporter],
) -> None:
    address, exporter = traced
    async with grpc.aio.insecure_channel(address) as channel:
        peer = Peer(channel, metadata=(("traceparent", f"00-{TRACE_ID}-{SPAN_ID}-01"),))
        await peer.open("r", agent_id="a")
        for _ in range(4):
            await peer.run(args={"text": "c4n4ry"}, result="c4n4ry")
        early = [span.name for span in exporter.get_finished_spans()]
        await peer.close()

    finding, stream = exporter.get_finished_spans()
    assert early == ["finding"]
    assert stream.name == "loopguard.v1.LoopGuardService/Guard"
    assert stream.context is not None
    assert stream.parent is not None
    assert finding.parent is not None
    assert f"{stream.context.trace_id:032x}" == TRACE_ID
    assert f"{stream.parent.span_id:016x}" == SPAN_ID
    assert finding.parent.span_id == stream.context.span_id
    assert finding.attributes is not None
    assert finding.attributes["loopguard.detector"] == "generic_repeat"
    assert finding.attributes["loopguard.action"] == "WARN"
    assert "c4n4ry" not in finding.to_json() + stream.to_json()


async def test_streams_side_by_side_keep_their_findings_apart(traced: tuple[str, InMemorySpanExporter]) -> None:
    address, exporter = traced
    async with grpc.aio.insecure_channel(address) as channel:
        one, other = Peer(channel), Peer(channel)
        await one.open("one")
        await other.open("other")
        for _ in range(4):
            for peer in (one, other):
                await peer.run(args={"same": 1})
        await one.close()
        await other.close()

    found = [span for span in exporter.get_finished_spans() if span.name == "finding"]
    assert len({span.parent.span_id for span in found if span.parent is not None}) == 2


class Collector(BaseHTTPRequestHandler):
    received: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.parametrize("there", [True, False])
async def test_spans_go_to_the_collector_and_one_that_is_away_stops_nothing(
    start: Callable[..., subprocess.Popen[str]], there: bool
) -> None:
    Collector.received.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    port = server.server_address[1]
    if not there:
        server.shutdown()
        server.server_close()
    process = start(LOOPGUARD_TRACES="true", OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}")
    async with grpc.aio.insecure_channel(address_of(process)) as channel:
        peer = Peer(channel)
        await peer.open()
        await peer.close()
    process.send_signal(signal.SIGTERM)

    code = await asyncio.to_thread(process.wait, 30)

    if there:
        server.shutdown()
        server.server_close()
    serving.join()
    assert code == 0
    assert bool(Collector.received) == there
    assert all(b"LoopGuardService/Guard" in body for body in map(gzip_or_plain, Collector.received))


def gzip_or_plain(body: bytes) -> bytes:
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def test_without_the_extra_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    with pytest.raises(InvalidConfig, match=r"loopguard-grpc\[otel\]"):
        open_traces(True)


def test_without_the_setting_nothing_of_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with open_traces(False).stream("s", "r", ()):
        open_traces(False).stop()
