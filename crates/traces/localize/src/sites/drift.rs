//! How much levels drift when nothing is wrong, and whether one has changed by more.
//!
//! Load, caches, and neighbors move the time of every site a little from one quarter of an hour to the next, so the noise
//! of single calls says too little about how far a window may be from its baseline. The baseline is cut into
//! batches as long as the window. What the levels of its batches vary by, beyond the noise of their calls, is drift.
//! There are few batches and many sites, so every site's estimate is shrunk towards that of all sites (Smyth, *Statistical
//! Applications in Genetics and Molecular Biology* 3, 2004).
//!
//! Much of the drift is common to all sites of a service: more load makes everything in it slower. A site is therefore
//! compared twice: by itself, and relative to what the sites of its service have in common, whose drift is much smaller.

use crate::sites::load_effect::LoadEffect;
use laggard_numeric::{mad, median_of, sample_std, student_upper_tail};
use std::collections::BTreeMap;

/// The level of one site in the window, against its baseline; logarithms of times over expected times.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Level {
    /// Level of the window less that of the baseline.
    pub(crate) change: f64,
    /// Level of every batch of the baseline less that of the baseline; `None` for a batch without calls.
    pub(crate) batches: Vec<Option<f64>>,
    /// Variance of a batch by the noise of its calls.
    pub(crate) batch_variance: f64,
    /// Variance of the baseline's level by the noise of its calls.
    pub(crate) baseline: Noise,
    /// Variance of the window's level by the noise of its calls.
    pub(crate) window: Noise,
}

/// A variance with the degrees of freedom of its estimate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Noise {
    pub(crate) variance: f64,
    pub(crate) degrees: f64,
}

/// Prior of the drift.
#[derive(Clone, Copy, Debug)]
struct Prior {
    /// Smallest standard deviation of the drift, as a logarithm.
    deviation_min: f64,
    /// Weight of all sites together in the estimate of one, in batches.
    degrees: f64,
}

/// Sites of one system drift together: all of them are hardly more evidence than one.
const ALONE: Prior = Prior { deviation_min: 0.04, degrees: 4.0 };
/// Relative to its service, every site drifts by itself.
const RELATIVE: Prior = Prior { deviation_min: 0.012, degrees: 20.0 };

/// Fewest sites that have something in common.
const GROUP_MIN: usize = 3;
/// Minimum number of batches for median and MAD, since half of the batches may be other incidents.
const ROBUST_BATCHES_MIN: usize = 8;
/// A spread by MAD is as uncertain as a standard deviation of this share of the values (Rousseeuw & Croux, *JASA*
/// 88, 1993).
const MAD_EFFICIENCY: f64 = 0.37;
/// Drift has heavier tails than a normal distribution (collections, cold caches, retries): the degrees of freedom of the t
/// distribution are limited to this.
const DEGREES_MAX: f64 = 30.0;

/// A change of level with its standard error.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LevelShift {
    pub(crate) change: f64,
    pub(crate) error: f64,
    pub(crate) degrees: f64,
}

impl LevelShift {
    /// What remains of the change without the part that the load explains.
    pub(crate) fn without(self, load: &LoadEffect) -> LevelShift {
        let (error, degrees) =
            combined(&[Noise { variance: self.error.powi(2), degrees: self.degrees }, load.noise]);
        LevelShift { change: self.change - load.change, error, degrees }
    }

    /// One-sided p-value of a change above `least`.
    pub(crate) fn p_value(&self, least: f64) -> f64 {
        student_upper_tail((self.change - least) / self.error, self.degrees)
    }
}

/// The change of every site by itself.
pub(crate) fn shifts(levels: &[Option<Level>]) -> Vec<Option<LevelShift>> {
    moderated(levels, ALONE)
}

