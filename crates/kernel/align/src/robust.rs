//! The robust mode, which is the default: rules changed where the published ones (`paper`) fail on plausible data. Executions
//! are assigned to kinds, tested for deviating times and steps, and those that stand out are aligned with normal ones.

use crate::anomalies::{LabeledExecutions, SUPPORTED_DEVIATION, StateEvidence, anomalous, columns};
use crate::assignment::{KindAssignment, KindAssignments, PointViews, assignments, robust_points};
use crate::chance::chance_of_outliers;
use crate::describe;
use crate::findings::{align_kind, groups, sort};
use crate::kinds::Kinds;
use crate::paper::coarse::compare_times;
use crate::sets::{ExecutionSets, SetDiagnosis};
use crate::steps::{StepEvidence, step_evidence};
use crate::{
    AlignSettings, Caution, ExecutionSummary, ExecutionVerdict, Kind, KindOrigin, KindPair, Resemblance,
    SampleExecution, StateExcess, TimeComparison, Verdict,
};
use laggard_numeric::{Matrix, benjamini_hochberg};

/// Number of normal executions for a reliable result.
const NORMAL_WANTED: usize = 30;

/// Minimum number of normal executions.
const NORMAL_MIN: usize = 5;

/// Minimum mean excess, as a share of the mean total time, for a state to count as raised over the whole sample.
const RAISED_SHARE_MIN: f64 = 0.05;

/// Compares sets that are not empty.
pub(crate) fn diagnosis(sets: &ExecutionSets<'_>, settings: &AlignSettings) -> SetDiagnosis {
    let points = robust_points(sets.sequences(), [&sets.normal_vectors, &sets.sample_vectors], &sets.states);
    let views = PointViews { sets: sets.sequences(), states: &sets.states, points: &points };
    let assignments = assignments(views, settings);
    let case = RobustDiagnosis::new(sets, &points, assignments, settings);
    case.diagnosis()
}

/// Inputs and evidence of the robust mode, before executions are evaluated.
struct RobustDiagnosis<'a> {
    sets: &'a ExecutionSets<'a>,
    settings: &'a AlignSettings,
    points: &'a [Matrix; 2],
    assignments: KindAssignments,
    members: Vec<Vec<usize>>,
    normal_kinds: Vec<Kind>,
    /// Median total time by kind.
    totals_us: Vec<f64>,
    /// By state, and last the total time.
    evidence: Vec<StateEvidence>,
    steps: StepEvidence,
    /// Adjusted probability of the whole sample by state, total last.
    set_p_values: Vec<Option<f64>>,
}

