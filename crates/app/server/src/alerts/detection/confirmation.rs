//! Whether a finding that one comparison does not make certain is confirmed by the level of its calls.
//!
//! The method compares means of many sites at once and knows how much they drift from a few intervals only, so that its
//! p-values of a small slow-down stay large for long. Here, one operation is in question. Its latest calls are compared with
//! those of the baseline by ranks, which a few giants and second modes do not move: the shift of the logarithms that makes
//! them equal (Hodges & Lehmann, *Annals of Mathematical Statistics* 34, 1963), with the standard error of the rank sum. The
//! same is done with every interval of the baseline that is as long, so that drift, jobs, and pauses are measured, too.
//!
//! Before, what more load explains is subtracted ([`load`](super::load)).
//!
//! Of an operation that makes more calls, or new ones, inclusive times are compared.
//!
//! What hits one call in twenty, such as lost packets, does not move the level. There, the calls beyond the usual tail are
//! counted.

use super::load::{LoadModel, LoadPart};
use super::recovery::calls;
use super::{Compared, before};
use crate::alerts::evaluate::Finding;
use laggard_diagnose::SubjectCall;
use laggard_engine::{LocalEngine, Requests};
use laggard_model::{Nanos, Timestamp};
use laggard_numeric::uniform_sum_lower_tail;
use laggard_params::Window;
use std::collections::HashMap;

/// Lengths of the latest part that is compared.
const LENGTHS: [Nanos; 5] = [
    Nanos::from_secs(180),
    Nanos::from_secs(300),
    Nanos::from_secs(600),
    Nanos::from_secs(900),
    Nanos::from_secs(3_600),
];
/// The least factor that is confirmed, besides what the load explains.
const FACTOR_MIN: f64 = 1.6;
/// Standard deviation of the drift of a level, as a logarithm, that is assumed where the baseline shows less.
const DRIFT: f64 = 0.045;
/// Standard errors that confirm a finding: as many as a p-value of 3e-7, since hundreds of operations are compared every minute.
const ERRORS_MIN: f64 = 5.0;
/// The same as the probability of such ranks of a few calls: the standard error of their shift is that of many. Six calls that happen to be
/// of the slower of two modes are shifted by the distance of the modes.
const CHANCE_MAX: f64 = 3e-7;
/// The same for calls beyond the tail, which neither load nor drift moves as much.
const TAIL_ERRORS_MIN: f64 = 4.0;
/// So many times as far as any interval of the baseline that is as long.
const BEYOND_BASELINE: f64 = 1.5;
/// Intervals of the baseline from which the variation is estimated.
const EARLIER_MIN: usize = 3;
/// Requests of the baseline, and of the latest part.
const USUAL_MIN: usize = 50;
const LATEST_MIN: usize = 5;
/// Calls beyond the tail: longer by this factor than all but this share of the usual ones.
const TAIL_SHARE: f64 = 0.01;
const TAIL_FACTOR: f64 = 1.6;
/// The least number of requests with such calls, and their share of all.
const TAIL_MIN: usize = 8;
const TAIL_SHARE_MIN: f64 = 0.02;
/// Weight of the mean of all categories in that of one, in requests.
const SHRINKAGE: f64 = 5.0;
/// Half of the width in which the density of the calls is measured.
const DENSITY_REACH: f64 = 0.05;
/// Parts of the baseline that show how the load changes the level: shorter ones have too few requests for either.
const LOAD_LENGTH: Nanos = Nanos::from_secs(300);
/// No change of a logarithm is larger.
const CHANGE_MAX: f64 = 6.0;
const BISECTIONS: usize = 24;

/// Whether the latest calls of a finding are slower than those of the baseline beyond chance and drift.
pub(super) fn is_confirmed(
    finding: &Finding,
    requests: &Requests,
    compared: Compared,
    engine: LocalEngine,
) -> bool {
    let all = by_request(calls(finding, requests, compared.all(), engine));
    let first = all.partition_point(|request| request.start < compared.window.since);
    let Some(usual) = Usual::new(&all[..first]) else { return false };
    let part = |window: Window| ComparedPart {
        load: requests_per_ns(requests, window.join(before(LOAD_LENGTH, window.until))),
        calls: within(&all, window),
    };
    let parts =
        |length: Nanos| parts_of(compared.baseline, length).map(part).collect::<Vec<ComparedPart<'_>>>();
    let load_part =
        |part: ComparedPart<'_>| Some(LoadPart { load: part.load, log: usual.shift(part.calls)?.change });
    let model = LoadModel::of(&parts(LOAD_LENGTH).into_iter().filter_map(load_part).collect::<Vec<_>>());
    let latest = |length: Nanos| before(length, compared.window.until);
    LENGTHS.into_iter().filter(|&length| latest(length).since >= compared.window.since).any(|length| {
        let (now, earlier) = (part(latest(length)), parts(length));
        let is_confirmed_by = |errors_min: f64, errors: &dyn Fn(&ComparedPart<'_>) -> Option<f64>| {
            let earlier: Vec<f64> = earlier.iter().filter_map(errors).collect();
            errors(&now).is_some_and(|own| is_exceptional(errors_min, own, &earlier))
        };
        let explained = |part: &ComparedPart<'_>| model.explained(part.load);
        let level = |part: &ComparedPart<'_>| Some(usual.shift(part.calls)?.less(explained(part)));
        let tail = |part: &ComparedPart<'_>| usual.tail_errors(part.calls, explained(part));
        level(&now).is_some_and(|shift| shift.change >= FACTOR_MIN.ln())
            && usual.chance(now.calls, explained(&now)) <= CHANCE_MAX
            && is_confirmed_by(ERRORS_MIN, &|part| level(part).map(|shift| shift.errors()))
            || usual.has_more_tail(now.calls, explained(&now)) && is_confirmed_by(TAIL_ERRORS_MIN, &tail)
    })
}

