//! Counters of several series, repeated values, and true instants.

use crate::stand_in::{ReceivedQuery, StandIn, success};
use crate::{get, range, settings};
use laggard_model::Loss;

type Values = Vec<(f64, String)>;

fn at(received_query: &ReceivedQuery, value_at: impl Fn(f64) -> Option<f64>) -> Values {
    received_query
        .instants()
        .filter_map(|time| value_at(time).map(|value| (time, value.to_string())))
        .collect()
}

#[test]
fn increments_of_series_that_differ_in_other_labels_are_added() {
    let server = StandIn::new(|_, received_query| {
        success(&[
            (r#""route":"/buy","instance":"a","code":"200""#, at(received_query, |t| Some(100.0 + t))),
            // The first error comes at 30 s; the process ends at 60 s, and its series with it.
            (
                r#""route":"/buy","instance":"a","code":"500""#,
                at(received_query, |t| (30.0..60.0).contains(&t).then_some(4.0)),
            ),
        ])
    });
    let got =
        get(settings(&server), "count_total=sum by (route, instance, code) (x)", range(90, 15)).unwrap();
    let expected =
        [(0.0, 0.0), (15.0, 15.0), (30.0, 34.0), (45.0, 49.0), (60.0, 64.0), (75.0, 79.0), (90.0, 94.0)];
    assert_eq!(got.of("/buy"), expected);
}

#[test]
fn a_decrease_is_a_counted_restart() {
    let server = StandIn::new(|_, received_query| {
        success(&[(
            r#""instance":"a""#,
            at(received_query, |t| Some(if t < 30.0 { 100.0 + t } else { t - 30.0 })),
        )])
    });
    let got = get(settings(&server), "count_total=max by (instance) (x)", range(60, 15)).unwrap();
    assert_eq!(got.of(""), [(0.0, 0.0), (15.0, 15.0), (30.0, 15.0), (45.0, 30.0), (60.0, 45.0)]);
    assert_eq!(got.collected.losses.count(Loss::CounterReset), 1);
}

#[test]
fn repeated_values_are_not_new_samples() {
    // Read at 0 and 20 s, then not until 80 s; Prometheus repeats the value in between.
    let read = |t: f64| match t {
        t if t < 20.0 => 0.0,
        t if t < 80.0 => 20.0,
        _ => 80.0,
    };
    let server = StandIn::new(move |_, received_query| match received_query.query.as_str() {
        "timestamp(x_total)" => success(&[(r#""instance":"a""#, at(received_query, |t| Some(read(t))))]),
        _ => success(&[(
            r#""__name__":"x_total","instance":"a""#,
            at(received_query, |t| Some(5.0 * read(t))),
        )]),
    });
    let got = get(settings(&server), "count_total=x_total", range(90, 10)).unwrap();
    assert_eq!(got.of(""), [(0.0, 0.0), (20.0, 100.0), (80.0, 400.0)]);
    assert_eq!(got.fetched.answers, 2);
}

#[test]
fn invalid_counter_values_are_counted() {
    let server = StandIn::new(|_, _| {
        success(&[(
            "",
            [(0.0, "1"), (15.0, "NaN"), (30.0, "-3"), (45.0, "4")].map(|(t, v)| (t, v.to_owned())).to_vec(),
        )])
    });
    let got = get(settings(&server), "count_total=sum(x)", range(45, 15)).unwrap();
    assert_eq!(got.of(""), [(0.0, 0.0), (45.0, 3.0)]);
    assert_eq!(got.collected.losses.count(Loss::InvalidSample), 2);
}

#[test]
fn capacities_add_up_and_utilizations_are_averaged() {
    let server = StandIn::new(|_, received_query| {
        success(&[
            (r#""pod":"p","container":"a""#, at(received_query, |_| Some(1.0))),
            (r#""pod":"p","container":"b""#, at(received_query, |_| Some(0.5))),
        ])
    });
    let cores = get(settings(&server), "cores=sum by (pod, container) (x)", range(0, 15)).unwrap();
    assert_eq!(cores.of(""), [(0.0, 1.5)]);
    let mean = get(settings(&server), "utilization=sum by (pod, container) (x)", range(0, 15)).unwrap();
    assert_eq!(mean.of(""), [(-15.0, 0.75)]);
}
