//! How much means of residuals vary when nothing changes.

use super::EXCESS_LENGTHS;
use super::reference::Reference;
use laggard_numeric::mad;

/// Usual means of one length, in units of the spread of a window.
#[derive(Clone, Copy)]
pub(super) struct Variation {
    pub(super) deviation: f64,
    /// The largest mean of the reference.
    pub(super) largest: f64,
    /// The largest mean of the reference as a share of the capacity.
    pub(super) largest_share: f64,
}

/// The variation of means by their length.
pub(super) struct UsualMeans {
    by_length: Vec<(usize, Variation)>,
}

impl UsualMeans {
    /// From the held-out residuals of the reference, which include drift and correlation between windows.
    pub(super) fn new(model: &Reference<'_>) -> UsualMeans {
        let lengths = EXCESS_LENGTHS.iter().copied().filter(|&length| 3 * length <= model.held_out.len());
        UsualMeans { by_length: lengths.map(|length| (length, variation(model, length))).collect() }
    }

    /// For a length that the reference is too short for, that of the longest known.
    pub(super) fn variation(&self, length: usize) -> Variation {
        let known = self.by_length.iter().find(|(known, _)| *known >= length).or(self.by_length.last());
        known.map_or(
            Variation { deviation: f64::INFINITY, largest: f64::INFINITY, largest_share: f64::INFINITY },
            |(_, variation)| *variation,
        )
    }
}

fn variation(model: &Reference<'_>, length: usize) -> Variation {
    let residuals = &model.held_out;
    let means = means(residuals, length);
    // Means that overlap are one fact: so few facts may be less variable than usual by chance.
    let independent = residuals.len() as f64 / length as f64;
    let shortage = 1.0 + 2.0 / (2.0 * independent).sqrt();
    let square = means.iter().map(|mean| mean * mean).sum::<f64>() / means.len() as f64;
    Variation {
        // Rare outliers count in the largest mean; half of them here.
        deviation: shortage * mad(&means, 0.0).max(0.7 * square.sqrt()),
        largest: means.iter().copied().fold(0.0, f64::max),
        largest_share: self::means(&model.held_out_shares, length).into_iter().fold(0.0, f64::max),
    }
}

fn means(values: &[f64], length: usize) -> Vec<f64> {
    values.windows(length).map(|part| part.iter().sum::<f64>() / length as f64).collect()
}