/// The change of every site relative to what its group has in common; `None` where the group is too small.
pub(crate) fn relative_shifts(levels: &[Option<Level>], groups: &[usize]) -> Vec<Option<LevelShift>> {
    let mut members: BTreeMap<usize, Vec<&Level>> = BTreeMap::new();
    for (level, &group) in levels.iter().zip(groups) {
        if let Some(level) = level {
            members.entry(group).or_default().push(level);
        }
    }
    let common: BTreeMap<usize, (f64, Vec<f64>)> = (members.into_iter())
        .filter(|(_, members)| members.len() >= GROUP_MIN)
        .map(|(group, members)| (group, common(&often_called(members))))
        .collect();
    let relative = |(level, group): (&Option<Level>, &usize)| {
        let (level, (change, batches)) = (level.as_ref()?, common.get(group)?);
        let batch = |(batch, common): (&Option<f64>, &f64)| batch.map(|batch| batch - common);
        let batches = level.batches.iter().zip(batches).map(batch).collect();
        Some(Level { change: level.change - change, batches, ..level.clone() })
    };
    moderated(&levels.iter().zip(groups).map(relative).collect::<Vec<_>>(), RELATIVE)
}

/// Degrees of freedom of a member that is called in at least six blocks of the window. The noise of fewer is hardly known.
const OFTEN_CALLED_DEGREES_MIN: f64 = 5.0;

/// Members that are called often enough to show what is common, if there are enough of them.
fn often_called(members: Vec<&Level>) -> Vec<&Level> {
    let is_often_called = |level: &&Level| level.window.degrees >= OFTEN_CALLED_DEGREES_MIN;
    let often: Vec<&Level> = members.iter().copied().filter(is_often_called).collect();
    if often.len() >= GROUP_MIN { often } else { members }
}

/// The common part of the members: of their changes, and of every batch.
fn common(members: &[&Level]) -> (f64, Vec<f64>) {
    let error = |noise: f64| noise.max(0.0).sqrt();
    let changes: Vec<(f64, f64)> = (members.iter())
        .map(|level| (level.change, error(level.window.variance + level.baseline.variance)))
        .collect();
    let batch = |batch: usize| {
        let value = |level: &&Level| Some((level.batches[batch]?, error(level.batch_variance)));
        shared_change(&members.iter().filter_map(value).collect::<Vec<_>>())
    };
    (shared_change(&changes), (0..members[0].batches.len()).map(batch).collect())
}

/// One in so many members moves with its service if not all do: what waits or sleeps does not get slower with the load.
const MOVING_PART: usize = 4;

/// What some `(change, error)` share: the median, or the change that a quarter of them, at least two, exceed for certain.
fn shared_change(changes: &[(f64, f64)]) -> f64 {
    if changes.is_empty() {
        return 0.0;
    }
    let mut certain: Vec<f64> = changes.iter().map(|(change, error)| change - error).collect();
    certain.sort_by(|a, b| b.total_cmp(a));
    let moving = certain.get((changes.len().div_ceil(MOVING_PART)).max(2) - 1).copied();
    let middle = median_of(&changes.iter().map(|(change, _)| *change).collect::<Vec<f64>>());
    moving.map_or(middle, |moving| moving.max(middle))
}

/// The drift of one site, as far as its own batches show it.
struct Drift {
    /// Variance beyond that of the calls' noise; not negative.
    variance: f64,
    degrees: f64,
}

fn drift(level: &Level) -> Option<Drift> {
    let values: Vec<f64> = level.batches.iter().flatten().copied().collect();
    if values.len() < 2 {
        return None;
    }
    let degrees = values.len() as f64 - 1.0;
    let (spread, degrees) = match values.len() >= ROBUST_BATCHES_MIN {
        true => (mad(&values, median_of(&values)), (MAD_EFFICIENCY * degrees).max(1.0)),
        false => (sample_std(&values), degrees),
    };
    Some(Drift { variance: (spread * spread - level.batch_variance).max(0.0), degrees })
}

fn moderated(levels: &[Option<Level>], prior: Prior) -> Vec<Option<LevelShift>> {
    let drifts: Vec<Option<Drift>> = levels.iter().map(|level| drift(level.as_ref()?)).collect();
    let variances: Vec<f64> = drifts.iter().flatten().map(|drift| drift.variance).collect();
    let usual = if variances.is_empty() { 0.0 } else { median_of(&variances) };
    let usual = usual.max(prior.deviation_min.powi(2));
    let shift = |(level, drift): (&Option<Level>, &Option<Drift>)| {
        let level = level.as_ref()?;
        let (own, degrees) = drift.as_ref().map_or((0.0, 0.0), |drift| (drift.variance, drift.degrees));
        let variance = (prior.degrees * usual + degrees * own) / (prior.degrees + degrees);
        let batches = level.batches.iter().flatten().count().max(1) as f64;
        let drift = Noise { variance: variance * (1.0 + 1.0 / batches), degrees: prior.degrees + degrees };
        let (error, degrees) = combined(&[drift, level.baseline, level.window]);
        Some(LevelShift { change: level.change, error, degrees })
    };
    levels.iter().zip(&drifts).map(shift).collect()
}

