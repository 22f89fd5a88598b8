//! Single rules of the default method, each in the smallest situation that needs it.

use laggard_changes::{Change, ChangeKind, Observations, SegmentKind};
use laggard_numeric::Matrix;

use crate::pairs::{Difference, analyzed, append, pair, reported};
use crate::queue::{Arrivals, Queue};

/// A frequent type, and one of `rare_rate` a second that costs `factor` times as much in the second half; windows of a minute,
/// `windows` in each half. The load goes up and down, so that counts are informative.
fn with_rare_type(rare_rate: f64, factor: f64, windows: usize, seed: u64) -> Observations {
    let half = |rare_s: f64, seed| {
        let arrivals =
            Arrivals::Open { rates: vec![12.0, rare_rate], load: vec![0.6, 0.9, 1.3, 1.1, 0.8, 1.4, 1.0] };
        Queue { arrivals, ..Queue::open(&[0.02, rare_s], &[12.0, rare_rate], seed) }
    };
    let mut observations = half(0.02, 2 * seed).observe(windows, 60.0);
    append(&mut observations, &half(0.02 * factor, 2 * seed + 1).observe(windows, 60.0));
    observations
}

/// A cell of 30 transactions of the rare type lasts 20 windows; the change is in one of them.
#[test]
fn the_onset_of_a_rare_type_is_dated_to_its_windows() {
    let (mut covered, mut near) = (0, 0);
    for seed in 1..=10 {
        let observations = with_rare_type(0.025, 8.0, 400, seed);
        let analysis = analyzed(&observations);
        let changes = reported(&analysis);
        let [change] = changes[..] else { panic!("{seed}: {changes:?}") };
        assert_eq!(change.transactions.iter().map(|one| one.transaction).collect::<Vec<_>>(), [1]);
        covered += usize::from((change.onset.earliest..=change.onset.latest).contains(&400));
        near += usize::from(change.onset.row.abs_diff(400) <= 5);
    }
    // 95 % of 10 on average.
    assert!(covered >= 8 && near >= 8, "{covered} covered, {near} near");
}

/// Uniform numbers, −1..1.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        2.0 * (state >> 11) as f64 / (1_u64 << 53) as f64 - 1.0
    }
}

/// Two types of 5 and 10 ms; for each pair of numbers of windows, a load and the share of the CPU that another process takes.
fn with_foreign_load(pieces: &[(usize, f64, f64)]) -> Observations {
    let mut random = uniform(3);
    let (mut counts, mut times, mut utilization) = (Vec::new(), Vec::new(), Vec::new());
    for &(windows, load, foreign) in pieces {
        for _ in 0..windows {
            let own = [900.0, 600.0].map(|count| count * load * (1.0 + 0.01 * random()));
            let busy = 0.02 + foreign + (own[0] * 0.005 + own[1] * 0.010) / 60.0 + 0.003 * random();
            times.extend([0.005, 0.010].map(|seconds| seconds * (1.0 + 0.02 * random()) / (1.0 - busy)));
            counts.extend(own);
            utilization.push(busy);
        }
    }
    let rows = utilization.len();
    Observations {
        window_s: 60.0,
        windows: (0..rows).collect(),
        counts: Matrix::from_row_major(rows, 2, counts),
        response_s: Matrix::from_row_major(rows, 2, times),
        utilization,
        cores: 1.0,
    }
}

/// The first windows of the other process are at one load, where a constant and a factor of all costs look the same; the windows
/// after the step of the load tell them apart.
#[test]
fn a_load_step_within_foreign_load_is_one_region() {
    let usual = [(60, 1.0, 0.0), (60, 2.0, 0.0)];
    let foreign = [(30, 1.0, 0.2), (60, 2.0, 0.2)];
    let observations = with_foreign_load(&[&usual[..], &foreign, &[(60, 1.0, 0.0)]].concat());
    let analysis = analyzed(&observations);
    let kinds: Vec<ChangeKind> = reported(&analysis).iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::AnomalyStart, ChangeKind::AnomalyEnd], "{:?}", analysis.changes);
    let is_region = |kind: &SegmentKind| matches!(kind, SegmentKind::Anomalous { .. });
    let regions: Vec<_> = analysis.segments.iter().filter(|segment| is_region(&segment.kind)).collect();
    let [region] = regions[..] else { panic!("{regions:?}") };
    assert!(region.rows.start.abs_diff(120) <= 2 && region.rows.end.abs_diff(210) <= 2, "{region:?}");
}

