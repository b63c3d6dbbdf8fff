"""OpenTelemetry traces: a span a stream, below the caller's own, and one for each finding. Needs the extra `otel`."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Final

from loopguard.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.trace import TracerProvider

    from loopguard.events import Event

#: How long the last spans may take to be sent.
_SEND_S: Final = 2.0


class Traces:
    """Makes spans with a provider; `None` makes none."""

    def __init__(self, provider: TracerProvider | None) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("loopguard") if provider is not None else None

    def stream(
        self, service: str, rpc: str, metadata: Iterable[tuple[str, Any]]
    ) -> contextlib.AbstractContextManager[Any]:
        """Be inside the span of a stream, below the one that `traceparent` of its metadata names."""
        if self._tracer is None:
            return contextlib.nullcontext()
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier = {name: value for name, value in metadata if isinstance(value, str)}
        return self._tracer.start_as_current_span(
            f"{service}/{rpc}",
            context=TraceContextTextMapPropagator().extract(carrier),
            kind=SpanKind.SERVER,
            attributes={"rpc.system": "grpc", "rpc.service": service, "rpc.method": rpc},
            record_exception=False,
        )

    def tell_finding(self, event: Event) -> None:
        """Note what the guard has found, without arguments and outcomes. A long stream's own span comes much later."""
        if self._tracer is None:
            return
        span = self._tracer.start_span(
            "finding",
            attributes={
                "loopguard.run_id": event.run_id,
                "loopguard.agent_id": event.agent_id,
                "loopguard.call_id": event.call_id,
                "loopguard.tool": event.tool,
                "loopguard.action": event.action.value,
                "loopguard.detector": event.finding.detector,
                "loopguard.count": event.finding.count,
            },
        )
        span.end()

    def stop(self) -> None:
        """Send what was not sent yet; a collector that is away is not waited for."""
        shutdown = getattr(self._provider, "shutdown", None)
        if shutdown is not None:
            sending = threading.Thread(target=shutdown, daemon=True)
            sending.start()
            sending.join(_SEND_S)


def open_traces(enabled: bool) -> Traces:
    """Send traces where OpenTelemetry's own variables (`OTEL_…`) say, over OTLP. Raises `InvalidConfig`."""
    if not enabled:
        return Traces(None)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as missing:
        raise InvalidConfig(
            "loopguard.server.traces",
            f"`traces` needs the extra `otel`: pip install 'loopguard-grpc[otel]' (missing: {missing.name})",
        ) from None
    provider = Provider(resource=Resource.create({"service.name": "loopguard"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Traces(provider)
