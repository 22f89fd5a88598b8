//! Tests which sample executions take abnormally long for their kind (robust mode).

use crate::reference::{ReferenceScale, left_out};
use crate::tail::EmpiricalTail;
use laggard_numeric::{Alternative, Matrix, benjamini_hochberg, mann_whitney, mean};

/// Executions with their kinds. Rows of the matrices are executions, columns states.
pub(crate) struct LabeledExecutions<'a> {
    /// Normal executions of each kind.
    pub(crate) members: &'a [Vec<usize>],
    /// Kind of each sample execution; `None`: not evaluated.
    pub(crate) kinds: &'a [Option<usize>],
}

/// A feature of every execution, as deviations from the median of its kind.
#[derive(Clone, Debug)]
pub(crate) struct FeatureScores {
    /// Scores of normal executions, each relative to the others of its kind; `None` if there are no others.
    pub(crate) normal: Vec<Option<f64>>,
    /// Sample executions.
    pub(crate) sample: Vec<Option<f64>>,
    tail: Option<EmpiricalTail>,
}

impl FeatureScores {
    /// Scores `ln(1 + x)` of non-negative values. `floor` is the minimum scale of the logarithm.
    pub(crate) fn from_logs(
        normal: &[f64],
        sample: &[f64],
        labeled: &LabeledExecutions<'_>,
        floor: f64,
    ) -> FeatureScores {
        let logs = |values: &[f64]| values.iter().map(|value| value.ln_1p()).collect::<Vec<f64>>();
        FeatureScores::new(&logs(normal), &logs(sample), labeled, floor)
    }

    /// Scores values without a logarithm. `floor` is their minimum scale.
    pub(crate) fn new(
        normal: &[f64],
        sample: &[f64],
        labeled: &LabeledExecutions<'_>,
        floor: f64,
    ) -> FeatureScores {
        let of_kind = |members: &Vec<usize>| members.iter().map(|&index| normal[index]).collect::<Vec<f64>>();
        let by_kind: Vec<Vec<f64>> = labeled.members.iter().map(of_kind).collect();
        let reference: Vec<Option<ReferenceScale>> =
            by_kind.iter().map(|values| ReferenceScale::from_values(&mut values.clone())).collect();
        let pooled = pooled_scale(&by_kind, &reference);
        let mut scores = vec![None; normal.len()];
        for (members, values) in labeled.members.iter().zip(&by_kind) {
            for (&index, left_out_scale) in members.iter().zip(left_out(values)) {
                scores[index] =
                    left_out_scale.map(|left_out_scale| left_out_scale.score(normal[index], pooled, floor));
            }
        }
        let score = |(value, kind): (&f64, &Option<usize>)| {
            kind.and_then(|kind| reference[kind]).map(|reference| reference.score(*value, pooled, floor))
        };
        FeatureScores {
            tail: EmpiricalTail::new(scores.iter().flatten().copied().collect()),
            normal: scores,
            sample: sample.iter().zip(labeled.kinds).map(score).collect(),
        }
    }

    /// Probability of a sample execution's score among normal ones; 1 if unknown.
    pub(crate) fn p_value(&self, index: usize) -> f64 {
        match (&self.tail, self.sample[index]) {
            (Some(tail), Some(score)) => tail.p_value(score),
            _ => 1.0,
        }
    }
}

/// Scale of deviations from the kinds' medians, over all kinds.
fn pooled_scale(by_kind: &[Vec<f64>], reference: &[Option<ReferenceScale>]) -> f64 {
    let mut deviations = Vec::new();
    for (values, reference) in by_kind.iter().zip(reference) {
        // The only execution of a kind never deviates from itself.
        if let (Some(reference), true) = (reference, values.len() > 2) {
            deviations.extend(values.iter().map(|value| value - reference.median));
        }
    }
    ReferenceScale::from_values(&mut deviations).map_or(0.0, |reference| reference.mad)
}

/// Times or counts in a state, as excess over the median of the kind.
#[derive(Clone, Debug)]
pub(crate) struct ExcessValues {
    /// Excess of each normal execution, in microseconds (or entries, for counts).
    pub(crate) normal_us: Vec<f64>,
    /// Excess of each sample execution; 0 if not evaluated.
    pub(crate) sample_us: Vec<f64>,
    /// Median by kind.
    pub(crate) usual_us: Vec<f64>,
}

impl ExcessValues {
    pub(crate) fn new(normal: &[f64], sample: &[f64], labeled: &LabeledExecutions<'_>) -> ExcessValues {
        let median = |members: &Vec<usize>| {
            let mut values: Vec<f64> = members.iter().map(|&index| normal[index]).collect();
            ReferenceScale::from_values(&mut values).map_or(0.0, |reference| reference.median)
        };
        let usual_us: Vec<f64> = labeled.members.iter().map(median).collect();
        let mut normal_us = vec![0.0; normal.len()];
        for (members, reference) in labeled.members.iter().zip(&usual_us) {
            members.iter().for_each(|&index| normal_us[index] = normal[index] - reference);
        }
        let above = |(value, kind): (&f64, &Option<usize>)| kind.map_or(0.0, |kind| value - usual_us[kind]);
        ExcessValues { normal_us, sample_us: sample.iter().zip(labeled.kinds).map(above).collect(), usual_us }
    }

    /// Share of normal executions with at least half this excess; an excess that occurs in the normal set is not
    /// abnormal, however rare.
    fn normal_share(&self, excess_us: f64) -> f64 {
        let seen = self.normal_us.iter().filter(|&&normal| normal >= NORMAL_PART * excess_us).count();
        seen as f64 / self.normal_us.len() as f64
    }
}

/// Minimum scales of log times and log counts: differences of 5 % and 10 % are never significant.
const TIME_FLOOR: f64 = 0.05;
const COUNT_FLOOR: f64 = 0.1;