/// At another load the formula of queueing is off by a few percent, so that a slower host shows only beyond that.
#[test]
fn a_slower_host_at_another_load_is_a_change_of_the_host() {
    let (mut host, mut other) = (0, 0);
    for seed in 1..=6 {
        for loads in [[0.3, 0.45], [0.45, 0.3]] {
            let pair = pair(Difference::Host(1.2), loads, 12, seed);
            let analysis = analyzed(&pair.observations);
            let near = |change: &&&Change| change.onset.row.abs_diff(pair.cut) <= 12;
            let changes = reported(&analysis);
            host +=
                changes.iter().filter(near).filter(|change| change.kind == ChangeKind::HostChange).count();
            other += changes.iter().filter(|change| change.kind == ChangeKind::ApplicationChange).count();
            assert_eq!(changes.iter().filter(|change| change.kind == ChangeKind::WaitChange).count(), 0);
        }
    }
    assert!(host >= 8 && other == 0, "{host} of 12, {other} others");
}

/// Six types of 10 ms that are served this often in a window of a minute; in the second half, type `changed` takes `more_s` of CPU after
/// its response, so that no time changes.
fn with_work_after_response(counts: [f64; 6], changed: usize, more_s: f64) -> Observations {
    let rows = 400;
    let mut random = uniform(7);
    let (mut all, mut times, mut utilization) = (Vec::new(), Vec::new(), Vec::new());
    for t in 0..rows {
        let own: Vec<f64> = counts.iter().map(|count| (count * (1.0 + 0.4 * random())).round()).collect();
        let more = if t < rows / 2 { 0.0 } else { own[changed] * more_s };
        let busy = 0.02 + (own.iter().sum::<f64>() * 0.01 + more) / 60.0 + 0.003 * random();
        times.extend((0..6).map(|_| 0.01 * (1.0 + 0.02 * random()) / (1.0 - busy)));
        all.extend(own);
        utilization.push(busy);
    }
    Observations {
        window_s: 60.0,
        windows: (0..rows).collect(),
        counts: Matrix::from_row_major(rows, 6, all),
        response_s: Matrix::from_row_major(rows, 6, times),
        utilization,
        cores: 1.0,
    }
}

/// A type that would have to cost many times as much after its response stands in for something else that follows its counts.
#[test]
fn a_rare_type_at_many_times_its_cost_is_not_named() {
    let counts = [300.0, 300.0, 300.0, 300.0, 300.0, 20.0];
    let kinds = |observations: &Observations| -> Vec<(ChangeKind, Vec<usize>)> {
        let analysis = analyzed(observations);
        let named = |change: &&Change| {
            (change.kind, change.transactions.iter().map(|one| one.transaction).collect::<Vec<_>>())
        };
        reported(&analysis).iter().map(named).collect()
    };
    let frequent = with_work_after_response(counts, 1, 0.01);
    assert_eq!(kinds(&frequent), [(ChangeKind::ApplicationChange, vec![1])]);
    let rare = with_work_after_response(counts, 5, 0.15);
    assert_eq!(kinds(&rare), [(ChangeKind::Unexplained, vec![])]);
}

/// 25 windows deviate by up to 6 % of the CPU, or by an amount that is always positive: only what adds CPU is foreign.
#[test]
fn windows_that_use_what_their_transactions_do_are_no_foreign_load() {
    let regions = |foreign: &dyn Fn(usize) -> f64| {
        let mut observations = with_foreign_load(&[(120, 0.9, 0.0), (25, 1.2, 0.0), (120, 1.0, 0.0)]);
        (120..145).for_each(|row| observations.utilization[row] += foreign(row));
        let analysis = analyzed(&observations);
        let is_region = |kind: &SegmentKind| matches!(kind, SegmentKind::Anomalous { .. });
        analysis.segments.iter().filter(|segment| is_region(&segment.kind)).count()
    };
    let mut random = uniform(5);
    let deviations: Vec<f64> = (0..25).map(|_| 0.06 * random()).collect();
    let mean = deviations.iter().sum::<f64>() / 25.0;
    assert_eq!(regions(&|row| deviations[row - 120] - mean), 0);
    assert_eq!(regions(&|row| (deviations[row - 120] - mean).abs()), 1);
}

/// A server collapses: for three minutes it is full, and completes an eighth. Part of the minutes before and after are full as well.
#[test]
fn the_windows_beside_saturated_ones_are_left_out() {
    let mut observations = with_foreign_load(&[(200, 1.0, 0.0), (200, 0.6, 0.0)]);
    let completed =
        [(198, 0.8, 0.84), (199, 0.12, 1.0), (200, 0.12, 1.0), (201, 0.12, 1.0), (202, 0.4, 0.85)];
    for (row, share, used) in completed {
        for kind in 0..2 {
            let count = observations.counts.get(row, kind) * share;
            observations.counts.set(row, kind, count);
            observations.response_s.set(row, kind, 0.5 / share);
        }
        observations.utilization[row] = used;
    }
    let analysis = analyzed(&observations);
    assert!(reported(&analysis).is_empty(), "{:?}", analysis.changes);
    let is_normal = |kind: &SegmentKind| matches!(kind, SegmentKind::Normal { .. });
    assert!(analysis.segments.iter().all(|segment| is_normal(&segment.kind)), "{:?}", analysis.segments);
}
