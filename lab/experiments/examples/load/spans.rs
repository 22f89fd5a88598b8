//! Messages of spans: trees of about ten spans, names and attributes as instrumentation writes them, ~430 bytes a span.

use std::time::{SystemTime, UNIX_EPOCH};

/// As the batch processors of OpenTelemetry's SDKs send at most.
pub(crate) const SPANS_A_MESSAGE: usize = 512;

/// Services, each with a replica or several; a message is of one.
const SERVICES: [&str; 8] =
    ["frontend", "cart", "checkout", "payment", "shipping", "currency", "recommendation", "email"];

const OPERATIONS: [&str; 10] = [
    "POST /api/checkout",
    "oteldemo.CartService/GetCart",
    "HGETALL",
    "oteldemo.ProductCatalogService/GetProduct",
    "SELECT products",
    "oteldemo.CurrencyService/Convert",
    "oteldemo.PaymentService/Charge",
    "oteldemo.ShippingService/ShipOrder",
    "publish orders",
    "oteldemo.EmailService/SendOrderConfirmation",
];

/// Parent of each span of a tree, within it.
const PARENTS: [Option<usize>; 10] =
    [None, Some(0), Some(1), Some(0), Some(3), Some(0), Some(0), Some(0), Some(7), Some(0)];

/// A message without its ids and times, and where they go.
pub(crate) struct Template {
    bytes: Vec<u8>,
    spans: Vec<FieldOffsets>,
}

/// Places in a message.
struct FieldOffsets {
    trace: usize,
    span: usize,
    parent: Option<usize>,
    start: usize,
    end: usize,
    /// Number of the tree in the message, and of the span in the tree.
    tree: u64,
    node: usize,
}

/// A pseudo-random generator: SplitMix64.
fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Template {
    pub(crate) fn new(seed: u64) -> Template {
        let service = SERVICES[seed as usize % SERVICES.len()];
        let mut scope = Vec::new();
        put_bytes(&mut scope, 1, b"\x0A\x0Dinstrumenting\x12\x061.2.30");
        let mut offsets = Vec::new();
        for index in 0..SPANS_A_MESSAGE {
            add_span(&mut scope, &mut offsets, index);
        }
        let mut resource_spans = Vec::new();
        put_bytes(&mut resource_spans, 1, &resource(service, seed));
        let before_scope = resource_spans.len() + length_bytes(scope.len()) + 1;
        put_bytes(&mut resource_spans, 2, &scope);
        let mut bytes = Vec::new();
        let before = length_bytes(resource_spans.len()) + 1 + before_scope;
        put_bytes(&mut bytes, 1, &resource_spans);
        for offset in &mut offsets {
            offset.shift(before);
        }
        Template { bytes, spans: offsets }
    }

    /// A message with new ids, of spans that start now.
    pub(crate) fn message(&self, number: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = since_epoch.as_nanos() as u64;
        for span in &self.spans {
            let trace = mix(number.wrapping_mul(64).wrapping_add(span.tree));
            let id = |node: usize| mix(trace ^ node as u64).max(1).to_be_bytes();
            bytes[span.trace..span.trace + 8].copy_from_slice(&trace.to_be_bytes());
            bytes[span.trace + 8..span.trace + 16].copy_from_slice(&mix(trace).to_be_bytes());
            bytes[span.span..span.span + 8].copy_from_slice(&id(span.node));
            if let Some((parent, node)) = span.parent.zip(PARENTS[span.node]) {
                bytes[parent..parent + 8].copy_from_slice(&id(node));
            }
            let jitter = mix(trace ^ 7 ^ span.node as u64) % 1_000_000;
            let start = now - 20_000_000 + span.node as u64 * 1_000_000;
            let length = 11_000_000 - span.node as u64 * 1_000_000 + jitter / 4;
            bytes[span.start..span.start + 8].copy_from_slice(&start.to_le_bytes());
            bytes[span.end..span.end + 8].copy_from_slice(&(start + length).to_le_bytes());
        }
        bytes
    }
}

