//! Whether what an alert is about is over: by the latest calls of its subject, which lie between the usual time and that during
//! the slow-down.
//!
//! That nothing is significant any more does not mean that it is over, above all with few calls. So a slow-down is over when
//! the latest calls are shown to be nearer to the usual time, it goes on when they are shown to be nearer to the slow one,
//! and otherwise nothing is known yet. Times are compared by their mean logarithm, as factors.

use super::super::evaluate::{EvaluationSettings, Finding, Recovery, evaluate};
use super::Compared;
use super::confirmation::{Called, Usual, by_request};
use laggard_diagnose::{Population, Subject, SubjectCall, subject_calls};
use laggard_engine::{LocalEngine, Requests};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;

/// Length of the latest part of the data that is judged: the shortest one that suffices.
const RECENT: [Nanos; 4] =
    [Nanos::from_secs(300), Nanos::from_secs(600), Nanos::from_secs(900), Nanos::from_secs(3_600)];
/// Length of the blocks whose means differ by drift as well as by the spread of calls.
const BLOCK_NS: i64 = 60_000_000_000;
/// Fewest calls of a mean.
const CALLS_MIN: usize = 5;
/// If at least this many calls of a replica were expected and there are none, the replica was removed.
const EXPECTED_MIN: f64 = 10.0;
/// Quantile of the normal distribution for a one-sided level of 5 %.
const CERTAIN: f64 = 1.645;
/// A smaller slow-down than this factor cannot be seen in single calls.
const FACTOR_MIN: f64 = 1.05;

/// When an operation was slow.
#[derive(Clone, Copy)]
pub(super) struct Slow {
    /// Since when.
    pub(super) since: Timestamp,
    /// Until when its slowness is evident: only later calls can show that it is over.
    pub(super) evident_until: Timestamp,
    /// The end of the data.
    pub(super) until: Timestamp,
    /// When it had its usual time.
    pub(super) usual: Window,
}

/// What the latest calls say about an operation that was slow. `None` for operations that were never called before, which have
/// no usual time.
pub(super) fn recovery(
    finding: &Finding,
    requests: &Requests,
    Slow { since, evident_until, until, usual }: Slow,
    engine: LocalEngine,
) -> Option<Recovery> {
    // Of additional calls, the factor is that of their number, which is not that of times.
    let factor = if finding.makes_more_calls() { 1.0 } else { finding.factor? };
    let anywhere = Finding { replicas: Vec::new(), ..finding.clone() };
    let anywhere = |window: Window| calls(&anywhere, requests, window, engine);
    let calls = |window: Window| calls(finding, requests, window, engine);
    // A replica that was started since then has no history. The baseline may have been deleted.
    let usual_calls = Some(calls(usual)).filter(|calls| Level::usual(calls).is_some());
    let usual_calls = usual_calls.unwrap_or_else(|| anywhere(usual));
    let Some(usual) = Level::usual(&usual_calls) else {
        return Some(Recovery::Unknown);
    };
    let since = since.max(until.minus(RECENT[RECENT.len() - 1])).min(until);
    let all = calls(Window { since, until });
    if let Some(few_slow) = FewSlow::of(usual_calls, all.clone()) {
        return Some(few_slow.recovery(evident_until, until));
    }
    let length_of =
        |from: Timestamp, to: Timestamp| to.since(from).non_negative().map_or(0, Nanos::ns) as f64;
    for length in RECENT {
        let from = until.minus(length).max(evident_until);
        let (slow, latest) = all.split_at(all.partition_point(|call| call.start <= from));
        let slow_calls = slow.len();
        // Where the onset is not known, the calls before the latest are slow in part only; then what was said when it was found
        // is more.
        let slow = match slow.len() >= CALLS_MIN {
            true => (mean_log(slow) - usual.mean).max(factor.ln()),
            false => factor.ln(),
        };
        let before = length_of(since, from);
        let expected = if before > 0.0 { slow_calls as f64 * length_of(from, until) / before } else { 0.0 };
        let is_gone = latest.is_empty() && expected >= EXPECTED_MIN;
        let after = from.plus(Nanos::from_ns(1));
        if is_gone && anywhere(Window { since: after, until }).len() >= CALLS_MIN {
            return Some(Recovery::Recovered);
        }
        if slow < FACTOR_MIN.ln() || latest.len() < CALLS_MIN {
            continue;
        }
        let (above, error) = (mean_log(latest) - usual.mean, usual.error_of(latest));
        if above + CERTAIN * error < slow / 2.0 {
            return Some(Recovery::Recovered);
        }
        if above - CERTAIN * error > slow / 2.0 {
            return Some(Recovery::StillSlow);
        }
    }
    Some(Recovery::Unknown)
}

