//! Messages of OTLP, written by hand.

/// A protobuf message under construction.
#[derive(Clone, Default)]
pub(super) struct Encoder(pub(super) Vec<u8>);

impl Encoder {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(super) fn bytes(mut self, field: u64, contents: impl AsRef<[u8]>) -> Encoder {
        self.varint(field << 3 | 2);
        self.varint(contents.as_ref().len() as u64);
        self.0.extend_from_slice(contents.as_ref());
        self
    }

    pub(super) fn message(self, field: u64, contents: Encoder) -> Encoder {
        self.bytes(field, contents.0)
    }

    pub(super) fn number(mut self, field: u64, value: u64) -> Encoder {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub(super) fn fixed64(mut self, field: u64, value: u64) -> Encoder {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn attribute(self, field: u64, key: &str, value: &str) -> Encoder {
        let value = Encoder::default().bytes(1, value);
        self.message(field, Encoder::default().bytes(1, key).message(2, value))
    }
}

/// A span of the trace `tttttttttttttttt`.
fn span(id: u64) -> Encoder {
    let ids = Encoder::default().bytes(1, [b't'; 16]).bytes(2, id.to_be_bytes());
    ids.bytes(5, "GET /cart").fixed64(7, 1_700_000_000_000_000_000).fixed64(8, 1_700_000_000_001_000_000)
}

fn request(records: impl IntoIterator<Item = Encoder>) -> Vec<u8> {
    let resource = Encoder::default().attribute(1, "service.name", "cart");
    let scope = records.into_iter().fold(Encoder::default(), |scope, record| scope.message(2, record));
    Encoder::default().message(1, Encoder::default().message(1, resource).message(2, scope)).0
}

/// A request with a number of spans and equally many without ids.
pub(super) fn traces(good: u64, bad: u64) -> Vec<u8> {
    let without_ids = (0..bad).map(|_| Encoder::default().bytes(5, "lost").fixed64(7, 1).fixed64(8, 2));
    request((1..=good).map(span).chain(without_ids))
}

/// A request with one gauge of a measure.
pub(super) fn metrics() -> Vec<u8> {
    let point = Encoder::default().fixed64(3, 1_700_000_000_000_000_000).fixed64(6, 4);
    request([Encoder::default().bytes(1, "jvm.cpu.count").message(5, Encoder::default().message(1, point))])
}

/// The trace of [`traces`], as JSON.
pub(super) const TRACES_JSON: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",
"value":{"stringValue":"cart"}}]},"scopeSpans":[{"spans":[{"traceId":"74747474747474747474747474747474","spanId":"0000000000000001",
"name":"GET /cart","kind":2,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000001000000"},
{"name":"lost"}]}]}]}"#;

/// The trace of [`traces`], as Zipkin's JSON.
pub(super) const ZIPKIN_JSON: &str = r#"[{"traceId":"74747474747474747474747474747474","id":"0000000000000001","name":"get /cart",
"timestamp":1700000000000000,"duration":1000,"localEndpoint":{"serviceName":"cart"}}]"#;

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// gRPC's prefix and a message.
pub(super) fn framed(message: &[u8], is_compressed: bool) -> Vec<u8> {
    let mut framed = vec![u8::from(is_compressed)];
    framed.extend_from_slice(&(message.len() as u32).to_be_bytes());
    framed.extend_from_slice(message);
    framed
}

/// Log records of the span 1 of [`traces`], and others without a span.
pub(super) fn logs(good: u64, bad: u64) -> Vec<u8> {
    let record = |number: u64| {
        let body = Encoder::default().bytes(1, format!("step {number}"));
        Encoder::default().fixed64(1, 1_700_000_000_000_000_000 + number).number(2, 13).message(5, body)
    };
    let of_span = |number| record(number).bytes(9, [b't'; 16]).bytes(10, 1_u64.to_be_bytes());
    request((1..=good).map(of_span).chain((0..bad).map(record)))
}
