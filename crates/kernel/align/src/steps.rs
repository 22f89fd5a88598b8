//! Which sample executions deviate at some step from the normal ones of their kind (robust mode).
//!
//! A wait ten times as long as usual is hardly visible in the sum of all waits of its state, but it is when aligned
//! with the normal executions. So every execution is aligned with them, and its deviations are compared with those of
//! each normal execution does beyond the others.

use crate::AlignSettings;
use crate::anomalies::{FeatureScores, LabeledExecutions};
use crate::findings::localize_settings;
use crate::localize::{ClusterProfile, DeviationMeasure, align_cluster, localize};
use crate::sets::ExecutionSets;
use laggard_numeric::parallel_map;

/// Members of a kind without which its steps are not compared.
const MEMBERS_MIN: usize = 8;

/// Maximum number of table cells for the comparison; larger kinds are evaluated by their states alone.
const CELLS_MAX: f64 = 2e10;

/// Share of the kind's median total time that is the unit of excess: less is noise, and all the same.
const UNIT_SHARE: f64 = 0.02;

/// Least scales of excess in these units, and of log counts.
const EXCESS_FLOOR: f64 = 0.5;
/// Least scale of `ln(time / usual)` of the slowest step.
const RATIO_FLOOR: f64 = 0.1;
const COUNT_FLOOR: f64 = 0.2;

/// Least excess over the kind's median total for an execution to be anomalous by its steps.
const EXCESS_SHARE_MIN: f64 = 0.02;

/// Tests of each execution: all excess, the largest, the slowest step, and the most frequent of unexpected states.
const QUESTIONS: f64 = 4.0;

/// What is known of the steps.
pub(crate) struct StepEvidence {
    /// By kind; `None` where it was too small or too long.
    pub(crate) profiles: Vec<Option<ClusterProfile>>,
    /// By sample execution: probability of deviating so much if it were normal.
    pub(crate) p_values: Vec<f64>,
    /// Whether some kind was too long to be compared.
    pub(crate) is_limited: bool,
}

/// Lays sample executions over the normal ones of their kinds. `totals_us`: by kind, the median total.
pub(crate) fn step_evidence(
    sets: &ExecutionSets<'_>,
    placed: &LabeledExecutions<'_>,
    totals_us: &[f64],
    settings: &AlignSettings,
) -> StepEvidence {
    let rules = localize_settings(settings);
    let mut cells_left = CELLS_MAX;
    let mut is_limited = false;
    let mut profile = |(kind, members): (usize, &Vec<usize>)| {
        let sample = placed.kinds.iter().filter(|&&of| of == Some(kind)).count();
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
    let profiles: Vec<Option<ClusterProfile>> = placed.members.iter().enumerate().map(&mut profile).collect();
    let all: Vec<usize> = (0..placed.kinds.len()).collect();
    let measures = parallel_map(&all, settings.threads, |&index| {
        let profile = profiles[placed.kinds[index]?].as_ref()?;
        Some(localize(profile, sets.sample[index], &rules).measure)
    });
    let p_values = p_values(&profiles, &measures, placed, totals_us);
    StepEvidence { profiles, p_values, is_limited }
}

/// About how many cells the tables of a kind have: a multiple alignment with refinement, then one table an execution.
fn cells(sets: &ExecutionSets<'_>, members: &[usize], sample: usize) -> f64 {
    let steps: f64 = members.iter().map(|&index| sets.normal[index].len() as f64).sum();
    let mean = steps / members.len() as f64;
    let (aligned, further) = (members.len().min(30) as f64, members.len().min(230) as f64 + sample as f64);
    (10.0 * aligned + further) * 1.5 * mean * mean
}

fn p_values(
    profiles: &[Option<ClusterProfile>],
    measures: &[Option<DeviationMeasure>],
    placed: &LabeledExecutions<'_>,
    totals_us: &[f64],
) -> Vec<f64> {
    let mut normal: Vec<DeviationMeasure> = Vec::new();
    let mut units_us: Vec<f64> = Vec::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (profile, total_us) in profiles.iter().zip(totals_us) {
        let first = normal.len();
        if let Some(profile) = profile {
            normal.extend(profile.normal_measures().iter().map(|one| one.measure));
        }
        units_us.resize(normal.len(), UNIT_SHARE * total_us);
        members.push((first..normal.len()).collect());
    }
    let kinds: Vec<Option<usize>> =
        measures.iter().zip(placed.kinds).map(|(one, kind)| one.and(*kind)).collect();
    let placed = LabeledExecutions { members: &members, kinds: &kinds };
    let sample: Vec<DeviationMeasure> = measures.iter().map(|one| one.unwrap_or_default()).collect();
    let unit_of = |index: usize| kinds[index].map_or(1.0, |kind| UNIT_SHARE * totals_us[kind]);
    let scored = |of: fn(&DeviationMeasure) -> f64| {
        let normal: Vec<f64> = normal.iter().zip(&units_us).map(|(one, unit)| of(one) / unit).collect();
        let sample: Vec<f64> =
            sample.iter().enumerate().map(|(index, one)| of(one) / unit_of(index)).collect();
        FeatureScores::new(&normal, &sample, &placed, EXCESS_FLOOR)
    };
    let (all, largest) = (scored(|one| one.excess_us), scored(|one| one.largest_us));
    let counts = |set: &[DeviationMeasure]| set.iter().map(|one| one.unexpected as f64).collect::<Vec<f64>>();
    let unexpected = FeatureScores::from_logs(&counts(&normal), &counts(&sample), &placed, COUNT_FLOOR);
    let ratios = |set: &[DeviationMeasure]| set.iter().map(|one| one.slowest_ratio).collect::<Vec<f64>>();
    let slowest = FeatureScores::new(&ratios(&normal), &ratios(&sample), &placed, RATIO_FLOOR);
    let seen_share = |excess: f64| {
        let seen = |(one, unit): &(&DeviationMeasure, &f64)| one.excess_us / *unit >= excess;
        normal.iter().zip(&units_us).filter(seen).count() as f64 / normal.len() as f64
    };
    let p_value = |index: usize| {
        let Some(kind) = kinds[index] else { return 1.0 };
        if sample[index].excess_us < EXCESS_SHARE_MIN * totals_us[kind] {
            return 1.0;
        }
        let least = [&all, &largest, &slowest, &unexpected]
            .into_iter()
            .map(|one| one.p_value(index))
            .fold(1.0, f64::min);
        (QUESTIONS * least).min(1.0).max(seen_share(sample[index].excess_us / unit_of(index)))
    };
    (0..sample.len()).map(p_value).collect()
}