impl FieldOffsets {
    fn shift(&mut self, by: usize) {
        for offset in [&mut self.trace, &mut self.span, &mut self.start, &mut self.end] {
            *offset += by;
        }
        if let Some(parent) = &mut self.parent {
            *parent += by;
        }
    }
}

/// Adds a span to a scope; returns the positions of its ids and times in the scope.
fn add_span(scope: &mut Vec<u8>, offsets: &mut Vec<FieldOffsets>, index: usize) {
    let node = index % PARENTS.len();
    let mut span = Vec::new();
    put_bytes(&mut span, 1, &[0; 16]);
    put_bytes(&mut span, 2, &[0; 8]);
    let parent = PARENTS[node].map(|_| {
        put_bytes(&mut span, 4, &[0; 8]);
        span.len() - 8
    });
    put_bytes(&mut span, 5, OPERATIONS[node].as_bytes());
    put_number(&mut span, 6, if node == 0 { 2 } else { 3 });
    let start = put_fixed(&mut span, 7);
    let end = put_fixed(&mut span, 8);
    for (key, value) in attributes(node) {
        put_bytes(&mut span, 9, &attribute(key, value));
    }
    // `fixed32 flags`: the parent is known and local, the trace is sampled.
    put_varint(&mut span, 16 << 3 | 5);
    span.extend_from_slice(&0x101_u32.to_le_bytes());
    let inside = scope.len() + 2 + usize::from(span.len() > 127);
    put_bytes(scope, 2, &span);
    offsets.push(FieldOffsets {
        trace: inside + 2,
        span: inside + 20,
        parent: parent.map(|offset| inside + offset),
        start: inside + start,
        end: inside + end,
        tree: (index / PARENTS.len()) as u64,
        node,
    });
}

fn resource(service: &str, seed: u64) -> Vec<u8> {
    let pod = format!("{service}-5d8f7c9b6-{:05x}", mix(seed) % 0xFFFFF);
    let mut resource = Vec::new();
    for (key, value) in [
        ("service.name", service),
        ("service.namespace", "shop"),
        ("service.version", "2.1.0"),
        ("k8s.pod.name", pod.as_str()),
        ("k8s.namespace.name", "default"),
        ("telemetry.sdk.language", "go"),
        ("telemetry.sdk.name", "opentelemetry"),
        ("telemetry.sdk.version", "1.38.0"),
    ] {
        put_bytes(&mut resource, 1, &attribute(key, value));
    }
    resource
}

fn attributes(node: usize) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all: [(&str, &str); 9] = [
        ("http.request.method", "POST"),
        ("url.scheme", "http"),
        ("server.address", "checkout.default.svc.cluster.local"),
        ("server.port", "8080"),
        ("network.protocol.version", "1.1"),
        ("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101"),
        ("http.response.status_code", "200"),
        ("app.session.id", "f3a1c5d2-1b7e-4c39-9a52-0c9b7e1f6d10"),
        ("thread.name", "http-nio-8080-exec-7"),
    ];
    // The entry has more than the others.
    let count = if node == 0 { 9 } else { 8 };
    all.into_iter().take(count)
}

fn attribute(key: &str, value: &str) -> Vec<u8> {
    let mut text = Vec::new();
    put_bytes(&mut text, 1, value.as_bytes());
    let mut pair = Vec::new();
    put_bytes(&mut pair, 1, key.as_bytes());
    put_bytes(&mut pair, 2, &text);
    pair
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn length_bytes(length: usize) -> usize {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, length as u64);
    bytes.len()
}

fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

/// Eight bytes to be filled in; returns their position.
fn put_fixed(out: &mut Vec<u8>, field: u64) -> usize {
    put_varint(out, field << 3 | 1);
    out.extend_from_slice(&[0; 8]);
    out.len() - 8
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
