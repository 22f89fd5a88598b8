//! The workload has the documented distributions.

use crate::support::{draw, median};
use laggard_simulate::{Request, Scenario, Settings};
use std::collections::{BTreeMap, HashSet};

fn quiet() -> Vec<Request> {
    draw(&Settings { requests_per_service: 4_000, ..Settings::new(Scenario::Quiet, 31) })
}

#[test]
fn popularity_is_zipf() {
    let requests = quiet();
    let mut counts = vec![0_usize; 120];
    requests.iter().for_each(|request| counts[request.category] += 1);
    let total: f64 = (1..=40).map(|rank| f64::from(rank).powf(-1.1)).sum();
    for (category, &count) in counts.iter().enumerate() {
        let share = f64::from(category as u32 % 40 + 1).powf(-1.1) / total;
        let error = (4_000.0 * share * (1.0 - share)).sqrt();
        assert!((count as f64 - 4_000.0 * share).abs() < 4.5 * error, "{category}: {count}");
    }
}

#[test]
fn requests_visit_eight_to_ten_hosts_and_take_some_fifty_milliseconds() {
    let requests = quiet();
    let hosts = |request: &Request| {
        request.calls.iter().map(|call| request.replica(call)).collect::<HashSet<_>>().len()
    };
    let mean = requests.iter().map(hosts).sum::<usize>() as f64 / requests.len() as f64;
    assert!((8.0..=10.0).contains(&mean), "{mean} hosts");
    let calls = requests.iter().map(|request| request.calls.len());
    assert!(calls.clone().min() >= Some(80) && calls.max() <= Some(135));
    let latency = median(requests.iter().map(|request| request.latency().as_ms()).collect());
    assert!((30.0..80.0).contains(&latency), "{latency} ms");
}

#[test]
fn self_times_are_lognormal_around_the_stated_medians() {
    let steady = Settings { size_sigma: 0.0, host_load_sigma: 0.0, ..Settings::new(Scenario::Quiet, 31) };
    let steady = Settings { pause_probability: 0.0, requests_per_service: 2_000, ..steady };
    let mut checked = 0;
    let often = self_times_ms(&steady).into_iter().filter(|(_, times)| times.len() > 1_000);
    for ((service, operation), times) in often {
        let times: Vec<f64> = times.iter().map(|ms| (ms * 1e6).ln()).collect();
        let count = times.len() as f64;
        let mean = times.iter().sum::<f64>() / count;
        let sigma = (times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / count).sqrt();
        let center_us = median(times).exp() / 1e3;
        assert!((0.09..0.47).contains(&sigma), "{service} {operation}: {sigma}");
        // The mean of the logarithm is the logarithm of the median.
        assert!((center_us / (mean.exp() / 1e3) - 1.0).abs() < 0.05);
        let range = match operation.as_str() {
            "ReadChunk" | "WriteChunk" | "ReadEntry" | "WriteEntry" => 1_960.0..2_040.0,
            name if name.starts_with("Call") => 195.0..1_550.0,
            _ => 19.0..1_550.0,
        };
        assert!(range.contains(&center_us), "{service} {operation}: {center_us} µs");
        checked += 1;
    }
    assert!(checked > 50);
}

/// Self times in milliseconds, by operation.
fn self_times_ms(settings: &Settings) -> BTreeMap<(String, String), Vec<f64>> {
    let mut times: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for request in draw(settings) {
        for call in &request.calls {
            let key = (request.service(call).to_owned(), request.operation(call).to_owned());
            times.entry(key).or_default().push(call.self_time.as_ms());
        }
    }
    times
}

#[test]
fn pauses_are_as_rare_and_as_long_as_stated() {
    let settings = Settings { requests_per_service: 1_000, ..Settings::new(Scenario::Quiet, 31) };
    let without = self_times_ms(&Settings { pause_probability: 0.0, ..settings.clone() });
    let with = self_times_ms(&Settings { pause_probability: 0.01, ..settings });
    let (mut paused, mut calls) = (0, 0);
    let fast = without.iter().filter(|(_, times)| times.iter().all(|ms| *ms < 0.5));
    for (operation, _) in fast {
        let times = &with[operation];
        assert!(times.iter().all(|ms| *ms < 0.7 || (2.0..15.7).contains(ms)), "{operation:?}");
        paused += times.iter().filter(|ms| **ms >= 2.0).count();
        calls += times.len();
    }
    let expected = calls as f64 * 0.01;
    assert!(
        calls > 50_000 && (paused as f64 - expected).abs() < 4.0 * expected.sqrt(),
        "{paused} of {calls}"
    );
}

#[test]
fn a_heavy_tail_scales_everything_together() {
    let settings = Settings { requests_per_service: 2_000, ..Settings::new(Scenario::HeavyTail, 31) };
    let requests = draw(&settings);
    let logs: Vec<f64> = requests.iter().map(|request| request.latency().as_ms().ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let sigma = (logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / logs.len() as f64).sqrt();
    assert!((1.35..1.65).contains(&sigma), "{sigma}");
    assert!(requests.iter().all(|request| request.calls.iter().all(|call| call.injected.ns() == 0)));
}

#[test]
fn without_skew_every_clock_is_right() {
    let settings = Settings { requests_per_service: 20, ..Settings::new(Scenario::Quiet, 31) };
    let call_errors = |settings: &Settings| -> Vec<i64> {
        let requests = draw(settings);
        let calls = requests.iter().flat_map(|request| request.calls.iter());
        calls.map(|call| call.start.since(call.true_start).ns()).collect()
    };
    assert!(call_errors(&Settings { clock_skew: false, ..settings.clone() }).iter().all(|ns| *ns == 0));
    let errors = call_errors(&settings);
    assert!(errors.iter().all(|ns| ns.abs() <= 20_000_000 + 72_000_000));
    assert!(errors.iter().any(|ns| ns.abs() > 10_000_000));
}
