//! Minimal readers of the generated files, independent of the writers and of the product's readers.

use crate::support::Span;
use serde_json::Value;

pub(crate) fn span_csv(text: &str) -> Vec<Span> {
    let (header, lines) = text.split_once('\n').unwrap();
    assert_eq!(header, "trace_id,span_id,parent_span_id,service,replica,operation,start_ns,duration_ns,kind");
    let span = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [trace, id, parent, service, replica, operation, start, duration, kind] = fields[..] else {
            panic!("{line}")
        };
        let (start, duration): (i64, i64) = (start.parse().unwrap(), duration.parse().unwrap());
        make([trace, id, parent, service, replica, operation, kind], start, start + duration)
    };
    lines.lines().map(span).collect()
}

/// Texts are trace, id, parent, service, replica, operation and kind; times are nanoseconds.
fn make(texts: [&str; 7], start_ns: i64, end_ns: i64) -> Span {
    let [trace, id, parent, service, replica, operation, kind] = texts.map(str::to_owned);
    let kind = if kind == "internal" { String::new() } else { kind };
    let (start_us, end_us) = (start_ns / 1_000, end_ns / 1_000);
    Span { trace, id, parent, service, replica, operation, kind, start_us, duration_us: end_us - start_us }
}

const KINDS: [&str; 4] = ["unspecified", "internal", "server", "client"];

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

pub(crate) fn otlp_json(file: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for line in file.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        let before = spans.len();
        for resource in array(&document["resourceSpans"]) {
            let attributes = array(&resource["resource"]["attributes"]);
            let attribute = |key: &str| {
                let found = attributes.iter().find(|attribute| attribute["key"] == key).unwrap();
                text(&found["value"]["stringValue"]).to_owned()
            };
            let (service, replica) = (attribute("service.name"), attribute("service.instance.id"));
            assert_eq!(attribute("host.name"), replica);
            let of_scopes = array(&resource["scopeSpans"]).iter();
            for span in of_scopes.flat_map(|scope| array(&scope["spans"])) {
                let field = |name: &str| text(&span[name]);
                let kind = KINDS[span["kind"].as_u64().unwrap() as usize];
                let texts = [
                    field("traceId"),
                    field("spanId"),
                    field("parentSpanId"),
                    &service,
                    &replica,
                    field("name"),
                    kind,
                ];
                let time = |name| field(name).parse::<i64>().unwrap();
                spans.push(make(texts, time("startTimeUnixNano"), time("endTimeUnixNano")));
            }
        }
        assert!((1..=512).contains(&(spans.len() - before)));
    }
    spans
}

pub(crate) fn jaeger(file: &str) -> Vec<Span> {
    let document: Value = serde_json::from_str(file).unwrap();
    let mut spans = Vec::new();
    for trace in array(&document["data"]) {
        for span in array(&trace["spans"]) {
            assert_eq!(span["traceID"], trace["traceID"]);
            let process = &trace["processes"][text(&span["processID"])];
            assert_eq!(process["tags"][0]["key"], "hostname");
            let parent = array(&span["references"]).first().map_or("", |first| text(&first["spanID"]));
            let texts = [
                text(&span["traceID"]),
                text(&span["spanID"]),
                parent,
                text(&process["serviceName"]),
                text(&process["tags"][0]["value"]),
                text(&span["operationName"]),
                text(&span["tags"][0]["value"]),
            ];
            let (start, duration) = (span["startTime"].as_i64(), span["duration"].as_i64());
            let start = start.unwrap() * 1_000;
            spans.push(make(texts, start, start + duration.unwrap() * 1_000));
        }
    }
    spans
}

pub(crate) fn zipkin(file: &str) -> Vec<Span> {
    let document: Value = serde_json::from_str(file).unwrap();
    let read = |span: &Value| {
        let kind = span["kind"].as_str().unwrap_or_default().to_lowercase();
        let texts = [
            text(&span["traceId"]),
            text(&span["id"]),
            span["parentId"].as_str().unwrap_or_default(),
            text(&span["localEndpoint"]["serviceName"]),
            text(&span["tags"]["service.instance.id"]),
            text(&span["name"]),
            &kind,
        ];
        let start = span["timestamp"].as_i64().unwrap() * 1_000;
        make(texts, start, start + span["duration"].as_i64().unwrap() * 1_000)
    };
    array(&document).iter().map(read).collect()
}

/// A field of a protobuf message.
struct Field<'a> {
    number: u64,
    /// Of a varint or a fixed 64-bit field.
    value: u64,
    bytes: &'a [u8],
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("varint too long")
}

fn fields(mut bytes: &[u8]) -> Vec<Field<'_>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let mut field = Field { number: key >> 3, value: 0, bytes: &[] };
        match key & 7 {
            0 => field.value = varint(&mut bytes),
            1 => {
                let (value, rest) = bytes.split_first_chunk::<8>().unwrap();
                (field.value, bytes) = (u64::from_le_bytes(*value), rest);
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                (field.bytes, bytes) = bytes.split_at(length);
            }
            other => panic!("wire type {other}"),
        }
        fields.push(field);
    }
    fields
}

fn child<'a>(of: &[Field<'a>], number: u64) -> &'a [u8] {
    of.iter().find(|field| field.number == number).map_or(&[], |field| field.bytes)
}

pub(crate) fn otlp_proto(mut file: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    while let Some((length, rest)) = file.split_first_chunk::<4>() {
        let (document, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        file = rest;
        for resource_spans in fields(document) {
            let parts = fields(resource_spans.bytes);
            let (service, replica) = resource(child(&parts, 1));
            for scope in parts.iter().filter(|field| field.number == 2) {
                let of_scope = fields(scope.bytes).into_iter().filter(|field| field.number == 2);
                spans.extend(of_scope.map(|span| proto_span(span.bytes, &service, &replica)));
            }
        }
    }
    assert!(file.is_empty());
    spans
}

fn resource(bytes: &[u8]) -> (String, String) {
    let attribute = |field: &Field<'_>| {
        let key_value = fields(field.bytes);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (text(child(&key_value, 1)), text(child(&fields(child(&key_value, 2)), 1)))
    };
    let attributes: Vec<(String, String)> = fields(bytes).iter().map(attribute).collect();
    let get = |key: &str| attributes.iter().find(|(name, _)| name == key).unwrap().1.clone();
    assert_eq!(get("host.name"), get("service.instance.id"));
    (get("service.name"), get("service.instance.id"))
}

fn proto_span(bytes: &[u8], service: &str, replica: &str) -> Span {
    let parts = fields(bytes);
    let hex = |number| child(&parts, number).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let number = |number| parts.iter().find(|field| field.number == number).unwrap().value;
    let name = std::str::from_utf8(child(&parts, 5)).unwrap();
    let kind = KINDS[number(6) as usize];
    let texts = [&*hex(1), &*hex(2), &*hex(4), service, replica, name, kind];
    make(texts, number(7) as i64, number(8) as i64)
}
