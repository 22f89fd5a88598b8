//! The paper modes: the rules as published.

pub(crate) mod coarse;
pub(crate) mod localize;
pub(crate) mod outliers;
pub(crate) mod pairing;

use crate::anomalies::columns;
use crate::describe;
use crate::findings::{align_kind, groups, sort};
use crate::kinds::dense_kinds;
use crate::pairing::{NormalKinds, median_point, relative_distance};
use crate::sets::{ExecutionSets, SetDiagnosis};
use crate::{
    AlignSettings, Caution, ExecutionSummary, ExecutionVerdict, Kind, KindAlignment, KindOrigin, KindPair,
    Resemblance, SampleExecution, StateComparison, StateExcess, Verdict,
};
use coarse::compare_times;
use laggard_numeric::Matrix;
use outliers::SigmaRule;
use pairing::best_published_pair;

/// Compares sets that are not empty.
pub(crate) fn diagnosis(sets: &ExecutionSets<'_>, settings: &AlignSettings) -> SetDiagnosis {
    let points = [sets.normal_vectors.counts.clone(), sets.sample_vectors.counts.clone()];
    let clustering = dense_kinds(&points[0], settings);
    let normal_kinds = describe::kinds(&points[0], &sets.normal, &clustering);
    let sample_kinds = sample_kinds(&points[1], sets, settings);
    let pairs = pairs(&points, &clustering.labels, &normal_kinds, &sample_kinds);
    let states = states(sets, settings);
    let total = compare_times(&sets.normal_us, &sets.sample_us, settings);
    let is_raised = states.iter().any(|state| state.time.is_raised);
    let projections = describe::projections(&points);
    let mut sample: Vec<SampleExecution> =
        (0..sets.sample.len()).map(|index| unremarkable(sets, index, projections[1][index])).collect();
    if is_raised {
        for pair in &pairs {
            evaluate_kind(sets, pair, &normal_kinds, &sample_kinds, &mut sample, settings);
        }
    }
    let alignments = alignments(sets, &normal_kinds, &sample, settings);
    let mut findings: Vec<_> =
        alignments.iter().flat_map(|execution| groups(execution, |_, _| true)).collect();
    sort(&mut findings);
    let is_any = sample.iter().any(|execution| execution.verdict == ExecutionVerdict::Anomalous);
    let verdict = match (is_raised, is_any) {
        (false, _) => Verdict::NothingFound,
        (true, true) => Verdict::ExecutionsStandOut,
        (true, false) => Verdict::SlowerOverall,
    };
    let summary = |index: usize| ExecutionSummary {
        projection: projections[0][index],
        kind: clustering.labels[index],
        total_us: sets.normal_us[index],
    };
    SetDiagnosis {
        verdict,
        states,
        total,
        normal: (0..sets.normal.len()).map(summary).collect(),
        cautions: cautions(sets, &normal_kinds, &pairs, settings),
        normal_kinds,
        sample_kinds,
        pairs,
        sample,
        findings,
        alignments,
    }
}

fn states(sets: &ExecutionSets<'_>, settings: &AlignSettings) -> Vec<StateComparison> {
    let vectors = [&sets.normal_vectors, &sets.sample_vectors];
    let execution = |index: usize| {
        let [normal, sample] = columns(&vectors[0].times_us, &vectors[1].times_us, index);
        describe::state(sets.states[index], index, vectors, compare_times(&normal, &sample, settings))
    };
    (0..sets.states.len()).map(execution).collect()
}

/// Clusters of the sample; every noise point is a kind of its own. So is every point of a sample too small to cluster.
fn sample_kinds(points: &Matrix, sets: &ExecutionSets<'_>, settings: &AlignSettings) -> Vec<Kind> {
    let clustering = dense_kinds(points, settings);
    let is_whole = clustering.origins.first() == Some(&KindOrigin::Whole);
    let mut kinds = if is_whole { Vec::new() } else { describe::kinds(points, &sets.sample, &clustering) };
    for index in 0..points.rows() {
        if is_whole || clustering.labels[index].is_none() {
            kinds.push(describe::kind(points, &sets.sample, vec![index], KindOrigin::Rare));
        }
    }
    kinds
}

fn pairs(
    points: &[Matrix; 2],
    labels: &[Option<usize>],
    normal_kinds: &[Kind],
    sample_kinds: &[Kind],
) -> Vec<KindPair> {
    let normal = NormalKinds::new(&points[0], labels, normal_kinds.len());
    let pair = |(number, kind): (usize, &Kind)| {
        let rows: Vec<f64> = kind.members.iter().flat_map(|&index| points[1].row(index).to_vec()).collect();
        let cluster = Matrix::from_row_major(kind.members.len(), points[1].cols(), rows);
        let best = best_published_pair(&normal.published_scores(&cluster));
        let normal_kind = best.map(|best| best.kind).or((normal_kinds.len() == 1).then_some(0));
        let sample_median = median_point(&points[1], &kind.members);
        let to = normal_kind.map(|index| median_point(&points[0], &normal_kinds[index].members));
        KindPair {
            sample_kind: number,
            normal_kind,
            score: best.map(|best| best.score),
            distance: to.map_or(f64::INFINITY, |to| relative_distance(&to, &sample_median)),
            resemblance: match normal_kind {
                Some(_) => Resemblance::Same,
                None => Resemblance::NewOrStronglyChanged,
            },
        }
    };
    sample_kinds.iter().enumerate().map(pair).collect()
}