/// Minimum excess of a state, as a share of the kind's median total time, to make an execution anomalous: by its time alone,
/// and if it is also entered abnormally often.
const TIME_SHARE_MIN: f64 = 0.05;
const COUNT_SHARE_MIN: f64 = 0.01;

/// Minimum number of additional entries to be abnormal.
const COUNT_EXCESS_MIN: f64 = 2.0;

/// A normal execution with at least this share of an excess counts as having the excess.
const NORMAL_PART: f64 = 0.5;

/// Minimum deviation in a state whose time is increased over the whole sample.
pub(crate) const SUPPORTED_DEVIATION: f64 = 2.5;

/// Minimum number of executions on both sides for a comparison of the sets.
pub(crate) const SET_MIN: usize = 8;

/// The test results of one state, or of the total time.
#[derive(Clone, Debug)]
pub(crate) struct StateEvidence {
    pub(crate) time: FeatureScores,
    pub(crate) count: Option<FeatureScores>,
    pub(crate) excess: ExcessValues,
    count_excess: Option<ExcessValues>,
    /// P-value of the time or count, by sample execution.
    pub(crate) p_values: Vec<f64>,
    /// P-value of the whole sample's times, unadjusted; `None`: too few.
    pub(crate) set_p_value: Option<f64>,
    /// Mean excess of the sample's executions.
    pub(crate) mean_excess_us: f64,
}

impl StateEvidence {
    /// Tests the times of a state and, if given, its entries. `totals_us`: median total time by kind.
    pub(crate) fn new(
        times: [&[f64]; 2],
        counts: Option<[&[f64]; 2]>,
        labeled: &LabeledExecutions<'_>,
        totals_us: &[f64],
    ) -> StateEvidence {
        let time = FeatureScores::from_logs(times[0], times[1], labeled, TIME_FLOOR);
        let excess = ExcessValues::new(times[0], times[1], labeled);
        let count =
            counts.map(|[normal, sample]| FeatureScores::from_logs(normal, sample, labeled, COUNT_FLOOR));
        let count_excess = counts.map(|[normal, sample]| ExcessValues::new(normal, sample, labeled));
        let evaluated = || (0..labeled.kinds.len()).filter(|&index| labeled.kinds[index].is_some());
        let excesses: Vec<f64> = evaluated().map(|index| excess.sample_us[index]).collect();
        let set_p_value = set_p_value(&time);
        let mut evidence = StateEvidence {
            time,
            count,
            excess,
            count_excess,
            p_values: vec![1.0; labeled.kinds.len()],
            set_p_value,
            mean_excess_us: mean(&excesses),
        };
        for index in evaluated() {
            let total_us = labeled.kinds[index].map_or(0.0, |kind| totals_us[kind]);
            evidence.p_values[index] = evidence.p_value(index, total_us);
        }
        evidence
    }

    fn p_value(&self, index: usize, total_us: f64) -> f64 {
        let excess_us = self.excess.sample_us[index];
        let seen = |p: f64| p.max(self.excess.normal_share(excess_us));
        let mut p_value = 1.0_f64;
        if excess_us > TIME_SHARE_MIN * total_us {
            p_value = p_value.min(seen(self.time.p_value(index)));
        }
        let (Some(count), Some(counts)) = (&self.count, &self.count_excess) else { return p_value };
        if counts.sample_us[index] >= COUNT_EXCESS_MIN && excess_us > COUNT_SHARE_MIN * total_us {
            // Two tests: the time and the count.
            return 2.0 * p_value.min(count.p_value(index).max(counts.normal_share(counts.sample_us[index])));
        }
        2.0 * p_value
    }

    /// Median number of entries of a kind.
    pub(crate) fn usual_count(&self, kind: usize) -> f64 {
        self.count_excess.as_ref().map_or(0.0, |counts| counts.usual_us[kind])
    }

    /// Whether an execution's time is far above the usual and relevant to its total.
    pub(crate) fn is_beyond(&self, index: usize, total_us: f64, deviation: f64) -> bool {
        self.time.sample[index].is_some_and(|score| score > deviation)
            && self.excess.sample_us[index] > TIME_SHARE_MIN * total_us
    }
}

/// P-value of the test whether the sample's scores are above those of the normal executions.
fn set_p_value(time: &FeatureScores) -> Option<f64> {
    let normal: Vec<f64> = time.normal.iter().flatten().copied().collect();
    let sample: Vec<f64> = time.sample.iter().flatten().copied().collect();
    if normal.len() < SET_MIN || sample.len() < SET_MIN {
        return None;
    }
    Some(mann_whitney(&sample, &normal, Alternative::Greater).p_value)
}

/// Sample executions that are anomalous: by Benjamini–Hochberg over executions, applied to the smallest p-value over
/// all tests of an execution (Bonferroni).
pub(crate) fn anomalous(evidence: &[StateEvidence], steps: &[f64], false_alarm: f64) -> Vec<bool> {
    let tests = evidence.len() as f64;
    let adjusted_input = |index: usize| {
        let least = evidence.iter().map(|evidence| evidence.p_values[index]).fold(1.0, f64::min);
        // Half of the false alarm rate is allotted to the steps, half to all states.
        (2.0 * steps[index].min(least * tests)).min(1.0)
    };
    let adjusted = benjamini_hochberg(&(0..steps.len()).map(adjusted_input).collect::<Vec<f64>>());
    adjusted.into_iter().map(|p_value| p_value <= false_alarm).collect()
}

/// A state's column of both sets.
pub(crate) fn columns(normal: &Matrix, sample: &Matrix, index: usize) -> [Vec<f64>; 2] {
    [normal.column(index).collect(), sample.column(index).collect()]
}
