//! Which calls of a suspect were hit: those that take longer than normal calls.
//!
//! The p-value of a call is the upper tail of normal calls of its category. Only the slowest tenth of normal calls matters,
//! and beyond the longest normal call there is nothing to count, so the tail is modeled: times beyond the 90 % quantile fall
//! off like a Pareto distribution, with one exponent for all categories of a site. A fault often concerns some categories
//! only, so that the same time is more probably a hit in one category than in another:
//! [`hit_probability`](super::hit_probability). A request is hit if any of its calls is.
//!
//! Where all judged calls are slower, such as after an upgrade, single calls may still overlap with normal ones. If the low
//! quantiles have moved as far as the median, every judged call is hit.

use crate::sites::hit_probability::{HitProbabilities, TestedCall};
use laggard_numeric::normal_upper_tail;
use std::collections::HashMap;

/// False discovery rate among the requests that are declared hit.
pub const FALSE_HITS_MAX: f64 = 0.05;
/// The same where few are hit, so that one more is a large share, or where the judged calls themselves show what is normal, so that
/// their tail is less certain.
const STRICT_LEVEL: f64 = 0.02;
/// The tail of normal times begins at this quantile.
const TAIL_QUANTILE: f64 = 0.9;
/// A category's own quantiles count like this many calls of the others.
const POOLED_CALLS: f64 = 50.0;
/// Normal calls needed for a median of the category's own.
const OWN_CALLS_MIN: usize = 5;
/// Variance of the median of normal values, over theirs and times their number.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;
/// Minimum spread of logarithms.
const SPREAD_MIN: f64 = 0.01;
/// The low quantiles of judged calls have moved by at least this part of the median's move if all calls are slower.
const SHIFTED_PART_MIN: f64 = 0.7;
/// If single calls explain less than this part of the difference, all calls are slower.
const EXPLAINED_PART_MIN: f64 = 0.5;
/// If the 90 % quantile has moved by more than so many times the median's move, some calls are much slower and move the median by
/// being there. An exponential addition moves it by 3.3 times as much.
const HIGH_PART_MAX: f64 = 4.0;
/// If single calls add more than so many times the time that all calls would add by being slower, they are what is slow …
const OUTWEIGHED: f64 = 2.0;
/// … from this many on: a few very long calls may be there by chance.
const OUTWEIGHING_CALLS_MIN: usize = 20;
/// Standard errors between the medians before all calls are called slower.
const SHIFT_ERRORS_MIN: f64 = 3.0;

/// A call in the window at one site.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowCall {
    /// Its request: any number that the request's calls at all sites share.
    pub request: u32,
    /// Number of the category of its request.
    pub category: u32,
    /// Time, nanoseconds.
    pub time_ns: f32,
    /// Whether it can be hit: on a culprit replica, where there are any.
    pub is_judged: bool,
}

/// Reference of the calls of a site.
#[derive(Clone, Debug)]
pub enum NormalCalls {
    /// Times of normal calls, nanoseconds, with the number of their category.
    Known(Vec<(u32, f32)>),
    /// The bulk of the judged calls themselves: at most half of a category is hit.
    Bulk,
    /// There were none before: every judged call is hit, and its usual time is 0.
    New,
}

/// The calls of one site.
#[derive(Clone, Debug)]
pub struct ComparedSite {
    /// Calls in the window.
    pub calls: Vec<WindowCall>,
    /// The normal calls they are compared with.
    pub normal: NormalCalls,
    /// The calls as a whole may be slower than normal ones, by at least this factor of the medians; `None` if only some of
    /// them may.
    pub factor_min: Option<f64>,
}

/// The result for one call.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CallLevel {
    /// Median time of normal calls of its category, nanoseconds.
    pub usual_ns: f32,
    /// Mean time of normal calls of its category, nanoseconds: times have long tails, so that sums of times beyond the median are too
    /// large.
    pub usual_mean_ns: f32,
    /// Whether it was hit.
    pub is_hit: bool,
    /// The probability that it was hit, 0 to 1; 0 or 1 where calls are not tested one by one, or few are hit.
    pub probability: f32,
}

