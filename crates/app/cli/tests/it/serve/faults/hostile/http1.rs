//! Attacks over HTTP/1 and with arbitrary bytes.

use super::super::kill_run::unix_ns;
use super::Attack;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Read timeout, longer than any response may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn connect(address: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    Some(stream)
}

fn head(path: &str, headers: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
    )
}

/// Sends a request; returns the status of the response, if any.
pub(super) fn status_of(address: SocketAddr, pieces: &[&[u8]]) -> Option<u16> {
    let mut stream = connect(address)?;
    for piece in pieces {
        // The server may close the connection early.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let mut answer = [0; 4096];
    let length = stream.read(&mut answer).ok()?;
    let text = String::from_utf8_lossy(&answer[..length]).into_owned();
    let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    assert_ne!(status, Some(500), "{text}");
    status
}

fn refused(address: SocketAddr, path: &str, headers: &str, body: &[u8], allowed: &[u16]) {
    let status = status_of(address, &[head(path, headers, body.len()).as_bytes(), body]);
    assert!(status.is_none_or(|status| allowed.contains(&status)), "{path} {headers:?}: {status:?}");
}

/// Two hundred connections that send a byte now and then and reconnect when closed.
pub(super) fn slow_loris(attack: Attack<'_>) {
    let ports = [attack.server.http, attack.server.otlp_http, attack.server.otlp_grpc, attack.server.zipkin];
    let mut open: Vec<Option<TcpStream>> = (0..200).map(|_| None).collect();
    while attack.should_continue() {
        for (number, place) in open.iter_mut().enumerate() {
            if let Some(stream) = place {
                let _ = stream.set_nonblocking(true);
                let closed = matches!(stream.read(&mut [0; 64]), Ok(0));
                if closed || stream.write_all(b"a").is_err() {
                    *place = None;
                }
                continue;
            }
            let Some(mut stream) = connect(ports[number % ports.len()]) else { continue };
            let begin: &[u8] = match number % 3 {
                0 => b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
                1 => b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n{",
                _ => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            };
            if stream.write_all(begin).is_ok() {
                *place = Some(stream);
            }
        }
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// A gigabyte of zeros in a megabyte of gzip.
pub(super) fn gzip_bombs(attack: Attack<'_>) {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![0; 1 << 20]).expect("into memory");
    let bomb = encoder.finish().expect("into memory").repeat(1024);
    let protobuf = "Content-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\n";
    let zipkin = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    while attack.should_continue() {
        refused(attack.server.otlp_http, "/v1/traces", protobuf, &bomb, &[413, 503, 400]);
        refused(attack.server.zipkin, "/api/v2/spans", zipkin, &bomb, &[413, 503, 400]);
        refused(attack.server.http, "/api/v1/import?name=x.gz", "", &bomb, &[400, 408, 413, 415, 422, 503]);
    }
}

/// The same in four kilobytes of zstd.
pub(super) fn zstd_bombs(attack: Attack<'_>) {
    let bomb = zstd::encode_all(vec![0; 64 << 20].as_slice(), 1).expect("into memory").repeat(16);
    let headers = "Content-Type: application/x-protobuf\r\nContent-Encoding: zstd\r\n";
    while attack.should_continue() {
        refused(attack.server.otlp_http, "/v1/metrics", headers, &bomb, &[413, 503, 400]);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A gigabyte without a content length.
pub(super) fn gigabytes(attack: Attack<'_>) {
    let chunk = [b"100000\r\n".as_slice(), &vec![b' '; 0x10_0000], b"\r\n"].concat();
    while attack.should_continue() {
        let Some(mut stream) = connect(attack.server.otlp_http) else { continue };
        let begin = b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        if stream.write_all(begin).is_err() {
            continue;
        }
        let chunks_sent = (0..1024).take_while(|_| stream.write_all(&chunk).is_ok()).count();
        assert!(chunks_sent < 64, "{chunks_sent} MiB were chunks_sent of a message");
    }
}

/// Deep nesting in JSON and protobuf.
pub(super) fn nesting(attack: Attack<'_>) {
    let lists = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let objects = b"{\"resourceSpans\":".repeat(100_000);
    let mut protobuf = Vec::new();
    for _ in 0..20_000 {
        let mut outer = vec![0x0A];
        write_varint(&mut outer, protobuf.len());
        // A message within a message: the lengths are those of the inner ones.
        protobuf.splice(0..0, outer);
        if protobuf.len() > 100_000 {
            break;
        }
    }
    let json = "Content-Type: application/json\r\n";
    while attack.should_continue() {
        for body in [&lists, &objects] {
            // A record that nests too deeply is rejected like any other; the message is accepted without it.
            refused(attack.server.otlp_http, "/v1/traces", json, body, &[200, 400, 503]);
            refused(attack.server.zipkin, "/api/v2/spans", json, body, &[202, 400, 503]);
            refused(attack.server.http, "/api/v1/diagnose?wait=true", json, body, &[400, 413, 422, 503]);
        }
        let headers = "Content-Type: application/x-protobuf\r\n";
        refused(attack.server.otlp_http, "/v1/traces", headers, &protobuf, &[200, 400, 503]);
    }
}

fn write_varint(into: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        into.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

pub(super) fn wrong_types(attack: Attack<'_>) {
    let types = [
        "",
        "text/plain",
        "application/grpc",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "\u{fc}",
    ];
    let paths =
        ["/v1/traces", "/api/v2/spans", "/api/v1/write", "/api/v1/diagnose", "/api/v1/changes?wait=true"];
    while attack.should_continue() {
        for content_type in types {
            let headers = format!("Content-Type: {content_type}\r\nContent-Encoding: br\r\n");
            for (path, index) in paths.iter().zip([0, 1, 2, 2, 2]) {
                let address = [attack.server.otlp_http, attack.server.zipkin, attack.server.http][index];
                refused(address, path, &headers, b"{\"a\":1}", &[400, 413, 415, 422, 503]);
            }
        }
    }
}

/// More jobs than the server can run, whose results are never fetched.
pub(super) fn many_jobs(attack: Attack<'_>) {
    let json = "Content-Type: application/json\r\n";
    while attack.should_continue() {
        for path in ["/api/v1/diagnose", "/api/v1/compare", "/api/v1/changes"] {
            refused(attack.server.http, path, json, b"{}", &[202, 400, 422, 503]);
        }
    }
}

pub(super) fn random_bytes(mut attack: Attack<'_>) {
    while attack.should_continue() {
        for address in
            [attack.server.http, attack.server.otlp_http, attack.server.otlp_grpc, attack.server.zipkin]
        {
            let length = 1 + attack.random.below(2000) as usize;
            let bytes: Vec<u8> = (0..length).map(|_| attack.random.below(256) as u8).collect();
            let Some(mut stream) = connect(address) else { continue };
            let _ = stream.write_all(&bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
            let _ = stream.read(&mut [0; 1024]);
        }
    }
}

/// Hundreds of connections that send nothing, more than one address may have; the oldest are given up for new ones.
pub(super) fn half_open(attack: Attack<'_>) {
    let ports = [attack.server.http, attack.server.otlp_http, attack.server.otlp_grpc, attack.server.zipkin];
    let mut open = std::collections::VecDeque::new();
    while attack.should_continue() {
        for port in ports {
            open.extend(connect(port));
        }
        while open.len() > 4 * 600 {
            open.pop_front();
        }
    }
}

/// Every span of another service, operation, and replica, as recent as those of the well-behaved client.
pub(super) fn new_names(mut attack: Attack<'_>) {
    let json = "Content-Type: application/json\r\n";
    while attack.should_continue() {
        let (begins, ends) = (unix_ns(), unix_ns() + 1_000_000);
        let span = |number: u64| {
            format!(
                r#"{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"s-{number:x}"}}}},{{"key":"service.instance.id","value":{{"stringValue":"i-{number:x}"}}}}]}},"scopeSpans":[{{"spans":[{{"traceId":"{number:032x}","spanId":"{number:016x}","name":"GET /{number:x}","kind":2,"startTimeUnixNano":"{begins}","endTimeUnixNano":"{ends}"}}]}}]}}"#
            )
        };
        let spans: Vec<String> = (0..500).map(|_| span(1 + attack.random.below(u64::MAX - 1))).collect();
        let body = format!(r#"{{"resourceSpans":[{}]}}"#, spans.join(","));
        refused(attack.server.otlp_http, "/v1/traces", json, body.as_bytes(), &[200, 503]);
    }
}
