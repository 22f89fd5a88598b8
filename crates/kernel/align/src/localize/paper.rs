//! Column by column, as published (Janecek et al. 2022, 3.6; specified by us where the text is silent).

use super::cluster::ClusterProfile;
use super::placed::Placed;
use super::result::{Deviation, DeviationKind, Place};
use super::settings::LocalizeSettings;

/// All deviations, in no particular order.
pub(super) fn deviations(
    frozen: &ClusterProfile,
    placed: &Placed<'_>,
    settings: &LocalizeSettings,
) -> Vec<Deviation> {
    let mut found: Vec<Deviation> =
        (0..placed.len()).filter_map(|step| of_step(frozen, placed, step, settings)).collect();
    let steps = placed.steps_by_column(frozen.columns.len());
    for (at, column) in frozen.columns.iter().enumerate() {
        let Some(usual) = column.states.first().filter(|usual| usual.share >= settings.missing_share) else {
            continue;
        };
        if steps[at].is_none() {
            let place = Place::Column(at as u32);
            found.push(Deviation {
                kind: DeviationKind::Missing,
                state: usual.state,
                place,
                step: placed.step_from(place) as u32,
                time_us: 0.0,
                usual_us: usual.mean_us,
                excess_us: 0.0,
            });
        }
    }
    found
}

fn of_step(
    frozen: &ClusterProfile,
    placed: &Placed<'_>,
    step: usize,
    settings: &LocalizeSettings,
) -> Option<Deviation> {
    let (state, time, place) = (placed.state(step), placed.time_us(step), placed.places[step]);
    let usual = match place {
        Place::Column(column) => frozen.columns[column as usize].state(state),
        Place::Before(_) => None,
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
