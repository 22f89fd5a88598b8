//! The usual level of a site in a baseline, parts of which may be other incidents.

use crate::sites::blocks::{BlockValue, Sums};
use laggard_numeric::{mad, median_of};

/// Minimum spread of block values, since a few blocks may vary less by chance.
pub(crate) const BLOCK_SPREAD_MIN: f64 = 0.005;

/// The usual level in a baseline.
pub(crate) struct Usual {
    /// Of the batches pooled.
    pub(crate) level: f64,
    /// Mean of their blocks' values.
    pub(crate) mean_log: f64,
}

/// The baseline's level: its batches pooled, with less weight the further they are from their median beyond `reach` of their
/// standard deviations (by MAD), because such a batch is another incident.
pub(crate) fn usual_level(
    batches: &[(&[Sums], Option<f64>)],
    reach: f64,
    value: fn(&BlockValue) -> f64,
) -> Option<Usual> {
    let known: Vec<f64> = batches.iter().filter_map(|(_, batch)| *batch).collect();
    if known.is_empty() {
        return None;
    }
    let middle = median_of(&known);
    let reach = reach * mad(&known, middle).max(BLOCK_SPREAD_MIN);
    let (mut all, mut logs, mut weights) = (Sums::default(), 0.0, 0.0);
    for (blocks, batch) in batches.iter().filter_map(|(blocks, batch)| Some((blocks, (*batch)?))) {
        let weight = (reach / (batch - middle).abs().max(reach)).powi(2);
        for (sums, block) in blocks.iter().filter_map(|sums| Some((sums, sums.value()?))) {
            all.add(sums.times(weight));
            logs += weight * value(&block);
            weights += weight;
        }
    }
    Some(Usual { level: value(&all.value()?), mean_log: logs / weights })
}
