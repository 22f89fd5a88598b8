//! Small synthetic incidents with an obvious answer.

use laggard_localize::{
    Call, CategoryCalls, CategoryPosition, CloudDiagSettings, Mode, RequestRow, Sparsity, Spread, cloud_diag,
    cloud_diag_with_ranks, decompose, gate,
};
use laggard_model::{Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use std::num::NonZeroUsize;

/// Five operations below an entry, 600 requests over `replicas` replicas; every time is `usual · noise ·
/// slow(operation, replica, request)`, with a small repeatable noise.
fn category(replicas: u32, slow: impl Fn(u32, u32, u32) -> f64) -> CategoryCalls {
    let mut out = CategoryCalls { id: Fingerprint::from_bytes(b"made up"), ..CategoryCalls::default() };
    for at in 0..6 {
        let parent = (at > 0).then_some(0);
        out.positions.push(CategoryPosition { operation: OperationId::from_index(at), parent });
    }
    let mut state = 1_u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    for request in 0..600 {
        let mut latency_ns = 0;
        for position in 0..6 {
            let replica = (uniform() * f64::from(replicas)) as u32;
            let noise = 0.9 + 0.2 * uniform();
            let time_ns = (100_000.0 * noise * slow(position, replica, request)) as u64;
            latency_ns += time_ns;
            let replica = ReplicaId::from_index(replica as usize);
            out.calls.push(Call { request, position, replica, time_ns });
        }
        out.requests.push(RequestRow {
            start: Timestamp::from_unix_ns(i64::from(request)),
            trace: TraceId::from_value(u128::from(request) + 1),
            latency_ns,
            weight: 1.0,
        });
    }
    out
}

fn diagnose(category: CategoryCalls, mode: Mode) -> laggard_localize::CloudDiag {
    cloud_diag(&[category], &CloudDiagSettings::new(mode), NonZeroUsize::MIN)
}

#[test]
fn quiet_data_have_no_suspects() {
    let found = diagnose(category(10, |_, _, _| 1.0), Mode::Robust);
    assert!(found.suspects.is_empty());
}

#[test]
fn a_common_factor_of_the_whole_request_has_no_suspects() {
    // Heavy-tailed request sizes: every operation of a request scaled together.
    let size = |request: u32| ((f64::from(request * 37 % 600) / 600.0 - 0.5) * 6.0).exp();
    let found = diagnose(category(10, |_, _, request| size(request)), Mode::Robust);
    assert!(found.categories[0].gate.anomalous, "its latency is dispersed");
    assert!(found.suspects.is_empty(), "{:?}", found.suspects);
}

#[test]
fn requests_of_a_single_call_can_be_diagnosed() {
    let slow = |_, replica, request: u32| {
        if replica == 7 && request.is_multiple_of(2) { 40.0 } else { 1.0 }
    };
    let mut category = category(10, slow);
    category.positions.truncate(1);
    category.calls.retain(|call| call.position == 0);
    for (request, call) in category.requests.iter_mut().zip(&category.calls) {
        request.latency_ns = call.time_ns;
    }
    let found = diagnose(category, Mode::Robust);
    assert_eq!(found.suspects.len(), 1);
    assert_eq!(found.suspects[0].replicas, [ReplicaId::from_index(7)]);
}

#[test]
fn one_intermittently_slow_replica_is_named() {
    let slow = |position, replica, request: u32| {
        if position == 3 && replica == 7 && request.is_multiple_of(2) { 40.0 } else { 1.0 }
    };
    let found = diagnose(category(10, slow), Mode::Robust);
    assert_eq!(found.suspects.len(), 1);
    let suspect = &found.suspects[0];
    assert_eq!((suspect.operation.index(), suspect.spread), (3, Spread::Localized));
    assert_eq!(suspect.replicas, [ReplicaId::from_index(7)]);
    assert!(suspect.hit.iter().all(|&(_, request)| request.is_multiple_of(2)));
}

#[test]
fn a_fault_on_every_replica_is_everywhere() {
    let slow = |position, _, request: u32| {
        if position == 2 && request.is_multiple_of(12) { 30.0 } else { 1.0 }
    };
    let found = diagnose(category(10, slow), Mode::Robust);
    assert_eq!((found.suspects.len(), found.suspects[0].spread), (1, Spread::Everywhere));
    assert!(found.suspects[0].replicas.is_empty());
    let few = diagnose(category(3, slow), Mode::Robust);
    assert_eq!(few.suspects[0].spread, Spread::Undecided);
}

#[test]
fn a_replica_slow_all_the_time_is_found_among_its_peers() {
    let found = diagnose(category(10, |_, replica, _| if replica == 4 { 2.0 } else { 1.0 }), Mode::Robust);
    assert_eq!(found.suspects.len(), 6, "everything on it is slow");
    assert!(found.suspects.iter().all(|suspect| suspect.replicas == [ReplicaId::from_index(4)]));
}

#[test]
fn the_paper_names_every_replica_with_a_deviation() {
    let slow = |position, replica, request: u32| {
        if position == 3 && replica < 2 && request.is_multiple_of(2) { 60.0 } else { 1.0 }
    };
    let found = diagnose(category(10, slow), Mode::Paper);
    assert_eq!(found.suspects.len(), 1);
    let mut replicas = found.suspects[0].replicas.clone();
    replicas.sort_unstable();
    assert_eq!(replicas, [0, 1].map(ReplicaId::from_index));
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let slow = |position, replica, request: u32| {
        if position == 3 && replica == 7 && request.is_multiple_of(2) { 40.0 } else { 1.0 }
    };
    let categories = [category(10, slow), category(5, slow), category(7, |_, _, _| 1.0)];
    let run = |threads| {
        let threads = NonZeroUsize::new(threads).expect("not zero");
        cloud_diag(&categories, &CloudDiagSettings::default(), threads)
    };
    assert_eq!(run(1), run(3));
}

/// One replica is slow at one operation in every tenth of its requests, and more.
fn sometimes_slow(position: u32, replica: u32, request: u32) -> f64 {
    if position == 3 && replica == 7 && request.is_multiple_of(2) { 40.0 } else { 1.0 }
}

#[test]
fn equal_weights_change_nothing() {
    let plain = category(10, sometimes_slow);
    let mut weighted = plain.clone();
    weighted.requests.iter_mut().for_each(|request| request.weight = 37.5);
    assert_eq!(diagnose(plain, Mode::Robust), diagnose(weighted, Mode::Robust));
}

/// One in three requests without a slow call was sampled, with weight three; all slow ones, with weight one.
#[test]
fn oversampled_slow_requests_do_not_hide_their_replica() {
    let mut sampled = category(10, sometimes_slow);
    let median = 600_000;
    for request in &mut sampled.requests {
        request.weight = if request.latency_ns > 3 * median { 1.0 } else { 3.0 };
    }
    let slow = sampled.requests.iter().filter(|request| request.weight == 1.0).count() as f64;
    let found = diagnose(sampled.clone(), Mode::Robust);
    assert_eq!(found.suspects.len(), 1);
    assert_eq!(found.suspects[0].replicas, [ReplicaId::from_index(7)]);
    assert!(found.suspects[0].excess.total_ns / found.excess_ns > 0.5);
    let gate = found.categories[0].gate;
    assert!(gate.effective_requests < sampled.requests.len() as f64 && gate.judged, "{gate:?}");
    let plain = diagnose(category(10, sometimes_slow), Mode::Robust).categories[0].gate;
    assert_eq!(gate.tail_requests, plain.tail_requests);
    assert!(slow > 10.0 && gate.tail_excess_share < plain.tail_excess_share);
}

/// Times of all positions in proportion to the size of the request, with `slow(position, request)` times that.
fn proportional(slow: impl Fn(u32, u32) -> f64) -> CategoryCalls {
    let mut out = category(10, |_, _, _| 1.0);
    out.requests.iter_mut().for_each(|request| request.latency_ns = 0);
    for call in &mut out.calls {
        let size = 1.0 + f64::from(call.request * 37 % 600) / 600.0;
        let usual_ns = 1e9 * f64::from(call.position + 1) * size;
        call.time_ns = (usual_ns * slow(call.position, call.request)) as u64;
        out.requests[call.request as usize].latency_ns += call.time_ns;
    }
    out
}

/// All times of a request are its size times those of its positions: rank 1. What is slow at one position adds 1.
#[test]
fn ranks_of_a_matrix_and_its_parts_are_reported() {
    let slow = |position, request: u32| if position == 3 && request % 12 == 5 { 40.0 } else { 1.0 };
    let data = [proportional(slow)];
    let settings = CloudDiagSettings { tolerance: 1e-7, ..CloudDiagSettings::default() };
    let found = cloud_diag_with_ranks(&data, &settings, NonZeroUsize::MIN);
    let ranks = found.categories[0].ranks.expect("it is decomposed");
    assert_eq!((ranks.matrix, ranks.low_rank, ranks.sparse), (2, 1, 1));
    let plain = cloud_diag(&data, &settings, NonZeroUsize::MIN);
    assert_eq!((plain.categories[0].ranks, plain.suspects), (None, found.suspects));
}

/// Outlier pursuit puts only the position unrelated to the others into the sparse part.
#[test]
fn the_sparse_part_can_be_columns() {
    let unrelated =
        |position, request: u32| if position == 3 { 1.0 + f64::from(request * 59 % 101) } else { 1.0 };
    let data = proportional(unrelated);
    let deviating = |sparsity| {
        let settings = CloudDiagSettings { sparsity, ..CloudDiagSettings::new(Mode::Paper) };
        let gate = gate(&data.latencies(), &settings);
        let done = decompose(&data, &gate, &settings, NonZeroUsize::MIN);
        let columns = done.positions.len();
        let has_deviation =
            |column: &usize| done.sparse.iter().skip(*column).step_by(columns).any(|value| value.abs() > 1e6);
        (0..columns).filter(has_deviation).collect::<Vec<_>>()
    };
    assert_eq!(deviating(Sparsity::Columns), [3]);
    assert_ne!(deviating(Sparsity::Entries), [3]);
}