/// The levels of all calls of a suspect, by site, in the order of the calls.
pub fn find_hits(sites: &[ComparedSite]) -> Vec<Vec<CallLevel>> {
    let mut studies: Vec<SiteLevels> = sites.iter().map(SiteLevels::new).collect();
    let is_tail_known = !sites.iter().any(|site| matches!(site.normal, NormalCalls::Bulk));
    for _ in 0..ROUNDS_MAX {
        let tested = || sites.iter().zip(&studies).flat_map(|(site, study)| study.tested(site));
        let model = HitProbabilities::estimate(tested().map(|(_, call)| call));
        let least = least_probability(tested(), &model, is_tail_known);
        let changed =
            sites.iter().zip(&mut studies).filter_map(|(site, study)| study.mark(site, &model, least));
        if changed.fold(false, |any, changed| any | changed) {
            continue;
        }
        break;
    }
    sites.iter().zip(studies).map(|(site, study)| study.finish(site)).collect()
}

// Limit: rounds of the search for the bulk of a suspect's calls | the last round is the result
/// Most rounds in which the share of hit calls and the bulk of the others are estimated from each other.
const ROUNDS_MAX: usize = 6;

/// The least probability at which a call counts as hit: more probably than not, and so that no more false ones are expected
/// than the level allows for the requests that are hit; infinite if there is none.
fn least_probability(
    tested: impl Iterator<Item = (u32, TestedCall)>,
    model: &HitProbabilities,
    is_tail_known: bool,
) -> f64 {
    let level = if is_tail_known && model.has_many_hits() { FALSE_HITS_MAX } else { STRICT_LEVEL };
    let mut by_request: HashMap<u32, f64> = HashMap::new();
    for (request, call) in tested {
        let largest = by_request.entry(request).or_default();
        *largest = largest.max(model.probability(call));
    }
    let mut probabilities: Vec<f64> = by_request.into_values().collect();
    probabilities.sort_unstable_by(f64::total_cmp);
    let hit = |least: f64| probabilities.len() - probabilities.partition_point(|&own| own < least);
    let is_allowed = |least: &f64| model.false_hits(*least) <= level * hit(*least) as f64;
    // From a half to all but one in a thousand.
    let odds = (0..=40).map(|step| 1000.0_f64.powf(f64::from(step) / 40.0));
    odds.map(|odds| odds / (1.0 + odds)).find(is_allowed).unwrap_or(f64::INFINITY)
}

struct SiteLevels {
    usual: UsualTimes,
    /// Logarithms of the calls' times over the usual time of their category, in the order of the calls.
    ratios: Vec<f64>,
    /// By how much all calls are longer, as a logarithm, where single calls outweigh that: then those are tested that are longer still.
    moved: f64,
    /// p-values of the calls, 1 where a call is not judged; empty where calls are not tested one by one.
    p_values: Vec<f64>,
    /// Probabilities that the calls were hit; empty where those of single calls are not known.
    probabilities: Vec<f64>,
    hit: Vec<bool>,
}

impl SiteLevels {
    fn new(site: &ComparedSite) -> SiteLevels {
        let normal = match &site.normal {
            NormalCalls::Known(normal) => UsualTimes::from_normal(normal),
            NormalCalls::Bulk => UsualTimes::from_bulk(&logs_of_judged(&site.calls), &[]),
            NormalCalls::New => UsualTimes::default(),
        };
        let mut study = SiteLevels {
            usual: normal,
            ratios: Vec::new(),
            moved: 0.0,
            p_values: Vec::new(),
            probabilities: Vec::new(),
            hit: site.calls.iter().map(|call| call.is_judged).collect(),
        };
        if matches!(site.normal, NormalCalls::New) {
            return study;
        }
        study.measure(site);
        if study.hit_as_a_whole(site) {
            study.p_values.clear();
        }
        study
    }

