//! The usual times of calls of a site: by normal calls, or by most of the calls themselves.

use crate::sites::overlap::BINS;
use laggard_numeric::normal_upper_tail;

/// The tail of normal times begins at this quantile.
pub(crate) const TAIL_QUANTILE: f64 = 0.9;
/// A category's own quantiles count like this many calls of the others.
const POOLED_CALLS: f64 = 50.0;
/// Normal calls needed for a median of the category's own.
const OWN_CALLS_MIN: usize = 5;
/// Minimum spread of logarithms.
pub(crate) const SPREAD_MIN: f64 = 0.01;

/// The usual logarithms of times in a category.
#[derive(Clone, Copy, Default)]
pub(crate) struct CategoryLevel {
    pub(crate) median: f64,
    /// From the median to where the tail begins.
    reach: f64,
}

/// Usual times of calls of a site, by category.
#[derive(Default)]
pub(crate) struct UsualTimes {
    by_category: Vec<Option<CategoryLevel>>,
    /// For other categories.
    pooled: CategoryLevel,
    tail: Tail,
    /// Quantiles of normal calls' logarithms over the reach of their category, one fewer than [`BINS`]; none without normal calls.
    grid: Vec<f64>,
    /// Number of normal calls by category.
    normal_calls: Vec<usize>,
}

enum Tail {
    /// Exponential logarithms beyond the 90 % quantile, with this mean.
    Pareto(f64),
    /// Normal logarithms: the reach is one standard deviation.
    LogNormal,
}

impl Default for Tail {
    fn default() -> Tail {
        Tail::Pareto(1.0)
    }
}

impl UsualTimes {
    pub(crate) fn of(&self, category: u32) -> CategoryLevel {
        self.by_category.get(category as usize).copied().flatten().unwrap_or(self.pooled)
    }

    /// The bin of equally many normal calls that a call is in, as `ratio` of [`UsualTimes::p_value`]; `None` without normal calls.
    pub(crate) fn bin(&self, category: u32, ratio: f64) -> Option<usize> {
        let scaled = ratio / self.of(category).reach.max(SPREAD_MIN);
        (!self.grid.is_empty()).then(|| self.grid.partition_point(|&limit| limit <= scaled))
    }

    /// Normal calls of a category.
    pub(crate) fn normal_calls(&self, category: usize) -> usize {
        self.normal_calls.get(category).copied().unwrap_or(0)
    }

    /// The probability that a normal call takes so long: `ratio` is the logarithm of its time over the usual one. 1 for all
    /// that are no longer than nine of ten.
    pub(crate) fn p_value(&self, category: u32, ratio: f64) -> f64 {
        let reach = self.of(category).reach.max(SPREAD_MIN);
        match self.tail {
            Tail::Pareto(_) if ratio <= reach => 1.0,
            Tail::Pareto(mean) => (1.0 - TAIL_QUANTILE) * (-(ratio - reach) / mean).exp(),
            Tail::LogNormal => normal_upper_tail(ratio / reach),
        }
    }

    /// By all normal calls.
    pub(crate) fn from_normal(normal: &[(u32, f32)]) -> UsualTimes {
        let logs: Vec<(u32, f64)> = normal.iter().map(|&(category, time)| (category, log_ns(time))).collect();
        let mut all: Vec<f64> = logs.iter().map(|&(_, log)| log).collect();
        let overall = quantile(&mut all, 0.5);
        let mut categories = by_category(&logs);
        let mut medians: Vec<Option<f64>> = Vec::with_capacity(categories.len());
        let mut ratios = Vec::with_capacity(logs.len());
        for logs in &mut categories {
            let own = logs.len() >= OWN_CALLS_MIN;
            let middle = if own { quantile(logs, 0.5) } else { overall };
            medians.push(own.then_some(middle));
            logs.iter_mut().for_each(|log| *log -= middle);
            ratios.extend(logs.iter().copied().filter(|_| own));
        }
        if ratios.is_empty() {
            ratios = all.iter().map(|log| log - overall).collect();
        }
        let pooled_reach = quantile(&mut ratios, TAIL_QUANTILE).max(SPREAD_MIN);
        let level = |(logs, median): (&mut Vec<f64>, &Option<f64>)| {
            let calls = logs.len() as f64;
            let own = quantile(logs, TAIL_QUANTILE);
            let reach = (calls * own + POOLED_CALLS * pooled_reach) / (calls + POOLED_CALLS);
            median.map(|median| CategoryLevel { median, reach })
        };
        let levels: Vec<Option<CategoryLevel>> = categories.iter_mut().zip(&medians).map(level).collect();
        let beyond = |reach: f64, ratio: f64| (ratio > reach).then_some(ratio - reach);
        let mut tail: Vec<f64> = (categories.iter().zip(&levels))
            .filter_map(|(logs, level)| Some((logs, (*level)?)))
            .flat_map(|(logs, level)| logs.iter().filter_map(move |&log| beyond(level.reach, log)))
            .collect();
        if tail.is_empty() {
            tail = ratios.iter().filter_map(|&ratio| beyond(pooled_reach, ratio)).collect();
        }
        let mean = tail.iter().sum::<f64>() / tail.len().max(1) as f64;
        // Few calls may have a shorter tail than the population by chance.
        let mean = mean.max(SPREAD_MIN) * (1.0 + 1.0 / (tail.len().max(1) as f64).sqrt());
        let scaled = |(logs, level): (&Vec<f64>, &Option<CategoryLevel>)| -> Vec<f64> {
            let reach = level.map_or(1.0, |level| level.reach.max(SPREAD_MIN));
            logs.iter().map(|log| log / reach).filter(|_| level.is_some()).collect()
        };
        UsualTimes {
            grid: grid(categories.iter().zip(&levels).flat_map(scaled).collect()),
            normal_calls: categories.iter().map(Vec::len).collect(),
            by_category: levels,
            pooled: CategoryLevel { median: overall, reach: pooled_reach },
            tail: Tail::Pareto(mean),
        }
    }

