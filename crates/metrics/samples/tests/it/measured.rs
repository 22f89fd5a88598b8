//! Measured seconds of a real server, against sums made by hand.

use crate::{GeneratedSamples, settings, table_of};
use laggard_model::Measure;
use laggard_testkit::data_folder;
use std::collections::BTreeMap;
use std::path::Path;

/// The first column after the time, by second.
fn column(file: &Path) -> BTreeMap<i64, f64> {
    let text = std::fs::read_to_string(file).expect("a measured file can be read");
    let row = |line: &str| {
        let mut cells = line.split(';');
        Some((cells.next()?.parse::<i64>().ok()? / 1000, cells.next()?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn ten_second_windows_are_sums_of_one_second_windows() {
    let Some(folder) = data_folder("cpu-demands/util80-exp1") else { return };
    let counts = column(&folder.join("host1_THROUGHPUT.csv"));
    let busy = column(&folder.join("host1_CPU_UTILIZATION.csv"));
    let times = column(&folder.join("experiment1_AVERAGE_RESPONSE_TIME.csv"));
    let samples_of = |all: &BTreeMap<i64, f64>, measure, transaction| -> Vec<GeneratedSamples> {
        let sample = |(&second, &value): (&i64, &f64)| GeneratedSamples {
            ns: second * crate::SECOND,
            measure,
            server: "",
            tier: "",
            transaction,
            callee: "",
            value,
        };
        all.iter().map(sample).collect()
    };
    let mut samples = samples_of(&counts, Measure::Transactions, "WC0");
    samples.extend(samples_of(&busy, Measure::Utilization, ""));
    samples.extend(samples_of(&times, Measure::ResponseTime, "WC0"));
    let table = table_of(&samples).finish(&settings(10)).expect("a run has windows");
    assert!(table.windows > 300, "an hour of tens of seconds: {}", table.windows);
    let mut compared = 0;
    for window in 0..table.windows {
        let start = table.since.unix_ns() / crate::SECOND + 10 * window as i64;
        let seconds = start..start + 10;
        if !seconds.clone().all(|s| counts.contains_key(&s) && busy.contains_key(&s)) {
            continue;
        }
        compared += 1;
        let count: f64 = seconds.clone().map(|second| counts[&second]).sum();
        let mean_busy: f64 = seconds.clone().map(|second| busy[&second]).sum::<f64>() / 10.0;
        assert!((table.system.counts.get(window, 0) - count).abs() < 1e-9, "window {window}");
        assert!((table.servers[0].utilization[window] - mean_busy).abs() < 1e-9, "window {window}");
        let time: f64 = seconds.clone().filter_map(|s| Some(counts[&s] * times.get(&s)?)).sum();
        let timed: f64 = seconds.filter(|s| times.contains_key(s)).map(|s| counts[&s]).sum();
        let mean = table.system.response_s.get(window, 0);
        assert!(timed == 0.0 || (mean - time / timed).abs() < 1e-9, "window {window}: {mean}");
    }
    assert!(compared > 250, "only {compared} windows are complete");
}
