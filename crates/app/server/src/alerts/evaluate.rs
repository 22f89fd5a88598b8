//! One comparison of a window with a baseline: which operations make its requests slower, and by how much.

use super::interval::Interval;
use crate::stored_facts::stored_facts;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{LocalEngine, Requests};
use laggard_model::Nanos;
use laggard_params::Window;
use laggard_report::{BehaviorChange, InputFacts, Report, Scope, Suspect, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// When a window is evaluated, and from which slow-down on an operation counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EvaluationSettings {
    /// Complete requests that the window and the baseline must each have.
    pub requests_min: u64,
    /// Least slow-down of the requests that met the operation, as a share of their usual time: 0.2 for a fifth. Operations that fail or return
    /// early count without one.
    pub slower_min: f64,
}

/// The result of an evaluation.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    /// The evaluated window.
    pub window: Window,
    /// The window it was compared with.
    pub baseline: Window,
    /// Operations that made it slower by at least half of [`EvaluationSettings::slower_min`], or fail, the most suspicious first;
    /// of [`Detection::evaluate`](super::detection::Detection::evaluate) one per service.
    pub findings: Vec<Finding>,
    /// By the id of a firing alert, what the latest calls of its operation say.
    pub recoveries: BTreeMap<String, Recovery>,
    /// The latest evaluation of each other window.
    pub others: Vec<WindowEvaluation>,
}

impl Evaluation {
    /// Without findings.
    pub(super) fn new(window: Window, baseline: Window) -> Evaluation {
        let (findings, recoveries, others) = Default::default();
        Evaluation { window, baseline, findings, recoveries, others }
    }

    /// Every finding with its window and baseline: those of the usual window, then of the others, the shortest first.
    pub fn all(&self) -> impl Iterator<Item = (&Finding, Interval, Interval)> {
        let (window, baseline) = (Interval::from(self.window), Interval::from(self.baseline));
        let own = self.findings.iter().map(move |finding| (finding, window, baseline));
        let others = self
            .others
            .iter()
            .flat_map(|other| other.findings.iter().map(|finding| (finding, other.window, other.baseline)));
        own.chain(others)
    }

    /// The first of them that meets a condition, of windows no longer than this, or than the usual one: a longer window shows for
    /// hours what is over.
    pub fn recent_finding(
        &self,
        longest: Interval,
        is_wanted: impl Fn(&Finding) -> bool,
    ) -> Option<(&Finding, Interval, Interval)> {
        let longest = longest.length_ns().max(Interval::from(self.window).length_ns());
        self.all().find(|(finding, window, _)| window.length_ns() <= longest && is_wanted(finding))
    }

    /// The first of them that meets a condition.
    pub fn finding(&self, is_wanted: impl Fn(&Finding) -> bool) -> Option<(&Finding, Interval, Interval)> {
        self.all().find(|(finding, ..)| is_wanted(finding))
    }
}

/// Whether a slow operation has recovered, according to its latest calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// They are as fast as before.
    Recovered,
    /// They are as slow as at the time of the finding.
    StillSlow,
    /// There are too few of them to say.
    Unknown,
}

/// The latest evaluation of one of the other windows, the longer of which are not evaluated each time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WindowEvaluation {
    /// Length of the window.
    pub length_ns: u64,
    /// The window.
    pub window: Interval,
    /// The window it was compared with.
    pub baseline: Interval,
    /// As [`Evaluation::findings`].
    pub findings: Vec<Finding>,
}

/// The calling operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct FindingCaller {
    /// Its service.
    pub service: String,
    /// Its name.
    pub operation: String,
}

/// An operation that makes requests slower than they were, or fails or returns early more often.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// Service of the operation.
    pub service: String,
    /// The operation.
    pub operation: String,
    /// The caller, if the time is spent between it and the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<FindingCaller>,
    /// Other operations of the service that make requests slower or fail, the most suspicious first.
    #[serde(default)]
    pub other_operations: Vec<String>,
    /// Replicas to blame, the worst first; empty where none stands out.
    pub replicas: Vec<String>,
    /// Requests it makes slow, by call tree, the most requests first.
    pub categories: Vec<SlowCategory>,
    /// Time of a call over the time of such calls in the baseline, or on the other replicas; absent when it was never called
    /// there.
    pub factor: Option<f64>,
    /// Whether `factor` compares with the other replicas.
    #[serde(default)]
    pub is_against_peers: bool,
    /// Additional time of a slow call, in nanoseconds.
    pub effect_ns: u64,
    /// By which share of their usual time it makes the requests that met it slower: 1 doubles their time. Those that called it,
    /// on one of its replicas where some are to blame.
    pub slower: f64,
    /// The smallest of its adjusted p-values; absent where no evidence has one.
    #[serde(default)]
    pub p_value: Option<f64>,
    /// Requests it made slow.
    pub requests_hit: u64,
    /// Requests that called it.
    pub requests_seen: u64,
    /// Some of the slowest traces.
    pub traces: Vec<String>,
    /// How it fails, stops early, or makes other calls than in the baseline; empty if it is only slower.
    #[serde(default)]
    pub behavior: Vec<BehaviorChange>,
    /// Since when, if that lies inside the window and the data say so.
    pub onset_ns: Option<i64>,
}