    /// The calls that are tested one by one, with the request of each.
    fn tested<'a>(&'a self, site: &'a ComparedSite) -> impl Iterator<Item = (u32, TestedCall)> + 'a {
        let judged = self.p_values.iter().zip(&site.calls).filter(|(_, call)| call.is_judged);
        judged.map(|(&p_value, call)| (call.request, TestedCall { category: call.category, p_value }))
    }

    fn measure(&mut self, site: &ComparedSite) {
        let log = |call: &WindowCall| log_ns(call.time_ns) - self.usual.of(call.category).median;
        self.ratios = site.calls.iter().map(log).collect();
        let p_value = |(call, &ratio): (&WindowCall, &f64)| match call.is_judged {
            true => self.usual.p_value(call.category, ratio - self.moved),
            false => 1.0,
        };
        self.p_values = site.calls.iter().zip(&self.ratios).map(p_value).collect();
    }

    /// Marks the calls from the least probability on as hit. Returns whether the bulk has changed, so that p-values have; `None`
    /// for a site without a bulk.
    fn mark(&mut self, site: &ComparedSite, model: &HitProbabilities, least: f64) -> Option<bool> {
        if self.p_values.is_empty() {
            return None;
        }
        let probability = |(&p_value, call): (&f64, &WindowCall)| match call.is_judged {
            true => model.probability(TestedCall { category: call.category, p_value }),
            false => 0.0,
        };
        let probabilities = self.p_values.iter().zip(&site.calls).map(probability).collect::<Vec<f64>>();
        let hit: Vec<bool> = probabilities.iter().map(|&probability| probability >= least).collect();
        self.probabilities = if model.has_many_hits() { probabilities } else { Vec::new() };
        let changed = hit != self.hit;
        self.hit = hit;
        if !matches!(site.normal, NormalCalls::Bulk) || !changed {
            return None;
        }
        self.usual = UsualTimes::from_bulk(&logs_of_judged(&site.calls), &hits_of(&site.calls, &self.hit));
        self.measure(site);
        Some(true)
    }

    /// Whether all judged calls are slower; then they are marked as hit, except those that would be far too short for it.
    fn hit_as_a_whole(&mut self, site: &ComparedSite) -> bool {
        let NormalCalls::Known(normal) = &site.normal else { return false };
        let mut before: Vec<f64> =
            normal.iter().map(|&(category, time)| log_ns(time) - self.usual.of(category).median).collect();
        let mut now: Vec<f64> = (site.calls.iter().zip(&self.ratios))
            .filter_map(|(call, &ratio)| call.is_judged.then_some(ratio))
            .collect();
        if before.is_empty() || now.is_empty() {
            return false;
        }
        let [low, quarter, middle] = [0.1, 0.25, 0.5].map(|share| quantile(&mut before, share));
        let spread = (middle - quarter).max(SPREAD_MIN) / 0.674;
        let moved = [0.1, 0.25, 0.5].map(|share| quantile(&mut now, share));
        let moved = [moved[0] - low, moved[1] - quarter, moved[2] - middle];
        let error = 1.25 * spread * (1.0 / now.len() as f64 + 1.0 / before.len() as f64).sqrt();
        let least = site.factor_min.map_or(f64::INFINITY, f64::ln).max(SHIFT_ERRORS_MIN * error);
        let high = quantile(&mut now, TAIL_QUANTILE) - quantile(&mut before, TAIL_QUANTILE);
        if moved[2] < least || high > HIGH_PART_MAX * moved[2] {
            return false;
        }
        // A few slow calls move low quantiles a little as well, but explain the difference alone.
        let single = self.hit_one_by_one(site);
        let explained = self.explained_by(&single, &before, &now);
        let low_part = moved[0].min(moved[1]) / moved[2];
        let is_shifted = low_part >= SHIFTED_PART_MIN && (moved[2] >= spread || explained < SHIFTED_PART_MIN);
        if !is_shifted && explained >= EXPLAINED_PART_MIN {
            return false;
        }
        if self.outweigh(&single, site, moved[2]) {
            self.moved = moved[2];
            self.measure(site);
            return false;
        }
        // Under the shift, shorter than all but one call in a hundred; and no longer than half of the normal calls.
        let shortest = (moved[2] + 2.0 * (low - middle)).min(0.0);
        for ((hit, call), &ratio) in self.hit.iter_mut().zip(&site.calls).zip(&self.ratios) {
            *hit = call.is_judged && ratio >= shortest;
        }
        true
    }

