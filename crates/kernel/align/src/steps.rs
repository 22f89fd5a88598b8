//! Tests which sample executions deviate at some step from the normal ones of their kind (robust mode).
//!
//! A wait ten times as long as usual is hardly visible in the sum of all waits of its state, but it is when aligned
//! with the normal executions. So every execution is aligned with them, and its deviations are compared with those of
//! each normal execution from the others.

use crate::AlignSettings;
use crate::anomalies::{FeatureScores, LabeledExecutions};
use crate::findings::localize_settings;
use crate::localize::{ClusterProfile, DeviationMeasure, align_cluster, localize};
use crate::sets::ExecutionSets;
use laggard_parallel::parallel_map;

/// Minimum number of members of a kind for its steps to be compared.
const MEMBERS_MIN: usize = 8;

/// Maximum number of table cells for the comparison; larger kinds are evaluated by their states alone.
const CELLS_MAX: f64 = 2e10;

/// Unit of excess, as a share of the kind's median total time: smaller differences are noise.
const UNIT_SHARE: f64 = 0.02;

/// Minimum scale of excess, in these units.
const EXCESS_FLOOR: f64 = 0.5;
/// Minimum scale of `ln(time / usual)` of the slowest step.
const RATIO_FLOOR: f64 = 0.1;
/// Minimum scale of log counts.
const COUNT_FLOOR: f64 = 0.2;

/// Minimum excess over the kind's median total time for an execution to be anomalous by its steps.
const EXCESS_SHARE_MIN: f64 = 0.02;

/// Number of tests of each execution: total excess, largest excess, slowest step, and number of unexpected states.
const TESTS: f64 = 4.0;

/// The result of comparing steps.
pub(crate) struct StepEvidence {
    /// By kind; `None` if it was too small or too long.
    pub(crate) profiles: Vec<Option<ClusterProfile>>,
    /// P-value of the deviations, by sample execution.
    pub(crate) p_values: Vec<f64>,
    /// Whether some kind was too long to be compared.
    pub(crate) is_limited: bool,
}

/// Aligns sample executions with the normal ones of their kinds. `totals_us`: median total time by kind.
pub(crate) fn step_evidence(
    sets: &ExecutionSets<'_>,
    labeled: &LabeledExecutions<'_>,
    totals_us: &[f64],
    settings: &AlignSettings,
) -> StepEvidence {
    let rules = localize_settings(settings);
    let mut cells_left = CELLS_MAX;
    let mut is_limited = false;
    let mut profile = |(kind, members): (usize, &Vec<usize>)| {
        let sample = labeled.kinds.iter().filter(|&&value| value == Some(kind)).count();
        if members.len() < MEMBERS_MIN || sample == 0 {
            return None;
        }
        let cells = cells(sets, members, sample);
        if cells > cells_left {
            is_limited = true;
            return None;
        }
        cells_left -= cells;
        let normals: Vec<_> = members.iter().map(|&index| sets.normal[index]).collect();
        Some(align_cluster(&normals, sets.alphabet_len, &rules))
    };
    let profiles: Vec<Option<ClusterProfile>> =
        labeled.members.iter().enumerate().map(&mut profile).collect();
    let all: Vec<usize> = (0..labeled.kinds.len()).collect();
    let measures = parallel_map(&all, settings.threads, |&index| {
        let profile = profiles[labeled.kinds[index]?].as_ref()?;
        Some(localize(profile, sets.sample[index], &rules).measure)
    });
    let p_values = p_values(&profiles, &measures, labeled, totals_us);
    StepEvidence { profiles, p_values, is_limited }
}

/// Estimated number of table cells for a kind: a multiple alignment with refinement, then one table per execution.
fn cells(sets: &ExecutionSets<'_>, members: &[usize], sample: usize) -> f64 {
    let steps: f64 = members.iter().map(|&index| sets.normal[index].len() as f64).sum();
    let mean = steps / members.len() as f64;
    let (aligned, further) = (members.len().min(30) as f64, members.len().min(230) as f64 + sample as f64);
    (10.0 * aligned + further) * 1.5 * mean * mean
}

fn p_values(
    profiles: &[Option<ClusterProfile>],
    measures: &[Option<DeviationMeasure>],
    labeled: &LabeledExecutions<'_>,
    totals_us: &[f64],
) -> Vec<f64> {
    let mut normal: Vec<DeviationMeasure> = Vec::new();
    let mut units_us: Vec<f64> = Vec::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (profile, total_us) in profiles.iter().zip(totals_us) {
        let first = normal.len();
        if let Some(profile) = profile {
            normal.extend(profile.normal_measures().iter().map(|measure| measure.measure));
        }
        units_us.resize(normal.len(), UNIT_SHARE * total_us);
        members.push((first..normal.len()).collect());
    }
    let kinds: Vec<Option<usize>> =
        measures.iter().zip(labeled.kinds).map(|(measure, kind)| measure.and(*kind)).collect();
    let labeled = LabeledExecutions { members: &members, kinds: &kinds };
    let sample: Vec<DeviationMeasure> = measures.iter().map(|measure| measure.unwrap_or_default()).collect();
    let unit_of = |index: usize| kinds[index].map_or(1.0, |kind| UNIT_SHARE * totals_us[kind]);
    let scored = |value: fn(&DeviationMeasure) -> f64| {
        let normal: Vec<f64> =
            normal.iter().zip(&units_us).map(|(measure, unit)| value(measure) / unit).collect();
        let sample: Vec<f64> =
            sample.iter().enumerate().map(|(index, measure)| value(measure) / unit_of(index)).collect();
        FeatureScores::new(&normal, &sample, &labeled, EXCESS_FLOOR)
    };
    let (all, largest) = (scored(|measure| measure.excess_us), scored(|measure| measure.largest_us));
    let counts =
        |set: &[DeviationMeasure]| set.iter().map(|measure| measure.unexpected as f64).collect::<Vec<f64>>();
    let unexpected = FeatureScores::from_logs(&counts(&normal), &counts(&sample), &labeled, COUNT_FLOOR);
    let ratios =
        |set: &[DeviationMeasure]| set.iter().map(|measure| measure.slowest_ratio).collect::<Vec<f64>>();
    let slowest = FeatureScores::new(&ratios(&normal), &ratios(&sample), &labeled, RATIO_FLOOR);
    let seen_share = |excess: f64| {
        let seen = |(measure, unit): &(&DeviationMeasure, &f64)| measure.excess_us / *unit >= excess;
        normal.iter().zip(&units_us).filter(seen).count() as f64 / normal.len() as f64
    };
    let p_value = |index: usize| {
        let Some(kind) = kinds[index] else { return 1.0 };
        if sample[index].excess_us < EXCESS_SHARE_MIN * totals_us[kind] {
            return 1.0;
        }
        let least = [&all, &largest, &slowest, &unexpected]
            .into_iter()
            .map(|measure| measure.p_value(index))
            .fold(1.0, f64::min);
        (TESTS * least).min(1.0).max(seen_share(sample[index].excess_us / unit_of(index)))
    };
    (0..sample.len()).map(p_value).collect()
}