impl Finding {
    /// Whether it has a p-value of at most this.
    pub fn is_certain(&self, level: f64) -> bool {
        self.p_value.is_some_and(|p_value| p_value <= level)
    }

    /// Whether most of its calls are slower by such a factor that it counts although requests are hardly affected: by a fifth of
    /// the usual minimum, or by a twentieth if it is beyond doubt.
    pub fn is_slower_by_itself(&self, slower_min: f64) -> bool {
        let part = if self.is_certain(BEYOND_DOUBT) { OWN_PART_BEYOND_DOUBT } else { OWN_PART };
        self.factor.is_some_and(|factor| factor >= OWN_FACTOR_MIN)
            && 2 * self.requests_hit >= self.requests_seen
            && self.slower >= part * slower_min
    }

    /// All its operations, the most suspicious first.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.operation).chain(&self.other_operations).map(String::as_str)
    }

    /// Whether it fails, or makes so few calls that it is a new alert: shares of a quarter vary by a third on ordinary days.
    pub fn fails_clearly(&self) -> bool {
        let is_clear = |change: &BehaviorChange| {
            is_of_missing(change) && change.rate <= (1.0 - MISSING_MIN) * change.usual_rate
        };
        self.has_errors() || self.behavior.iter().any(is_clear)
    }

    /// Whether more of its calls fail.
    pub fn has_errors(&self) -> bool {
        self.behavior.iter().any(|change| change.kind == "errors")
    }

    /// Whether it is slower because of the calls that it makes, which are more than before or new: its own time need not have changed.
    pub fn makes_more_calls(&self) -> bool {
        let is_of_more = |change: &BehaviorChange| matches!(change.kind.as_str(), "more-calls" | "new-calls");
        self.caller.is_none() && !self.is_failing() && self.behavior.iter().any(is_of_more)
    }

    /// Whether it fails or returns early: what it does not do cannot be measured in time.
    pub fn is_failing(&self) -> bool {
        self.has_errors() || self.behavior.iter().any(is_of_missing)
    }
}

/// Whether calls are no longer made, or messages not processed.
fn is_of_missing(change: &BehaviorChange) -> bool {
    matches!(change.kind.as_str(), "missing-calls" | "unprocessed-messages")
}

/// Requests of one call tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct SlowCategory {
    /// Stable id: twelve hexadecimal digits.
    pub id: String,
    /// Service they enter at.
    pub service: String,
    /// Operation they enter at.
    pub operation: String,
}

/// There are too few requests for an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooFewRequests {
    /// Complete requests of the window.
    pub window: u64,
    /// Complete requests of the baseline.
    pub baseline: u64,
}

/// The part of the usual calls that must be missing.
const MISSING_MIN: f64 = 0.4;

/// Time of a call over its usual time, and the part of the least slow-down of requests, from which on an operation counts by itself.
const OWN_FACTOR_MIN: f64 = 1.15;
const OWN_PART: f64 = 0.2;
/// The same for an operation with a p-value of at most this.
const OWN_PART_BEYOND_DOUBT: f64 = 0.05;
const BEYOND_DOUBT: f64 = 1e-6;

/// In a window that is nearly an hour long or longer, replicas count that add this share to the latency of all requests: one of a
/// hundred that takes three times as long for one operation adds a few thousandths.
const LONG: Nanos = Nanos::from_secs(3_500);
const LONG_UNEVEN_SHARE_MIN: f64 = 0.001;

/// Suspects of one evaluation, and names listed of each.
const SUSPECTS_MAX: usize = 50;
const CATEGORIES_MAX: usize = 10;
const REPLICAS_MAX: usize = 10;

