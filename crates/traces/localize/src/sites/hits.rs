//! Which calls of a suspect were hit: those that take longer than normal calls, at a false discovery rate of 2 % of the
//! requests.
//!
//! The p-value of a call is the upper tail of normal calls of its category. Only the slowest tenth of normal calls matters
//! at this rate, and beyond the longest normal call there is nothing to count, so the tail is modeled: times beyond the 90 %
//! quantile fall off like a Pareto distribution, with one exponent for all categories of a site. The limit for p-values is
//! that of Benjamini and Hochberg's procedure, but for the requests that have such a call: a request is hit if any of its
//! calls is, so it has several chances to be hit falsely.
//!
//! Where many calls are hit, single ones may overlap with normal ones. How many are hit shows nevertheless ([`Overlap`]): then up to
//! 4 % false ones are allowed, and other calls have a probability to be hit.
//!
//! Where all judged calls are slower, such as after an upgrade, single calls may still overlap with normal ones. If the low
//! quantiles have moved as far as the median, every judged call is hit.

use crate::sites::overlap::Overlap;
use crate::sites::usual_times::{SPREAD_MIN, TAIL_QUANTILE, UsualTimes, log_ns, quantile};
use std::collections::{HashMap, HashSet};

/// False discovery rate among the requests that are declared hit. Below 5 %, so that the false ones stay below 5 % in every
/// window and not only on average.
const LEVEL: f64 = 0.02;
/// The same where more are certainly hit than would be declared.
const LEVEL_MAX: f64 = 0.04;
/// The low quantiles of judged calls have moved by at least this part of the median's move if all calls are slower.
const SHIFTED_PART_MIN: f64 = 0.7;
/// If single calls explain less than this part of the difference, all calls are slower.
const EXPLAINED_PART_MIN: f64 = 0.5;
/// If some calls are hit and others are not, at least this part of those that certainly are is found one by one.
const FOUND_PART_MIN: f64 = 0.5;
/// If the 90 % quantile has moved by more than so many times the median's move, some calls are much slower and move the median by
/// being there. An exponential addition moves it by 3.3 times as much.
const HIGH_PART_MAX: f64 = 4.0;
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
    /// Whether it was hit.
    pub is_hit: bool,
    /// Probability that it was hit, 0..1: 1 if it was; of others above 0 only where many hit calls take no longer than normal ones
    /// do.
    pub likelihood: f32,
}

/// The levels of all calls of a suspect, by site, in the order of the calls.
pub fn find_hits(sites: &[ComparedSite]) -> Vec<Vec<CallLevel>> {
    let mut studies: Vec<SiteLevels> = sites.iter().map(SiteLevels::new).collect();
    let groups = Groups::new(sites, &studies);
    // At first no call is known to be hit.
    let mut hits = HitsByRequest::new();
    for _ in 0..ROUNDS_MAX {
        let limits = groups.limits(sites, &studies, &hits);
        let mark =
            |(site, study): (&ComparedSite, &mut SiteLevels)| study.mark(site, &groups, &limits, &hits);
        let changed = sites.iter().zip(&mut studies).fold(false, |any, pair| any | mark(pair));
        if !changed {
            break;
        }
        hits = hits_by_request(sites, &studies);
    }
    let missed: Vec<Vec<f64>> = groups.overlaps(sites, &studies, &hits).iter().map(Overlap::missed).collect();
    let finish = |(site, study): (&ComparedSite, SiteLevels)| study.finish(site, &groups, &missed, &hits);
    sites.iter().zip(studies).map(finish).collect()
}

// Limit: rounds of the search for the bulk of a suspect's calls | the last round is the result
/// Most rounds in which the share of hit calls and the bulk of the others are estimated from each other.
const ROUNDS_MAX: usize = 6;

/// Calls of a category needed for a limit of its own: a fault often concerns some categories only.
const OWN_LIMIT_CALLS_MIN: usize = 100;