    /// Which calls are hit one by one, with one share of hit calls for all categories.
    fn hit_one_by_one(&self, site: &ComparedSite) -> Vec<bool> {
        let tested =
            || self.tested(site).map(|(request, call)| (request, TestedCall { category: 0, ..call }));
        let model = HitProbabilities::estimate(tested().map(|(_, call)| call));
        let least = least_probability(tested(), &model, true);
        let is_hit = |&p_value: &f64| model.probability(TestedCall { category: 0, p_value }) >= least;
        self.p_values.iter().map(is_hit).collect()
    }

    /// The part of the difference between the means of the logs that some calls explain.
    fn explained_by(&self, single: &[bool], before: &[f64], now: &[f64]) -> f64 {
        let by_hits: f64 =
            single.iter().zip(&self.ratios).filter_map(|(hit, ratio)| hit.then_some(ratio)).sum();
        let sum = |logs: &[f64]| logs.iter().sum::<f64>();
        let difference = sum(now) - sum(before) * now.len() as f64 / before.len() as f64;
        if difference > 0.0 { by_hits / difference } else { 1.0 }
    }

    /// Whether calls that are hit one by one add much more time than all judged calls do by this move of the median: as logarithms, a few calls
    /// that take a hundred times as long are little beside many that take a little longer.
    fn outweigh(&self, single: &[bool], site: &ComparedSite, moved: f64) -> bool {
        let usual_mean =
            |call: &WindowCall| self.usual.of(call.category).median.exp() * self.usual.mean_ratio;
        let hit = || site.calls.iter().zip(single).filter_map(|(call, &hit)| hit.then_some(call));
        let by_single: f64 = hit().map(|call| f64::from(call.time_ns) - usual_mean(call)).sum();
        let judged = site.calls.iter().filter(|call| call.is_judged);
        let by_move: f64 = judged.map(|call| usual_mean(call) * moved.exp_m1()).sum();
        hit().count() >= OUTWEIGHING_CALLS_MIN && by_single > OUTWEIGHED * by_move
    }

    fn finish(self, site: &ComparedSite) -> Vec<CallLevel> {
        let is_new = matches!(site.normal, NormalCalls::New);
        let level = |(index, (call, &is_hit)): (usize, (&WindowCall, &bool))| {
            let usual_ns = if is_new { 0.0 } else { self.usual.of(call.category).median.exp() };
            CallLevel {
                usual_ns: usual_ns as f32,
                usual_mean_ns: (usual_ns * self.usual.mean_ratio) as f32,
                is_hit,
                probability: match self.probabilities.get(index) {
                    Some(&probability) => probability as f32,
                    None => f32::from(is_hit),
                },
            }
        };
        site.calls.iter().zip(&self.hit).enumerate().map(level).collect()
    }
}

/// Logarithms of the judged calls' times, with the number of their category.
fn logs_of_judged(calls: &[WindowCall]) -> Vec<(u32, f64)> {
    let judged = calls.iter().filter(|call| call.is_judged);
    judged.map(|call| (call.category, log_ns(call.time_ns))).collect()
}

/// Mean of values over their median, by the logarithms of these ratios; 1 without any.
fn mean_ratio(logs: &[f64]) -> f64 {
    let sum: f64 = logs.iter().map(|log| log.exp()).sum();
    if logs.is_empty() { 1.0 } else { sum / logs.len() as f64 }
}

/// Number of calls that are hit, by category.
fn hits_of(calls: &[WindowCall], hit: &[bool]) -> Vec<usize> {
    let categories = calls.iter().map(|call| call.category as usize + 1).max().unwrap_or(0);
    let mut hits = vec![0; categories];
    calls.iter().zip(hit).filter(|(_, hit)| **hit).for_each(|(call, _)| hits[call.category as usize] += 1);
    hits
}