/// An alert is held until requests are slower by less than this part of what it fires at.
const HELD_PART: f64 = 0.5;

/// Compares a window with a baseline, both of the same requests, as `diagnose` does; evidence that does not need
/// the baseline counts only if it is stronger than in the baseline.
///
/// # Errors
/// When either has fewer complete requests than the settings want.
pub fn evaluate(
    requests: &Requests,
    window: Window,
    baseline: Window,
    settings: EvaluationSettings,
    engine: LocalEngine,
) -> Result<Evaluation, TooFewRequests> {
    let counted =
        TooFewRequests { window: complete(requests, window), baseline: complete(requests, baseline) };
    if counted.window.min(counted.baseline) < settings.requests_min {
        return Err(counted);
    }
    let report = compare(requests, window, baseline, &stored_facts(requests), engine);
    let mut findings = Vec::new();
    if report.verdict == Verdict::Suspects {
        let standing_out = report.suspects.iter().filter(|suspect| suspect.stands_out);
        let all = standing_out.map(|suspect| finding(&report, suspect));
        let least = HELD_PART * settings.slower_min;
        let is_enough = |finding: &Finding| {
            finding.is_failing() || finding.slower >= least || finding.is_slower_by_itself(least)
        };
        findings = all.filter(is_enough).collect();
    }
    Ok(Evaluation { findings, ..Evaluation::new(window, baseline) })
}

/// The diagnosis of a window against a baseline, both of the same requests.
pub(super) fn compare(
    requests: &Requests,
    window: Window,
    baseline: Window,
    facts: &InputFacts,
    engine: LocalEngine,
) -> Report {
    let mut settings = DiagnoseSettings {
        since: window.since,
        until: window.until,
        baseline: BaselineChoice::Within { since: baseline.since, until: baseline.until },
        suspects_max: SUSPECTS_MAX,
        ..DiagnoseSettings::default()
    };
    if window.until.since(window.since).magnitude() >= LONG {
        settings.sites.uneven_share_min = LONG_UNEVEN_SHARE_MIN;
    }
    diagnose(requests, None, facts, &settings, engine).expect("the default thresholds are in their ranges")
}

/// Complete requests that start in a window.
pub(super) fn complete(requests: &Requests, window: Window) -> u64 {
    let within = requests.within(window.since, window.until);
    within.iter().filter(|request| request.is_complete()).count() as u64
}

/// Time of a suspect's calls over that of usual ones, and whether those are the calls of the other replicas. The comparison with
/// the baseline is that of all replicas together, so it says nothing about a slow one.
pub(crate) fn suspect_factor(suspect: &Suspect) -> (Option<f64>, bool) {
    let worst = suspect.culprits.first().map(|culprit| culprit.factor).filter(|factor| factor.is_finite());
    if let (Scope::Replicas, Some(factor)) = (suspect.scope, worst) {
        return (Some(factor), true);
    }
    let factor = suspect.shift.map_or(suspect.factor, |shift| shift.factor);
    (Some(factor).filter(|factor| factor.is_finite()), false)
}

/// Description of a suspect in alerts.
fn finding(report: &Report, suspect: &Suspect) -> Finding {
    let (factor, is_against_peers) = suspect_factor(suspect);
    let concerned = report.categories.iter().filter(|category| suspect.categories.contains(&category.id));
    let categories = concerned.take(CATEGORIES_MAX).map(|category| SlowCategory {
        id: category.id.clone(),
        service: category.service.clone(),
        operation: category.operation.clone(),
    });
    Finding {
        service: suspect.service.clone(),
        operation: suspect.operation.clone(),
        caller: suspect.between.as_ref().map(|between| FindingCaller {
            service: between.caller_service.clone(),
            operation: between.caller_operation.clone(),
        }),
        other_operations: Vec::new(),
        replicas: suspect.replicas.iter().take(REPLICAS_MAX).cloned().collect(),
        categories: categories.collect(),
        factor,
        is_against_peers,
        effect_ns: suspect.effect_ns,
        slower: suspect.met.map_or(0.0, |met| met.slower),
        p_value: suspect.p_values().min_by(f64::total_cmp),
        requests_hit: suspect.requests_hit,
        requests_seen: suspect.requests_seen,
        traces: suspect.trace_ids.clone(),
        behavior: suspect.behavior.clone(),
        onset_ns: suspect.onset.as_ref().map(|onset| onset.at.unix_ns()),
    }
}
