//! The use of a resource that grows with the load in a straight line: memory by client, a network link by request.
//!
//! Such resources have no queue in the model. What limits them is a back-of-the-envelope calculation (Cherkasova et al. 2009,
//! section 7): what one more client or request takes, and how many fit.

/// Two-sided 95 % of the normal distribution.
const Z_95: f64 = 1.96;

/// Minimum number of independent observations, as if there were no autocorrelation.
const INDEPENDENT_MIN: f64 = 5.0;

/// Deviation of shares below which a line is exact.
const ROUNDING: f64 = 1e-9;

/// One observation of a resource.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResourceUse {
    /// Its time in any unit, for a trend.
    pub time: f64,
    /// The load: clients, or requests a second.
    pub load: f64,
    /// Share of the resource in use.
    pub used: f64,
}

/// `used = base + per_load · load + trend · time`, fitted by least squares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinearUse {
    /// Share in use without load at the time of the last observation.
    pub base: f64,
    /// Use that one unit of load adds.
    pub per_load: f64,
    /// Standard error of `per_load`, with the autocorrelation of what the line does not explain.
    pub standard_error: f64,
    /// Use that a unit of time adds, whatever the load; 0 without a trend in the fit.
    pub trend: f64,
    /// Mean load of the observations.
    pub load_mean: f64,
    /// Share in use at the mean load at the time of the last observation.
    pub used_at_mean: f64,
}

/// The load at which a resource is full.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FullAt {
    /// Most likely.
    pub load: f64,
    /// Lower end of the 95 % interval, ≥ 0.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl LinearUse {
    /// Fits the line, with a trend over time if `with_trend` is set: what fills with time alone (a leak, a cache) is then not
    /// counted as load. Observations are in order of time. `None` if there are too few independent ones, or if load and time
    /// cannot be distinguished.
    pub fn fit(observations: &[ResourceUse], with_trend: bool) -> Option<LinearUse> {
        let count = observations.len() as f64;
        let mean = |value: fn(&ResourceUse) -> f64| observations.iter().map(value).sum::<f64>() / count;
        let (time, load, used) = (mean(|seen| seen.time), mean(|seen| seen.load), mean(|seen| seen.used));
        let sum = |product: &dyn Fn(&ResourceUse) -> f64| observations.iter().map(product).sum::<f64>();
        let tt = sum(&|seen| (seen.time - time).powi(2));
        let tx = sum(&|seen| (seen.time - time) * (seen.load - load));
        let ty = sum(&|seen| (seen.time - time) * (seen.used - used));
        let xx = sum(&|seen| (seen.load - load).powi(2));
        let xy = sum(&|seen| (seen.load - load) * (seen.used - used));
        // What of load and use a trend does not explain (Frisch and Waugh 1933).
        let has_trend = with_trend && tt > 0.0;
        let (left_xx, left_xy) = if has_trend { (xx - tx * tx / tt, xy - tx * ty / tt) } else { (xx, xy) };
        if !(xx > 0.0 && left_xx > 1e-6 * xx) {
            return None;
        }
        let per_load = left_xy / left_xx;
        let trend = if has_trend { (ty - per_load * tx) / tt } else { 0.0 };
        let residuals: Vec<f64> = observations
            .iter()
            .map(|seen| seen.used - used - per_load * (seen.load - load) - trend * (seen.time - time))
            .collect();
        let independent = independent_observations(&residuals);
        let fitted = if has_trend { 3.0 } else { 2.0 };
        if independent < INDEPENDENT_MIN.max(fitted + 1.0) {
            return None;
        }
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let variance = squares / count * independent / (independent - fitted);
        let used_at_mean = used + trend * (observations.last()?.time - time);
        Some(LinearUse {
            base: used_at_mean - per_load * load,
            per_load,
            standard_error: (variance / (left_xx / count * independent)).sqrt(),
            trend,
            load_mean: load,
            used_at_mean,
        })
    }

    /// Whether the use grows with the load beyond doubt: the 95 % interval of what one unit adds is above 0.
    pub fn grows(&self) -> bool {
        self.per_load - Z_95 * self.standard_error > 0.0
    }

    /// Share in use at a load, at the time of the last observation.
    pub fn at(&self, load: f64) -> f64 {
        self.base + self.per_load * load
    }

    /// The load at which a share `used_max` is in use; `None` if the use does not grow with the load.
    pub fn full_at(&self, used_max: f64) -> Option<FullAt> {
        if !self.grows() {
            return None;
        }
        let margin = Z_95 * self.standard_error;
        // The line turns around the mean of the observations.
        let load = |per_load: f64| (self.load_mean + (used_max - self.used_at_mean) / per_load).max(0.0);
        let ends = [load(self.per_load + margin), load(self.per_load - margin)];
        Some(FullAt { load: load(self.per_load), low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) })
    }
}

