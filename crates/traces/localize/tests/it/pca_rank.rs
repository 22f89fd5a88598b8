//! Mi et al. 2012: Algorithm 1 and the whole chain against reference results, and made-up incidents.

use crate::pipeline::{category, close, indices, list, number};
use laggard_localize::{
    Call, CategoryCalls, CategoryPosition, CloudDiagSettings, ClusterSize, MiSettings, MinorFate, Mode,
    ReplicaHistogram, RequestRow, SplitDoubt, Spread, cluster_sequences, major_clusters, mi,
};
use laggard_model::{Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use laggard_testkit::golden;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

const THREADS: NonZeroUsize = NonZeroUsize::new(3).expect("three is not zero");

#[test]
fn algorithm_1_agrees_with_the_reference() {
    let reference = golden("clusters/algorithm1");
    let sequences: Vec<Vec<u8>> = list(&reference["sequences"])
        .iter()
        .map(|text| text.as_str().expect("a sequence").as_bytes().to_vec())
        .collect();
    let clusters = cluster_sequences(&sequences);
    let sizes: Vec<ClusterSize<'_, u8>> = clusters
        .iter()
        .map(|members| ClusterSize { sequence: &sequences[members[0]], requests: members.len() as u64 })
        .collect();
    let text = |at: usize| String::from_utf8(sizes[at].sequence.to_vec()).expect("letters");
    for (at, expected) in list(&reference["clusters"]).iter().enumerate() {
        assert_eq!(text(at), expected["sequence"].as_str().expect("a sequence"));
        assert_eq!(Some(sizes[at].requests), expected["count"].as_u64());
    }
    for (mode, key) in [(Mode::Paper, "assigned_literal"), (Mode::Robust, "assigned_robust")] {
        let found = major_clusters(&sizes, number(&reference["alpha"]), u64::MAX, mode, u64::MAX);
        let majors: Vec<String> = found.majors.iter().map(|&at| text(at)).collect();
        let expected: Vec<&str> = list(&reference["majors"]).iter().filter_map(|at| at.as_str()).collect();
        assert_eq!(majors, expected);
        let fates: BTreeMap<String, Option<String>> = (found.minors.iter())
            .map(|&(minor, fate)| match fate {
                MinorFate::Joins(major) => (text(minor), Some(text(major))),
                MinorFate::Unlike | MinorFate::NotCompared => (text(minor), None),
            })
            .collect();
        for (minor, major) in reference[key].as_object().expect("an object") {
            let expected = major.as_str();
            assert_eq!(fates[minor].as_deref(), expected, "{key}: {minor}");
        }
    }
}

#[test]
fn the_literal_chain_agrees_with_the_reference() {
    let reference = golden("pipeline/category");
    for case in list(&reference["cases"]) {
        let Some(expected) = case.get("mi_literal_self") else { continue };
        let category = category(case);
        let settings = CloudDiagSettings::new(Mode::Paper);
        let found = mi(&[category], &MiSettings::default(), &settings, THREADS);
        let cluster = &found.clusters[0];
        assert_eq!(Some(cluster.split.components as u64), expected["k"].as_u64());
        // The first k components are the fewest that hold 95 % of the variance.
        let (k, shares) = (cluster.split.components, &cluster.split.cumulative_variance);
        assert_eq!(shares.iter().position(|&share| share >= 0.95), Some(k - 1));
        // The reference is in microseconds, ours in nanoseconds.
        let limit = number(&expected["q"]) * 1e6;
        close(cluster.split.limit / limit, 1.0, 1e-6, "limit");
        let anomalous: Vec<usize> =
            (0..cluster.split.anomalous.len()).filter(|&row| cluster.split.anomalous[row]).collect();
        assert_eq!(anomalous, indices(&expected["anomalous_rows"]));
        assert_eq!(cluster.split.principal, indices(&expected["principal"]));
        for (position, p_value) in expected["p"].as_object().expect("an object") {
            let at: usize = position.parse().expect("an index");
            close(cluster.positions[at].expect("a column").p_value, number(p_value), 1e-6, "p-value");
        }
        let flagged: Vec<usize> = (0..cluster.positions.len())
            .filter(|&at| cluster.positions[at].is_some_and(|found| found.flagged))
            .collect();
        assert_eq!(flagged, indices(&expected["flagged"]));
    }
}

/// Numbers that look random and are the same everywhere, 0..1.
fn noise(row: usize, column: usize) -> f64 {
    let mixed = (row as u64 * 1_000_003 + column as u64 * 7919 + 17).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Requests that call `operations` in a row, each about a millisecond and at replica `row mod 8`; where `slow`
/// says so, operation 2 takes 30 ms more.
fn requests(id: u64, operations: &[usize], rows: usize, slow: impl Fn(usize) -> bool) -> CategoryCalls {
    let mut out =
        CategoryCalls { id: Fingerprint::from_bytes(&id.to_le_bytes()), ..CategoryCalls::default() };
    out.positions = operations
        .iter()
        .enumerate()
        .map(|(at, &operation)| CategoryPosition {
            operation: OperationId::from_index(operation),
            parent: (at > 0).then_some(0),
        })
        .collect();
    for row in 0..rows {
        let time = |column: usize, operation: usize| {
            let fault = if operation == 2 && slow(row) { 30e6 } else { 0.0 };
            (1e6 * (0.8 + 0.4 * noise(row + id as usize * 10_000, column)) + fault) as u64
        };
        let times: Vec<u64> = operations.iter().enumerate().map(|(at, &of)| time(at, of)).collect();
        out.requests.push(RequestRow {
            start: Timestamp::from_unix_ns(row as i64),
            trace: TraceId::from_value(u128::from(id) * 1_000_000 + row as u128 + 1),
            latency_ns: times.iter().sum(),
            weight: 1.0,
        });
        out.calls.extend(times.iter().enumerate().map(|(position, &time_ns)| Call {
            request: row as u32,
            position: position as u32,
            replica: ReplicaId::from_index(row % 8),
            time_ns,
        }));
    }
    out
}

#[test]
fn half_of_the_calls_on_one_replica() {
    let slow = |row: usize| row % 8 == 5 && row % 16 < 8;
    let data = [requests(1, &[0, 1, 2, 3], 800, slow)];
    let found = mi(&data, &MiSettings::default(), &CloudDiagSettings::default(), THREADS);
    assert_eq!(found.suspects.len(), 1);
    let suspect = &found.suspects[0];
    assert_eq!((suspect.operation, suspect.spread), (OperationId::from_index(2), Spread::Localized));
    assert_eq!(suspect.replicas, [ReplicaId::from_index(5)]);
    assert_eq!((suspect.hit.len(), suspect.excess.calls), (50, 50));
    assert!((29e6..31e6).contains(&suspect.excess.median_ns));
    assert!(suspect.excess.total_ns <= found.excess_ns * 1.01);
    let histograms = &found.histograms[0];
    let ratio = |histogram: &&ReplicaHistogram| histogram.dissimilarity.ratio;
    let most = histograms.replicas.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b))).expect("a ratio");
    assert_eq!((most.replica, most.values), (ReplicaId::from_index(5), 100));
    // Half of its calls, and no others, take 30 ms longer.
    let above = |histogram: &ReplicaHistogram| -> f64 {
        let bins = histograms.edges_ns.windows(2).zip(&histogram.shares);
        bins.filter(|(edges, _)| edges[0] > 5e6).map(|(_, share)| share).sum()
    };
    assert!((above(most) - 0.5).abs() < 1e-12);
    assert!(histograms.replicas.iter().all(|other| other.replica == most.replica || above(other) == 0.0));
    assert_eq!(found, mi(&data, &MiSettings::default(), &CloudDiagSettings::default(), NonZeroUsize::MIN));
}

