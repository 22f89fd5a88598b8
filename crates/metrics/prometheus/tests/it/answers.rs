//! Responses of a server and the samples read from them.

use crate::stand_in::{StandIn, answer, matrix, success};
use crate::{get, range, settings};
use laggard_model::{Loss, Measure};
use laggard_prometheus::{Client, ClientSettings, Credentials, PrometheusError};
use std::io::Write;

#[test]
fn rates_become_samples_with_the_names_of_their_labels() {
    let server = StandIn::new(|_, received_query| {
        let values =
            |value: f64| received_query.instants().map(|time| (time, format!("{value}"))).collect::<Vec<_>>();
        success(&[
            (r#""route":"/buy","method":"POST","instance":"a:80","job":"shop""#, values(2.5)),
            (r#""route":"/list","method":"GET","instance":"a:80","job":"shop""#, values(7.0)),
        ])
    });
    let got =
        get(settings(&server), "rate=sum by (route, method, instance, job) (rate(x[$step]))", range(60, 15))
            .unwrap();
    assert_eq!(got.fetched.series, 2);
    // The rate at an instant is that of the step before it.
    assert_eq!(got.of("POST /buy")[..2], [(-15.0, 2.5), (0.0, 2.5)]);
    let sample = &got.collected.samples[0];
    assert_eq!((sample.server.as_str(), sample.tier.as_str()), ("a:80", "shop"));
    assert_eq!(sample.measure, Measure::TransactionRate);
    let received_query = &server.received_queries()[0];
    assert_eq!(
        (received_query.path.as_str(), received_query.method.as_str()),
        ("/api/v1/query_range", "GET")
    );
    assert_eq!(received_query.query, "sum by (route, method, instance, job) (rate(x[15s]))");
}

#[test]
fn a_long_time_range_is_queried_in_parts_below_the_limit() {
    let server = StandIn::new(|_, received_query| {
        let instants: Vec<f64> = received_query.instants().collect();
        if instants.len() > 11_000 {
            let body = br#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points per timeseries."}"#;
            return answer("400 Bad Request", "", body);
        }
        success(&[(r#""instance":"a""#, instants.into_iter().map(|time| (time, "0.5".to_owned())).collect())])
    });
    let got = get(settings(&server), "utilization=avg by (instance) (x)", range(24_999, 1)).unwrap();
    assert_eq!((got.fetched.answers, got.fetched.points), (3, 25_000));
    let times: Vec<f64> = got.of("").iter().map(|sample| sample.0).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1.0), "no instant is missing or doubled");
}

#[test]
fn a_refused_time_range_is_queried_in_smaller_parts() {
    let server = StandIn::new(|_, received_query| {
        let instants: Vec<f64> = received_query.instants().collect();
        if instants.len() > 100 {
            let body = br#"{"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}"#;
            return answer("422 Unprocessable Entity", "", body);
        }
        success(&[("", instants.into_iter().map(|time| (time, "1".to_owned())).collect())])
    });
    let got = get(settings(&server), "rate=sum(x)", range(299, 1)).unwrap();
    assert_eq!(got.fetched.points, 300);
}

#[test]
fn chunks_and_compression_are_understood() {
    let plain =
        matrix(&[("", vec![(0.0, "1".to_owned()), (15.0, "NaN".to_owned()), (30.0, "+Inf".to_owned())])]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let server = StandIn::new(move |_, _| {
        let mut bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in packed.chunks(7) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    });
    let got = get(settings(&server), "rate=sum(x)", range(30, 15)).unwrap();
    let values: Vec<String> = got.of("").iter().map(|sample| sample.1.to_string()).collect();
    assert_eq!(values, ["1", "NaN", "inf"]);
    assert_eq!(server.received_queries()[0].header("accept-encoding"), Some("gzip"));
}

#[test]
fn credentials_are_sent_and_warnings_are_passed_on() {
    let server = StandIn::new(|_, _| {
        let body = matrix(&[("", vec![(0.0, "1".to_owned())])]).replacen(
            '{',
            r#"{"warnings":["a store is missing"],"#,
            1,
        );
        answer("200 OK", "", body.as_bytes())
    });
    let credentials = Some(Credentials::basic("me:secret").unwrap());
    let got =
        get(ClientSettings { credentials, ..settings(&server) }, "clients=sum(x)", range(0, 15)).unwrap();
    assert_eq!(got.fetched.warnings, ["a store is missing"]);
    assert_eq!(server.received_queries()[0].header("authorization"), Some("Basic bWU6c2VjcmV0"));
    assert_eq!(got.of(""), [(0.0, 1.0)], "clients are counted at an instant");
}

#[test]
fn a_long_query_is_sent_in_the_body() {
    let server = StandIn::new(|_, _| success(&[]));
    let query = format!("rate=sum({})", "x_+_".repeat(1_000));
    let got = get(settings(&server), &query, range(30, 15)).unwrap();
    assert_eq!(got.fetched.series, 0);
    let received_query = &server.received_queries()[0];
    assert_eq!((received_query.method.as_str(), received_query.query.len()), ("POST", 4_005));
    assert_eq!(received_query.end, 30.0);
}

#[test]
fn histograms_are_counted_as_another_signal() {
    let body = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"histograms":[[0,{"count":"1"}]]}]}}"#;
    let server = StandIn::new(move |_, _| answer("200 OK", "", body.as_bytes()));
    let got = get(settings(&server), "rate=sum(x)", range(0, 15)).unwrap();
    assert_eq!(got.collected.losses.count(Loss::OtherSignal), 1);
}

#[test]
fn the_names_of_metrics_are_listed() {
    let server = StandIn::new(|_, _| {
        answer("200 OK", "", br#"{"status":"success","data":["up","x_requests_total"]}"#)
    });
    let client = Client::new(settings(&server)).unwrap();
    assert_eq!(client.metric_names().unwrap(), ["up", "x_requests_total"]);
    assert_eq!(server.received_queries()[0].path, "/api/v1/label/__name__/values");
    let other = StandIn::new(|_, _| answer("200 OK", "", b"<html>"));
    let error = Client::new(settings(&other)).unwrap().metric_names().unwrap_err();
    assert!(matches!(error, PrometheusError::Unexpected { .. }), "{error}");
}