/// Categories that share a limit for p-values. Calls of requests with a further hit call have limits of their own: a fault that
/// delays one call of a request may delay all of them.
struct Groups {
    /// By category.
    group_of: Vec<usize>,
    /// Number of categories' groups. The first is of all categories with few calls.
    groups: usize,
}

/// Hit calls of each request.
type HitsByRequest = HashMap<u32, u32>;

impl Groups {
    fn new(sites: &[ComparedSite], studies: &[SiteLevels]) -> Groups {
        let mut by_category: Vec<usize> = Vec::new();
        for call in tested(sites, studies) {
            let category = call.category as usize;
            by_category.resize(by_category.len().max(category + 1), 0);
            by_category[category] += 1;
        }
        let mut groups = 1;
        let mut group = |calls: usize| {
            let own = if calls >= OWN_LIMIT_CALLS_MIN { groups } else { 0 };
            groups += usize::from(own > 0);
            own
        };
        let group_of = by_category.into_iter().map(&mut group).collect();
        Groups { group_of, groups }
    }

    /// The group of a call.
    fn of(&self, call: &WindowCall, is_hit: bool, hits: &HitsByRequest) -> usize {
        let others = hits.get(&call.request).is_some_and(|&hits| hits > u32::from(is_hit));
        self.group_of[call.category as usize] + if others { self.groups } else { 0 }
    }

    /// The largest p-value that counts as hit, by group; negative where there is none.
    fn limits(&self, sites: &[ComparedSite], studies: &[SiteLevels], hits: &HitsByRequest) -> Vec<f64> {
        let mut small: Vec<Vec<(f64, u32)>> = vec![Vec::new(); 2 * self.groups];
        let mut calls = vec![0_usize; 2 * self.groups];
        // Requests with several hit calls, by the group of their category.
        let mut several: Vec<HashSet<u32>> = vec![HashSet::new(); self.groups];
        for (site, study) in sites.iter().zip(studies).filter(|(_, study)| !study.p_values.is_empty()) {
            for (call, (&p, &is_hit)) in site.calls.iter().zip(study.p_values.iter().zip(&study.hit)) {
                if call.is_judged {
                    let group = self.of(call, is_hit, hits);
                    calls[group] += 1;
                    if is_hit && group >= self.groups {
                        several[group - self.groups].insert(call.request);
                    }
                    if p <= 1.0 - TAIL_QUANTILE {
                        small[group].push((p, call.request));
                    }
                }
            }
        }
        let overlaps = self.overlaps(sites, studies, hits);
        several.resize(2 * self.groups, HashSet::new());
        let limit = |(group, p_values): (usize, Vec<(f64, u32)>)| {
            let certain = overlaps[group].hit_calls().at_least;
            step_up_limit(p_values, calls[group] as f64, certain, std::mem::take(&mut several[group]))
        };
        small.into_iter().enumerate().map(limit).collect()
    }

    /// The calls that are tested one by one, by group.
    fn overlaps(&self, sites: &[ComparedSite], studies: &[SiteLevels], hits: &HitsByRequest) -> Vec<Overlap> {
        let mut overlaps = vec![Overlap::default(); 2 * self.groups];
        for (site, study) in sites.iter().zip(studies).filter(|(_, study)| !study.p_values.is_empty()) {
            let calls = site.calls.iter().zip(study.ratios.iter().zip(&study.hit));
            for (call, (&ratio, &is_hit)) in calls.filter(|(call, _)| call.is_judged) {
                if let Some(bin) = study.usual.bin(call.category, ratio) {
                    overlaps[self.of(call, is_hit, hits)].add(bin, is_hit);
                }
            }
            for (category, &group) in self.group_of.iter().enumerate() {
                let normal_calls = study.usual.normal_calls(category) as f64;
                overlaps[group].normal_calls += normal_calls;
                overlaps[group + self.groups].normal_calls += normal_calls;
            }
        }
        overlaps
    }
}

