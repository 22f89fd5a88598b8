"""Plays a shop through the OpenTelemetry SDK of Python.

    shop.py PLAN TRANSPORT ENDPOINT COMPRESSION [STEP]

The plan lists the spans (see plan.rs); ids, batches, messages, and retries are up to the SDK.
TRANSPORT is grpc or http-proto, COMPRESSION none or gzip. Prints each export when it starts and, at the end, how many spans
were acknowledged; fails if any was not. With STEP, spans are flushed after each STEP requests.
"""

import json
import sys

import grpc
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Status, StatusCode

KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}


class CountingExporter(SpanExporter):
    """The SDK's exporter, counting spans that were accepted and that failed."""

    def __init__(self, exporter):
        self.exporter, self.accepted, self.failed = exporter, 0, 0

    def export(self, spans):
        print(json.dumps({"exporting": len(spans)}), flush=True)
        result = self.exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.accepted += len(spans)
        else:
            self.failed += len(spans)
        return result

    def shutdown(self):
        self.exporter.shutdown()


def span_exporter(transport, endpoint, compression):
    if transport == "grpc":
        compression = grpc.Compression.Gzip if compression == "gzip" else grpc.Compression.NoCompression
        return GrpcSpans(endpoint=endpoint, insecure=True, compression=compression)
    return HttpSpans(endpoint=endpoint + "/v1/traces", compression=Compression(compression))


def metric_exporter(transport, endpoint, compression):
    if transport == "grpc":
        compression = grpc.Compression.Gzip if compression == "gzip" else grpc.Compression.NoCompression
        return GrpcMetrics(endpoint=endpoint, insecure=True, compression=compression)
    return HttpMetrics(endpoint=endpoint + "/v1/metrics", compression=Compression(compression))


def resource(service, replica):
    return Resource.create({"service.name": service, "service.instance.id": replica})


def play(plan, processor, step):
    """Plays every request of the plan; each replica has its own provider, as in separate processes."""
    providers = {}

    def tracer(service, replica):
        if (service, replica) not in providers:
            provider = TracerProvider(resource=resource(service, replica), shutdown_on_exit=False)
            provider.add_span_processor(processor)
            providers[service, replica] = provider.get_tracer("shop")
        return providers[service, replica]

    for played, request in enumerate(plan["requests"], start=1):
        spans = []
        for planned in request:
            parent = None if planned["parent"] is None else trace.set_span_in_context(spans[planned["parent"]])
            span = tracer(planned["service"], planned["replica"]).start_span(
                planned["name"],
                context=parent,
                kind=KINDS[planned["kind"]],
                start_time=planned["start_ns"],
                attributes={"shop.basket": len(spans), "shop.language": "Python"},
            )
            span.add_event("looked at", {"times": 1}, timestamp=planned["start_ns"])
            spans.append(span)
        for span, planned in zip(reversed(spans), reversed(request)):
            if planned["error"]:
                span.set_status(Status(StatusCode.ERROR, "sold out"))
            span.end(end_time=planned["end_ns"])
        if played % step == 0:
            processor.force_flush(60_000)


def measure(plan, transport, endpoint, compression):
    """Sends response times and CPU time of every replica that requests enter at, in one message each."""
    replicas = {}
    for request in plan["requests"]:
        replicas.setdefault((request[0]["service"], request[0]["replica"]), []).append(request[0])
    for (service, replica), entries in sorted(replicas.items()):
        reader = PeriodicExportingMetricReader(
            metric_exporter(transport, endpoint, compression), export_interval_millis=float("inf")
        )
        provider = MeterProvider(
            [reader], resource=resource(service, replica), shutdown_on_exit=False
        )
        meter = provider.get_meter("shop")
        latency = meter.create_histogram("http.server.request.duration", unit="s")
        cpu = meter.create_counter("process.cpu.time", unit="s")
        for entry in entries:
            seconds = (entry["end_ns"] - entry["start_ns"]) / 1e9
            latency.record(seconds, {"http.request.method": "GET", "http.route": "/cart"})
            cpu.add(seconds / 10)
        # No shutdown, which would send the same metrics again.
        if not provider.force_flush():
            sys.exit("metrics were not accepted")


def main(plan, transport, endpoint, compression, step=None):
    with open(plan, encoding="utf-8") as file:
        plan = json.load(file)
    exporter = CountingExporter(span_exporter(transport, endpoint, compression))
    # The queue must hold all spans, since the plan is played without delays.
    processor = BatchSpanProcessor(exporter, max_queue_size=1 << 16)
    play(plan, processor, int(step or len(plan["requests"])))
    processor.force_flush(60_000)
    processor.shutdown()
    measure(plan, transport, endpoint, compression)
    print(json.dumps({"accepted": exporter.accepted, "failed": exporter.failed}))
    return 1 if exporter.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
