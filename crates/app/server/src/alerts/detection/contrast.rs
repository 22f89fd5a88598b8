//! Whether an operation has become slower relative to the other operations of its service.
//!
//! What makes a service slower, such as load or its machine, moves most of its operations at once. Relative to what they have in
//! common, an operation drifts little, so that a slow-down of a third is shown by a few dozen calls. Levels are compared by ranks,
//! as in [`confirmation`](super::confirmation); the same is done with every interval of the baseline that is as long.

use super::confirmation::{Called, RankShift, Usual, by_request, is_exceptional, parts_of, within};
use super::{Compared, before};
use crate::alerts::evaluate::Finding;
use laggard_diagnose::{Population, service_calls};
use laggard_engine::{LocalEngine, Requests};
use laggard_model::Nanos;
use laggard_numeric::median_of;
use laggard_params::Window;

/// Lengths of the latest part that is compared.
const LENGTHS: [Nanos; 4] =
    [Nanos::from_secs(600), Nanos::from_secs(900), Nanos::from_secs(1_800), Nanos::from_secs(3_600)];
/// Standard errors that confirm a finding.
const ERRORS_MIN: f64 = 3.5;
/// The same as the probability of such ranks, whose standard error is that of many calls.
const CHANCE_MAX: f64 = 2.3e-4;
/// The last part of the baseline of this length is not compared: a slow-down that began before the window is no variation.
const GAP: Nanos = Nanos::from_secs(1_200);
/// The least factor relative to the other operations.
const FACTOR_MIN: f64 = 1.15;
/// Standard deviation of the drift of one operation relative to its service, as a logarithm.
const RELATIVE_DRIFT: f64 = 0.02;
/// Fewest other operations that have something in common.
const OTHERS_MIN: usize = 2;
/// Where not all operations move with their service, at least one in this number does: what waits or sleeps does not get slower
/// with the load.
const MOVING_PART: usize = 4;
/// The variance of a median over that of a mean.
const MEDIAN_VARIANCE: f64 = std::f64::consts::FRAC_PI_2;

/// Whether the latest calls of a finding are slower relative to its service than in the baseline, beyond chance and drift.
pub(super) fn is_confirmed(
    finding: &Finding,
    requests: &Requests,
    compared: Compared,
    engine: LocalEngine,
) -> bool {
    // The only replica of an operation is in the list, too. Additional calls do not change the operation's own time.
    if finding.caller.is_some() || finding.is_against_peers || finding.makes_more_calls() {
        return false;
    }
    let Some(service) = ServiceLevels::new(finding, requests, compared, engine) else { return false };
    let latest = |length: Nanos| before(length, compared.window.until);
    let baseline = compared.baseline;
    let reference = Window { since: baseline.since, until: baseline.until.minus(GAP).max(baseline.since) };
    LENGTHS.into_iter().filter(|&length| latest(length).since >= compared.window.since).any(|length| {
        let errors = |part: Window| Some(service.contrast(part)?.errors());
        service.contrast(latest(length)).is_some_and(|now| {
            let earlier: Vec<f64> = parts_of(reference, length).filter_map(errors).collect();
            now.change >= FACTOR_MIN.ln()
                && now.chance <= CHANCE_MAX
                && is_exceptional(ERRORS_MIN, now.errors(), &earlier)
        })
    })
}

/// The calls of one operation, and of the others of its service.
struct ServiceLevels {
    own: Levels,
    others: Vec<Levels>,
}

struct Levels {
    usual: Usual,
    all: Vec<Called>,
}

impl Levels {
    fn shift(&self, part: Window) -> Option<RankShift> {
        self.usual.shift(within(&self.all, part))
    }
}

/// A change relative to the service.
#[derive(Clone, Copy)]
struct Contrast {
    change: f64,
    variance: f64,
    /// How likely the ranks of the calls are by chance, without what the service has in common.
    chance: f64,
}

impl Contrast {
    fn errors(&self) -> f64 {
        self.change / (self.variance + RELATIVE_DRIFT.powi(2)).sqrt()
    }
}

impl ServiceLevels {
    /// `None` where too little is known of the operation, or too few others are called.
    fn new(
        finding: &Finding,
        requests: &Requests,
        compared: Compared,
        engine: LocalEngine,
    ) -> Option<ServiceLevels> {
        let Window { since, until } = compared.all();
        let population = Population { since, until, ..Population::all(requests) };
        let mut by_operation = service_calls(&population, &finding.service, engine);
        let levels = |calls| {
            let all = by_request(calls);
            let first = all.partition_point(|request| request.start < compared.window.since);
            Some(Levels { usual: Usual::new(&all[..first])?, all })
        };
        let own = levels(by_operation.remove(&finding.operation)?)?;
        let others: Vec<Levels> = by_operation.into_values().filter_map(levels).collect();
        (others.len() >= OTHERS_MIN).then_some(ServiceLevels { own, others })
    }