/// A slowdown of few calls changes the level of all calls by less than this factor.
const FEW_FACTOR_MAX: f64 = 1.1;
/// Fewest slow requests of a slowdown of few calls, and by how much their share must exceed the usual one.
const FEW_SLOW_MIN: usize = 3;
const FEW_SHARE_MIN: f64 = 0.02;
/// Expected slow requests from which on a count is judged: with three, none at all has a probability of 5 %.
const FEW_EXPECTED: f64 = 3.0;

/// A slowdown of few calls. Level and mean hardly differ from the usual ones, so they would look recovered during the fault.
struct FewSlow {
    usual: Usual,
    /// Requests since the slowdown began.
    all: Vec<Called>,
}

impl FewSlow {
    /// `None` where the level of all calls has changed, or the share of slow calls has not.
    fn of(usual: Vec<SubjectCall>, since: Vec<SubjectCall>) -> Option<FewSlow> {
        let usual = Usual::new(&by_request(usual))?;
        let all = by_request(since);
        let few = FewSlow { usual, all };
        let has_level = few.usual.shift(&few.all)?.change < FEW_FACTOR_MAX.ln();
        let is_more = few.share(&few.all) >= few.usual.tail_share + FEW_SHARE_MIN;
        (has_level && is_more && few.usual.in_tail(&few.all) >= FEW_SLOW_MIN).then_some(few)
    }

    fn share(&self, requests: &[Called]) -> f64 {
        self.usual.in_tail(requests) as f64 / requests.len().max(1) as f64
    }

    /// Compares the slow requests of the shortest latest part that suffices with the middle between the usual share and that of
    /// the time before, as square roots of counts (Anscombe, *Biometrika* 35, 1948).
    fn recovery(&self, evident_until: Timestamp, until: Timestamp) -> Recovery {
        let root = |count: f64| 2.0 * (count + 0.375).sqrt();
        for length in RECENT {
            let from = until.minus(length).max(evident_until);
            let (before, latest) =
                self.all.split_at(self.all.partition_point(|request| request.start <= from));
            let slow = if before.len() < CALLS_MIN { self.share(&self.all) } else { self.share(before) };
            let middle = (slow + self.usual.tail_share) / 2.0 * latest.len() as f64;
            if middle < FEW_EXPECTED {
                continue;
            }
            let errors = root(self.usual.in_tail(latest) as f64) - root(middle);
            if errors.abs() > CERTAIN {
                return if errors > 0.0 { Recovery::StillSlow } else { Recovery::Recovered };
            }
        }
        Recovery::Unknown
    }
}

/// So many calls that differ are expected of an operation that still fails, in the latest part that is judged: more where the
/// calls differ before the fault, too.
const FAILING_EXPECTED: f64 = 10.0;
const MISSING_EXPECTED: f64 = 40.0;

/// What the latest calls say about an operation that failed, or made other calls: the shortest latest part with enough calls is
/// compared with the time before the fault. The time just before it would not do, since the operation fails there as well.
pub(super) fn failing_recovery(
    finding: &Finding,
    requests: &Requests,
    Slow { evident_until, until, usual, .. }: Slow,
    settings: EvaluationSettings,
    engine: LocalEngine,
) -> Recovery {
    let changes = finding.behavior.iter().map(|change| (change.rate - change.usual_rate).abs());
    let change = changes.fold(0.0, f64::max);
    let expected = if finding.has_errors() { FAILING_EXPECTED } else { MISSING_EXPECTED };
    for length in RECENT {
        let since = until.minus(length).max(evident_until).plus(Nanos::from_ns(1));
        if since >= until {
            continue;
        }
        let latest = Window { since, until };
        if calls(finding, requests, latest, engine).len() as f64 * change < expected {
            continue;
        }
        let Ok(evaluation) = evaluate(requests, latest, usual, settings, engine) else { continue };
        let fails = |other: &Finding| other.service == finding.service && other.is_failing();
        return if evaluation.findings.iter().any(fails) { Recovery::StillSlow } else { Recovery::Recovered };
    }
    Recovery::Unknown
}