/// The standard error of a sum of independent terms, and its degrees of freedom (Welch & Satterthwaite).
fn combined(terms: &[Noise]) -> (f64, f64) {
    let variance: f64 = terms.iter().map(|term| term.variance).sum();
    let denominator: f64 = terms.iter().map(|term| term.variance.powi(2) / term.degrees.max(0.5)).sum();
    (variance.sqrt(), (variance.powi(2) / denominator).clamp(0.5, DEGREES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(change: f64, batches: &[f64]) -> Option<Level> {
        let none = Noise { variance: 1e-6, degrees: 15.0 };
        let batches = batches.iter().map(|&batch| Some(batch)).collect();
        Some(Level { change, batches, batch_variance: 1e-6, baseline: none, window: none })
    }

    /// All sites of the service rise by a tenth, as they do between any two batches; one rises by 30 % more.
    #[test]
    fn a_drift_common_to_a_service_is_no_change_of_one_site() {
        let batches = [0.1, -0.1, 0.1, -0.1];
        let mut levels = vec![level(0.1, &batches); 5];
        levels.push(level(0.36, &batches));
        let groups = vec![7; levels.len()];
        let relative = relative_shifts(&levels, &groups);
        assert!(relative[0].unwrap().p_value(0.0) > 0.3);
        assert!(relative[5].unwrap().p_value(0.03) < 1e-6, "{:?}", relative[5]);
        let alone = shifts(&levels);
        assert!(alone[0].unwrap().p_value(0.0) > 0.1, "{:?}", alone[0]);
        assert!(alone[5].unwrap().p_value(0.0) > 0.005, "{:?}", alone[5]);
    }

    /// Two of five operations work, the others wait: the two are equally slower when the machine is.
    #[test]
    fn a_drift_common_to_part_of_a_service_is_no_change_of_one_site() {
        let steady = level(0.0, &[0.0; 4]);
        let slower = level(0.1, &[0.0; 4]);
        let levels = [slower.clone(), slower, steady.clone(), steady.clone(), steady];
        let relative = relative_shifts(&levels, &[3; 5]);
        assert!(relative[0].unwrap().p_value(0.0) > 0.3, "{:?}", relative[0]);
    }

    /// A job with five calls happens to be slower, too: that is not common to the service.
    #[test]
    fn a_rarely_called_site_does_not_show_what_is_common() {
        let slower = level(0.3, &[0.0; 4]);
        let few = Noise { variance: 0.007, degrees: 4.0 };
        let job = slower.clone().map(|level| Level { change: 0.45, window: few, ..level });
        let steady = level(0.0, &[0.0; 4]);
        let levels = [slower, job, steady.clone(), steady.clone(), steady];
        let relative = relative_shifts(&levels, &[3; 5])[0].unwrap();
        assert!((relative.change - 0.3).abs() < 1e-9 && relative.p_value(0.0) < 1e-6, "{relative:?}");
    }

    #[test]
    fn two_sites_have_no_common_drift() {
        let levels = vec![level(0.5, &[0.0; 4]); 2];
        assert_eq!(relative_shifts(&levels, &[1, 1]), [None, None]);
        assert!(shifts(&levels)[0].unwrap().p_value(0.03) < 1e-3);
    }

    /// Welch & Satterthwaite by hand: equal variances of 4 and 4 degrees have 8.
    #[test]
    fn degrees_of_freedom_add_up() {
        let term = Noise { variance: 1.0, degrees: 4.0 };
        let (error, degrees) = combined(&[term, term]);
        assert!((error - 2.0_f64.sqrt()).abs() < 1e-12 && (degrees - 8.0).abs() < 1e-12);
    }
}
