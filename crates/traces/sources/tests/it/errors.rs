//! The error of everything that can be wrong with a server, a URL, or a window.

use crate::{KINDS, Kind, read, window};
use laggard_system::Credentials;
use laggard_testkit::{HttpStandIn, StandInResponse};
use laggard_trace_sources::{SourceError, SourceSettings};
use std::net::TcpListener;
use std::time::Duration;

fn error_of(settings: SourceSettings) -> SourceError {
    read(settings, &[window(0.0, 60.0)], Some("front"), 1_000).err().expect("there is no answer")
}

#[track_caller]
fn contains(error: &SourceError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

/// A server that always gives this response.
fn constant(response: StandInResponse) -> HttpStandIn {
    HttpStandIn::new(move |_, _| response.clone())
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for kind in &KINDS {
        let error = error_of(kind.settings(&format!("http://127.0.0.1:{port}")));
        contains(&error, &[&format!("http://127.0.0.1:{port}/"), "does not answer", "is it running"]);
        assert!(matches!(error, SourceError::Unreachable { .. }));
    }
}

#[test]
fn missing_permissions_name_the_environment_variables() {
    for (status, kind) in [("401 Unauthorized", &KINDS[0]), ("403 Forbidden", &KINDS[1])] {
        let server = constant(StandInResponse::new(status, "no"));
        let credentials = Some(Credentials::basic("me:secret").unwrap());
        let error = error_of(SourceSettings { credentials, ..kind.settings(&server.url()) });
        contains(&error, &[&status[..3], "LAGGARD_SOURCE_TOKEN", "LAGGARD_SOURCE_BASIC"]);
        let text = format!("{error} {error:?}");
        assert!(!text.contains("secret") && !text.contains("bWU6c2VjcmV0"), "{text}");
        assert_eq!(server.received().len(), 1, "not retried");
        assert_eq!(server.received()[0].header("authorization"), Some("Basic bWU6c2VjcmV0"));
    }
}

#[test]
fn a_path_that_is_not_there_is_named() {
    for Kind { name, .. } in &KINDS {
        let server = constant(StandInResponse::new("404 Not Found", "404 page not found"));
        let kind = KINDS.iter().find(|kind| kind.name == *name).unwrap();
        let error = error_of(kind.settings(&format!("{}/base/", server.url())));
        let path = &server.received()[0].path;
        assert!(path.starts_with("/base/"), "{path}");
        contains(&error, &[path, "404", "query API", "http://localhost:"]);
    }
}

#[test]
fn a_web_page_is_not_an_answer() {
    let server = constant(StandInResponse::json("\n<!doctype html><html>Sign in</html>"));
    for kind in &KINDS {
        contains(&error_of(kind.settings(&server.url())), &["web page instead of JSON", "login"]);
    }
}

#[test]
fn answers_of_other_servers_are_rejected() {
    for body in ["{\"status\": \"ok\"}", "hello", "", "{\"data\": 3"] {
        let server = constant(StandInResponse::json(body));
        for kind in &KINDS {
            let error = error_of(kind.settings(&server.url()));
            assert!(matches!(error, SourceError::Unexpected { .. }), "{body}: {error}");
        }
    }
}

#[test]
fn an_unknown_service_is_reported_with_the_known_ones() {
    for kind in &KINDS {
        let server = kind.serve((0..5).map(|index| index * 1_000_000));
        let error =
            read(kind.settings(&server.url()), &[window(0.0, 60.0)], Some("frnt"), 100).err().unwrap();
        contains(&error, &["\"frnt\"", "back, front"]);
        assert!(matches!(error, SourceError::UnknownService { .. }));
    }
}

#[test]
fn a_window_without_traces_is_reported_with_the_latest_trace() {
    for kind in &KINDS {
        let server = kind.serve((0..5).map(|index| index * 1_000_000));
        for service in [None, Some("front")] {
            let error =
                read(kind.settings(&server.url()), &[window(600.0, 660.0)], service, 100).err().unwrap();
            assert!(matches!(error, SourceError::NoTrace(_)), "{error}");
            contains(
                &error,
                &[
                    "no trace",
                    "2026-01-12T09:10:00Z to 2026-01-12T09:11:00Z",
                    "UTC",
                    "starts at 2026-01-12T09:00:0",
                ],
            );
        }
        let empty = kind.serve(std::iter::empty());
        let error = read(kind.settings(&empty.url()), &[window(0.0, 60.0)], None, 100).err().unwrap();
        assert!(matches!(error, SourceError::NoTrace(_)), "{error}");
    }
}

#[test]
fn overload_is_retried_and_then_an_error() {
    for kind in &KINDS {
        let traces = kind.traces((0..5).map(|index| index * 1_000_000));
        let answering = kind.answering;
        let server = HttpStandIn::new(move |number, request| match number {
            0 => StandInResponse::new("503 Service Unavailable", "starting"),
            1 => StandInResponse {
                headers: "Retry-After: 0\r\n".to_owned(),
                ..StandInResponse::new("429 Too Many Requests", "")
            },
            2 => StandInResponse::new("502 Bad Gateway", "<html>"),
            _ => answering(&traces, request),
        });
        let found = read(kind.settings(&server.url()), &[window(0.0, 60.0)], Some("front"), 1_000).unwrap();
        assert_eq!(found.traces().len(), 5, "{}", kind.name);
    }
    let server = constant(StandInResponse::new("503 Service Unavailable", "starting\x07up"));
    contains(&error_of(KINDS[0].settings(&server.url())), &["503", "starting up", "retried"]);
    assert_eq!(server.received().len(), 4);
}

#[test]
fn a_refused_query_is_reported_with_the_message_of_the_server() {
    let body = r#"{"data":null,"errors":[{"code":500,"msg":"search depth must be below 100"}]}"#;
    let server = constant(StandInResponse::new("500 Internal Server Error", body));
    contains(&error_of(KINDS[0].settings(&server.url())), &["500", "search depth must be below 100"]);
    assert_eq!(server.received().len(), 1, "not retried");
}

#[test]
fn a_server_that_takes_too_long_is_unreachable() {
    let server = HttpStandIn::new(|_, _| {
        std::thread::sleep(Duration::from_secs(60));
        StandInResponse::json("{}")
    });
    let settings =
        SourceSettings { timeout: Duration::from_millis(50), tries: 2, ..KINDS[0].settings(&server.url()) };
    contains(&error_of(settings), &["no answer within 0.05 s"]);
    // Its threads may see the requests later than the client gives up.
    while server.received().len() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn large_answers_are_divided_or_rejected() {
    let kind = &KINDS[0];
    let server = kind.serve((0..100).map(|index| index * 1_000_000));
    let settings = SourceSettings { answer_bytes_max: 20_000, ..kind.settings(&server.url()) };
    let found = read(settings.clone(), &[window(0.0, 100.0)], Some("front"), 1_000).unwrap();
    assert_eq!(found.traces().len(), 100);
    let error = error_of(SourceSettings { answer_bytes_max: 100, ..settings });
    assert!(matches!(error, SourceError::TooLarge { .. }), "{error}");
}

#[test]
fn what_is_too_much_for_a_server_is_divided_or_rejected() {
    let kind = &KINDS[0];
    let traces = kind.traces((0..100).map(|index| index * 1_000_000));
    let server = |longest_s: i64| {
        let (traces, answering) = (traces.clone(), kind.answering);
        HttpStandIn::new(move |_, request| {
            let time = |name: &str| request.number(name).unwrap_or_default();
            match time("end") - time("start") > longest_s * 1_000_000 {
                true => StandInResponse::new(
                    "422 Unprocessable Entity",
                    r#"{"errors":[{"msg":"too many spans"}]}"#,
                ),
                false => answering(&traces, request),
            }
        })
    };
    let found = read(kind.settings(&server(20).url()), &[window(0.0, 100.0)], Some("front"), 1_000).unwrap();
    assert_eq!(found.traces().len(), 100);
    contains(&error_of(kind.settings(&server(-1).url())), &["422", "too many spans"]);
}

#[test]
fn redirects_are_not_followed() {
    let elsewhere = constant(StandInResponse::json("{}"));
    let headers = format!("Location: {}/api/services\r\n", elsewhere.url());
    let server = constant(StandInResponse { headers, ..StandInResponse::new("302 Found", "") });
    contains(
        &error_of(KINDS[0].settings(&server.url())),
        &["302", "redirects are not followed", &elsewhere.url()],
    );
    assert!(elsewhere.received().is_empty());
}

#[test]
fn the_tenant_is_sent() {
    let kind = &KINDS[1];
    let server = kind.serve((0..5).map(|index| index * 1_000_000));
    let settings = SourceSettings { tenant: Some("shop".to_owned()), ..kind.settings(&server.url()) };
    read(settings, &[window(0.0, 60.0)], None, 100).unwrap();
    let received = server.received();
    assert!(
        received.len() == 6 && received.iter().all(|request| request.header("x-scope-orgid") == Some("shop"))
    );
}
