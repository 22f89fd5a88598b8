//! Servers that do not answer as they should.

use crate::stand_in::{StandIn, answer, success};
use crate::{get, range, settings};
use laggard_prometheus::{ClientSettings, PrometheusError};
use std::io::Write;
use std::time::Duration;

fn failure(server: &StandIn) -> PrometheusError {
    get(settings(server), "rate=sum(x)", range(30, 15)).err().expect("there is no answer")
}

#[test]
fn an_overloaded_server_is_asked_again() {
    let server = StandIn::new(|number, _| match number {
        0 => answer("503 Service Unavailable", "", b"starting"),
        1 => answer("429 Too Many Requests", "Retry-After: 0\r\n", b""),
        _ => success(&[("", vec![(0.0, "1".to_owned())])]),
    });
    assert_eq!(get(settings(&server), "rate=sum(x)", range(30, 15)).unwrap().fetched.points, 1);
    assert_eq!(server.received_query().len(), 3);
}

#[test]
fn one_that_stays_overloaded_is_given_up() {
    let server = StandIn::new(|_, _| answer("503 Service Unavailable", "", b"starting up\x07"));
    let said = failure(&server).to_string();
    assert!(said.contains("503") && said.contains("starting up") && said.contains("retried"), "{said}");
    assert_eq!(server.received_query().len(), 4);
}

#[test]
fn a_refused_query_is_told_in_the_servers_words_and_not_repeated() {
    let server = StandIn::new(|_, _| {
        let body = br#"{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": parse error"}"#;
        answer("400 Bad Request", "", body)
    });
    let said = failure(&server).to_string();
    assert!(said.contains("bad_data") && said.contains("parse error") && said.contains("sum(x)"), "{said}");
    assert_eq!(server.received_query().len(), 1);
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = StandIn::new(|_, _| success(&[]));
    let location = format!("Location: {}/api/v1/query_range\r\n", elsewhere.url());
    let server = StandIn::new(move |_, _| answer("302 Found", &location, b""));
    let said = failure(&server).to_string();
    assert!(said.contains("302") && said.contains("redirects are not followed"), "{said}");
    assert!(elsewhere.received_query().is_empty());
}

#[test]
fn missing_rights_and_wrong_paths_come_with_what_to_try() {
    for (status, word) in [("401 Unauthorized", "--bearer-token-file"), ("404 Not Found", "/api/v1")] {
        let server = StandIn::new(move |_, _| answer(status, "", b""));
        let said = failure(&server).to_string();
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn what_is_not_prometheus_is_told() {
    let server = StandIn::new(|_, _| answer("200 OK", "", b"<html>welcome</html>"));
    assert!(failure(&server).to_string().contains("<html>welcome"), "{}", failure(&server));
    let cut = StandIn::new(|_, _| {
        let mut whole = success(&[("", vec![(0.0, "1".to_owned())])]);
        whole.truncate(whole.len() - 20);
        whole
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
    let said = get(quick(&slow), "rate=sum(x)", range(30, 15)).err().unwrap().to_string();
    assert!(said.contains("no answer within 0.05 s"), "{said}");
    let closed = ClientSettings { tries: 1, ..ClientSettings::new("http://127.0.0.1:1") };
    let said = get(closed, "rate=sum(x)", range(30, 15)).err().unwrap().to_string();
    assert!(said.contains("does not answer"), "{said}");
}

#[test]
fn an_answer_that_swells_is_stopped() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&vec![b' '; 8 << 20]).unwrap();
    let packed = encoder.finish().unwrap();
    assert!(packed.len() < 1 << 16);
    let server = StandIn::new(move |_, _| answer("200 OK", "Content-Encoding: gzip\r\n", &packed));
    let small = ClientSettings { answer_bytes_max: 1 << 20, ..settings(&server) };
    let error = get(small, "rate=sum(x)", range(30, 15)).err().unwrap();
    assert!(matches!(error, PrometheusError::TooLarge { .. }), "{error}");
    assert_eq!(server.received_query().len(), 2, "less time was tried before");
}