#[test]
fn healthy_and_empty_inputs() {
    let settings = CloudDiagSettings::default();
    let data = [requests(1, &[0, 1, 2, 3], 800, |_| false)];
    assert!(mi(&data, &MiSettings::default(), &settings, THREADS).suspects.is_empty());
    assert!(mi(&[], &MiSettings::default(), &settings, THREADS).clusters.is_empty());
    let few = mi(&[requests(1, &[0, 1], 9, |row| row == 3)], &MiSettings::default(), &settings, THREADS);
    assert_eq!(few.clusters[0].split.doubt, SplitDoubt::TooFewRequests);
}

/// The minor cluster has one more call, of an operation that only it has; its slow calls count for the major cluster, and
/// that operation belongs to no major cluster.
#[test]
fn requests_of_a_minor_cluster_count_in_the_major_one() {
    let major = requests(1, &[0, 1, 2, 3], 400, |row| row % 20 == 5);
    let minor = requests(2, &[0, 1, 9, 2, 3], 80, |row| row % 8 == 3);
    let found = mi(&[major, minor], &MiSettings::default(), &CloudDiagSettings::default(), THREADS);
    assert_eq!((found.clusters.len(), found.uncovered_requests), (1, 0));
    let [first, second] = found.call_clusters[..] else { panic!("two clusters") };
    assert_eq!((first.category, first.requests, first.positions, first.minor), (0, 400, 4, None));
    assert_eq!((second.category, second.requests, second.minor), (1, 80, Some(MinorFate::Joins(0))));
    assert_eq!((&found.clusters[0].categories, found.clusters[0].requests), (&vec![0, 1], 480));
    let suspect = &found.suspects[0];
    assert_eq!((suspect.operation, &suspect.categories), (OperationId::from_index(2), &vec![0]));
    let hits_in = |category| suspect.hit.iter().filter(|&&(at, _)| at == category).count();
    assert_eq!((hits_in(0), hits_in(1)), (20, 10));
}

#[test]
fn requests_unlike_every_major_cluster_are_counted() {
    let major = requests(1, &[0, 1, 2, 3], 400, |_| false);
    let other = requests(2, &[0, 7, 8, 9, 8, 7], 60, |row| row % 8 == 3);
    let found = mi(&[major, other], &MiSettings::default(), &CloudDiagSettings::default(), THREADS);
    assert_eq!((found.clusters.len(), found.uncovered_requests), (1, 60));
}

/// Two call trees with one sequence are one cluster in the paper and two here.
#[test]
fn the_papers_key_is_the_sequence() {
    let one = requests(1, &[0, 1, 2], 60, |_| false);
    let mut two = requests(2, &[0, 1, 2], 50, |_| false);
    two.positions[2].parent = Some(1);
    let clusters = |mode| {
        let own = MiSettings { coverage: 1.0, ..MiSettings::default() };
        mi(&[one.clone(), two.clone()], &own, &CloudDiagSettings::new(mode), THREADS).clusters.len()
    };
    assert_eq!((clusters(Mode::Paper), clusters(Mode::Robust)), (1, 2));
}

#[test]
fn wide_trees_keep_the_columns_that_vary_and_long_lists_are_thinned() {
    let operations: Vec<usize> = (0..30).collect();
    let data = [requests(1, &operations, 300, |row| row % 8 == 2)];
    let settings = CloudDiagSettings { columns_max: 5, rows_max: 100, ..CloudDiagSettings::default() };
    let found = mi(&data, &MiSettings::default(), &settings, THREADS);
    let cluster = &found.clusters[0];
    assert_eq!((cluster.requests, cluster.rows_left_out, cluster.columns_left_out), (100, 200, 25));
    assert!(cluster.positions[2].is_some());
}