fn requests_per_ns(requests: &Requests, window: Window) -> f64 {
    let length = window.until.since(window.since).non_negative().map_or(1, |length| length.ns().max(1));
    requests.within(window.since, window.until).len() as f64 / length as f64
}

/// A part of the data.
struct ComparedPart<'a> {
    /// Requests of all kinds in a nanosecond.
    load: f64,
    /// Those that called the operation.
    calls: &'a [Called],
}

/// Whether a shift is at least so many standard errors, and beyond those of the baseline, which vary by more than their standard errors
/// where jobs and pauses come and go. All are in standard errors.
pub(super) fn is_exceptional(errors_min: f64, errors: f64, earlier: &[f64]) -> bool {
    let squares: f64 = earlier.iter().map(|errors| errors * errors).sum();
    let scale = (squares / earlier.len().max(1) as f64).sqrt().max(1.0);
    let largest = earlier.iter().copied().fold(0.0, f64::max);
    earlier.len() >= EARLIER_MIN && errors >= errors_min * scale && errors >= BEYOND_BASELINE * largest
}

/// The parts of a window of a given length, the latest first.
pub(super) fn parts_of(window: Window, length: Nanos) -> impl Iterator<Item = Window> {
    let ends = std::iter::successors(Some(window.until), move |end| Some(end.minus(length)));
    ends.map(move |end| before(length, end)).take_while(move |part| part.since >= window.since)
}

/// A request that called the operation.
pub(super) struct Called {
    pub(super) start: Timestamp,
    pub(super) category: u32,
    /// Mean logarithm of the times of its calls.
    pub(super) log: f64,
}

/// Calls of one request depend on each other: they count as one.
pub(super) fn by_request(mut calls: Vec<SubjectCall>) -> Vec<Called> {
    calls.sort_by_key(|call| (call.start, call.request));
    let of_request = |calls: &[SubjectCall]| Called {
        start: calls[0].start,
        category: calls[0].category,
        log: calls.iter().map(|call| call.time_ns.max(1.0).ln()).sum::<f64>() / calls.len() as f64,
    };
    calls.chunk_by(|a, b| a.request == b.request).map(of_request).collect()
}

pub(super) fn within(all: &[Called], window: Window) -> &[Called] {
    let first = all.partition_point(|request| request.start < window.since);
    let last = all.partition_point(|request| request.start <= window.until);
    &all[first..last.max(first)]
}

/// Usual times, by category of requests.
pub(super) struct Usual {
    mean: f64,
    /// Of a category.
    means: HashMap<u32, f64>,
    /// Logarithms less those means, ascending.
    sorted: Vec<f64>,
    /// Their density at themselves: the slope of a score.
    density: f64,
    /// The time beyond which a call is beyond the tail.
    tail: f64,
    /// The share of the requests that is present.
    pub(super) tail_share: f64,
}

