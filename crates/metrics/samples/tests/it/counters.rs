//! Counters and rates.

use crate::{GeneratedSamples, MINUTE, SECOND, counts, sample, windows};
use laggard_model::{Loss, Measure};

/// A counter read every 15 seconds that grows by `slope` a second.
fn read(transaction: &'static str, seconds: std::ops::Range<u32>, slope: f64) -> Vec<GeneratedSamples> {
    let steps = seconds.step_by(15);
    steps
        .map(|s| sample(f64::from(s), Measure::TransactionsTotal, transaction, 1000.0 + slope * f64::from(s)))
        .collect()
}

#[test]
fn a_steady_counter_gives_steady_counts_at_any_phase() {
    for phase in [0, 7] {
        let samples: Vec<_> = read("Home", 0..600, 2.0)
            .into_iter()
            .map(|sample| GeneratedSamples { ns: sample.ns + phase * SECOND, ..sample })
            .collect();
        let table = windows(&samples, 60);
        let window_counts = counts(&table, "Home");
        assert!(window_counts.iter().all(|&count| (count - 120.0).abs() < 0.5), "{window_counts:?}");
        // The last reading is at 585 s: what is known of the last minute is scaled.
        assert_eq!(table.windows, 10);
    }
}

#[test]
fn a_restart_counts_from_zero() {
    let mut samples = read("Home", 0..300, 2.0);
    for sample in samples.iter_mut().filter(|sample| sample.ns >= 2 * MINUTE) {
        sample.value = 2.0 * (sample.ns - 2 * MINUTE + 10 * SECOND) as f64 / 1e9;
    }
    let table = windows(&samples, 60);
    assert_eq!(table.losses.count(Loss::CounterReset), 1);
    // The process was down for 5 of the 15 seconds before 2:00, and what it counted before that was lost.
    assert_eq!(counts(&table, "Home")[..2], [120.0, 120.0 - 10.0]);
    assert_eq!(counts(&table, "Home")[2..4], [120.0, 120.0]);
}

#[test]
fn an_outage_is_a_gap_and_not_zero() {
    let samples: Vec<_> =
        read("Home", 0..900, 2.0).into_iter().filter(|s| !(200..500).contains(&(s.ns / SECOND))).collect();
    let table = windows(&samples, 60);
    let window_counts = counts(&table, "Home");
    assert_eq!(window_counts[..3], [120.0; 3]);
    assert_eq!(window_counts[3..8], [-1.0; 5]);
    assert!(window_counts[9..].iter().all(|&count| (count - 120.0).abs() < 0.5), "{window_counts:?}");
    assert_eq!(table.losses.count(Loss::CounterGap), 1);
}

#[test]
fn a_type_first_called_later_began_at_zero() {
    let mut samples = read("Home", 0..600, 2.0);
    samples.extend(
        (300..600).step_by(15).map(|s| {
            sample(f64::from(s), Measure::TransactionsTotal, "Rare", 3.0 + f64::from(s - 300) / 15.0)
        }),
    );
    let table = windows(&samples, 60);
    let window_counts = counts(&table, "Rare");
    assert_eq!(window_counts[..4], [0.0; 4]);
    assert_eq!(window_counts[4], 3.0, "what it showed at first was counted since the reading before");
    assert_eq!(window_counts[5], 4.0);
}

#[test]
fn rates_are_multiplied_by_time() {
    let samples: Vec<_> =
        (0..20).map(|index| sample(30.0 * f64::from(index), Measure::TransactionRate, "Home", 1.5)).collect();
    assert_eq!(counts(&windows(&samples, 60), "Home"), [90.0; 10]);
}

#[test]
fn counters_of_times_give_means() {
    let mut samples = read("Home", 0..300, 2.0);
    samples.extend(samples.clone().into_iter().map(|sample| GeneratedSamples {
        measure: Measure::ResponseSecondsTotal,
        value: sample.value * 0.25,
        ..sample
    }));
    let table = windows(&samples, 60);
    assert!(table.system.response_s.data().iter().all(|mean| (mean - 0.25).abs() < 1e-9), "{table:?}");
}
