//! The published rules, column by column (Janecek et al. 2022, 3.6; details that the text omits are ours).

use crate::StateSequence;
use crate::localize::aligned::AlignedSequence;
use crate::localize::cluster::aligned_cluster;
use crate::localize::row::localized;
use crate::localize::{
    AlignedPosition, ClusterProfile, Deviation, DeviationKind, DeviationMeasure, LocalizeSettings,
    LocalizedExecution,
};
use laggard_parallel::parallel_map;

/// The aligned normal executions; times do not affect the alignment.
pub(crate) fn align_cluster(
    normals: &[&StateSequence],
    alphabet_len: usize,
    settings: &LocalizeSettings,
) -> ClusterProfile {
    let align = |profile: &ClusterProfile, normal| profile.align_states(normal, settings);
    aligned_cluster(normals, alphabet_len, settings, align).profile
}

/// The deviations of each execution. The published rules have no total measure of deviation.
pub(crate) fn localize_all(
    profile: &ClusterProfile,
    anomalous: &[&StateSequence],
    settings: &LocalizeSettings,
) -> Vec<LocalizedExecution> {
    parallel_map(anomalous, settings.msa.threads, |execution| {
        let aligned = profile.align_states(execution, settings);
        let deviations = deviations(profile, &aligned, settings);
        localized(profile, &aligned, deviations, DeviationMeasure::default())
    })
}

/// All deviations, in no particular order.
fn deviations(
    profile: &ClusterProfile,
    aligned: &AlignedSequence<'_>,
    settings: &LocalizeSettings,
) -> Vec<Deviation> {
    let mut deviations: Vec<Deviation> =
        (0..aligned.len()).filter_map(|step| step_deviation(profile, aligned, step, settings)).collect();
    let steps = aligned.steps_by_column(profile.columns.len());
    for (column_index, column) in profile.columns.iter().enumerate() {
        let Some(usual) = column.states.first().filter(|usual| usual.share >= settings.missing_share) else {
            continue;
        };
        if steps[column_index].is_none() {
            let position = AlignedPosition::Column(column_index as u32);
            deviations.push(Deviation {
                kind: DeviationKind::Missing,
                state: usual.state,
                position,
                step: aligned.step_from(position) as u32,
                time_us: 0.0,
                usual_us: usual.mean_us,
                excess_us: 0.0,
            });
        }
    }
    deviations
}

fn step_deviation(
    profile: &ClusterProfile,
    aligned: &AlignedSequence<'_>,
    step: usize,
    settings: &LocalizeSettings,
) -> Option<Deviation> {
    let (state, time, position) = (aligned.state(step), aligned.time_us(step), aligned.positions[step]);
    let usual = match position {
        AlignedPosition::Column(column) => profile.columns[column as usize].state(state),
        AlignedPosition::Before(_) => None,
    };
    let deviation = Deviation {
        kind: DeviationKind::Unexpected,
        state,
        position,
        step: step as u32,
        time_us: time,
        usual_us: 0.0,
        excess_us: time,
    };
    let Some(usual) = usual.filter(|usual| usual.share >= settings.unexpected_share) else {
        return Some(deviation);
    };
    let is_slow =
        usual.count >= settings.values_min && time > usual.mean_us + settings.slow_std * usual.std_us;
    is_slow.then_some(Deviation {
        kind: DeviationKind::Slow,
        usual_us: usual.mean_us,
        excess_us: time - usual.mean_us,
        ..deviation
    })
}
