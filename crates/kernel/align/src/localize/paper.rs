//! The published rules, column by column (Janecek et al. 2022, 3.6; details that the text omits are ours).

use super::aligned::AlignedSequence;
use super::cluster::ClusterProfile;
use super::result::{AlignedPosition, Deviation, DeviationKind};
use super::settings::LocalizeSettings;

/// All deviations, in no particular order.
pub(super) fn deviations(
    reference: &ClusterProfile,
    aligned: &AlignedSequence<'_>,
    settings: &LocalizeSettings,
) -> Vec<Deviation> {
    let mut found: Vec<Deviation> =
        (0..aligned.len()).filter_map(|step| of_step(reference, aligned, step, settings)).collect();
    let steps = aligned.steps_by_column(reference.columns.len());
    for (at, column) in reference.columns.iter().enumerate() {
        let Some(usual) = column.states.first().filter(|usual| usual.share >= settings.missing_share) else {
            continue;
        };
        if steps[at].is_none() {
            let place = AlignedPosition::Column(at as u32);
            found.push(Deviation {
                kind: DeviationKind::Missing,
                state: usual.state,
                place,
                step: aligned.step_from(place) as u32,
                time_us: 0.0,
                usual_us: usual.mean_us,
                excess_us: 0.0,
            });
        }
    }
    found
}

fn of_step(
    reference: &ClusterProfile,
    aligned: &AlignedSequence<'_>,
    step: usize,
    settings: &LocalizeSettings,
) -> Option<Deviation> {
    let (state, time, place) = (aligned.state(step), aligned.time_us(step), aligned.places[step]);
    let usual = match place {
        AlignedPosition::Column(column) => reference.columns[column as usize].state(state),
        AlignedPosition::Before(_) => None,
    };
    let deviation = Deviation {
        kind: DeviationKind::Unexpected,
        state,
        place,
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
