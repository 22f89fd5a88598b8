//! Counts for time intervals and single completions.

use crate::{counts, responses, sample, settings, table_of, windows};
use laggard_model::{Loss, Measure, Timestamp};
use laggard_samples::WindowError;

#[test]
fn seconds_add_up_to_minutes() {
    let mut samples = Vec::new();
    for second in 0..180 {
        samples.push(sample(f64::from(second), Measure::Transactions, "Home", f64::from(second / 60 + 1)));
        samples.push(sample(
            f64::from(second),
            Measure::ResponseTime,
            "Home",
            0.1 * f64::from(second % 2 + 1),
        ));
    }
    let table = windows(&samples, 60);
    assert_eq!((table.windows, table.since.unix_ns()), (3, 0));
    assert_eq!(counts(&table, "Home"), [60.0, 120.0, 180.0]);
    assert_eq!(responses(&table, "Home"), [0.15, 0.15, 0.15]);
    assert!(table.losses.is_empty(), "{:?}", table.losses);
}

#[test]
fn means_are_weighted_by_the_counts_at_their_instant() {
    let samples = [
        sample(0.0, Measure::Transactions, "Home", 30.0),
        sample(0.0, Measure::ResponseTime, "Home", 0.1),
        sample(30.0, Measure::Transactions, "Home", 10.0),
        sample(30.0, Measure::ResponseTime, "Home", 0.5),
        sample(60.0, Measure::Transactions, "Home", 0.0),
        sample(60.0, Measure::ResponseTime, "Home", f64::NAN),
        sample(90.0, Measure::Transactions, "Home", 2.0),
        sample(90.0, Measure::ResponseTime, "Home", 0.4),
    ];
    let table = windows(&samples, 60);
    assert_eq!(counts(&table, "Home"), [40.0, 2.0]);
    // (30 · 0.1 + 10 · 0.5) / 40
    assert_eq!(responses(&table, "Home"), [0.2, 0.4]);
    assert!(table.losses.is_empty(), "that none completed is no loss: {:?}", table.losses);
}

#[test]
fn a_type_that_did_not_occur_is_zero_and_a_silent_system_is_a_gap() {
    let samples = [
        sample(0.0, Measure::Transactions, "Home", 5.0),
        sample(60.0, Measure::Transactions, "Cart", 3.0),
        sample(60.0, Measure::Transactions, "Home", 4.0),
        sample(240.0, Measure::Transactions, "Home", 6.0),
        sample(300.0, Measure::Transactions, "Home", 6.0),
    ];
    let table = windows(&samples, 60);
    assert_eq!(counts(&table, "Home"), [5.0, 4.0, -1.0, -1.0, 6.0, 6.0]);
    assert_eq!(counts(&table, "Cart"), [0.0, 3.0, -1.0, -1.0, 0.0, 0.0]);
}

#[test]
fn windows_are_aligned_with_coarse_samples() {
    let samples: Vec<_> = (0..4)
        .map(|index| sample(23.0 + 60.0 * f64::from(index), Measure::Transactions, "Home", 7.0))
        .collect();
    let table = windows(&samples, 60);
    assert_eq!(table.since.unix_ns(), 23_000_000_000);
    assert_eq!(counts(&table, "Home"), [7.0; 4]);
}

#[test]
fn windows_shorter_than_samples_are_rejected_with_advice() {
    let mut samples: Vec<_> =
        (0..9).map(|index| sample(60.0 * f64::from(index), Measure::Transactions, "Home", 7.0)).collect();
    // No length of windows helps where the CPU is missing.
    let error = table_of(&samples).finish(&settings(10)).unwrap_err();
    assert_eq!(error, WindowError::NoUtilization { samples: 9 });
    assert!(error.to_string().contains("provide a CPU series") && !error.to_string().contains("--window"));
    samples.extend((0..54).map(|index| sample(10.0 * f64::from(index), Measure::Utilization, "", 0.5)));
    let error = table_of(&samples).finish(&settings(10)).unwrap_err();
    assert!(matches!(error, WindowError::TooFine { .. }));
    assert!(error.to_string().contains("come every 60 s"), "{error}");
    assert!(error.to_string().contains("--window 60s"), "{error}");
}