/// Whether a finding of a window was shown to be as slow in at least one of some other windows.
pub(super) fn was_as_slow(
    finding: &Finding,
    requests: &Requests,
    compared: Compared,
    others: &[Window],
    engine: LocalEngine,
) -> bool {
    let calls = |window: Window| calls(finding, requests, window, engine);
    let (usual, now) = (Level::usual(&calls(compared.baseline)), calls(compared.window));
    let Some(usual) = usual else { return false };
    if now.len() < CALLS_MIN {
        return false;
    }
    let slow = mean_log(&now) - usual.mean;
    others.iter().any(|other| {
        let then = calls(*other);
        then.len() >= CALLS_MIN && mean_log(&then) - usual.mean - CERTAIN * usual.error_of(&then) > slow / 2.0
    })
}

pub(super) fn calls(
    finding: &Finding,
    requests: &Requests,
    window: Window,
    engine: LocalEngine,
) -> Vec<SubjectCall> {
    let caller = finding.caller.as_ref();
    let subject = Subject {
        operation: (&finding.service, &finding.operation),
        caller: caller.map(|caller| (caller.service.as_str(), caller.operation.as_str())),
        replicas: &finding.replicas,
        is_inclusive: finding.makes_more_calls(),
    };
    let population = Population { since: window.since, until: window.until, ..Population::all(requests) };
    subject_calls(&population, &subject, engine)
}

fn log(call: &SubjectCall) -> f64 {
    call.time_ns.max(1.0).ln()
}

fn mean_log(calls: &[SubjectCall]) -> f64 {
    calls.iter().map(log).sum::<f64>() / calls.len() as f64
}

/// The usual level: the mean logarithm, its variance among the calls of a block, and that of the blocks' levels.
struct Level {
    mean: f64,
    within: f64,
    between: f64,
}

impl Level {
    /// By the moments of a one-way layout with blocks of unequal size (Searle, Casella & McCulloch, *Variance Components*, 1992,
    /// 3.6). `None` with too few calls.
    fn usual(calls: &[SubjectCall]) -> Option<Level> {
        let blocks = calls.chunk_by(|a, b| block(a) == block(b)).collect::<Vec<_>>();
        if calls.len() < CALLS_MIN || blocks.len() < 3 || calls.len() <= blocks.len() {
            return None;
        }
        let (all, groups, mean) = (calls.len() as f64, blocks.len() as f64, mean_log(calls));
        let squares = |block: &[SubjectCall]| {
            let own = mean_log(block);
            let inside: f64 = block.iter().map(|call| (log(call) - own).powi(2)).sum();
            (inside, block.len() as f64 * (own - mean).powi(2))
        };
        let (inside, among) = blocks
            .iter()
            .map(|block| squares(block))
            .fold((0.0, 0.0), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        let within = inside / (all - groups);
        let sizes: f64 = blocks.iter().map(|block| (block.len() as f64).powi(2)).sum();
        let size = (all - sizes / all) / (groups - 1.0);
        let between = ((among / (groups - 1.0) - within) / size).max(0.0);
        Some(Level { mean, within, between })
    }

    /// Standard error of the mean of other calls. Levels of neighboring blocks depend on each other, so they count as half as many.
    fn error_of(&self, calls: &[SubjectCall]) -> f64 {
        let blocks = calls.chunk_by(|a, b| block(a) == block(b)).count() as f64;
        (self.within / calls.len() as f64 + 2.0 * self.between / blocks).sqrt()
    }
}

/// The minute of a call.
fn block(call: &SubjectCall) -> i64 {
    call.start.unix_ns().div_euclid(BLOCK_NS)
}