    /// By the calls themselves, less those that are known to be hit: all but the slowest of a category. Without known hits,
    /// half of the calls are suspected. The quantiles of the rest give the median and the spread.
    pub(crate) fn from_bulk(logs: &[(u32, f64)], hits: &[usize]) -> UsualTimes {
        let share = |category: usize, calls: usize| match hits.is_empty() {
            true => BULK_MIN,
            false => (1.0 - hits.get(category).copied().unwrap_or(0) as f64 / calls as f64).max(BULK_MIN),
        };
        let mut categories = by_category(logs);
        let mut levels = Vec::with_capacity(categories.len());
        let mut ratios = Vec::new();
        for (category, logs) in categories.iter_mut().enumerate() {
            if logs.len() < OWN_CALLS_MIN {
                levels.push(None);
                continue;
            }
            let share = share(category, logs.len());
            let level = bulk(logs, share);
            let rest = quantile(logs, share);
            ratios.extend(logs.iter().filter(|&&log| log <= rest).map(|log| log - level.median));
            levels.push(Some((level, logs.len() as f64)));
        }
        let mut all: Vec<f64> = logs.iter().map(|&(_, log)| log).collect();
        let pooled = bulk(&mut all, BULK_MIN);
        let reach = if ratios.is_empty() { pooled.reach } else { bulk(&mut ratios, 1.0).reach };
        let blended = |(level, calls): (CategoryLevel, f64)| CategoryLevel {
            reach: (calls * level.reach + POOLED_CALLS * reach) / (calls + POOLED_CALLS),
            ..level
        };
        UsualTimes {
            by_category: levels.into_iter().map(|level| level.map(blended)).collect(),
            pooled,
            tail: Tail::LogNormal,
            grid: Vec::new(),
            normal_calls: Vec::new(),
        }
    }
}

/// Quantiles that divide values into [`BINS`] parts; none of fewer values.
fn grid(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let parts = if values.len() < BINS { 0..0 } else { 1..BINS };
    parts.map(|part| values[part * values.len() / BINS]).collect()
}

/// At least this share of a category is normal.
const BULK_MIN: f64 = 0.5;

/// Median and standard deviation of the lowest `share` of some logarithms, by quantiles on both sides of the median.
fn bulk(logs: &mut [f64], share: f64) -> CategoryLevel {
    let [low, middle, high] = [0.16, 0.5, 0.84].map(|part| quantile(logs, part * share));
    CategoryLevel { median: middle, reach: (middle - low).max(high - middle).max(SPREAD_MIN) }
}

/// The values of each category.
fn by_category(logs: &[(u32, f64)]) -> Vec<Vec<f64>> {
    let categories = logs.iter().map(|&(category, _)| category as usize + 1).max().unwrap_or(0);
    let mut out = vec![Vec::new(); categories];
    logs.iter().for_each(|&(category, log)| out[category as usize].push(log));
    out
}

/// A quantile by nearest rank; 0 without values. Changes the order of the values.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let index = (share * values.len() as f64).floor() as usize;
    *values.select_nth_unstable_by(index.min(last), f64::total_cmp).1
}

pub(crate) fn log_ns(time_ns: f32) -> f64 {
    f64::from(time_ns.max(1.0)).ln()
}
