//! Which replicas of a suspect operation (Mi 2012 §5, Eq. 2 to 5, Algorithm 2).

use crate::cloud_diag::replicas::{ReplicaObservations, ReplicaTest, Spread, test_replicas};
use crate::cloud_diag::settings::{CloudDiagSettings, Mode};
use laggard_model::ReplicaId;
use laggard_numeric::{BinRule, Dissimilarity, HistogramBins, dissimilarities, mad, median_of};
use std::collections::BTreeMap;

/// Robust: replicas with fewer values are not ranked because their histograms are noise.
const VALUES_MIN: usize = 20;
/// Most replicas whose histograms are compared pairwise; those with the most values are used.
const COMPARED_MAX: usize = 500;
/// A value exceeds when its logarithm is this many MAD above the median.
const EXCEED_MAD: f64 = 3.5;
/// Paper: a ratio differs significantly beyond this robust z …
const RATIO_Z_MIN: f64 = 3.5;
/// … and this multiple of the median ratio.
const RATIO_FACTOR_MIN: f64 = 1.5;
/// Replicas needed before "none differs" means that the fault is everywhere.
const REPLICAS_MIN: usize = 5;

/// One measured time of a suspect operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Observation {
    pub(crate) replica: ReplicaId,
    /// Time, nanoseconds.
    pub(crate) time_ns: f64,
    /// Time over the usual time at its position; 1 is usual.
    pub(crate) ratio: f64,
}

/// Times of the replicas of an operation in common bins.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReplicaHistograms {
    /// Ends of the bins, nanoseconds, growing; one more than bins.
    pub edges_ns: Vec<f64>,
    /// By replica.
    pub replicas: Vec<ReplicaHistogram>,
}

/// Times of a replica, and how much they differ from those of the others.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaHistogram {
    /// The replica.
    pub replica: ReplicaId,
    /// Number of its times.
    pub values: u64,
    /// Share of its times in each bin, 0..1.
    pub shares: Vec<f64>,
    /// Mean Jensen–Shannon distance to the others, and share of all distances.
    pub dissimilarity: Dissimilarity,
}

/// The result for all replicas of one operation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ReplicaJudgment {
    pub(crate) spread: Spread,
    pub(crate) tests: Vec<ReplicaTest>,
    pub(crate) histograms: ReplicaHistograms,
}

/// Judges the replicas of one operation: in paper mode by their dissimilarity ratios, in robust mode by the
/// tests against all others, with the ratios as evidence.
pub(crate) fn judge(observed: &[Observation], shared: &CloudDiagSettings) -> ReplicaJudgment {
    let histograms = replica_histograms(observed, shared.mode);
    let (spread, mut tests) =
        test_replicas(&for_test(observed), shared.replica_level, shared.replica_factor_min);
    if shared.mode == Mode::Robust {
        return ReplicaJudgment { spread, tests, histograms };
    }
    let unlike = outlier_replicas(&histograms.replicas);
    tests.iter_mut().for_each(|test| test.flagged = unlike.contains(&test.replica));
    let spread = match (unlike.is_empty(), tests.len() >= REPLICAS_MIN) {
        (false, _) => Spread::Localized,
        (true, true) => Spread::Everywhere,
        (true, false) => Spread::Undecided,
    };
    ReplicaJudgment { spread, tests, histograms }
}

fn for_test(observed: &[Observation]) -> ReplicaObservations {
    let logs: Vec<f64> =
        observed.iter().map(|observation| observation.ratio.max(f64::MIN_POSITIVE).ln()).collect();
    let center = median_of(&logs);
    let spread = mad(&logs, center);
    let limit = center + EXCEED_MAD * spread;
    let scale = if spread > 0.0 { spread } else { 1.0 };
    ReplicaObservations {
        replicas: observed.iter().map(|observation| observation.replica).collect(),
        standardized: logs.iter().map(|log| (log - center) / scale).collect(),
        ratios: observed.iter().map(|observation| observation.ratio).collect(),
        exceeds: logs.iter().map(|&log| log > limit).collect(),
        weights: vec![1.0; observed.len()],
    }
}