    fn contrast(&self, part: Window) -> Option<Contrast> {
        let own = self.own.shift(part)?;
        let others: Vec<RankShift> = self.others.iter().filter_map(|other| other.shift(part)).collect();
        let common = common(&others)?;
        let chance = self.own.usual.chance(within(&self.own.all, part), common.change);
        let (change, variance) = (own.change - common.change, own.variance + common.variance);
        Some(Contrast { change, variance, chance })
    }
}

/// What some operations have in common: the median of their changes, or the change that a quarter of them, at least two, exceed for
/// certain. `None` for too few.
fn common(shifts: &[RankShift]) -> Option<RankShift> {
    if shifts.len() < OTHERS_MIN {
        return None;
    }
    let mut certain: Vec<f64> = shifts.iter().map(|shift| shift.change - shift.variance.sqrt()).collect();
    certain.sort_by(|a, b| b.total_cmp(a));
    let moving = certain[shifts.len().div_ceil(MOVING_PART).max(OTHERS_MIN) - 1];
    let median = median_of(&shifts.iter().map(|shift| shift.change).collect::<Vec<f64>>());
    let count = shifts.len() as f64;
    let variance = shifts.iter().map(|shift| shift.variance).sum::<f64>() / count;
    Some(RankShift { change: moving.max(median), variance: MEDIAN_VARIANCE * variance / count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::Timestamp;

    const MINUTE_NS: i64 = 60_000_000_000;

    fn time(minute: i64) -> Timestamp {
        Timestamp::from_unix_ns(minute * MINUTE_NS)
    }

    /// Eight calls a minute for two hours and a quarter, the last quarter slower by a factor.
    fn levels(seed: i64, factor: f64) -> Levels {
        let call = |number: i64| {
            let spread = ((number + seed) * 7_919 % 1_000) as f64 / 1_000.0;
            let slower = if number >= 8 * 120 { factor.ln() } else { 0.0 };
            let start = Timestamp::from_unix_ns(number * MINUTE_NS / 8);
            Called { start, category: 0, log: 14.0 + spread + slower }
        };
        let all: Vec<Called> = (0..8 * 135).map(call).collect();
        Levels { usual: Usual::new(&all[..8 * 120]).unwrap(), all }
    }

    fn contrast(own: Levels, others: [f64; 3], until: Timestamp) -> Contrast {
        let others = others.into_iter().zip(1..).map(|(factor, seed)| levels(seed, factor)).collect();
        ServiceLevels { own, others }.contrast(Window { since: time(120), until }).unwrap()
    }

    fn errors(own: f64, others: [f64; 3]) -> f64 {
        contrast(levels(0, own), others, time(135)).errors()
    }

    /// The same, but every third call takes ten times as long, and so do the latest six.
    fn two_modes() -> Levels {
        let Levels { mut all, .. } = levels(0, 1.0);
        let latest = all.len() - 8 * 15;
        for (number, call) in all.iter_mut().enumerate() {
            let is_slow = number % 3 == 0 || (latest..latest + 6).contains(&number);
            call.log += if is_slow { 10.0_f64.ln() } else { 0.0 };
        }
        Levels { usual: Usual::new(&all[..latest]).unwrap(), all }
    }

    #[test]
    fn six_calls_may_be_slower_than_their_service_by_chance() {
        let six = contrast(two_modes(), [1.0; 3], time(120).plus(Nanos::from_secs(44)));
        assert!(six.errors() > ERRORS_MIN, "as if they were many: {}", six.errors());
        assert!(six.chance > CHANCE_MAX, "{:e}", six.chance);
        assert!(contrast(levels(0, 1.6), [1.0; 3], time(135)).chance < CHANCE_MAX);
        assert!(contrast(levels(0, 1.6), [1.6; 3], time(135)).chance > CHANCE_MAX, "so is its service");
    }

    #[test]
    fn a_third_slower_than_its_service_is_shown_by_eight_calls_a_minute() {
        assert!(errors(1.3, [1.0; 3]) > 5.0, "{}", errors(1.3, [1.0; 3]));
        assert!(errors(1.0, [1.0; 3]).abs() < 1.0);
    }

    #[test]
    fn what_makes_its_service_slower_is_no_contrast() {
        assert!(errors(1.5, [1.5; 3]).abs() < 1.0, "{}", errors(1.5, [1.5; 3]));
        // One of three waits for something else.
        assert!(errors(1.5, [1.0, 1.5, 1.5]) < 2.0, "{}", errors(1.5, [1.0, 1.5, 1.5]));
        assert!(errors(1.0, [1.5; 3]) < -3.0, "it is faster than the others");
    }

    #[test]
    fn one_other_operation_is_no_service() {
        let service = ServiceLevels { own: levels(0, 2.0), others: vec![levels(1, 1.0)] };
        assert!(service.contrast(Window { since: time(120), until: time(135) }).is_none());
    }
}
