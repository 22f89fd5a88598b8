//! Mutated requests request real clients.

use super::super::kill_run::{Addresses, SplitMix};
use super::Attack;
use super::http1::status_of;
use std::net::SocketAddr;

/// A valid request for one request the listeners.
struct Recorded {
    at: fn(&Addresses) -> SocketAddr,
    head: String,
    body: Vec<u8>,
}

const OTLP_JSON: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}},
{"key":"a","value":{"arrayValue":{"values":[{"intValue":"7"},{"boolValue":true},{"kvlistValue":{"values":[]}}]}}}]},
"scopeSpans":[{"scope":{"name":"s","version":"1"},"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7",
"parentSpanId":"","name":"add","kind":2,"startTimeUnixNano":"1768208400000000000","endTimeUnixNano":"1768208400005000000",
"attributes":[{"key":"http.status","value":{"intValue":200}}],"status":{"code":2},"events":[],"links":[]}]}]}]}"#;

const METRICS_JSON: &str = r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},
"scopeMetrics":[{"metrics":[{"name":"process.cpu.time","unit":"s","sum":{"aggregationTemporality":2,"isMonotonic":true,
"dataPoints":[{"startTimeUnixNano":"1768208400000000000","timeUnixNano":"1768208460000000000","asDouble":1.5}]}},
{"name":"http.server.request.duration","histogram":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"1768208460000000000",
"count":"3","sum":0.5,"bucketCounts":["1","2"],"explicitBounds":[0.1]}]}}]}]}]}"#;

const ZIPKIN: &str = r#"[{"traceId":"0af7651916cd43dd8448eb211c80319c","id":"00f067aa0ba902b7","name":"get","kind":"SERVER",
"timestamp":1768208400000000,"duration":1000,"localEndpoint":{"serviceName":"cart","ipv4":"10.0.0.1"},"tags":{"error":"x"}}]"#;

/// Two spans request `cart` in protobuf, as an SDK sends them.
const OTLP_PROTOBUF: &[u8] = b"\x0a\x8a\x01\x0a\x16\x0a\x14\x0a\x0cservice.name\x12\x04\x0a\x02ab\
\x12\x70\x12\x36\x0a\x10tttttttttttttttt\x12\x08ssssssss\x2a\x03add\x30\x02\x39\x00\x00\x64\xa7\xb3\xb6\xe0\x0d\x41\x00\x00\x64\xa7\xb3\xb6\xe0\x0d\
\x12\x36\x0a\x10tttttttttttttttt\x12\x08rrrrrrrr\x2a\x03add\x30\x02\x39\x00\x00\x64\xa7\xb3\xb6\xe0\x0d\x41\x00\x00\x64\xa7\xb3\xb6\xe0\x0d";

const MULTIPART: &str = "--b\r\nContent-Disposition: form-data; name=\"settings\"\r\n\r\n{\"format\":\"sample-csv\"}\r\n\
--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\ntime,cpu\n1,2\n\r\n--b--\r\n";