/// How many calls of each request are hit, of those that are tested one by one.
fn hits_by_request(sites: &[ComparedSite], studies: &[SiteLevels]) -> HitsByRequest {
    let mut hits = HitsByRequest::new();
    for (site, study) in sites.iter().zip(studies).filter(|(_, study)| !study.p_values.is_empty()) {
        let hit = site.calls.iter().zip(&study.hit).filter(|(_, is_hit)| **is_hit);
        hit.for_each(|(call, _)| *hits.entry(call.request).or_default() += 1);
    }
    hits
}

/// The judged calls that are tested one by one.
fn tested<'a>(sites: &'a [ComparedSite], studies: &'a [SiteLevels]) -> impl Iterator<Item = &'a WindowCall> {
    let tested = sites.iter().zip(studies).filter(|(_, study)| !study.p_values.is_empty());
    tested.flat_map(|(site, _)| site.calls.iter().filter(|call| call.is_judged))
}

/// The largest p-value at which among `tested` calls, less those that are certainly hit, no more false ones are expected than the
/// level allows for the requests that are hit; negative if there is none. As long as not all are found that are certainly hit,
/// more are allowed. `p_values` are those of calls in the tail, with the request of each; `requests` are hit by other calls.
fn step_up_limit(
    mut p_values: Vec<(f64, u32)>,
    tested: f64,
    certainly_hit: f64,
    mut requests: HashSet<u32>,
) -> f64 {
    p_values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    requests.reserve(p_values.len());
    let mut limit = -1.0;
    for (found, &(p, request)) in p_values.iter().enumerate() {
        requests.insert(request);
        let level = if (found as f64) < certainly_hit { LEVEL_MAX } else { LEVEL };
        if p * (tested - certainly_hit) <= level * requests.len() as f64 {
            limit = p;
        }
    }
    limit
}

struct SiteLevels {
    usual: UsualTimes,
    /// Logarithms of the calls' times over the usual time of their category, in the order of the calls.
    ratios: Vec<f64>,
    /// p-values of the calls, 1 where a call is not judged; empty where calls are not tested one by one.
    p_values: Vec<f64>,
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
            p_values: Vec::new(),
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

    fn measure(&mut self, site: &ComparedSite) {
        let log = |call: &WindowCall| log_ns(call.time_ns) - self.usual.of(call.category).median;
        self.ratios = site.calls.iter().map(log).collect();
        let p_value = |(call, &ratio): (&WindowCall, &f64)| match call.is_judged {
            true => self.usual.p_value(call.category, ratio),
            false => 1.0,
        };
        self.p_values = site.calls.iter().zip(&self.ratios).map(p_value).collect();
    }

    /// Marks the calls up to the limits as hit. Returns whether any has changed, so that limits have, and those of a bulk.
    fn mark(&mut self, site: &ComparedSite, groups: &Groups, limits: &[f64], hits: &HitsByRequest) -> bool {
        if self.p_values.is_empty() {
            return false;
        }
        let is_hit = |((call, &p), &was_hit): ((&WindowCall, &f64), &bool)| {
            call.is_judged && p <= limits[groups.of(call, was_hit, hits)]
        };
        let hit: Vec<bool> = site.calls.iter().zip(&self.p_values).zip(&self.hit).map(is_hit).collect();
        let changed = hit != self.hit;
        self.hit = hit;
        if matches!(site.normal, NormalCalls::Bulk) && changed {
            self.usual =
                UsualTimes::from_bulk(&logs_of_judged(&site.calls), &hits_of(&site.calls, &self.hit));
            self.measure(site);
        }
        changed
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
        let explained = self.explained_by_single_calls(site, &before, &now);
        let low_part = moved[0].min(moved[1]) / moved[2];
        let is_shifted = low_part >= SHIFTED_PART_MIN && (moved[2] >= spread || explained < SHIFTED_PART_MIN);
        let is_mixed = || self.is_mixed(site, before.len(), now.len());
        if !is_shifted && (explained >= EXPLAINED_PART_MIN || is_mixed()) {
            return false;
        }
        // Under the shift, shorter than all but one call in a hundred; and no longer than half of the normal calls.
        let shortest = (moved[2] + 2.0 * (low - middle)).min(0.0);
        for ((hit, call), &ratio) in self.hit.iter_mut().zip(&site.calls).zip(&self.ratios) {
            *hit = call.is_judged && ratio >= shortest;
        }
        true
    }

