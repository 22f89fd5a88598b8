//! Categories with too few requests, tested together with similar ones.

use laggard_localize::{
    Call, CategoryCalls, CategoryPosition, CloudDiag, CloudDiagSettings, RequestRow, cloud_diag,
    cloud_diag_with_small,
};
use laggard_model::{Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use std::num::NonZeroUsize;

const MS: u64 = 1_000_000;

/// A chain of calls; `times_ms` says how long each operation of a request works. Every request has its own speed factor.
fn chain(
    seed: u64,
    operations: &[usize],
    requests: u64,
    times_ms: impl Fn(u64, usize) -> u64,
) -> CategoryCalls {
    let mut out = CategoryCalls {
        id: Fingerprint::from_bytes(
            &operations.iter().map(|&operation| operation as u8).collect::<Vec<u8>>(),
        ),
        ..CategoryCalls::default()
    };
    out.positions = (0..).zip(operations).map(|(at, &operation)| position(at, operation)).collect();
    for request in 0..requests {
        let number = seed * 1000 + request;
        let pace = |at: usize| 100 + (number * 7 + at as u64 * 13) % 11;
        let times: Vec<u64> = (operations.iter().enumerate())
            .map(|(at, &operation)| times_ms(request, operation) * MS / 100 * pace(at))
            .collect();
        out.requests.push(RequestRow {
            start: Timestamp::from_unix_ns((number * 31 % 997) as i64),
            trace: TraceId::from_value(u128::from(number) + 1),
            latency_ns: times.iter().sum(),
            weight: 1.0,
        });
        out.calls.extend((0..).zip(&times).map(|(at, &time_ns)| Call {
            request: request as u32,
            position: at,
            replica: ReplicaId::from_index((number % 3) as usize),
            time_ns,
        }));
    }
    out
}

fn position(at: u32, operation: usize) -> CategoryPosition {
    CategoryPosition { operation: OperationId::from_index(operation), parent: at.checked_sub(1) }
}

/// Twelve requests of one kind, and 30 kinds of three requests with one more call each.
fn long_tail(times_ms: impl Fn(u64, u64, usize) -> u64) -> Vec<CategoryCalls> {
    let large = chain(1, &[0, 1, 2, 3], 12, |request, operation| times_ms(0, request, operation));
    let small = (0..30).map(|kind| {
        chain(2 + kind, &[0, 1, 10 + kind as usize, 2, 3], 3, |request, operation| {
            times_ms(kind + 1, request, operation)
        })
    });
    std::iter::once(large).chain(small).collect()
}

fn findings(categories: &[CategoryCalls]) -> CloudDiag {
    cloud_diag_with_small(categories, &CloudDiagSettings::default(), NonZeroUsize::MIN)
}

#[test]
fn slow_calls_of_small_categories_are_found() {
    let categories = long_tail(
        |kind, request, operation| if operation == 2 && kind % 4 == 1 && request == 0 { 60 } else { 5 },
    );
    let alone = cloud_diag(&categories, &CloudDiagSettings::default(), NonZeroUsize::MIN);
    assert_eq!(alone.suspects, [], "too few requests of a kind");
    let found = findings(&categories);
    assert!(found.categories.iter().all(|category| category.gate.judged));
    let [suspect] = &found.suspects[..] else { panic!("{:?}", found.suspects) };
    let slow: Vec<usize> = (0..30).filter(|kind| (kind + 1) % 4 == 1).map(|kind| kind + 1).collect();
    assert_eq!((suspect.operation.index(), &suspect.categories), (2, &slow));
    let expected: Vec<(usize, u32)> = slow.iter().map(|&category| (category, 0)).collect();
    assert_eq!(suspect.hit, expected);
    assert!(suspect.positions.iter().all(|&(_, position)| position == 3), "{:?}", suspect.positions);
    let anomalous = |(index, category): (usize, &laggard_localize::CategoryFinding)| {
        category.gate.anomalous.then_some(index)
    };
    assert_eq!(found.categories.iter().enumerate().filter_map(anomalous).collect::<Vec<usize>>(), slow);
}

#[test]
fn level_differences_between_categories_are_no_evidence() {
    let levels = long_tail(|kind, _, operation| if operation == 2 { 5 + kind % 5 * 5 } else { 5 });
    assert_eq!(findings(&levels).suspects, [], "a kind of request takes longer than another");
    let others = long_tail(|kind, _, operation| if operation >= 10 { 5 + kind * 20 } else { 5 });
    assert_eq!(findings(&others).suspects, [], "calls that only some kinds make");
}

#[test]
fn large_and_dissimilar_categories_are_not_pooled() {
    let categories = [
        chain(1, &[0, 1, 2, 3], 40, |_, _| 5),
        chain(2, &[0, 1, 2, 3, 4], 12, |_, _| 5),
        chain(3, &[0, 7, 8, 9, 6, 5], 3, |_, _| 5),
        chain(4, &[9, 1, 2, 3], 3, |_, _| 5),
    ];
    let together = findings(&categories);
    let alone = cloud_diag(&categories, &CloudDiagSettings::default(), NonZeroUsize::MIN);
    assert_eq!(together, alone);
    let judged: Vec<bool> = together.categories.iter().map(|category| category.gate.judged).collect();
    assert_eq!(judged, [true, true, false, false]);
}
