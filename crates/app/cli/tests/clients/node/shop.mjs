// Plays a shop through the OpenTelemetry SDK of JavaScript:
//
//     node shop.mjs PLAN TRANSPORT ENDPOINT COMPRESSION [STEP]
//
// The plan lists the spans (see plan.rs); ids, batches, messages, and retries are up to the SDK.
// TRANSPORT is grpc, http-proto, http-json or zipkin, COMPRESSION none or gzip. Prints each export when it starts and, at the
// end, how many spans were acknowledged; fails if any was not. With STEP, spans are flushed after each STEP requests.

import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPMetricExporter as GrpcMetrics } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtoMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as GrpcSpans } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as JsonSpans } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoSpans } from '@opentelemetry/exporter-trace-otlp-proto';
import { ZipkinExporter } from '@opentelemetry/exporter-zipkin';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

// The SDK's exporter, counting spans that were accepted and that failed.
class CountingExporter {
    accepted = 0;
    failed = 0;

    constructor(exporter) {
        this.exporter = exporter;
    }

    export(spans, done) {
        console.log(JSON.stringify({ exporting: spans.length }));
        this.exporter.export(spans, (result) => {
            if (result.code === 0) this.accepted += spans.length;
            else this.failed += spans.length;
            done(result);
        });
    }

    shutdown() {
        return this.exporter.shutdown();
    }

    forceFlush() {
        return this.exporter.forceFlush?.() ?? Promise.resolve();
    }
}

function spanExporter(transport, endpoint, compression) {
    switch (transport) {
        case 'grpc':
            return new GrpcSpans({ url: endpoint, compression });
        case 'http-proto':
            return new ProtoSpans({ url: `${endpoint}/v1/traces`, compression });
        case 'http-json':
            return new JsonSpans({ url: `${endpoint}/v1/traces`, compression });
        case 'zipkin':
            return new ZipkinExporter({ url: `${endpoint}/api/v2/spans` });
        default:
            throw new Error(`no transport ${transport}`);
    }
}

function metricExporter(transport, endpoint, compression) {
    switch (transport) {
        case 'grpc':
            return new GrpcMetrics({ url: endpoint, compression });
        case 'http-proto':
            return new ProtoMetrics({ url: `${endpoint}/v1/metrics`, compression });
        default:
            return new JsonMetrics({ url: `${endpoint}/v1/metrics`, compression });
    }
}

const resource = (service, replica) =>
    resourceFromAttributes({ 'service.name': service, 'service.instance.id': replica });

// Seconds and nanoseconds, the SDK's time format. Times of the plan exceed the precision of a double.
const time = (text) => [Number(BigInt(text) / 1_000_000_000n), Number(BigInt(text) % 1_000_000_000n)];

const seconds = (span) => Number(BigInt(span.end_ns) - BigInt(span.start_ns)) / 1e9;

// Reads a plan, with times as strings.
function readPlan(file) {
    return JSON.parse(readFileSync(file, 'utf8').replace(/"((?:start|end)_ns)":(\d+)/g, '"$1":"$2"'));
}

// Plays every request of the plan; each replica has its own provider, as in separate processes.
async function play(plan, processor, step) {
    const tracers = new Map();
    const tracer = (service, replica) => {
        const key = `${service} ${replica}`;
        if (!tracers.has(key)) {
            const provider = new BasicTracerProvider({
                resource: resource(service, replica),
                spanProcessors: [processor],
            });
            tracers.set(key, provider.getTracer('shop'));
        }
        return tracers.get(key);
    };
    for (const [played, request] of plan.requests.entries()) {
        const spans = [];
        for (const planned of request) {
            const parent =
                planned.parent === null ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, spans[planned.parent]);
            const options = {
                kind: KINDS[planned.kind],
                startTime: time(planned.start_ns),
                attributes: { 'shop.basket': spans.length, 'shop.language': 'JavaScript' },
            };
            const span = tracer(planned.service, planned.replica).startSpan(planned.name, options, parent);
            span.addEvent('looked at', { times: 1 }, time(planned.start_ns));
            spans.push(span);
        }
        for (const [at, planned] of [...request.entries()].reverse()) {
            if (planned.error) spans[at].setStatus({ code: SpanStatusCode.ERROR, message: 'sold out' });
            spans[at].end(time(planned.end_ns));
        }
        // Failures are counted by the exporter.
        if ((played + 1) % step === 0) await processor.forceFlush().catch(() => {});
    }
}

// Sends response times and CPU time of every replica that requests enter at, in one message each.
async function measure(plan, transport, endpoint, compression) {
    const replicas = new Map();
    for (const request of plan.requests) {
        const replica = request[0].replica;
        replicas.set(replica, [...(replicas.get(replica) ?? []), request]);
    }
    for (const [replica, requests] of replicas) {
        const reader = new PeriodicExportingMetricReader({
            exporter: metricExporter(transport, endpoint, compression),
            exportIntervalMillis: 1 << 30,
        });
        const provider = new MeterProvider({
            resource: resource(requests[0][0].service, replica),
            readers: [reader],
        });
        const meter = provider.getMeter('shop');
        const latency = meter.createHistogram('http.server.request.duration', { unit: 's' });
        const cpu = meter.createCounter('process.cpu.time', { unit: 's' });
        for (const [entry] of requests) {
            latency.record(seconds(entry), { 'http.request.method': 'GET', 'http.route': '/cart' });
            cpu.add(seconds(entry) / 10);
        }
        // Metric times have millisecond precision here: the end must be in a later millisecond than the start.
        await setTimeout(2);
        // Shutting down the provider sends the metrics.
        await provider.shutdown();
    }
}

async function main(planFile, transport, endpoint, compression, step) {
    const plan = readPlan(planFile);
    const exporter = new CountingExporter(spanExporter(transport, endpoint, compression));
    // The queue must hold all spans, since the plan is played without delays.
    const processor = new BatchSpanProcessor(exporter, { maxQueueSize: 1 << 16 });
    await play(plan, processor, Number(step ?? plan.requests.length));
    await processor.forceFlush().catch(() => {});
    await processor.shutdown();
    if (transport !== 'zipkin') await measure(plan, transport, endpoint, compression);
    console.log(JSON.stringify({ accepted: exporter.accepted, failed: exporter.failed }));
    return exporter.failed === 0 ? 0 : 1;
}

process.exitCode = await main(...process.argv.slice(2));
