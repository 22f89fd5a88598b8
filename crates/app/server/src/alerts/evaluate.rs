//! One comparison of a window with a baseline: which operations make its requests slower, and by how much.

use crate::stored_facts::stored_facts;
use laggard_assembly::ShapeRule;
use laggard_diagnose::{BaselineChoice, DiagnoseSettings, diagnose};
use laggard_engine::{LocalEngine, Requests};
use laggard_params::Window;
use laggard_report::{BehaviorChange, Report, Suspect, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;

/// When a window is evaluated, and from which slow-down on an operation counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EvaluationSettings {
    /// Complete requests that the window and the baseline must each have.
    pub requests_min: u64,
    /// Least slow-down of the affected requests, as a share of their usual time: 0.2 for a fifth. Operations that fail or return
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
    /// Operations that made it slower or fail, the most suspicious first.
    pub findings: Vec<Finding>,
    /// Whether operations without a finding are known to be as fast as before.
    pub is_complete: bool,
}

/// An operation that makes requests slower than they were, or fails or returns early more often.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// Service of the operation.
    pub service: String,
    /// The operation.
    pub operation: String,
    /// Replicas to blame, the worst first; empty where none stands out.
    pub replicas: Vec<String>,
    /// Requests it makes slow, by call tree, the most requests first.
    pub categories: Vec<SlowCategory>,
    /// Time of a call over the time of such calls in the baseline; absent when it was never called there.
    pub factor: Option<f64>,
    /// What it adds to a slow call, in nanoseconds.
    pub effect_ns: u64,
    /// Time that it adds to the affected requests, as a share of the rest: 1 doubles their time.
    pub slower: f64,
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
    /// Whether it fails or returns early: what it does not do cannot be measured in time.
    pub fn is_failing(&self) -> bool {
        self.behavior.iter().any(|change| matches!(change.kind.as_str(), "errors" | "missing-calls"))
    }
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

/// Suspects of one evaluation, and names listed of each.
const SUSPECTS_MAX: usize = 50;
const CATEGORIES_MAX: usize = 10;
const REPLICAS_MAX: usize = 10;

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
    let settings_of_diagnosis = DiagnoseSettings {
        since: window.since,
        until: window.until,
        baseline: BaselineChoice::Within { since: baseline.since, until: baseline.until },
        suspects_max: SUSPECTS_MAX,
        ..DiagnoseSettings::default()
    };
    let facts = stored_facts(requests);
    let report = diagnose(requests, None, &facts, &settings_of_diagnosis, engine);
    let report = report.expect("the default thresholds are in their ranges");
    let mut findings = Vec::new();
    if report.verdict == Verdict::Suspects {
        let latencies = Latencies::from_requests(requests, window, &report, engine);
        let all = report
            .suspects
            .iter()
            .filter(|suspect| suspect.stands_out)
            .map(|suspect| latencies.finding(&report, suspect));
        findings =
            all.filter(|finding| finding.is_failing() || finding.slower >= settings.slower_min).collect();
    }
    Ok(Evaluation { window, baseline, findings, is_complete: true })
}

/// Complete requests that start in a window.
fn complete(requests: &Requests, window: Window) -> u64 {
    let within = requests.within(window.since, window.until);
    within.iter().filter(|request| request.is_complete()).count() as u64
}

/// Latencies of the categories that hold a suspect.
struct Latencies {
    total_ns: BTreeMap<String, f64>,
}

impl Latencies {
    fn from_requests(requests: &Requests, window: Window, report: &Report, engine: LocalEngine) -> Latencies {
        let wanted: BTreeSet<&str> =
            report.suspects.iter().flat_map(|suspect| &suspect.categories).map(String::as_str).collect();
        let shapes = requests.shapes(ShapeRule::Canonical, engine.threads());
        let ids: Vec<Option<String>> = (shapes.categories().iter())
            .map(|category| Some(category.id.short()).filter(|id| wanted.contains(id.as_str())))
            .collect();
        let mut total_ns: BTreeMap<String, f64> = BTreeMap::new();
        for request in requests.within(window.since, window.until).iter() {
            let Some(id) = &ids[shapes.category_of(request.structure())] else { continue };
            if request.is_complete() {
                let weight = request.adjusted_count().map_or(1.0, |count| f64::from(count.get()));
                *total_ns.entry(id.clone()).or_default() += weight * request.latency().ns() as f64;
            }
        }
        Latencies { total_ns }
    }

    fn finding(&self, report: &Report, suspect: &Suspect) -> Finding {
        let total_ns: f64 =
            suspect.categories.iter().filter_map(|id| self.total_ns.get(id)).sum::<f64>().max(1.0);
        // What suspects are ordered by: seconds of excess time. Failures add none.
        let excess_s = if suspect.is_failing() { 0.0 } else { suspect.score };
        let excess_ns = (excess_s * 1e9).clamp(0.0, total_ns);
        let factor = suspect.shift.map_or(suspect.factor, |shift| shift.factor);
        let concerned = report.categories.iter().filter(|category| suspect.categories.contains(&category.id));
        let categories = concerned.take(CATEGORIES_MAX).map(|category| SlowCategory {
            id: category.id.clone(),
            service: category.service.clone(),
            operation: category.operation.clone(),
        });
        Finding {
            service: suspect.service.clone(),
            operation: suspect.operation.clone(),
            replicas: suspect.replicas.iter().take(REPLICAS_MAX).cloned().collect(),
            categories: categories.collect(),
            factor: Some(factor).filter(|factor| factor.is_finite()),
            effect_ns: suspect.effect_ns,
            slower: (excess_ns / (total_ns - excess_ns).max(1.0)).min(SLOWER_MAX),
            requests_hit: suspect.requests_hit,
            requests_seen: suspect.requests_seen,
            traces: suspect.trace_ids.clone(),
            behavior: suspect.behavior.clone(),
            onset_ns: suspect.onset.as_ref().map(|onset| onset.at.unix_ns()),
        }
    }
}

/// Larger slow-downs are reported as this.
const SLOWER_MAX: f64 = 1e6;
