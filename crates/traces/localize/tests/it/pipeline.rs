//! `golden/pipeline` and `golden/jsd`: gate, decomposition, flags and replica tests of single categories.

use laggard_localize::{
    Call, CategoryCalls, CategoryPosition, CloudDiagSettings, Mode, ReplicaObservations, Spread, TimeKind,
    cloud_diag, decompose, gate, test_replicas,
};
use laggard_model::{Fingerprint, Nanos, OperationId, ReplicaId, Timestamp, TraceId};
use laggard_testkit::golden;
use serde_json::Value;
use std::num::NonZeroUsize;

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

pub(crate) fn indices(value: &Value) -> Vec<usize> {
    list(value).iter().map(|at| at.as_u64().expect("an index") as usize).collect()
}

/// Self times of a reference category in tenths of nanoseconds' worth: µs with one decimal become whole ns.
fn self_ns(case: &Value, row: usize, column: usize) -> u64 {
    (number(&case["self_us"][row][column]) * 1000.0).round() as u64
}

pub(crate) fn category(case: &Value) -> CategoryCalls {
    let parents = list(&case["parent"]);
    let rows = list(&case["self_us"]).len();
    let mut out = CategoryCalls { id: Fingerprint::from_bytes(b"reference"), ..CategoryCalls::default() };
    out.positions = parents
        .iter()
        .enumerate()
        .map(|(at, parent)| CategoryPosition {
            operation: OperationId::from_index(at),
            parent: parent.as_i64().and_then(|parent| u32::try_from(parent).ok()),
        })
        .collect();
    for row in 0..rows {
        let times: Vec<u64> = (0..parents.len()).map(|column| self_ns(case, row, column)).collect();
        out.requests.push(laggard_localize::RequestRow {
            start: Timestamp::from_unix_ns(row as i64),
            trace: TraceId::from_value(row as u128 + 1),
            latency_ns: times.iter().sum(),
            weight: 1.0,
        });
        out.calls.extend(times.iter().enumerate().map(|(column, &time_ns)| Call {
            request: row as u32,
            position: column as u32,
            replica: ReplicaId::from_index(case["hosts"][row][column].as_u64().expect("a host") as usize),
            time_ns,
        }));
    }
    out
}

pub(crate) fn close(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((got - expected).abs() <= tolerance, "{what}: got {got}, expected {expected}");
}

#[test]
fn single_categories_agree_with_the_reference() {
    let golden = golden("pipeline/category");
    for case in list(&golden["cases"]) {
        let name = case["name"].as_str().expect("a name");
        let category = category(case);
        check_gate(case, name, &category);
        check_mode(case, "literal_self", Mode::Paper, name, &category);
        check_mode(case, "recommended", Mode::Robust, name, &category);
        check_limits(case, name, &category);
        check_replicas(case, name, &category);
    }
}

fn check_gate(case: &Value, name: &str, category: &CategoryCalls) {
    let seen = gate(&category.latencies(), &CloudDiagSettings::default());
    close(seen.cv, number(&case["root_cv"]), 1e-6, name);
    assert_eq!(seen.tail_requests, case["tail_gate"]["hits"].as_u64().expect("hits"), "{name}");
    close(seen.tail_excess_share, number(&case["tail_gate"]["excess_share"]), 1e-6, name);
    assert_eq!(
        seen.anomalous,
        case["tail_gate"]["selected"] == true || case["anomalous_by_cv"] == true,
        "{name}"
    );
}

fn check_mode(case: &Value, key: &str, mode: Mode, name: &str, category: &CategoryCalls) {
    let settings = CloudDiagSettings { tolerance: 1e-7, ..CloudDiagSettings::new(mode) };
    let seen = gate(&category.latencies(), &settings);
    let done = decompose(category, &seen, &settings, NonZeroUsize::MIN);
    assert!(done.converged);
    for (j, cosine) in list(&case[key]["cosine"]).iter().enumerate() {
        close(done.positions[j].cosine, number(cosine), 1e-4, &format!("{name} {key} cosine {j}"));
    }
    let flagged: Vec<usize> = (0..done.positions.len()).filter(|&j| done.positions[j].flagged).collect();
    assert_eq!(flagged, indices(&case[key]["flagged"]), "{name} {key}");
}

fn check_limits(case: &Value, name: &str, category: &CategoryCalls) {
    let settings = CloudDiagSettings { tolerance: 1e-7, ..CloudDiagSettings::default() };
    let seen = gate(&category.latencies(), &settings);
    let done = decompose(category, &seen, &settings, NonZeroUsize::MIN);
    let expected = &case["recommended"];
    for (j, found) in done.positions.iter().enumerate() {
        let limit_us = number(&expected["tau"][j]);
        close(found.limit_ns / 1000.0, limit_us, 1e-6 * limit_us.max(1.0), &format!("{name} limit {j}"));
        close(found.share, number(&expected["share"][j]), 1e-6, &format!("{name} share {j}"));
        let support = number(&expected["support"][j]);
        close(found.support as f64, support, 1.0, &format!("{name} support {j}"));
    }
}

