// The OpenTelemetry SDK with its automatic instrumentation of HTTP and PostgreSQL. Loaded before the service: node --import.
import { register } from 'node:module';
import { metrics } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { HostMetrics } from '@opentelemetry/host-metrics';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { defaultResource, detectResources, envDetector, hostDetector, processDetector } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);

// JavaScript runs in the first thread of the process, whose id in the kernel is that of the process.
const threadIds = {
  onStart: (span) => span.setAttribute('thread.id', process.pid),
  onEnd: () => {},
  forceFlush: async () => {},
  shutdown: async () => {},
};

const detected = detectResources({ detectors: [envDetector, hostDetector, processDetector] });
const resource = defaultResource().merge(detected);
const spans = new BatchSpanProcessor(new OTLPTraceExporter());
new NodeTracerProvider({ resource, spanProcessors: [threadIds, spans] }).register();
const exportIntervalMillis = Number(process.env.OTEL_METRIC_EXPORT_INTERVAL ?? 60_000);
const reader = new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter(), exportIntervalMillis });
metrics.setGlobalMeterProvider(new MeterProvider({ resource, readers: [reader] }));
registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new PgInstrumentation()] });
new HostMetrics({ metricGroups: ['process.cpu', 'process.memory'] }).start();
