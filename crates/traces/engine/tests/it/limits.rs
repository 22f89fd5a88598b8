//! Memory, names and windows.

use crate::folds::record;
use laggard_engine::{Ingest, IngestSettings};
use laggard_model::{Loss, Sink, SpanRecord, Timestamp};
use std::collections::HashMap;
use std::num::NonZeroUsize;

#[test]
fn beyond_the_memory_limit_complete_traces_are_dropped() {
    let settings = IngestSettings { memory_bytes: 4 << 20, ..IngestSettings::default() };
    let mut ingest = Ingest::new(settings);
    let traces = 400_000;
    for span in 0..3 {
        for trace in 0..traces {
            ingest.span(&record(trace, span));
        }
    }
    let table = ingest.finish(NonZeroUsize::MIN);
    let mut sizes: HashMap<_, u64> = HashMap::new();
    table.buckets().iter().flatten().for_each(|row| *sizes.entry(row.trace).or_default() += 1);
    assert!(sizes.values().all(|&size| size == 3), "no trace is cut");
    let thinning_factor = table.thinning_factor();
    assert!((8..=64).contains(&thinning_factor), "retained one in {thinning_factor}");
    let expected = traces as f64 / thinning_factor as f64;
    assert!((sizes.len() as f64 - expected).abs() < 0.1 * expected, "a fair sample");
    assert_eq!(table.losses().count(Loss::MemoryLimit) + table.spans(), 3 * traces);
}

#[test]
fn one_endless_trace_cannot_exhaust_memory() {
    let settings = IngestSettings { memory_bytes: 2 << 20, ..IngestSettings::default() };
    let mut ingest = Ingest::new(settings);
    // The hash of this id is 0, so it survives every thinning.
    let survivor = 0x9E37_79B9_7F4A_7C15;
    for span in 0..300_000 {
        ingest.span(&record(survivor, span));
    }
    let table = ingest.finish(NonZeroUsize::MIN);
    assert!(table.spans() < 100_000, "retained {}", table.spans());
    assert_eq!(table.losses().count(Loss::MemoryLimit) + table.spans(), 300_000);
}

#[test]
fn names_that_contain_ids_are_pooled_beyond_a_limit() {
    let mut ingest = Ingest::new(IngestSettings::default());
    let count = 200_500_u64;
    for number in 0..count {
        let operation = format!("GET /order/{number}");
        ingest.span(&SpanRecord { operation: &operation, ..record(number, 0) });
    }
    ingest.span(&SpanRecord { operation: &"x".repeat(100_000), ..record(0, 1) });
    let table = ingest.finish(NonZeroUsize::MIN);
    assert_eq!(table.losses().count(Loss::NameLimit), 501);
    assert_eq!(table.names().operations(), 200_001);
    assert_eq!(table.spans(), count + 1);
}

#[test]
fn rows_outside_the_window_are_dropped() {
    let settings = IngestSettings {
        since: Timestamp::from_unix_ns(100),
        until: Timestamp::from_unix_ns(200),
        ..IngestSettings::default()
    };
    let mut ingest = Ingest::new(settings);
    for trace in 0..100 {
        ingest.span(&record(trace, 0));
    }
    let table = ingest.finish(NonZeroUsize::MIN);
    assert_eq!((table.spans(), table.outside_window()), (11, 89));
}
