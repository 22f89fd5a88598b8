//! Which sample executions take abnormally long for their kind (robust mode).

use crate::reference::{Usual, left_out};
use crate::tail::Tail;
use laggard_numeric::{Alternative, Matrix, benjamini_hochberg, mann_whitney, mean};

/// Executions with their kinds. Rows of the matrices are executions, columns states.
pub(crate) struct Placed<'a> {
    /// Normal executions of each kind.
    pub(crate) members: &'a [Vec<usize>],
    /// Kind of each sample execution; `None`: not to be judged.
    pub(crate) kinds: &'a [Option<usize>],
}

/// A quantity of every execution and how far it is from what is usual for the kind.
#[derive(Clone, Debug)]
pub(crate) struct Scored {
    /// Normal executions, each in the eyes of the others of its kind; `None` where there are no others.
    pub(crate) normal: Vec<Option<f64>>,
    /// Sample executions.
    pub(crate) sample: Vec<Option<f64>>,
    tail: Option<Tail>,
}

impl Scored {
    /// Scores `ln(1 + x)` of non-negative values. `floor` is the least scale of the logarithm.
    pub(crate) fn of_logs(normal: &[f64], sample: &[f64], placed: &Placed<'_>, floor: f64) -> Scored {
        let logs = |values: &[f64]| values.iter().map(|value| value.ln_1p()).collect::<Vec<f64>>();
        Scored::new(&logs(normal), &logs(sample), placed, floor)
    }

    /// Scores values as they are. `floor` is their least scale.
    pub(crate) fn new(normal: &[f64], sample: &[f64], placed: &Placed<'_>, floor: f64) -> Scored {
        let of_kind = |members: &Vec<usize>| members.iter().map(|&at| normal[at]).collect::<Vec<f64>>();
        let by_kind: Vec<Vec<f64>> = placed.members.iter().map(of_kind).collect();
        let usual: Vec<Option<Usual>> = by_kind.iter().map(|values| Usual::of(&mut values.clone())).collect();
        let pooled = pooled_scale(&by_kind, &usual);
        let mut scores = vec![None; normal.len()];
        for (members, values) in placed.members.iter().zip(&by_kind) {
            for (&at, left) in members.iter().zip(left_out(values)) {
                scores[at] = left.map(|left| left.score(normal[at], pooled, floor));
            }
        }
        let score = |(value, kind): (&f64, &Option<usize>)| {
            kind.and_then(|kind| usual[kind]).map(|usual| usual.score(*value, pooled, floor))
        };
        Scored {
            tail: Tail::new(scores.iter().flatten().copied().collect()),
            normal: scores,
            sample: sample.iter().zip(placed.kinds).map(score).collect(),
        }
    }

    /// Probability of a sample execution's score among normal ones; 1 where it cannot be told.
    pub(crate) fn p_value(&self, at: usize) -> f64 {
        match (&self.tail, self.sample[at]) {
            (Some(tail), Some(score)) => tail.p_value(score),
            _ => 1.0,
        }
    }
}

/// Scale of deviations from the kinds' medians, over all kinds.
fn pooled_scale(by_kind: &[Vec<f64>], usual: &[Option<Usual>]) -> f64 {
    let mut deviations = Vec::new();
    for (values, usual) in by_kind.iter().zip(usual) {
        // One execution of a kind never deviates from itself.
        if let (Some(usual), true) = (usual, values.len() > 2) {
            deviations.extend(values.iter().map(|value| value - usual.median));
        }
    }
    Usual::of(&mut deviations).map_or(0.0, |usual| usual.mad)
}

/// Times or counts of a set in a state, as values above what is usual.
#[derive(Clone, Debug)]
pub(crate) struct Excess {
    /// Of normal executions, microseconds.
    pub(crate) normal_us: Vec<f64>,
    /// Of sample executions; 0 where not judged.
    pub(crate) sample_us: Vec<f64>,
    /// By kind: the median.
    pub(crate) usual_us: Vec<f64>,
}

impl Excess {
    pub(crate) fn new(normal: &[f64], sample: &[f64], placed: &Placed<'_>) -> Excess {
        let median = |members: &Vec<usize>| {
            let mut values: Vec<f64> = members.iter().map(|&at| normal[at]).collect();
            Usual::of(&mut values).map_or(0.0, |usual| usual.median)
        };
        let usual_us: Vec<f64> = placed.members.iter().map(median).collect();
        let mut normal_us = vec![0.0; normal.len()];
        for (members, usual) in placed.members.iter().zip(&usual_us) {
            members.iter().for_each(|&at| normal_us[at] = normal[at] - usual);
        }
        let above = |(value, kind): (&f64, &Option<usize>)| kind.map_or(0.0, |kind| value - usual_us[kind]);
        Excess { normal_us, sample_us: sample.iter().zip(placed.kinds).map(above).collect(), usual_us }
    }

    /// Share of normal executions that had at least half as much: what was seen in the normal set is not abnormal,
    /// however rare.
    fn seen_share(&self, excess_us: f64) -> f64 {
        let seen = self.normal_us.iter().filter(|&&normal| normal >= SEEN_SHARE * excess_us).count();
        seen as f64 / self.normal_us.len() as f64
    }
}

/// Least scales of log times and log counts: differences of 5 % and 10 % are never remarkable.
const TIME_FLOOR: f64 = 0.05;
const COUNT_FLOOR: f64 = 0.1;