    /// Whether some of the judged calls are certainly hit, most of which are found one by one, and those up to the median of normal
    /// ones are distributed like normal ones.
    fn is_mixed(&self, site: &ComparedSite, normal_calls: usize, judged: usize) -> bool {
        let mut overlap = Overlap::default();
        overlap.normal_calls = normal_calls as f64;
        for (call, &ratio) in site.calls.iter().zip(&self.ratios).filter(|(call, _)| call.is_judged) {
            if let Some(bin) = self.usual.bin(call.category, ratio) {
                overlap.add(bin, false);
            }
        }
        let certain = overlap.hit_calls().at_least;
        let limit = step_up_limit(self.small(site), judged as f64, certain, HashSet::new());
        let found = self.p_values.iter().filter(|p| **p <= limit).count() as f64;
        certain > 0.0 && found >= FOUND_PART_MIN * certain && overlap.has_normal_half()
    }

    /// The p-values in the tail, with the request of each.
    fn small(&self, site: &ComparedSite) -> Vec<(f64, u32)> {
        let calls = self.p_values.iter().zip(&site.calls).filter(|(p, _)| **p <= 1.0 - TAIL_QUANTILE);
        calls.map(|(&p, call)| (p, call.request)).collect()
    }

    /// The part of the difference between the means of the logs that calls explain which are hit one by one.
    fn explained_by_single_calls(&self, site: &ComparedSite, before: &[f64], now: &[f64]) -> f64 {
        let limit = step_up_limit(self.small(site), now.len() as f64, 0.0, HashSet::new());
        let hit = self.p_values.iter().zip(&self.ratios).filter(|(p, _)| **p <= limit);
        let by_hits: f64 = hit.map(|(_, ratio)| ratio).sum();
        let sum = |logs: &[f64]| logs.iter().sum::<f64>();
        let difference = sum(now) - sum(before) * now.len() as f64 / before.len() as f64;
        if difference > 0.0 { by_hits / difference } else { 1.0 }
    }

    /// The levels; `missed` are probabilities by group and bin.
    fn finish(
        self,
        site: &ComparedSite,
        groups: &Groups,
        missed: &[Vec<f64>],
        hits: &HitsByRequest,
    ) -> Vec<CallLevel> {
        let is_new = matches!(site.normal, NormalCalls::New);
        let level = |(index, (call, &is_hit)): (usize, (&WindowCall, &bool))| {
            let bin = || self.usual.bin(call.category, self.ratios[index]);
            let is_tested = call.is_judged && !self.p_values.is_empty();
            let likelihood = match is_hit {
                true => Some(1.0),
                false if is_tested => bin().map(|bin| missed[groups.of(call, false, hits)][bin]),
                false => None,
            };
            CallLevel {
                usual_ns: if is_new { 0.0 } else { self.usual.of(call.category).median.exp() as f32 },
                is_hit,
                likelihood: likelihood.unwrap_or(0.0) as f32,
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

/// Number of calls that are hit, by category.
fn hits_of(calls: &[WindowCall], hit: &[bool]) -> Vec<usize> {
    let categories = calls.iter().map(|call| call.category as usize + 1).max().unwrap_or(0);
    let mut hits = vec![0; categories];
    calls.iter().zip(hit).filter(|(_, hit)| **hit).for_each(|(call, _)| hits[call.category as usize] += 1);
    hits
}
