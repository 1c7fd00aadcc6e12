"""OpenTelemetry spans of requests, configured by OpenTelemetry's variables such as `OTEL_EXPORTER_OTLP_ENDPOINT`."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from atlas.core.imports.distribution import __version__
from atlas.server.operations.requests import PAGES, RequestRecord

_NANOSECONDS = 1_000_000_000


class RequestTraces:
    """One span per request of the API and MCP. The header `traceparent` makes it a child of the sender's span."""

    def __init__(self, exporter: SpanExporter | None = None) -> None:
        """Start the exporter.

        Args:
            exporter: By default OTLP over HTTP.
        """
        resource = Resource.create({"service.name": "atlas", "service.version": __version__})
        self._provider = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("atlas.server", __version__)

    def observe(self, record: RequestRecord) -> None:
        """Record the span of a request, without query and body."""
        if record.route == PAGES or record.route.endswith(
            "/traces"
        ):  # otherwise exporting a span would create another one
            return
        context = TraceContextTextMapPropagator().extract({"traceparent": record.traceparent})
        started_at = int(record.started_at * _NANOSECONDS)
        span = self._tracer.start_span(
            f"{record.method} {record.route}",
            context,
            SpanKind.SERVER,
            {
                "http.request.method": record.method,
                "http.route": record.route,
                "http.response.status_code": record.status,
                "atlas.request_id": record.id,
                "atlas.actor": record.actor.name if record.actor else "",
                "atlas.role": record.role,
            },
            start_time=started_at,
        )
        if record.status >= 500 or not record.status:
            span.set_status(Status(StatusCode.ERROR))
        span.end(started_at + int(record.seconds * _NANOSECONDS))

    def close(self) -> None:
        """Send pending spans."""
        self._provider.shutdown()