impl Usual {
    /// `None` with too few requests.
    pub(super) fn new(requests: &[Called]) -> Option<Usual> {
        if requests.len() < USUAL_MIN {
            return None;
        }
        let mean = requests.iter().map(|request| request.log).sum::<f64>() / requests.len() as f64;
        let mut sums: HashMap<u32, (f64, f64)> = HashMap::new();
        for request in requests {
            let sum = sums.entry(request.category).or_default();
            *sum = (sum.0 + request.log, sum.1 + 1.0);
        }
        let shrunk = |(sum, count): (f64, f64)| (sum + SHRINKAGE * mean) / (count + SHRINKAGE);
        let means = sums.into_iter().map(|(category, sum)| (category, shrunk(sum))).collect();
        let mut usual = Usual { mean, means, sorted: Vec::new(), density: 0.0, tail: 0.0, tail_share: 0.0 };
        usual.sorted = requests.iter().map(|request| usual.residual(request)).collect();
        usual.sorted.sort_by(f64::total_cmp);
        let rise = |value: &f64| usual.score(value + DENSITY_REACH) - usual.score(value - DENSITY_REACH);
        let density = usual.sorted.iter().map(rise).sum::<f64>() / usual.sorted.len() as f64;
        usual.density = density / (2.0 * DENSITY_REACH);
        let is_tail = (usual.sorted.len() as f64 * (1.0 - TAIL_SHARE)) as usize;
        usual.tail = usual.sorted[is_tail.min(usual.sorted.len() - 1)] + TAIL_FACTOR.ln();
        let beyond = usual.sorted.len() - usual.sorted.partition_point(|other| *other < usual.tail);
        usual.tail_share = beyond as f64 / usual.sorted.len() as f64;
        (usual.density > 0.0).then_some(usual)
    }

    fn residual(&self, request: &Called) -> f64 {
        request.log - self.means.get(&request.category).unwrap_or(&self.mean)
    }

    /// The share of the baseline's requests that is below a residual.
    fn score(&self, residual: f64) -> f64 {
        let below = self.sorted.partition_point(|other| *other < residual);
        let up_to = self.sorted.partition_point(|other| *other <= residual);
        (below + up_to) as f64 / (2 * self.sorted.len()) as f64
    }

    /// How likely requests have such high ranks among the usual ones by chance, less the change of the level that is explained.
    pub(super) fn chance(&self, requests: &[Called], explained: f64) -> f64 {
        // No request is slower than all others, of which only the usual ones are known.
        let known = self.sorted.len() as f64 / (self.sorted.len() as f64 + 1.0);
        let above = |request: &Called| 1.0 - known * self.score(self.residual(request) - explained);
        uniform_sum_lower_tail(requests.len() as u32, requests.iter().map(above).sum())
    }

    /// How many requests are beyond the tail.
    pub(super) fn in_tail(&self, requests: &[Called]) -> usize {
        self.beyond_tail(requests, 0.0)
    }

    /// The same, less the change of the level that is explained.
    fn beyond_tail(&self, requests: &[Called], explained: f64) -> usize {
        requests.iter().filter(|request| self.residual(request) - explained >= self.tail).count()
    }

    fn has_more_tail(&self, requests: &[Called], explained: f64) -> bool {
        let beyond = self.beyond_tail(requests, explained);
        beyond >= TAIL_MIN && beyond as f64 >= (self.tail_share + TAIL_SHARE_MIN) * requests.len() as f64
    }

    /// By how many standard errors more requests than usual are beyond the tail, as square roots of counts (Anscombe, *Biometrika*
    /// 35, 1948), which small ones do not exaggerate. `None` for too few requests.
    fn tail_errors(&self, requests: &[Called], explained: f64) -> Option<f64> {
        let root = |count: f64| 2.0 * (count + 0.375).sqrt();
        let usual = self.tail_share * requests.len() as f64;
        (requests.len() >= LATEST_MIN)
            .then(|| root(self.beyond_tail(requests, explained) as f64) - root(usual))
    }

    /// By how much requests are slower than usual. `None` for too few.
    pub(super) fn shift(&self, requests: &[Called]) -> Option<RankShift> {
        if requests.len() < LATEST_MIN {
            return None;
        }
        let residuals: Vec<f64> = requests.iter().map(|request| self.residual(request)).collect();
        let count = residuals.len() as f64;
        let scores =
            |change: f64| residuals.iter().map(|residual| self.score(residual - change)).sum::<f64>();
        let (mut low, mut high) = (-CHANGE_MAX, CHANGE_MAX);
        for _ in 0..BISECTIONS {
            let middle = (low + high) / 2.0;
            if scores(middle) > count / 2.0 { low = middle } else { high = middle }
        }
        // A mean of scores, which are uniform on 0..1, over their slope.
        let variance = (1.0 / count + 1.0 / self.sorted.len() as f64) / 12.0 / self.density.powi(2);
        Some(RankShift { change: (low + high) / 2.0, variance })
    }
}

/// A change of the level of logarithms.
pub(super) struct RankShift {
    pub(super) change: f64,
    /// The variance of it by the noise of the calls, without drift.
    pub(super) variance: f64,
}

impl RankShift {
    fn less(self, explained: f64) -> RankShift {
        RankShift { change: self.change - explained, ..self }
    }