impl<'a> RobustDiagnosis<'a> {
    fn new(
        sets: &'a ExecutionSets<'a>,
        points: &'a [Matrix; 2],
        assignments: KindAssignments,
        settings: &'a AlignSettings,
    ) -> RobustDiagnosis<'a> {
        let normal_kinds = describe::kinds(&points[0], &sets.normal, &assignments.kinds);
        let members: Vec<Vec<usize>> = normal_kinds.iter().map(|kind| kind.members.clone()).collect();
        let totals_us: Vec<f64> = normal_kinds.iter().map(|kind| kind.median_total_us).collect();
        let evaluated: Vec<Option<usize>> = assignments
            .sample
            .iter()
            .map(|assignment| (!assignment.is_new).then_some(assignment.kind))
            .collect();
        let labeled = LabeledExecutions { members: &members, kinds: &evaluated };
        let mut evidence = Vec::new();
        for index in 0..sets.states.len() {
            let times = columns(&sets.normal_vectors.times_us, &sets.sample_vectors.times_us, index);
            let counts = columns(&sets.normal_vectors.counts, &sets.sample_vectors.counts, index);
            let counts = Some([&counts[0][..], &counts[1][..]]);
            evidence.push(StateEvidence::new([&times[0], &times[1]], counts, &labeled, &totals_us));
        }
        evidence.push(StateEvidence::new([&sets.normal_us, &sets.sample_us], None, &labeled, &totals_us));
        let steps = step_evidence(sets, &labeled, &totals_us, settings);
        let set_p_values = adjusted(&evidence);
        RobustDiagnosis {
            sets,
            settings,
            points,
            assignments,
            members,
            normal_kinds,
            totals_us,
            evidence,
            steps,
            set_p_values,
        }
    }

    fn diagnosis(self) -> SetDiagnosis {
        let raised = self.raised();
        let sample = self.evaluate_executions(&raised);
        let (sample_kinds, pairs) = self.sample_kinds();
        let alignments = self.alignments(&sample);
        let mut findings: Vec<_> =
            alignments.iter().flat_map(|alignment| groups(alignment, |_, _| true)).collect();
        sort(&mut findings);
        let outliers = sample.iter().filter(|execution| execution.stands_out()).count();
        let chance = chance_of_outliers(outliers, self.sets.sample.len(), self.sets.normal.len());
        let verdict = if self.sets.normal.len() < NORMAL_MIN {
            Verdict::TooFew
        } else if outliers > 0 && chance <= self.settings.outlier_chance {
            Verdict::ExecutionsStandOut
        } else if raised.contains(&true) {
            Verdict::SlowerOverall
        } else if outliers > 0 {
            Verdict::FewStandOut
        } else {
            Verdict::NothingFound
        };
        let cautions = self.cautions();
        let (states, total) = self.comparisons(&raised);
        let normal = self.normal_summaries();
        SetDiagnosis {
            verdict,
            states,
            total,
            normal_kinds: self.normal_kinds,
            sample_kinds,
            pairs,
            normal,
            sample,
            findings,
            alignments,
            cautions,
        }
    }

    /// States in which the sample as a whole takes longer, the total last.
    fn raised(&self) -> Vec<bool> {
        let floor_us = RAISED_SHARE_MIN * laggard_numeric::mean(&self.sets.normal_us);
        let is_raised = |(evidence, p_value): (&StateEvidence, &Option<f64>)| {
            p_value.is_some_and(|p| p <= self.settings.false_alarm) && evidence.mean_excess_us > floor_us
        };
        self.evidence.iter().zip(&self.set_p_values).map(is_raised).collect()
    }

    fn evaluate_executions(&self, raised: &[bool]) -> Vec<SampleExecution> {
        let projections = describe::projections(self.points)[1].clone();
        let count = self.assignments.sample.len();
        let anomalous_alone = anomalous(&self.evidence, &self.steps.p_values, self.settings.false_alarm);
        let evaluate = |index: usize| {
            let assignment = self.assignments.sample[index];
            let total_us = self.totals_us[assignment.kind];
            let is_supported = self.evidence.iter().zip(raised).any(|(evidence, &is_raised)| {
                is_raised && evidence.is_beyond(index, total_us, SUPPORTED_DEVIATION)
            });
            let excess_us = self.sets.sample_us[index] - total_us;
            // An execution that is not slower is not anomalous.
            let is_longer = excess_us > 0.0;
            let is_anomalous = !assignment.is_new && is_longer && (anomalous_alone[index] || is_supported);
            let (states, is_slow) = if is_anomalous || assignment.is_new {
                self.excesses(index, total_us)
            } else {
                (Vec::new(), false)
            };
            let verdict = match (assignment.is_new, is_anomalous) {
                _ if self.sets.normal.len() < NORMAL_MIN => ExecutionVerdict::NotEvaluated,
                (true, _) => ExecutionVerdict::NewKind,
                (_, true) => ExecutionVerdict::Anomalous,
                _ => ExecutionVerdict::Normal,
            };
            SampleExecution {
                summary: ExecutionSummary {
                    projection: projections[index],
                    kind: None,
                    total_us: self.sets.sample_us[index],
                },
                normal_kind: Some(assignment.kind),
                verdict,
                states,
                excess_us,
                is_slow,
            }
        };
        (0..count).map(evaluate).collect()
    }

    /// The states that make an execution anomalous, and whether its total time is anomalous.
    fn excesses(&self, index: usize, total_us: f64) -> (Vec<StateExcess>, bool) {
        let limit = self.settings.false_alarm;
        let is_beyond = |evidence: &StateEvidence| {
            evidence.p_values[index] <= limit || evidence.is_beyond(index, total_us, SUPPORTED_DEVIATION)
        };
        let (total, states) = self.evidence.split_last().expect("the total is always there");
        let mut excesses = Vec::new();
        for (column, evidence) in states.iter().enumerate() {
            if is_beyond(evidence) {
                excesses.push(self.excess(index, column, evidence));
            }
        }
        excesses.sort_by(|a, b| (b.time_us - b.usual_us).total_cmp(&(a.time_us - a.usual_us)));
        (excesses, is_beyond(total))
    }

    fn excess(&self, index: usize, column: usize, evidence: &StateEvidence) -> StateExcess {
        let kind = self.assignments.sample[index].kind;
        StateExcess {
            state: self.sets.states[column],
            time_us: self.sets.sample_vectors.times_us.get(index, column),
            usual_us: evidence.excess.usual_us[kind],
            count: self.sets.sample_vectors.counts.get(index, column),
            usual_count: evidence.usual_count(kind),
            deviation: evidence.time.sample[index].unwrap_or(0.0),
        }
    }

    /// Sample executions by the normal kind that fits them; new ones by their nearest kind.
    fn sample_kinds(&self) -> (Vec<Kind>, Vec<KindPair>) {
        let mut sample_kinds: Vec<(Kind, KindPair)> = Vec::new();
        for normal_kind in 0..self.members.len() {
            for is_new in [false, true] {
                let is_in = |assignment: &KindAssignment| {
                    assignment.kind == normal_kind && assignment.is_new == is_new
                };
                let assignments = &self.assignments.sample;
                let members: Vec<usize> =
                    (0..assignments.len()).filter(|&index| is_in(&assignments[index])).collect();
                if members.is_empty() {
                    continue;
                }
                let scores: Option<Vec<f64>> =
                    members.iter().map(|&index| assignments[index].score).collect();
                let distances = members.iter().map(|&index| assignments[index].distance);
                let pair = KindPair {
                    sample_kind: 0,
                    normal_kind: Some(normal_kind),
                    score: scores.map(|scores| laggard_numeric::mean(&scores)),
                    distance: laggard_numeric::median(&mut distances.collect::<Vec<f64>>()),
                    resemblance: if is_new { Resemblance::NewOrStronglyChanged } else { Resemblance::Same },
                };
                sample_kinds.push((
                    describe::kind(&self.points[1], &self.sets.sample, members, KindOrigin::Paired),
                    pair,
                ));
            }
        }
        sample_kinds.sort_by_key(|(kind, pair)| (std::cmp::Reverse(kind.members.len()), pair.normal_kind));
        sample_kinds.iter_mut().enumerate().for_each(|(index, (_, pair))| pair.sample_kind = index);
        sample_kinds.into_iter().unzip()
    }

    fn alignments(&self, sample: &[SampleExecution]) -> Vec<crate::KindAlignment> {
        let mut alignments = Vec::new();
        for (kind, members) in self.members.iter().enumerate() {
            // An execution of a new kind is compared with its nearest kind.
            let is_slower = |&index: &usize| match sample[index].verdict {
                ExecutionVerdict::Anomalous => true,
                ExecutionVerdict::NewKind => sample[index].excess_us > 0.0,
                _ => false,
            };
            let is_of_kind = |index: &usize| self.assignments.sample[*index].kind == kind && is_slower(index);
            let anomalous: Vec<usize> = (0..sample.len()).filter(is_of_kind).collect();
            if !anomalous.is_empty() {
                let sets = self.sets.sequences();
                let normals = members.clone();
                alignments.push(align_kind(
                    kind,
                    sets,
                    normals,
                    self.steps.profiles[kind].clone(),
                    &anomalous,
                    self.sets.alphabet_len,
                    self.settings,
                ));
            }
        }
        alignments
    }

    fn comparisons(&self, raised: &[bool]) -> (Vec<crate::StateComparison>, TimeComparison) {
        let time = |index: usize, normal: &[f64], sample: &[f64]| TimeComparison {
            p_value: self.set_p_values[index],
            excess_us: self.evidence[index].mean_excess_us,
            is_raised: raised[index],
            ..compare_times(normal, sample, self.settings)
        };
        let state = |index: usize| {
            let vectors = [&self.sets.normal_vectors, &self.sets.sample_vectors];
            let [normal, sample] = columns(&vectors[0].times_us, &vectors[1].times_us, index);
            describe::state(self.sets.states[index], index, vectors, time(index, &normal, &sample))
        };
        let count = self.sets.states.len();
        ((0..count).map(state).collect(), time(count, &self.sets.normal_us, &self.sets.sample_us))
    }

    fn normal_summaries(&self) -> Vec<ExecutionSummary> {
        let projections = &describe::projections(self.points)[0];
        let assignment = |index: usize| ExecutionSummary {
            projection: projections[index],
            kind: self.assignments.kinds.labels[index],
            total_us: self.sets.normal_us[index],
        };
        (0..self.sets.normal.len()).map(assignment).collect()
    }

    fn cautions(&self) -> Vec<Caution> {
        let mut cautions = Vec::new();
        let (normal, sample) = (self.sets.normal.len(), self.sets.sample.len());
        if normal < NORMAL_WANTED {
            cautions.push(Caution::FewNormalExecutions { available: normal, needed: NORMAL_WANTED });
        }
        if sample < crate::anomalies::SET_MIN {
            cautions
                .push(Caution::FewSampleExecutions { available: sample, needed: crate::anomalies::SET_MIN });
        }
        if let [KindOrigin::Whole] = self.assignments.kinds.origins[..] {
            let is_few = normal < self.settings.cluster_points_min;
            cautions.push(if is_few {
                Caution::NormalNotClustered { available: normal }
            } else {
                Caution::NoKindFound
            });
        }
        let is_rare = |assignment: &&KindAssignment| {
            self.assignments.kinds.origins[assignment.kind] == KindOrigin::Rare && !assignment.is_new
        };
        let executions = self.assignments.sample.iter().filter(is_rare).count();
        if executions > 0 {
            cautions.push(Caution::ComparedWithRareKind { executions });
        }
        if self.steps.is_limited {
            cautions.push(Caution::StepsNotCompared);
        }
        if is_mix_changed(&self.assignments.kinds, &self.assignments.sample) {
            cautions.push(Caution::MixChanged);
        }
        cautions
    }
}

