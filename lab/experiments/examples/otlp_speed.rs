//! How fast OTLP is read on one core: generates a million spans, reads them back, prints spans per second.
//!
//! `cargo run --release -p laggard-experiments --example otlp_speed [SPANS]`

use laggard_formats::{FORMATS, ReaderOptions};
use laggard_model::{CallRecord, Loss, Sink, SpanRecord};
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

/// Spans of one request to the Collector.
const BATCH_SPANS: u64 = 512;
/// The length of a read.
const CHUNK_BYTES: usize = 256 << 10;

fn main() -> std::io::Result<()> {
    let spans = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    measure("otlp-json", spans, &json(spans))?;
    if FORMATS.iter().any(|format| format.name == "otlp-proto") {
        measure("otlp-proto", spans, &protobuf(spans))?;
    }
    Ok(())
}

#[derive(Default)]
struct Count {
    spans: u64,
    losses: u64,
    checksum: u64,
}

impl Sink for Count {
    fn span(&mut self, span: &SpanRecord<'_>) {
        self.spans += 1;
        self.checksum ^= span.span_id.value() ^ span.inclusive.ns() ^ span.operation.len() as u64;
    }

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn lose(&mut self, _: Loss, _: &dyn Fn() -> String) {
        self.losses += 1;
    }
}

/// Processor time of this thread, so that other programs on the machine do not count; elsewhere than on Linux
/// the time that passed.
fn cpu_seconds() -> f64 {
    static STARTED: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let since = STARTED.elapsed().as_secs_f64();
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu_ns = statistics.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    on_cpu_ns.map_or(since, |ns| ns / 1e9)
}

fn measure(name: &str, spans: u64, input: &[u8]) -> std::io::Result<()> {
    let format = FORMATS.iter().find(|format| format.name == name).expect("the format is in the list");
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let started = cpu_seconds();
        let mut count = Count::default();
        let mut reader = (format.open)(&ReaderOptions::default());
        for chunk in input.chunks(CHUNK_BYTES) {
            reader.push(chunk, &mut count).expect("OTLP readers go on after anything");
        }
        reader.finish(&mut count).expect("OTLP readers go on after anything");
        assert_eq!((count.spans, count.losses), (spans, 0), "everything is read");
        best = best.min(cpu_seconds() - started);
    }
    writeln!(
        std::io::stdout(),
        "{name}: {:.2} M spans/s, {:.0} MB/s, {:.0} bytes a span",
        spans as f64 / best / 1e6,
        input.len() as f64 / best / 1e6,
        input.len() as f64 / spans as f64
    )
}

/// The fields that differ from span to span.
struct RandomFields {
    trace: u128,
    span: u64,
    parent: u64,
    start_ns: u64,
    end_ns: u64,
    name: &'static str,
    path: String,
}

fn draw(index: u64) -> RandomFields {
    let mixed = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let start_ns = 1_700_000_000_000_000_000 + index * 1_000;
    RandomFields {
        trace: u128::from(mixed / 3) << 64 | u128::from(index / 10 + 1),
        span: mixed | 1,
        parent: mixed.rotate_left(7) | 1,
        start_ns,
        end_ns: start_ns + mixed % 50_000_000,
        name: ["GET /api/cart", "oteldemo.CartService/GetCart", "SELECT", "publish orders"]
            [(index % 4) as usize],
        path: format!("/api/cart/{}", mixed % 1_000_000),
    }
}

const ATTRIBUTES: [(&str, &str); 5] = [
    ("http.request.method", "GET"),
    ("url.scheme", "https"),
    ("network.peer.address", "10.42.117.203"),
    ("server.address", "cart-backend.shop.svc.cluster.local"),
    ("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64) rv:128.0) Gecko/20100101 Firefox/128.0"),
];
const RESOURCE: [(&str, &str); 3] =
    [("service.name", "cart"), ("k8s.pod.name", "cart-7d4b9"), ("telemetry.sdk.language", "rust")];