/// Eq. 2 to 5: histograms over common bins, their distances, and each replica's share of all distances.
fn replica_histograms(observed: &[Observation], mode: Mode) -> ReplicaHistograms {
    let mut by_replica: BTreeMap<ReplicaId, Vec<f64>> = BTreeMap::new();
    for observation in observed {
        by_replica.entry(observation.replica).or_default().push(observation.time_ns);
    }
    let (rule, values_min) = match mode {
        Mode::Paper => (BinRule::SquareRoot, 1),
        Mode::Robust => (BinRule::LogSturges, VALUES_MIN),
    };
    let mut ranked: Vec<(ReplicaId, Vec<f64>)> =
        by_replica.into_iter().filter(|(_, values)| values.len() >= values_min).collect();
    ranked.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    ranked.truncate(COMPARED_MAX);
    ranked.sort_by_key(|&(replica, _)| replica);
    let bins = HistogramBins::from_values(ranked.iter().flat_map(|(_, values)| values.iter().copied()), rule);
    let shares: Vec<Vec<f64>> = ranked.iter().map(|(_, values)| bins.shares(values)).collect();
    let dissimilarities = dissimilarities(&shares);
    let replicas =
        ranked.iter().zip(shares).zip(dissimilarities).map(|(((replica, values), shares), dissimilarity)| {
            ReplicaHistogram { replica: *replica, values: values.len() as u64, shares, dissimilarity }
        });
    ReplicaHistograms { edges_ns: bins.edges(), replicas: replicas.collect() }
}

/// The paper's "differs significantly", which has no threshold there: a robust z and a least factor.
fn outlier_replicas(replicas: &[ReplicaHistogram]) -> Vec<ReplicaId> {
    let values: Vec<f64> = replicas.iter().map(|found| found.dissimilarity.ratio).collect();
    let center = median_of(&values);
    let spread = mad(&values, center);
    let differs = |ratio: f64| ratio - center > RATIO_Z_MIN * spread && ratio > RATIO_FACTOR_MIN * center;
    replicas.iter().filter(|found| differs(found.dissimilarity.ratio)).map(|found| found.replica).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(replica: usize, times: &[f64]) -> Vec<Observation> {
        let observation = |&time_ns: &f64| Observation {
            replica: ReplicaId::from_index(replica),
            time_ns,
            ratio: time_ns / 100.0,
        };
        times.iter().map(observation).collect()
    }

    fn incident() -> Vec<Observation> {
        let usual: Vec<f64> = (0..40).map(|i| 95.0 + f64::from(i % 11)).collect();
        let slow: Vec<f64> = usual.iter().map(|time| 3.0 * time).collect();
        (0..6).flat_map(|replica| times(replica, if replica == 4 { &slow } else { &usual })).collect()
    }

    #[test]
    fn both_modes_name_the_replica_that_differs() {
        for mode in [Mode::Paper, Mode::Robust] {
            let judgment = judge(&incident(), &CloudDiagSettings::new(mode));
            let named: Vec<usize> =
                judgment.tests.iter().filter(|test| test.flagged).map(|test| test.replica.index()).collect();
            assert_eq!((judgment.spread, named), (Spread::Localized, vec![4]), "{mode:?}");
            // One that differs from five equal ones has half of all distances.
            assert!((judgment.histograms.replicas[4].dissimilarity.ratio - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn replicas_with_few_values_are_not_ranked_in_robust_mode() {
        let mut observed = incident();
        observed.extend(times(9, &[100.0; 19]));
        let ranked = |mode| judge(&observed, &CloudDiagSettings::new(mode)).histograms.replicas.len();
        assert_eq!((ranked(Mode::Paper), ranked(Mode::Robust)), (7, 6));
    }

    #[test]
    fn one_replica_or_none_is_undecided() {
        let judgment = judge(&times(0, &[5.0, 6.0]), &CloudDiagSettings::new(Mode::Paper));
        assert_eq!(
            (judgment.spread, judgment.histograms.replicas[0].dissimilarity.ratio),
            (Spread::Undecided, 1.0)
        );
        let judgment = judge(&[], &CloudDiagSettings::default());
        assert!(judgment.tests.is_empty() && judgment.histograms.replicas.is_empty());
    }
}
