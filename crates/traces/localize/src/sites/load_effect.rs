//! How much slower a service must be because it gets more calls.
//!
//! A queue makes work take longer the higher its utilization: an operation of a service that gets a fifth more calls is
//! slower although nothing is wrong with it. How strongly a service depends on its load shows in the baseline, where the
//! load varies as well:
//!
//! ```text
//! log time    │      ·  ·╱·         slope: by how much time grows with the load in the baseline
//!             │   ··╱· ·            change that the load explains: slope × (load now − load before)
//!             │ ·╱··
//!             └────────────
//!               log of calls per second and replica
//! ```
//!
//! This is an analysis of covariance; the uncertainty of the slope makes a change less certain the more the load changed.

use crate::sites::drift::Noise;
use crate::sites::table::{Observation, SiteTable};
use laggard_numeric::{mean, median_of};

/// The change of a level that the load explains, as a logarithm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LoadEffect {
    /// Logarithm of the load in the window over that of the baseline.
    pub(crate) load: f64,
    /// Change of the logarithm of time that goes with it; not negative.
    pub(crate) change: f64,
    /// Its variance.
    pub(crate) noise: Noise,
}

/// Fewest parts of the baseline from which a slope is estimated.
const PARTS_MIN: usize = 6;
/// What is known of the slope before any data: between that of an idle server, 0, and that of an M/M/1 queue (utilization
/// over idle share) at a utilization of 60 %, 1.5.
const SLOPE: f64 = 0.75;
const SLOPE_VARIANCE: f64 = 0.75 * 0.75;
/// Load and noise last from one part to the next, so that parts are fewer than they look.
const CORRELATED_PARTS: f64 = 2.0;

impl LoadEffect {
    /// The effect of the load on the operations of a service. `loads` and `times` are logarithms by part of the baseline, of
    /// calls per second and replica and of the time over the expected time; `now` is the load in the window. `None` if the
    /// load did not grow, or the baseline has too few parts.
    pub(crate) fn of(loads: &[Option<f64>], times: &[Option<f64>], now: f64) -> Option<LoadEffect> {
        let known: Vec<(f64, f64)> =
            loads.iter().zip(times).filter_map(|(&load, &time)| Some((load?, time?))).collect();
        if known.len() < PARTS_MIN {
            return None;
        }
        let (loads, times): (Vec<f64>, Vec<f64>) = known.into_iter().unzip();
        let (load, time) = (mean(&loads), mean(&times));
        let change = now - load;
        if change <= 0.0 {
            return None;
        }
        let squares: f64 = loads.iter().map(|x| (x - load).powi(2)).sum();
        let products: f64 = loads.iter().zip(&times).map(|(x, y)| (x - load) * (y - time)).sum();
        let fitted = if squares > 0.0 { products / squares } else { 0.0 };
        let residual: f64 =
            loads.iter().zip(&times).map(|(x, y)| (y - time - fitted * (x - load)).powi(2)).sum();
        let degrees = loads.len() as f64 - 2.0;
        // The precision of the data's slope, and of what is known before.
        let precision = squares / (CORRELATED_PARTS * residual / degrees).max(1e-9);
        let before = 1.0 / SLOPE_VARIANCE;
        let slope = ((precision * fitted + before * SLOPE) / (precision + before)).max(0.0);
        let variance = change * change / (precision + before);
        Some(LoadEffect { load: change, change: slope * change, noise: Noise { variance, degrees } })
    }
}

/// Logarithm of the calls per second and replica of some operations, by part of the table's requests; `None` for a part
/// without calls.
pub(crate) fn loads(table: &SiteTable, rows: &[&[Observation]], parts: usize) -> Vec<Option<f64>> {
    let requests = table.requests.len();
    let mut calls = vec![0.0; parts];
    let mut is_called = vec![false; parts * table.sets.len()];
    for row in rows.iter().copied().flatten() {
        let part = row.request as usize * parts / requests;
        calls[part] += f64::from(row.calls) * f64::from(table.requests[row.request as usize].weight);
        is_called[part * table.sets.len() + row.set as usize] = true;
    }
    let load = |(part, &calls): (usize, &f64)| {
        let first = (part * requests).div_ceil(parts);
        let next = ((part + 1) * requests).div_ceil(parts).min(requests - 1);
        let length = table.requests[next].start.since(table.requests[first].start).magnitude();
        let replicas =
            is_called[part * table.sets.len()..][..table.sets.len()].iter().filter(|called| **called);
        let rate = calls / (length.ns() as f64 * replicas.count() as f64);
        (rate.is_finite() && rate > 0.0).then(|| rate.ln())
    };
    calls.iter().enumerate().map(load).collect()
}

/// The median over some sites, by part; every site less its mean.
pub(crate) fn common_times(sites: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
    let means: Vec<f64> =
        sites.iter().map(|times| mean(&times.iter().flatten().copied().collect::<Vec<f64>>())).collect();
    let parts = sites.iter().map(Vec::len).max().unwrap_or(0);
    let part = |part: usize| {
        let of_site = |(times, mean): (&Vec<Option<f64>>, &f64)| Some(times.get(part).copied()?? - mean);
        let values: Vec<f64> = sites.iter().zip(&means).filter_map(of_site).collect();
        (!values.is_empty()).then(|| median_of(&values))
    };
    (0..parts).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(values: impl Iterator<Item = f64>) -> Vec<Option<f64>> {
        values.map(Some).collect()
    }

    /// Time grows with the load to the power of 1.5.
    #[test]
    fn a_service_that_depends_on_its_load_is_expected_to_be_slower() {
        let load = |part: usize| 0.1 * (part as f64 / 3.0).sin();
        let loads = some((0..24).map(load));
        let times = some((0..24).map(|part| 1.5 * load(part) + 0.01 * (part as f64 * 2.0).cos()));
        let effect = LoadEffect::of(&loads, &times, 0.2).unwrap();
        assert!((effect.change - 1.5 * effect.load).abs() < 0.03, "{effect:?}");
        assert!(effect.noise.variance.sqrt() < 0.03, "{effect:?}");
        assert_eq!(LoadEffect::of(&loads, &times, -0.2), None, "the load fell");
    }

    #[test]
    fn a_service_that_does_not_depend_on_its_load_is_not() {
        let loads = some((0..24).map(|part| 0.1 * f64::from(part % 4)));
        let times = some((0..24).map(|part| 0.01 * f64::from(part % 3)));
        let effect = LoadEffect::of(&loads, &times, 0.4).unwrap();
        assert!(effect.change < 0.02, "{effect:?}");
    }

    /// Nothing shows how the service depends on its load, so that either is possible.
    #[test]
    fn an_unprecedented_load_leaves_the_change_uncertain() {
        let loads = some((0..8).map(|part| 1e-4 * f64::from(part)));
        let times = some((0..8).map(|part| 0.02 * f64::from(part % 2)));
        let effect = LoadEffect::of(&loads, &times, 0.4).unwrap();
        assert!(effect.noise.variance.sqrt() > 0.25, "{effect:?}");
    }

    #[test]
    fn sites_are_compared_with_their_own_mean() {
        let sites = [some([1.0, 2.0, 3.0].into_iter()), vec![Some(10.0), None, Some(12.0)]];
        assert_eq!(common_times(&sites), [Some(-1.0), Some(0.0), Some(1.0)]);
    }
}