fn batches(spans: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    (0..spans.div_ceil(BATCH_SPANS))
        .map(move |batch| batch * BATCH_SPANS..spans.min((batch + 1) * BATCH_SPANS))
}

fn json(spans: u64) -> Vec<u8> {
    let attribute = |out: &mut String, (key, value): (&str, &str)| {
        let _ = write!(out, r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}},"#);
    };
    let mut out = String::new();
    for batch in batches(spans) {
        out.push_str(r#"{"resourceSpans":[{"resource":{"attributes":["#);
        RESOURCE.into_iter().for_each(|pair| attribute(&mut out, pair));
        out.pop();
        out.push_str(r#"]},"scopeSpans":[{"scope":{"name":"http"},"spans":["#);
        for index in batch {
            let RandomFields { trace, span, parent, start_ns, end_ns, name, path } = draw(index);
            let _ = write!(
                out,
                r#"{{"traceId":"{trace:032x}","spanId":"{span:016x}","parentSpanId":"{parent:016x}","flags":257,"name":"{name}","kind":3,"startTimeUnixNano":"{start_ns}","endTimeUnixNano":"{end_ns}","attributes":["#
            );
            ATTRIBUTES.into_iter().for_each(|pair| attribute(&mut out, pair));
            attribute(&mut out, ("url.path", &path));
            let _ = write!(
                out,
                r#"{{"key":"http.response.status_code","value":{{"intValue":"200"}}}}],"events":["#
            );
            let _ = write!(out, r#"{{"timeUnixNano":"{start_ns}","name":"message","attributes":["#);
            attribute(&mut out, ("message.type", "SENT"));
            attribute(&mut out, ("message.id", "1"));
            attribute(&mut out, ("message.compressed_size", "1042"));
            out.pop();
            out.push_str(r#"]}],"status":{}},"#);
        }
        out.pop();
        out.push_str("]}]}]}\n");
    }
    out.into_bytes()
}

fn field(out: &mut Vec<u8>, number: u8, value: &[u8]) {
    out.push(number << 3 | 2);
    let mut length = value.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(value);
}

fn key_value(out: &mut Vec<u8>, number: u8, (key, value): (&str, &str)) {
    let (mut pair, mut any) = (Vec::new(), Vec::new());
    field(&mut any, 1, value.as_bytes());
    field(&mut pair, 1, key.as_bytes());
    field(&mut pair, 2, &any);
    field(out, number, &pair);
}

fn protobuf_span(index: u64) -> Vec<u8> {
    let fields = draw(index);
    let mut out = Vec::new();
    field(&mut out, 1, &fields.trace.to_be_bytes());
    field(&mut out, 2, &fields.span.to_be_bytes());
    field(&mut out, 4, &fields.parent.to_be_bytes());
    field(&mut out, 5, fields.name.as_bytes());
    out.extend([6 << 3, 3, 7 << 3 | 1]);
    out.extend(fields.start_ns.to_le_bytes());
    out.push(8 << 3 | 1);
    out.extend(fields.end_ns.to_le_bytes());
    ATTRIBUTES.into_iter().for_each(|pair| key_value(&mut out, 9, pair));
    key_value(&mut out, 9, ("url.path", &fields.path));
    let mut event = vec![1 << 3 | 1];
    event.extend(fields.start_ns.to_le_bytes());
    field(&mut event, 2, b"message");
    key_value(&mut event, 3, ("message.type", "SENT"));
    field(&mut out, 11, &event);
    field(&mut out, 15, b"");
    out.extend([0x85, 0x01, 1, 1, 0, 0]);
    out
}

fn protobuf(spans: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for batch in batches(spans) {
        let (mut resource, mut scope, mut group) = (Vec::new(), Vec::new(), Vec::new());
        RESOURCE.into_iter().for_each(|pair| key_value(&mut resource, 1, pair));
        field(&mut scope, 1, b"\x0A\x04http");
        batch.for_each(|index| field(&mut scope, 2, &protobuf_span(index)));
        field(&mut group, 1, &resource);
        field(&mut group, 2, &scope);
        field(&mut out, 1, &group);
    }
    out
}