fn log_ns(time_ns: f32) -> f64 {
    f64::from(time_ns.max(1.0)).ln()
}

/// The usual logarithms of times in a category.
#[derive(Clone, Copy, Default)]
struct CategoryLevel {
    median: f64,
    /// From the median to where the tail begins.
    reach: f64,
    /// Factor of all distances from the median, because the median of few calls is uncertain.
    uncertainty: f64,
}

/// Usual times of calls of a site, by category.
#[derive(Default)]
struct UsualTimes {
    by_category: Vec<Option<CategoryLevel>>,
    /// For other categories.
    pooled: CategoryLevel,
    tail: Tail,
    /// Mean of the times over the median of their category.
    mean_ratio: f64,
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
    fn of(&self, category: u32) -> CategoryLevel {
        self.by_category.get(category as usize).copied().flatten().unwrap_or(self.pooled)
    }

    /// The probability that a normal call takes so long: `ratio` is the logarithm of its time over the usual one. 1 for all
    /// that are no longer than nine of ten.
    fn p_value(&self, category: u32, ratio: f64) -> f64 {
        let CategoryLevel { reach, uncertainty, .. } = self.of(category);
        let (reach, ratio) = (reach.max(SPREAD_MIN), ratio / uncertainty.max(1.0));
        match self.tail {
            Tail::Pareto(_) if ratio <= reach => 1.0,
            Tail::Pareto(mean) => (1.0 - TAIL_QUANTILE) * (-(ratio - reach) / mean).exp(),
            Tail::LogNormal => normal_upper_tail(ratio / reach),
        }
    }

    /// By all normal calls.
    fn from_normal(normal: &[(u32, f32)]) -> UsualTimes {
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
            let uncertainty = (1.0 + MEDIAN_VARIANCE / calls.max(1.0)).sqrt();
            median.map(|median| CategoryLevel { median, reach, uncertainty })
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
        UsualTimes {
            by_category: levels,
            pooled: CategoryLevel { median: overall, reach: pooled_reach, uncertainty: 1.0 },
            tail: Tail::Pareto(mean),
            mean_ratio: mean_ratio(&ratios),
        }
    }

    /// By the calls themselves, less those that are known to be hit: all but the slowest of a category. Without known hits,
    /// half of the calls are suspected. The quantiles of the rest give the median and the spread.
    fn from_bulk(logs: &[(u32, f64)], hits: &[usize]) -> UsualTimes {
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
        let mean_ratio = mean_ratio(&ratios);
        let reach = if ratios.is_empty() { pooled.reach } else { bulk(&mut ratios, 1.0).reach };
        let blended = |(level, calls): (CategoryLevel, f64)| CategoryLevel {
            reach: (calls * level.reach + POOLED_CALLS * reach) / (calls + POOLED_CALLS),
            ..level
        };
        UsualTimes {
            by_category: levels.into_iter().map(|level| level.map(blended)).collect(),
            pooled,
            tail: Tail::LogNormal,
            mean_ratio,
        }
    }
}

/// At least this share of a category is normal.
const BULK_MIN: f64 = 0.5;

/// Median and standard deviation of the lowest `share` of some logarithms, by quantiles on both sides of the median.
fn bulk(logs: &mut [f64], share: f64) -> CategoryLevel {
    let [low, middle, high] = [0.16, 0.5, 0.84].map(|part| quantile(logs, part * share));
    CategoryLevel {
        median: middle,
        reach: (middle - low).max(high - middle).max(SPREAD_MIN),
        uncertainty: 1.0,
    }
}

/// The values of each category.
fn by_category(logs: &[(u32, f64)]) -> Vec<Vec<f64>> {
    let categories = logs.iter().map(|&(category, _)| category as usize + 1).max().unwrap_or(0);
    let mut out = vec![Vec::new(); categories];
    logs.iter().for_each(|&(category, log)| out[category as usize].push(log));
    out
}

/// A quantile by nearest rank; 0 without values. Changes the order of the values.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let index = (share * values.len() as f64).floor() as usize;
    *values.select_nth_unstable_by(index.min(last), f64::total_cmp).1
}