fn recorded() -> Vec<Recorded> {
    let otlp: fn(&Addresses) -> SocketAddr = |server| server.otlp_http;
    let zipkin: fn(&Addresses) -> SocketAddr = |server| server.zipkin;
    let http: fn(&Addresses) -> SocketAddr = |server| server.http;
    let json = "Content-Type: application/json\r\n";
    let request = |address, line: &str, headers: &str, body: &[u8]| {
        let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
        Recorded { at: address, head, body: body.to_vec() }
    };
    let packed = zstd::encode_all(OTLP_PROTOBUF, 1).expect("into memory");
    let snappy =
        [&[OTLP_PROTOBUF.len() as u8, 1, 60 << 2, OTLP_PROTOBUF.len() as u8 - 1], OTLP_PROTOBUF].concat();
    vec![
        request(otlp, "POST /v1/traces", json, OTLP_JSON.as_bytes()),
        request(otlp, "POST /v1/metrics", json, METRICS_JSON.as_bytes()),
        request(otlp, "POST /v1/traces", "Content-Type: application/x-protobuf\r\n", OTLP_PROTOBUF),
        request(
            otlp,
            "POST /v1/traces",
            "Content-Type: application/x-protobuf\r\nContent-Encoding: zstd\r\n",
            &packed,
        ),
        request(zipkin, "POST /api/v2/spans", json, ZIPKIN.as_bytes()),
        request(
            http,
            "POST /api/v1/write",
            "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n",
            &snappy,
        ),
        request(http, "POST /api/v1/import?name=a.json&format=otlp-json", "", OTLP_JSON.as_bytes()),
        request(http, "POST /api/v1/import?name=b.json", "", ZIPKIN.as_bytes()),
        request(
            http,
            "POST /api/v1/diagnose?wait=true",
            json,
            br#"{"since":"-1h","until":"2026-01-12T10:00:00Z","service":"cart","top":20}"#,
        ),
        request(
            http,
            "POST /api/v1/compare",
            json,
            br#"{"since":"-1h","before-since":"-2h","before-until":"-1h"}"#,
        ),
        request(
            http,
            "POST /api/v1/changes?wait=true",
            "Content-Type: multipart/form-data; boundary=b\r\n",
            MULTIPART.as_bytes(),
        ),
        request(http, "GET /api/v1/overview?since=-15m&until=-1m&bins=12&service=cart", "", b""),
        request(http, "GET /api/v1/search?since=-15m&limit=7&min_ms=1.5&status=error", "", b""),
        request(http, "GET /api/v1/traces/0af7651916cd43dd8448eb211c80319c", "", b""),
        request(http, "POST /api/v1/session", json, br#"{"token":"0123456789abcdef"}"#),
        request(http, "DELETE /api/v1/jobs/1", "", b""),
    ]
}

/// Strings and numbers that often break parsers.
const ODD: &[&[u8]] = &[
    b"\0",
    b"\xFF",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"-9223372036854775808",
    b"NaN",
    b"null",
    b"\"",
    b"\\u0000",
    b"../../../etc/passwd",
    b"%00",
    b"%2e%2e/",
    b"\r\n\r\n",
    b"{}",
    b"[]",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
];

/// Changes some bytes.
fn mutate(bytes: &mut Vec<u8>, random: &mut SplitMix) {
    for _ in 0..1 + random.below(4) {
        let length = bytes.len() as u64;
        let position = random.below(length + 1) as usize;
        let end = (position + random.below(40) as usize).min(bytes.len());
        match random.below(6) {
            0 if length > 0 => bytes[position.min(length as usize - 1)] ^= 1 << random.below(8),
            1 => drop(bytes.drain(position..end)),
            2 => {
                let again = bytes[position..end].to_vec();
                bytes.splice(position..position, again.repeat(1 + random.below(50) as usize));
            }
            3 => bytes.truncate(position),
            _ => {
                let inserted = ODD[random.below(ODD.len() as u64) as usize];
                bytes.splice(position..end, inserted.iter().copied());
            }
        }
    }
}

pub(super) fn mutated_requests(mut attack: Attack<'_>) {
    let recorded = recorded();
    while attack.should_continue() {
        let request = &recorded[attack.random.below(recorded.len() as u64) as usize];
        let (mut head, mut body) = (request.head.clone().into_bytes(), request.body.clone());
        // Bodies are mutated more often than headers, which hyper parses.
        if attack.random.below(4) == 0 || body.is_empty() {
            let first_line = head.iter().position(|&byte| byte == b'\r').unwrap_or(head.len());
            let mut line = head[..first_line].to_vec();
            mutate(&mut line, &mut attack.random);
            head.splice(..first_line, line);
        }
        if attack.random.below(8) > 0 {
            mutate(&mut body, &mut attack.random);
        }
        head.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        status_of((request.at)(&attack.server), &[&head, &body]);
    }
}
