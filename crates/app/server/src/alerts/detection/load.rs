//! How the time of an operation depends on the load, so that a busy hour is not taken for a fault.
//!
//! A server that is busy for a share ρ of the time makes its calls 1 / (1 − ρ) times as long as on an idle one (the response time of an
//! M/M/1 queue), and ρ grows with the load. So a little more load than the baseline has known may make a service much slower. The
//! share at the mean load is estimated from the parts of the baseline.

/// Shares that are tried, and the largest that any load may lead to.
const STEP: f64 = 0.02;
const UTILIZATION_MAX: f64 = 0.95;
/// Standard errors of the share: the load itself is known from a count only, which makes the estimate too small.
const ERRORS_MAX: f64 = 1.5;
/// The most that more load explains, as a factor: a server that is overloaded is an incident, too.
const EXPLAINED_MAX: f64 = 1.6;
/// Parts from which the share is estimated.
const PARTS_MIN: usize = 6;

/// The load of a part of the data, in any unit, and the logarithm of the times in it.
#[derive(Clone, Copy)]
pub(super) struct LoadPart {
    pub(super) load: f64,
    pub(super) log: f64,
}

/// How the times of an operation depend on the load.
pub(super) struct LoadModel {
    /// The utilization at the mean load, 0..1.
    utilization: f64,
    /// The mean load.
    mean: f64,
}

impl LoadModel {
    /// With the largest utilization that the parts do not contradict: within one and a half standard errors of the least squares.
    pub(super) fn of(parts: &[LoadPart]) -> LoadModel {
        let mean = parts.iter().map(|part| part.load).sum::<f64>() / parts.len().max(1) as f64;
        if parts.len() < PARTS_MIN || mean <= 0.0 {
            return LoadModel { utilization: 0.0, mean: 1.0 };
        }
        let tried = (0..).map(|step| f64::from(step) * STEP).take_while(|share| *share < UTILIZATION_MAX);
        let models = tried.map(|utilization| LoadModel { utilization, mean });
        let fits: Vec<(f64, f64)> = models.map(|model| (model.utilization, model.squares(parts))).collect();
        let least = fits.iter().map(|fit| fit.1).fold(f64::INFINITY, f64::min);
        let most = least * (1.0 + ERRORS_MAX.powi(2) / (parts.len() - 2) as f64);
        let possible = fits.into_iter().filter(|fit| fit.1 <= most).map(|fit| fit.0);
        LoadModel { utilization: possible.fold(0.0, f64::max), mean }
    }

    /// How much of a rise of the logarithm of the times a load above the mean explains; 0 below it.
    pub(super) fn explained(&self, load: f64) -> f64 {
        self.change(load).clamp(0.0, EXPLAINED_MAX.ln())
    }

    /// By how much the logarithm of the times exceeds that at the mean load.
    fn change(&self, load: f64) -> f64 {
        let log_response = |load: f64| -(1.0 - (self.utilization * load).min(UTILIZATION_MAX)).ln();
        log_response(load / self.mean) - log_response(1.0)
    }

    /// The squared differences from the model, at the level that fits best.
    fn squares(&self, parts: &[LoadPart]) -> f64 {
        let rests = || parts.iter().map(|part| part.log - self.change(part.load));
        let mean = rests().sum::<f64>() / parts.len() as f64;
        rests().map(|rest| (rest - mean).powi(2)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty parts whose load varies by a fifth, of an operation with a utilization at 100 requests, and 3 % noise.
    fn parts(utilization: f64) -> Vec<LoadPart> {
        let part = |number: u32| {
            let load = 81.0 + 2.0 * f64::from(number * 7 % 20);
            let noise = 0.03 * if number.is_multiple_of(2) { 1.0 } else { -1.0 };
            LoadPart { load, log: 12.0 - (1.0 - utilization * load / 100.0).ln() + noise }
        };
        (0..20).map(part).collect()
    }

    #[test]
    fn a_busy_server_is_expected_to_be_slower_under_more_load() {
        let busy = LoadModel::of(&parts(0.7));
        let expected = (0.3_f64 / (1.0 - 0.7 * 1.1)).ln();
        assert!((busy.explained(110.0) - expected).abs() < 0.1, "{} {expected}", busy.explained(110.0));
        assert_eq!([busy.explained(100.0), busy.explained(80.0)], [0.0, 0.0]);
        let idle = LoadModel::of(&parts(0.0));
        assert!(idle.explained(130.0) < 0.06, "{}", idle.explained(130.0));
    }

    #[test]
    fn an_overloaded_server_is_not_explained() {
        let busy = LoadModel::of(&parts(0.7));
        assert_eq!(busy.explained(1e9), EXPLAINED_MAX.ln());
        assert!(busy.change(140.0) > EXPLAINED_MAX.ln());
    }

    #[test]
    fn without_enough_parts_load_explains_nothing() {
        assert_eq!(LoadModel::of(&parts(0.7)[..5]).explained(150.0), 0.0);
        assert_eq!(LoadModel::of(&[LoadPart { load: 0.0, log: 12.0 }; 9]).explained(150.0), 0.0);
    }
}