#[test]
fn a_window_with_holes_is_extrapolated_or_left_out() {
    // The second minute misses 12 of its seconds, the third 30.
    let present = |second: &u32| !(60..72).contains(second) && !(120..150).contains(second);
    let samples: Vec<_> = (0..240)
        .filter(present)
        .map(|second| sample(f64::from(second), Measure::Transactions, "Home", 2.0))
        .collect();
    let table = windows(&samples, 60);
    let home_counts = counts(&table, "Home");
    assert_eq!((home_counts[0], home_counts[2], home_counts[3]), (120.0, -1.0, 120.0));
    assert!((home_counts[1] - 120.0).abs() < 2.0, "{home_counts:?}");
    assert_eq!(table.losses.count(Loss::PartialWindow), 1);
}

#[test]
fn impossible_values_make_their_interval_unknown() {
    let value = |second: u32| if (60..90).contains(&second) { f64::NAN } else { 2.0 };
    let samples: Vec<_> = (0..180)
        .map(|second| sample(f64::from(second), Measure::Transactions, "Home", value(second)))
        .collect();
    let table = windows(&samples, 60);
    assert_eq!(counts(&table, "Home"), [120.0, -1.0, 120.0]);
    assert_eq!(table.losses.count(Loss::InvalidSample), 30);
}

#[test]
fn completions_count_one_each_even_at_one_instant() {
    let mut samples = Vec::new();
    for index in 0..400 {
        samples.push(sample(f64::from(index / 2), Measure::Completion, "Home", 0.25));
    }
    samples.push(sample(100.0, Measure::Completion, "Cart", f64::NAN));
    let table = windows(&samples, 60);
    // The log ends in the middle of the fourth minute, which is left out.
    assert_eq!(counts(&table, "Home"), [120.0, 120.0, 120.0, -1.0][..table.windows]);
    assert_eq!(table.windows, 3);
    assert_eq!(counts(&table, "Cart"), [0.0, 1.0, 0.0]);
    assert_eq!(responses(&table, "Home"), [0.25; 3]);
    assert_eq!(responses(&table, "Cart"), [-1.0; 3]);
    assert_eq!(table.losses.count(Loss::PartialWindow), 1);
}

#[test]
fn sums_of_times_are_divided_by_counts_beside_calls() {
    let mut samples = Vec::new();
    for second in 0..120 {
        let second_s = f64::from(second);
        samples.push(sample(second_s, Measure::Transactions, "Buy", 4.0));
        samples.push(sample(second_s, Measure::ResponseSeconds, "Buy", 2.0));
        samples.push(sample(second_s, Measure::Calls, "Buy", 12.0).to("db"));
        samples.push(sample(second_s, Measure::CallTime, "Buy", 0.1).to("db"));
    }
    let table = windows(&samples, 60);
    assert_eq!(responses(&table, "Buy"), [0.5; 2]);
    let calls = &table.system.outbound[0];
    assert_eq!((calls.callee.as_str(), calls.counts.data()), ("db", &[720.0, 720.0][..]));
    assert!(calls.time_s.data().iter().all(|time| (time - 0.1).abs() < 1e-12));
}

#[test]
fn only_windows_entirely_in_the_requested_time_are_used() {
    let samples: Vec<_> =
        (0..600).map(|second| sample(f64::from(second), Measure::Transactions, "Home", 1.0)).collect();
    let mut limited = settings(60);
    limited.since = Timestamp::from_unix_ns(61_000_000_000);
    limited.until = Timestamp::from_unix_ns(300_000_000_000);
    let table = table_of(&samples).finish(&limited).unwrap();
    assert_eq!((table.since.unix_ns(), table.windows), (120_000_000_000, 3));
    limited.since = Timestamp::from_unix_ns(700_000_000_000);
    limited.until = Timestamp::from_unix_ns(800_000_000_000);
    let error = table_of(&samples).finish(&limited).unwrap_err();
    assert_eq!(error, WindowError::NoSamples { samples: 600 });
}

#[test]
fn a_sum_beside_types_is_ignored() {
    let samples: Vec<_> = (0..3)
        .flat_map(|index| {
            let seconds = 60.0 * f64::from(index);
            [
                sample(seconds, Measure::Transactions, "", 9.0),
                sample(seconds, Measure::Transactions, "Home", 7.0),
            ]
        })
        .collect();
    let table = windows(&samples, 60);
    assert_eq!(table.transactions, ["Home"]);
    assert_eq!(table.cautions.len(), 1, "{:?}", table.cautions);
    let alone: Vec<_> = samples.into_iter().filter(|sample| sample.transaction.is_empty()).collect();
    assert_eq!(windows(&alone, 60).transactions, ["(all)"]);
}
