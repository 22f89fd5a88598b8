//! Servers that fail or respond incorrectly.

use crate::stand_in::{StandIn, answer, success};
use crate::{get, range, settings};
use laggard_prometheus::{ClientSettings, PrometheusError};
use std::io::Write;
use std::time::Duration;

fn failure(server: &StandIn) -> PrometheusError {
    get(settings(server), "rate=sum(x)", range(30, 15)).err().expect("there is no answer")
}

#[test]
fn queries_to_an_overloaded_server_are_repeated() {
    let server = StandIn::new(|number, _| match number {
        0 => answer("503 Service Unavailable", "", b"starting"),
        1 => answer("429 Too Many Requests", "Retry-After: 0\r\n", b""),
        _ => success(&[("", vec![(0.0, "1".to_owned())])]),
    });
    assert_eq!(get(settings(&server), "rate=sum(x)", range(30, 15)).unwrap().fetched.points, 1);
    assert_eq!(server.received_queries().len(), 3);
}

#[test]
fn a_server_that_stays_overloaded_is_an_error() {
    let server = StandIn::new(|_, _| answer("503 Service Unavailable", "", b"starting up\x07"));
    let message = failure(&server).to_string();
    assert!(
        message.contains("503") && message.contains("starting up") && message.contains("retried"),
        "{message}"
    );
    assert_eq!(server.received_queries().len(), 4);
}

#[test]
fn a_refused_query_is_reported_with_the_message_of_the_server_and_not_repeated() {
    let server = StandIn::new(|_, _| {
        let body = br#"{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": parse error"}"#;
        answer("400 Bad Request", "", body)
    });
    let message = failure(&server).to_string();
    assert!(
        message.contains("bad_data") && message.contains("parse error") && message.contains("sum(x)"),
        "{message}"
    );
    assert_eq!(server.received_queries().len(), 1);
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = StandIn::new(|_, _| success(&[]));
    let location = format!("Location: {}/api/v1/query_range\r\n", elsewhere.url());
    let server = StandIn::new(move |_, _| answer("302 Found", &location, b""));
    let message = failure(&server).to_string();
    assert!(message.contains("302") && message.contains("redirects are not followed"), "{message}");
    assert!(elsewhere.received_queries().is_empty());
}

#[test]
fn missing_permissions_and_wrong_paths_have_a_hint() {
    for (status, word) in [("401 Unauthorized", "--bearer-token-file"), ("404 Not Found", "/api/v1")] {
        let server = StandIn::new(move |_, _| answer(status, "", b""));
        let message = failure(&server).to_string();
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn an_answer_of_another_server_is_an_error() {
    let server = StandIn::new(|_, _| answer("200 OK", "", b"<html>welcome</html>"));
    assert!(failure(&server).to_string().contains("<html>welcome"), "{}", failure(&server));
    let cut = StandIn::new(|_, _| {
        let mut body = success(&[("", vec![(0.0, "1".to_owned())])]);
        body.truncate(body.len() - 20);
        body
    });
    assert!(matches!(failure(&cut), PrometheusError::Unreachable { .. }), "{}", failure(&cut));
}

#[test]
fn a_slow_server_and_a_closed_port_do_not_answer() {
    let slow = StandIn::new(|_, _| {
        std::thread::sleep(Duration::from_millis(400));
        Vec::new()
    });
    let quick = |server: &StandIn| ClientSettings {
        timeout: Duration::from_millis(50),
        tries: 1,
        ..settings(server)
    };
    let message = get(quick(&slow), "rate=sum(x)", range(30, 15)).err().unwrap().to_string();
    assert!(message.contains("no answer within 0.05 s"), "{message}");
    let closed = ClientSettings { tries: 1, ..ClientSettings::new("http://127.0.0.1:1") };
    let message = get(closed, "rate=sum(x)", range(30, 15)).err().unwrap().to_string();
    assert!(message.contains("does not answer"), "{message}");
}

#[test]
fn an_oversized_response_is_aborted() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![b' '; 8 << 20]).unwrap();
    let packed = encoder.finish().unwrap();
    assert!(packed.len() < 1 << 16);
    let server = StandIn::new(move |_, _| answer("200 OK", "Content-Encoding: gzip\r\n", &packed));
    let small = ClientSettings { answer_bytes_max: 1 << 20, ..settings(&server) };
    let error = get(small, "rate=sum(x)", range(30, 15)).err().unwrap();
    assert!(matches!(error, PrometheusError::TooLarge { .. }), "{error}");
    assert_eq!(server.received_queries().len(), 2, "less time was tried before");
}
