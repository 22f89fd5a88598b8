"""Telemetry beyond the automatic instrumentation: the thread of a span, and the CPU of servers without an SDK."""

import threading

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import Span, SpanProcessor, TracerProvider


class ThreadIds(SpanProcessor):
    """Adds `thread.id`, the kernel's id of the thread, so that spans can be matched with kernel traces."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        span.set_attribute("thread.id", threading.get_native_id())
        span.set_attribute("thread.name", threading.current_thread().name)


def add_thread_ids() -> None:
    """Works only below `opentelemetry-instrument`, which sets the provider."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.add_span_processor(ThreadIds())