/// The replica tests of the flagged position, on the same observations.
fn check_replicas(case: &Value, name: &str, category: &CategoryCalls) {
    let settings = CloudDiagSettings { tolerance: 1e-7, ..CloudDiagSettings::default() };
    let found = cloud_diag(std::slice::from_ref(category), &settings, NonZeroUsize::MIN);
    for expected in list(&case["recommended"]["instances"]) {
        let position = expected["position"].as_u64().expect("a position") as usize;
        let suspect = &found.suspects[0];
        assert_eq!(suspect.operation.index(), position, "{name}");
        assert_eq!(suspect.spread, Spread::Localized);
        let mut blamed: Vec<usize> = suspect.replicas.iter().map(|replica| replica.index()).collect();
        blamed.sort_unstable();
        assert_eq!(blamed, indices(&expected["flagged_hosts"]), "{name}");
        for (cell, expected) in suspect.cells.iter().zip(list(&expected["tests"])) {
            let what = format!("{name} host {}", expected["host"]);
            assert_eq!(cell.test.calls, expected["n"].as_u64().expect("n"), "{what}");
            assert_eq!(cell.test.exceeding, expected["exceed"].as_u64().expect("exceed"), "{what}");
            let p = |key: &str| number(&expected[key]);
            close(cell.test.others_rate, p("p0"), 1e-9, &what);
            close(cell.test.p_exceed, p("p_exceed"), 1e-6 * p("p_exceed"), &what);
            close(cell.test.p_shift, p("p_mwu"), 1e-6 * p("p_mwu"), &what);
        }
    }
}

#[test]
fn replica_tests_agree_with_the_reference() {
    let golden = golden("jsd/cases");
    let limit = number(&golden["log_limit"]);
    let mut observed = ReplicaObservations::default();
    for (replica, values) in list(&golden["instances"]).iter().enumerate() {
        for value in list(values).iter().map(number) {
            observed.replicas.push(ReplicaId::from_index(replica));
            observed.standardized.push(value);
            observed.ratios.push(value);
            observed.exceeds.push(value.ln() > limit);
            observed.weights.push(1.0);
        }
    }
    let (spread, tests) = test_replicas(&observed, 0.01, 0.0);
    assert_eq!(spread, Spread::Localized);
    for (test, expected) in tests.iter().zip(list(&golden["instance_tests"])) {
        assert_eq!(test.exceeding, expected["exceed"].as_u64().expect("exceed"));
        for (got, key) in
            [(test.p_exceed, "p_exceed"), (test.p_shift, "p_mwu_greater"), (test.p_value, "p_combined")]
        {
            let expected = number(&expected[key]);
            close(got, expected, 1e-8 * expected, key);
        }
    }
    for (test, adjusted) in tests.iter().zip(list(&golden["bh_adjusted"])) {
        close(test.p_adjusted, number(adjusted), 1e-8 * number(adjusted), "adjusted");
    }
    let flagged: Vec<usize> =
        tests.iter().filter(|test| test.flagged).map(|test| test.replica.index()).collect();
    assert_eq!(flagged, indices(&golden["flagged"]));
}

#[test]
fn dispersion_agrees_with_the_reference() {
    let golden = golden("clusters/cv");
    for case in list(&golden["cases"]) {
        let latencies: Vec<f64> = list(&case["x"]).iter().map(number).collect();
        let settings = CloudDiagSettings { requests_min: 2, ..CloudDiagSettings::new(Mode::Paper) };
        let seen = gate(&latencies, &settings);
        close(seen.cv, number(&case["cv"]), 1e-12, "cv");
        assert_eq!(seen.anomalous, case["anomalous_at_1"] == true);
    }
}

#[test]
fn inclusive_time_is_an_option_that_blames_ancestors() {
    // A chain entry → middle → leaf with the leaf slow: with inclusive time every ancestor repeats the delay.
    let times = |slow: bool, kind: TimeKind| -> [u64; 3] {
        let leaf = Nanos::from_us(if slow { 2000 } else { 100 }).ns();
        match kind {
            TimeKind::SelfTime => [50_000, 50_000, leaf],
            TimeKind::Inclusive => [100_000 + leaf, 50_000 + leaf, leaf],
        }
    };
    let flagged = |kind: TimeKind| {
        let mut category = CategoryCalls::default();
        for at in 0..3 {
            let parent = (at > 0).then(|| at as u32 - 1);
            category.positions.push(CategoryPosition { operation: OperationId::from_index(at), parent });
        }
        for row in 0..100_u32 {
            let times = times(row % 10 == 0, kind);
            let latency_ns = 100_000 + times[2];
            let trace = TraceId::from_value(u128::from(row));
            let start = Timestamp::from_unix_ns(i64::from(row));
            category.requests.push(laggard_localize::RequestRow { start, trace, latency_ns, weight: 1.0 });
            category.calls.extend((0..3).map(|at| Call {
                request: row,
                position: at,
                replica: ReplicaId::from_index(0),
                time_ns: times[at as usize],
            }));
        }
        let settings = CloudDiagSettings { time: kind, ..CloudDiagSettings::default() };
        let found = cloud_diag(&[category], &settings, NonZeroUsize::MIN);
        found.suspects.len()
    };
    assert_eq!(flagged(TimeKind::SelfTime), 1);
    assert!(flagged(TimeKind::Inclusive) > 1);
}