fn adjusted(evidence: &[StateEvidence]) -> Vec<Option<f64>> {
    let unadjusted: Vec<f64> = evidence.iter().map(|evidence| evidence.set_p_value.unwrap_or(1.0)).collect();
    let adjusted = benjamini_hochberg(&unadjusted);
    evidence.iter().zip(adjusted).map(|(evidence, p_value)| evidence.set_p_value.map(|_| p_value)).collect()
}

/// Level of the test of equal shares.
const MIX_LEVEL: f64 = 0.01;

/// Pearson's test that kinds have the same shares in both sets.
fn is_mix_changed(kinds: &Kinds, sample: &[KindAssignment]) -> bool {
    let mut counts = vec![[0.0_f64; 2]; kinds.origins.len()];
    kinds.labels.iter().flatten().for_each(|&kind| counts[kind][0] += 1.0);
    sample.iter().for_each(|assignment| counts[assignment.kind][1] += 1.0);
    let totals = [0, 1].map(|set| counts.iter().map(|count| count[set]).sum::<f64>());
    let all = totals[0] + totals[1];
    let mut statistic = 0.0;
    for count in &counts {
        for set in [0, 1] {
            let expected = (count[0] + count[1]) * totals[set] / all;
            statistic += (count[set] - expected) * (count[set] - expected) / expected;
        }
    }
    let freedom = counts.len().saturating_sub(1);
    freedom > 0 && laggard_numeric::chi_square_upper_tail(statistic, freedom as f64) < MIX_LEVEL
}