/// The number of independent observations with the same information on a mean, `n (1 − r)/(1 + r)` for a lag-1 autocorrelation
/// of `r` (Bartlett 1946, for a first-order autoregressive process).
fn independent_observations(residuals: &[f64]) -> f64 {
    let all: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let neighbors: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let count = residuals.len() as f64;
    // Rounding errors of an exact line may be correlated.
    if all <= ROUNDING * ROUNDING * count {
        return count;
    }
    let correlation = (neighbors / all).clamp(0.0, 0.999);
    count * (1.0 - correlation) / (1.0 + correlation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(count: usize, used: impl Fn(f64, f64) -> f64) -> Vec<ResourceUse> {
        let observation = |index: usize| {
            let (time, load) = (index as f64, 100.0 + 40.0 * (index % 7) as f64);
            ResourceUse { time, load, used: used(time, load) }
        };
        (0..count).map(observation).collect()
    }

    /// 20 % without clients and 0.1 % for each: 90 % at 700 clients.
    #[test]
    fn a_straight_line_is_full_where_it_reaches_the_limit() {
        let fitted = LinearUse::fit(&observations(50, |_, load| 0.2 + 0.001 * load), false).unwrap();
        assert!((fitted.base - 0.2).abs() < 1e-9 && (fitted.per_load - 0.001).abs() < 1e-12);
        let full = fitted.full_at(0.9).unwrap();
        assert!((full.load - 700.0).abs() < 1e-6 && full.high - full.low < 1e-3, "{full:?}");
        assert!((fitted.at(300.0) - 0.5).abs() < 1e-9);
    }

    /// A leak of 0.2 % a window is no load: 0.1 % a client remain, and less is left at the end.
    #[test]
    fn what_fills_with_time_alone_is_not_counted_as_load() {
        let seen = observations(50, |time, load| 0.2 + 0.001 * load + 0.002 * time);
        let fitted = LinearUse::fit(&seen, true).unwrap();
        assert!((fitted.per_load - 0.001).abs() < 1e-9 && (fitted.trend - 0.002).abs() < 1e-9);
        assert!((fitted.base - (0.2 + 0.002 * 49.0)).abs() < 1e-9);
    }

    #[test]
    fn use_that_does_not_follow_the_load_has_no_limit() {
        let noise = |time: f64, _: f64| 0.4 + 0.01 * ((7.3 * time).sin() + (3.1 * time).cos());
        let fitted = LinearUse::fit(&observations(60, noise), true).unwrap();
        assert!(!fitted.grows() && fitted.full_at(0.9).is_none(), "{fitted:?}");
        // Memory that a process never returns: it rises once, with a load that is over.
        let retained = |time: f64, _: f64| if time < 30.0 { 0.3 } else { 0.6 };
        assert!(LinearUse::fit(&observations(60, retained), false).is_none_or(|fitted| !fitted.grows()));
    }

    #[test]
    fn a_constant_load_gives_no_line() {
        let same: Vec<ResourceUse> = observations(50, |_, _| 0.5);
        let same: Vec<ResourceUse> = same.iter().map(|seen| ResourceUse { load: 200.0, ..*seen }).collect();
        assert_eq!(LinearUse::fit(&same, false), None);
        // The load grows with time alone: a leak would look the same.
        let ramp: Vec<ResourceUse> = (0..50)
            .map(f64::from)
            .map(|index| ResourceUse { time: index, load: index, used: 0.01 * index })
            .collect();
        assert_eq!(LinearUse::fit(&ramp, true), None);
    }

    /// Twenty runs of a line with noise of 1 %: the interval holds the truth in at least 17 of them.
    #[test]
    fn intervals_hold_the_truth() {
        let mut held = 0;
        for seed in 0..20 {
            let noise = |time: f64| {
                let hash = ((time + 1.0) * 78.233 + f64::from(seed) * 37.719).sin() * 43_758.547;
                hash - hash.floor() - 0.5
            };
            let seen = observations(80, |time, load| 0.1 + 0.0008 * load + 0.02 * noise(time));
            let full = LinearUse::fit(&seen, false).unwrap().full_at(0.9).unwrap();
            held += usize::from((full.low..=full.high).contains(&1000.0));
        }
        assert!(held >= 17, "{held} of 20");
    }
}