/// Least excess over the kind's median total time for a state to make an execution anomalous: of its time alone, and
/// when it is entered abnormally often.
const TIME_SHARE_MIN: f64 = 0.05;
const COUNT_SHARE_MIN: f64 = 0.01;

/// Entries beyond the usual that can be abnormal.
const COUNT_EXCESS_MIN: f64 = 2.0;

/// Normal executions that had this part of an excess have seen it.
const SEEN_SHARE: f64 = 0.5;

/// Deviation that suffices in a state in which the whole sample is raised.
pub(crate) const SUPPORTED_DEVIATION: f64 = 2.5;

/// Executions on both sides that a comparison of the sets needs.
pub(crate) const SET_MIN: usize = 8;

/// What is known of one state, or of the total time.
#[derive(Clone, Debug)]
pub(crate) struct StateEvidence {
    pub(crate) time: Scored,
    pub(crate) count: Option<Scored>,
    pub(crate) excess: Excess,
    count_excess: Option<Excess>,
    /// By sample execution: probability of its time or count if it were normal.
    pub(crate) p_values: Vec<f64>,
    /// Probability of the sample's times as a whole, not yet adjusted; `None`: too few.
    pub(crate) set_p_value: Option<f64>,
    /// Mean excess of the sample's executions.
    pub(crate) mean_excess_us: f64,
}

impl StateEvidence {
    /// Of the times of a state, and of its entries where they mean something. `totals_us`: by kind, the median total.
    pub(crate) fn new(
        times: [&[f64]; 2],
        counts: Option<[&[f64]; 2]>,
        placed: &Placed<'_>,
        totals_us: &[f64],
    ) -> StateEvidence {
        let time = Scored::of_logs(times[0], times[1], placed, TIME_FLOOR);
        let excess = Excess::new(times[0], times[1], placed);
        let count = counts.map(|[normal, sample]| Scored::of_logs(normal, sample, placed, COUNT_FLOOR));
        let count_excess = counts.map(|[normal, sample]| Excess::new(normal, sample, placed));
        let judged = || (0..placed.kinds.len()).filter(|&at| placed.kinds[at].is_some());
        let excesses: Vec<f64> = judged().map(|at| excess.sample_us[at]).collect();
        let set_p_value = set_p_value(&time);
        let mut evidence = StateEvidence {
            time,
            count,
            excess,
            count_excess,
            p_values: vec![1.0; placed.kinds.len()],
            set_p_value,
            mean_excess_us: mean(&excesses),
        };
        for at in judged() {
            let total_us = placed.kinds[at].map_or(0.0, |kind| totals_us[kind]);
            evidence.p_values[at] = evidence.p_value(at, total_us);
        }
        evidence
    }

    fn p_value(&self, at: usize, total_us: f64) -> f64 {
        let excess_us = self.excess.sample_us[at];
        let seen = |p: f64| p.max(self.excess.seen_share(excess_us));
        let mut p_value = 1.0_f64;
        if excess_us > TIME_SHARE_MIN * total_us {
            p_value = p_value.min(seen(self.time.p_value(at)));
        }
        let (Some(count), Some(counts)) = (&self.count, &self.count_excess) else { return p_value };
        if counts.sample_us[at] >= COUNT_EXCESS_MIN && excess_us > COUNT_SHARE_MIN * total_us {
            // Both the time and the count were asked.
            return 2.0 * p_value.min(count.p_value(at).max(counts.seen_share(counts.sample_us[at])));
        }
        2.0 * p_value
    }

    /// Usual entries of a kind.
    pub(crate) fn usual_count(&self, kind: usize) -> f64 {
        self.count_excess.as_ref().map_or(0.0, |counts| counts.usual_us[kind])
    }

    /// Whether an execution's time is far beyond the usual and matters.
    pub(crate) fn is_beyond(&self, at: usize, total_us: f64, deviation: f64) -> bool {
        self.time.sample[at].is_some_and(|score| score > deviation)
            && self.excess.sample_us[at] > TIME_SHARE_MIN * total_us
    }
}

/// Whether the scores of the sample lie above those of the normal executions.
fn set_p_value(time: &Scored) -> Option<f64> {
    let normal: Vec<f64> = time.normal.iter().flatten().copied().collect();
    let sample: Vec<f64> = time.sample.iter().flatten().copied().collect();
    if normal.len() < SET_MIN || sample.len() < SET_MIN {
        return None;
    }
    Some(mann_whitney(&sample, &normal, Alternative::Greater).p_value)
}

/// Sample executions that are anomalous: by Benjamini–Hochberg over executions, of the smallest probability over the
/// questions asked (Bonferroni).
pub(crate) fn anomalous(evidence: &[StateEvidence], steps: &[f64], false_alarm: f64) -> Vec<bool> {
    let questions = evidence.len() as f64;
    let of = |at: usize| {
        let least = evidence.iter().map(|one| one.p_values[at]).fold(1.0, f64::min);
        // Half of the chance for a false alarm to the steps, half to all states.
        (2.0 * steps[at].min(least * questions)).min(1.0)
    };
    let adjusted = benjamini_hochberg(&(0..steps.len()).map(of).collect::<Vec<f64>>());
    adjusted.into_iter().map(|p_value| p_value <= false_alarm).collect()
}

/// A state's column of both sets.
pub(crate) fn columns(normal: &Matrix, sample: &Matrix, at: usize) -> [Vec<f64>; 2] {
    [normal.column(at).collect(), sample.column(at).collect()]
}