    fn errors(&self) -> f64 {
        self.change / (self.variance + DRIFT * DRIFT).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::INSTANT;
    use super::*;

    /// A call each second; one in three takes ten times as long. From some second on all take longer by a factor.
    fn called(seconds: std::ops::Range<i64>, factor: f64) -> Vec<Called> {
        let request = |second: i64| {
            let spread = (second * 7_919 % 1_000) as f64 / 1_000.0;
            let mode = if second * 31 % 3 == 0 { 10.0_f64.ln() } else { 0.0 };
            Called {
                start: Timestamp::from_unix_ns(second * 1_000_000_000),
                category: (second % 2) as u32,
                log: 14.0 + 0.6 * spread + mode + factor.ln(),
            }
        };
        seconds.map(request).collect()
    }

    #[test]
    fn the_shift_of_two_modes_is_their_common_factor() {
        let usual = Usual::new(&called(0..3_600, 1.0)).unwrap();
        let same = usual.shift(&called(3_600..3_780, 1.0)).unwrap();
        assert!(same.change.abs() < 0.05 && same.errors().abs() < 1.0, "{}", same.change);
        let slower = usual.shift(&called(3_600..3_780, 1.5)).unwrap();
        assert!((slower.change - 1.5_f64.ln()).abs() < 0.08, "{}", slower.change);
        assert!(slower.errors() > ERRORS_MIN, "{}", slower.errors());
        let few = usual.shift(&called(3_600..3_605, 1.5)).unwrap();
        assert!(few.errors() < ERRORS_MIN, "five calls: {}", few.errors());
        assert!(usual.shift(&called(0..4, 9.0)).is_none());
        assert!(Usual::new(&called(0..40, 1.0)).is_none());
    }

    #[test]
    fn a_few_calls_of_the_slower_mode_may_be_chance() {
        let usual = Usual::new(&called(0..3_600, 1.0)).unwrap();
        let is_slower_mode = |request: &Called| request.log > 15.0;
        let mut slower_mode = called(3_600..3_700, 1.0);
        slower_mode.retain(is_slower_mode);
        slower_mode.truncate(7);
        let shift = usual.shift(&slower_mode).unwrap();
        assert!(shift.errors() > ERRORS_MIN, "as if they were many: {}", shift.errors());
        // Each is of the slowest third: one in 3^7.
        let chance = usual.chance(&slower_mode, 0.0);
        assert!((1e-6..1e-3).contains(&chance), "{chance:e}");
        slower_mode.iter_mut().for_each(|request| request.log += 3.0_f64.ln());
        assert!(usual.chance(&slower_mode, 0.0) < CHANCE_MAX, "slower than nearly all");
        assert!(usual.chance(&slower_mode, 3.0_f64.ln()) > CHANCE_MAX, "explained by the load");
    }

    #[test]
    fn some_slow_calls_do_not_move_the_level_but_the_tail() {
        let usual = Usual::new(&called(0..3_600, 1.0)).unwrap();
        let mut now = called(3_600..3_900, 1.0);
        assert!(!usual.has_more_tail(&now, 0.0) && usual.tail_errors(&now, 0.0).unwrap().abs() < 1.0);
        // Five of a hundred calls take 40 times as long.
        now.iter_mut().step_by(20).for_each(|request| request.log += 40.0_f64.ln());
        assert!(usual.shift(&now).unwrap().errors() < ERRORS_MIN);
        assert!(usual.has_more_tail(&now, 0.0) && usual.tail_errors(&now, 0.0).unwrap() > ERRORS_MIN);
        // One of a hundred is too little.
        let mut rare = called(3_600..3_900, 1.0);
        rare.iter_mut().step_by(100).for_each(|request| request.log += 40.0_f64.ln());
        assert!(!usual.has_more_tail(&rare, 0.0));
    }

    #[test]
    fn recurring_slowness_in_the_baseline_is_not_exceptional() {
        let quiet = [0.4, -0.7, 1.1, 0.2, -1.3, 0.9];
        assert!(is_exceptional(4.0, 5.0, &quiet));
        assert!(!is_exceptional(4.0, 3.0, &quiet), "too few standard errors");
        let with_jobs = [0.4, -0.7, 4.0, 0.2, -1.3, 0.9];
        assert!(!is_exceptional(4.0, 5.0, &with_jobs), "a job was nearly as slow");
        assert!(is_exceptional(4.0, 9.0, &with_jobs));
        assert!(!is_exceptional(4.0, 9.0, &quiet[..2]), "too little is known of what is usual");
    }

    #[test]
    fn the_parts_of_a_window_do_not_overlap() {
        let time = |second: i64| Timestamp::from_unix_ns(second * 1_000_000_000);
        let window = Window { since: time(0).plus(INSTANT), until: time(1_000) };
        let parts: Vec<Window> = parts_of(window, Nanos::from_secs(300)).collect();
        let ends: Vec<Timestamp> = parts.iter().map(|part| part.until).collect();
        assert_eq!(ends, [time(1_000), time(700), time(400)]);
        assert!(parts.windows(2).all(|pair| pair[1].until.plus(INSTANT) == pair[0].since));
    }
}
