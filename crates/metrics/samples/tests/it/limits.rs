//! Limits of tables.

use crate::{SECOND, counts, sample, settings, table_of, windows};
use laggard_model::{Loss, Measure, Nanos};
use laggard_samples::{WindowError, WindowSettings};

#[test]
fn samples_far_from_the_others_are_dropped() {
    let mut samples: Vec<_> = (0..300)
        .map(|index| sample(1.7e9 + 60.0 * f64::from(index), Measure::Transactions, "Home", 1.0))
        .collect();
    for ns in [0, i64::MIN, i64::MAX, 5 * SECOND] {
        samples.push(crate::GeneratedSamples { ns, ..sample(0.0, Measure::Transactions, "Home", 1.0) });
    }
    let table = windows(&samples, 60);
    assert_eq!(table.losses.count(Loss::StraySample), 4);
    assert_eq!((table.windows, counts(&table, "Home")[7]), (300, 1.0));
}

#[test]
fn a_table_beyond_the_memory_limit_is_rejected() {
    let names: Vec<&'static str> = (0..90).map(|index| &*format!("type {index}").leak()).collect();
    let samples: Vec<_> = names
        .iter()
        .flat_map(|name| {
            [0.0, 1.0, 526_000.0].map(|second| sample(second, Measure::Completion, name, f64::NAN))
        })
        .collect();
    let error = table_of(&samples).finish(&settings(1)).unwrap_err();
    assert!(matches!(error, WindowError::TooLarge { .. }), "{error}");
}

#[test]
fn many_types_are_pooled() {
    let names: Vec<&'static str> = (0..150).map(|index| &*format!("/item/{index:03}").leak()).collect();
    let samples: Vec<_> = (0..3)
        .flat_map(|minute| {
            let value = |index: usize| if index == 149 { 5.0 } else { 1.0 };
            let seconds = 60.0 * f64::from(minute);
            names
                .iter()
                .enumerate()
                .map(move |(number, name)| sample(seconds, Measure::Transactions, name, value(number)))
        })
        .collect();
    let table = windows(&samples, 60);
    assert_eq!(table.transactions.len(), 100);
    assert_eq!(counts(&table, "(other)"), [51.0; 3]);
    assert_eq!(counts(&table, "/item/149"), [5.0; 3], "the largest stays");
    assert_eq!(table.losses.count(Loss::TransactionLimit), 51);
}

#[test]
fn odd_window_lengths_are_an_error() {
    for length in [Nanos::ZERO, Nanos::from_ns(10), Nanos::from_ns(u64::MAX)] {
        let settings = WindowSettings { length, ..WindowSettings::default() };
        let error = table_of(&[]).finish(&settings).unwrap_err();
        assert_eq!(error, WindowError::Length { length });
    }
    assert_eq!(table_of(&[]).finish(&settings(60)).unwrap_err(), WindowError::NoSamples { samples: 0 });
}

#[test]
fn any_value_at_any_time_is_accepted() {
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, f64::MAX, 1e-300];
    let times = [i64::MIN, i64::MIN + 1, -1, 0, 1, SECOND, 61 * SECOND, i64::MAX - 1, i64::MAX];
    let measures = [
        Measure::Utilization,
        Measure::CpuSecondsTotal,
        Measure::Cores,
        Measure::Completion,
        Measure::Transactions,
        Measure::TransactionsTotal,
        Measure::TransactionRate,
        Measure::ResponseTime,
        Measure::ResponseSeconds,
        Measure::ResponseSecondsTotal,
        Measure::Calls,
        Measure::CallsTotal,
        Measure::CallTime,
        Measure::CallSeconds,
        Measure::CallSecondsTotal,
        Measure::Clients,
    ];
    for seconds in [1, 60, 86_400] {
        for value in values {
            let samples: Vec<_> = measures
                .into_iter()
                .flat_map(|measure| {
                    times.map(|ns| crate::GeneratedSamples { ns, ..sample(0.0, measure, "Home", value) })
                })
                .collect();
            let _ = table_of(&samples).finish(&settings(seconds));
        }
    }
}

#[test]
fn servers_without_cpu_are_listed_up_to_a_limit() {
    let name = |index: usize| -> &'static str { format!("s{index:04}").leak() };
    let mut samples: Vec<_> = (0..3)
        .flat_map(|minute| {
            let seconds = 60.0 * f64::from(minute);
            (0..1_200).map(move |index| crate::GeneratedSamples {
                server: name(index),
                tier: "made up",
                ..sample(seconds, Measure::Transactions, "Home", 1.0)
            })
        })
        .collect();
    for minute in 0..3 {
        let busy = sample(60.0 * f64::from(minute), Measure::Utilization, "", 0.5);
        samples.push(crate::GeneratedSamples { server: "zz", tier: "front", ..busy });
    }
    let table = windows(&samples, 60);
    assert_eq!(table.servers.len(), 1_001);
    assert!(table.servers.iter().any(|server| server.server == "zz"), "one with CPU is always listed");
    let caution = "200 servers without CPU utilization were left out: at most 1000 are listed.";
    assert!(table.cautions.iter().any(|text| text == caution), "{:?}", table.cautions);
    let one = WindowSettings { servers: vec![name(1_199).to_owned()], ..settings(60) };
    let table = table_of(&samples).finish(&one).unwrap();
    assert_eq!((table.servers.len(), &*table.servers[0].server), (1, "s1199"), "a requested one is listed");
}