fn unremarkable(sets: &ExecutionSets<'_>, index: usize, projection: [f64; 2]) -> SampleExecution {
    SampleExecution {
        summary: ExecutionSummary { projection, kind: None, total_us: sets.sample_us[index] },
        normal_kind: None,
        verdict: ExecutionVerdict::Normal,
        states: Vec::new(),
        excess_us: 0.0,
        is_slow: false,
    }
}

/// The normal executions that a sample kind is compared with: its pair, or all when that is too small.
fn reference(
    sets: &ExecutionSets<'_>,
    pair: &KindPair,
    normal_kinds: &[Kind],
    settings: &AlignSettings,
) -> Vec<usize> {
    let members = pair.normal_kind.map(|kind| normal_kinds[kind].members.clone()).unwrap_or_default();
    if members.len() < settings.cluster_points_min { (0..sets.normal.len()).collect() } else { members }
}

fn evaluate_kind(
    sets: &ExecutionSets<'_>,
    pair: &KindPair,
    normal_kinds: &[Kind],
    sample_kinds: &[Kind],
    sample: &mut [SampleExecution],
    settings: &AlignSettings,
) {
    let rows = reference(sets, pair, normal_kinds, settings);
    let rule = SigmaRule::new(&sets.normal_vectors.times_us, &rows, settings.outlier_sigma);
    let counts = SigmaRule::new(&sets.normal_vectors.counts, &rows, settings.outlier_sigma);
    let totals: Vec<f64> = rows.iter().map(|&row| sets.normal_us[row]).collect();
    for &index in &sample_kinds[pair.sample_kind].members {
        let times_us = sets.sample_vectors.times_us.row(index);
        let excess = |column: usize| StateExcess {
            state: sets.states[column],
            time_us: times_us[column],
            usual_us: rule.means_us[column],
            count: sets.sample_vectors.counts.get(index, column),
            usual_count: counts.means_us[column],
            deviation: (times_us[column] - rule.means_us[column]) / rule.stds_us[column],
        };
        let mut states: Vec<StateExcess> = rule.exceeding(times_us).into_iter().map(excess).collect();
        states.sort_by(|a, b| (b.time_us - b.usual_us).total_cmp(&(a.time_us - a.usual_us)));
        let execution = &mut sample[index];
        execution.normal_kind = pair.normal_kind;
        execution.excess_us = sets.sample_us[index] - laggard_numeric::mean(&totals);
        if !states.is_empty() {
            execution.verdict = ExecutionVerdict::Anomalous;
        }
        execution.states = states;
    }
}

fn alignments(
    sets: &ExecutionSets<'_>,
    normal_kinds: &[Kind],
    sample: &[SampleExecution],
    settings: &AlignSettings,
) -> Vec<KindAlignment> {
    let mut alignments = Vec::new();
    for (number, kind) in normal_kinds.iter().enumerate() {
        let is_anomalous = |&index: &usize| {
            sample[index].verdict == ExecutionVerdict::Anomalous && sample[index].normal_kind == Some(number)
        };
        let anomalous: Vec<usize> = (0..sample.len()).filter(is_anomalous).collect();
        if !anomalous.is_empty() {
            let normals = kind.members.clone();
            alignments.push(align_kind(
                number,
                sets.sequences(),
                normals,
                None,
                &anomalous,
                sets.alphabet_len,
                settings,
            ));
        }
    }
    alignments
}

fn cautions(
    sets: &ExecutionSets<'_>,
    normal_kinds: &[Kind],
    pairs: &[KindPair],
    settings: &AlignSettings,
) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let (available, needed) = (sets.normal.len(), settings.cluster_points_min);
    if available < needed {
        cautions.push(Caution::NormalNotClustered { available });
    } else if normal_kinds.is_empty() {
        cautions.push(Caution::NoKindFound);
    }
    if sets.sample.len() == 1 {
        cautions.push(Caution::FewSampleExecutions { available: 1, needed: 2 });
    }
    let is_weak =
        |pair: &&KindPair| pair.normal_kind.is_none_or(|kind| normal_kinds[kind].members.len() < needed);
    let executions = pairs.iter().filter(is_weak).count();
    if executions > 0 {
        cautions.push(Caution::ComparedWithRareKind { executions });
    }
    cautions
}
