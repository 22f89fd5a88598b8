//! The lifecycle of alerts, driven by evaluations: pending, firing, resolved. No clock, no files, no network.
//!
//! ```text
//! finding ─► pending ── n of the last m evaluations ─► firing ── k evaluations in a row without it ─► resolved
//!               └─ no finding in the last m evaluations ─► discarded
//! ```

use super::evaluate::{Evaluation, Finding, Recovery, WindowEvaluation};
use super::finding::ServerEvaluation;
use super::finding::{AlertFinding, ServerFinding};
use super::incidents::{IncidentHistory, IncidentRecord, PastIncident, Silence};
pub use super::interval::Interval;
use super::kind::{AlertKind, AlertSource};
use super::objective_finding::{BurningObjective, ObjectiveEvaluation, ObjectiveFinding};
use laggard_model::{FingerprintBuilder, Nanos, Timestamp};
use laggard_params::Window;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// When alerts fire and resolve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// An alert fires after findings in this many …
    pub fire_after: u32,
    /// … of this number of latest evaluations; at most 32.
    pub fire_of: u32,
    /// It resolves after this number of consecutive evaluations without a finding.
    pub resolve_after: u32,
    /// A slowdown that lasts this long counts as usual from then on.
    pub adapt_after: Nanos,
    /// An alert that could not be evaluated for this long is resolved.
    pub silent_after: Nanos,
}

/// Most active alerts of a tenant, and most resolved ones that are stored.
pub const ALERTS_MAX: usize = 1_000;

/// The alerts of one tenant.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AlertList {
    /// Pending and firing ones, by the time of their first finding.
    pub active: Vec<Alert>,
    /// Resolved ones, the latest last.
    #[serde(alias = "over")]
    pub resolved: Vec<Alert>,
    /// Incidents, in the order in which they were opened.
    #[serde(default)]
    pub incidents: Vec<IncidentRecord>,
    /// Silences: alerts that are temporarily not notified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences: Vec<Silence>,
    /// The latest evaluation of each other window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<WindowEvaluation>,
    /// Incidents that became history and are not yet in its file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retired: Vec<PastIncident>,
    /// Incidents that are history, those of [`AlertList::retired`] included.
    #[serde(skip)]
    pub history: Arc<IncidentHistory>,
    /// Findings that were dropped because [`ALERTS_MAX`] alerts were active.
    pub omitted: u64,
}

/// A service that makes requests slow, a server in trouble, or an error budget that is used up too fast, over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Alert {
    /// Sixteen hexadecimal digits; another alert about the same has another id.
    pub id: String,
    /// Pending, firing or resolved.
    pub state: AlertState,
    /// Its first finding, by the server's clock.
    pub first_ns: i64,
    /// Since when, by the clocks of the data, as far as that is known.
    pub since_ns: i64,
    /// When it began to fire, by the server's clock.
    pub fired_ns: Option<i64>,
    /// When it was resolved, by the server's clock.
    pub resolved_ns: Option<i64>,
    /// Why it was resolved, in a sentence.
    pub ended: Option<String>,
    /// Its last evaluation, by the server's clock.
    #[serde(alias = "judged_ns")]
    pub evaluated_ns: i64,
    /// The latest finding.
    #[serde(alias = "found")]
    pub finding: AlertFinding,
    /// The window of that finding.
    pub window: Interval,
    /// The baseline of that finding.
    pub baseline: Interval,
    /// The end of the last baseline before the slow-down.
    pub healthy_ns: i64,
    /// The end of the window of its first finding; 0 in files of earlier versions.
    #[serde(default)]
    pub evident_until_ns: i64,
    /// The last evaluations, the latest in the lowest bit: 1 for a finding.
    #[serde(alias = "looks")]
    pub evaluations: u32,
    /// Consecutive evaluations without a finding.
    #[serde(alias = "healthy_looks")]
    pub healthy_evaluations: u32,
    /// The last notification of each receiver, of files that were written before there were incidents.
    #[serde(default, alias = "told", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) notified: BTreeMap<String, LastNotification>,
}

/// The state of an alert.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlertState {
    /// Not enough evaluations with a finding yet.
    Pending,
    /// Receivers are notified.
    Firing,
    /// It is no longer detected, or it could not be evaluated.
    Resolved,
}

/// The last notification about an alert, before there were incidents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct LastNotification {
    /// Firing or resolved.
    pub(super) state: AlertState,
    /// When it was sent, by the server's clock.
    pub(super) at_ns: i64,
}

/// Result of an evaluation for one alert.
enum Outcome {
    Detected(Box<AlertFinding>, Windows),
    /// As before, by the latest calls; there is no new finding.
    StillSlow,
    Absent,
    Unknown,
}

/// The windows of a finding.
#[derive(Clone, Copy)]
struct Windows {
    window: Interval,
    baseline: Interval,
}

impl Windows {
    const fn of(burning: &BurningObjective) -> Windows {
        Windows { window: burning.window, baseline: burning.baseline }
    }
}

impl Alert {
    /// Whether it is about this service.
    pub fn is_about(&self, finding: &Finding) -> bool {
        self.finding.operation().is_some_and(|own| own.service == finding.service)
    }

    /// Its kind.
    pub fn kind(&self) -> AlertKind {
        self.finding.kind()
    }

    fn new(finding: AlertFinding, windows: Windows, at: Timestamp) -> Alert {
        let mut id = FingerprintBuilder::new();
        finding.names().iter().for_each(|name| id.bytes(name.as_bytes()));
        id.bytes(&at.unix_ns().to_le_bytes());
        let id = id.finish().to_string()[..16].to_owned();
        // Without a known onset: it began within the window.
        let since_ns = finding.onset_ns().unwrap_or(windows.window.since_ns);
        Alert {
            id,
            state: AlertState::Pending,
            first_ns: at.unix_ns(),
            since_ns,
            fired_ns: None,
            resolved_ns: None,
            ended: None,
            evaluated_ns: at.unix_ns(),
            finding,
            window: windows.window,
            baseline: windows.baseline,
            healthy_ns: windows.baseline.until_ns,
            evident_until_ns: windows.window.until_ns,
            evaluations: 1,
            healthy_evaluations: 0,
            notified: BTreeMap::new(),
        }
    }

    /// Records one evaluation.
    fn record(&mut self, outcome: Outcome, at: Timestamp) {
        let (lasts, detected) = match outcome {
            Outcome::Detected(finding, windows) => (true, Some((finding, windows))),
            Outcome::StillSlow => (true, None),
            Outcome::Absent => (false, None),
            Outcome::Unknown => return,
        };
        self.evaluated_ns = at.unix_ns();
        self.evaluations = self.evaluations << 1 | u32::from(lasts);
        self.healthy_evaluations = if lasts { 0 } else { self.healthy_evaluations.saturating_add(1) };
        if let Some((finding, windows)) = detected {
            (self.finding, self.window, self.baseline) = (*finding, windows.window, windows.baseline);
        }
    }

    fn outcome_of_requests(&self, evaluation: &Evaluation) -> Outcome {
        let recovery = evaluation.recoveries.get(&self.id).copied();
        let is_same = |finding: &Finding| {
            self.finding.operation().is_some_and(|own| own.operation == finding.operation)
        };
        let about = |finding: &Finding| self.is_about(finding);
        let found = match recovery {
            None | Some(Recovery::StillSlow) => evaluation.finding(about),
            Some(Recovery::Unknown) => evaluation.recent_finding(self.window, about),
            Some(Recovery::Recovered) => {
                evaluation.recent_finding(self.window, |finding| about(finding) && !is_same(finding))
            }
        };
        match (found, recovery) {
            (Some((finding, window, baseline)), _) => {
                let finding = AlertFinding::Operation(finding.clone());
                Outcome::Detected(Box::new(finding), Windows { window, baseline })
            }
            (None, Some(Recovery::StillSlow)) => Outcome::StillSlow,
            (None, Some(Recovery::Unknown)) => Outcome::Unknown,
            (None, Some(Recovery::Recovered) | None) => Outcome::Absent,
        }
    }

    fn outcome_of_servers(&self, evaluation: &ServerEvaluation, windows: Windows) -> Outcome {
        let mut all = evaluation.findings.iter().cloned().map(AlertFinding::Server);
        if let Some(finding) = all.find(|finding| self.finding.is_about_the_same(finding)) {
            return Outcome::Detected(Box::new(finding), windows);
        }
        let subject = self.finding.server().map(ServerFinding::subject);
        let is_healthy = subject.is_some_and(|subject| evaluation.healthy.contains(&subject));
        if is_healthy { Outcome::Absent } else { Outcome::Unknown }
    }

    fn outcome_of_objectives(&self, evaluation: &ObjectiveEvaluation) -> Outcome {
        let subject = self.finding.objective().map(ObjectiveFinding::subject);
        let is_same = |burning: &&BurningObjective| Some(burning.finding.subject()) == subject;
        if let Some(burning) = evaluation.burning.iter().find(is_same) {
            let finding = AlertFinding::Objective(burning.finding.clone());
            return Outcome::Detected(Box::new(finding), Windows::of(burning));
        }
        let is_healthy = subject.is_some_and(|subject| evaluation.healthy.contains(&subject));
        if is_healthy { Outcome::Absent } else { Outcome::Unknown }
    }

    fn end(&mut self, at: Timestamp, why: &str) {
        self.state = AlertState::Resolved;
        self.resolved_ns = Some(at.unix_ns());
        self.ended = Some(why.to_owned());
    }

    fn count_found(&self, last: u32) -> u32 {
        let mask = if last >= u32::BITS { u32::MAX } else { (1 << last) - 1 };
        (self.evaluations & mask).count_ones()
    }
}

/// Changes of alerts by one evaluation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Ids of alerts that began to fire.
    pub fired: Vec<String>,
    /// Ids of resolved alerts.
    pub resolved: Vec<String>,
}

impl Changes {
    /// Adds those of another evaluation.
    pub fn add(&mut self, other: Changes) {
        self.fired.extend(other.fired);
        self.resolved.extend(other.resolved);
    }

    /// Whether no alert fired or was resolved.
    pub fn is_empty(&self) -> bool {
        self.fired.is_empty() && self.resolved.is_empty()
    }
}

impl AlertList {
    /// Applies an evaluation of requests. `at` is the server's clock.
    pub fn apply(&mut self, evaluation: &Evaluation, rules: Rules, at: Timestamp) -> Changes {
        for alert in self.active_of(AlertSource::Requests) {
            alert.record(alert.outcome_of_requests(evaluation), at);
        }
        self.others.clone_from(&evaluation.others);
        for (finding, window, baseline) in evaluation.all() {
            self.add(AlertFinding::Operation(finding.clone()), Windows { window, baseline }, at);
        }
        self.expire(rules, at)
    }

    /// Applies an evaluation of servers. `at` is the server's clock.
    pub fn apply_servers(&mut self, evaluation: &ServerEvaluation, rules: Rules, at: Timestamp) -> Changes {
        let windows = Windows { window: evaluation.window.into(), baseline: evaluation.baseline.into() };
        for alert in self.active_of(AlertSource::Servers) {
            alert.record(alert.outcome_of_servers(evaluation, windows), at);
        }
        let findings = evaluation.findings.iter().cloned().map(AlertFinding::Server);
        findings.for_each(|finding| self.add(finding, windows, at));
        self.expire_servers(rules, at)
    }

    /// Applies an evaluation of objectives. `at` is the server's clock.
    pub fn apply_objectives(
        &mut self,
        evaluation: &ObjectiveEvaluation,
        rules: Rules,
        at: Timestamp,
    ) -> Changes {
        for alert in self.active_of(AlertSource::Objectives) {
            alert.record(alert.outcome_of_objectives(evaluation), at);
        }
        for burning in &evaluation.burning {
            self.add(AlertFinding::Objective(burning.finding.clone()), Windows::of(burning), at);
        }
        self.advance(AlertSource::Objectives, rules, at)
    }

    fn active_of(&mut self, source: AlertSource) -> impl Iterator<Item = &mut Alert> {
        self.active.iter_mut().filter(move |alert| alert.kind().source() == source)
    }

    fn add(&mut self, finding: AlertFinding, windows: Windows, at: Timestamp) {
        if self.active.iter().any(|alert| alert.finding.is_about_the_same(&finding)) {
            return;
        }
        if self.active.len() >= ALERTS_MAX {
            self.omitted += 1;
            return;
        }
        self.active.push(Alert::new(finding, windows, at));
    }

    /// Resolves alerts about operations that could not be evaluated for too long; for evaluations that were skipped.
    pub fn expire(&mut self, rules: Rules, at: Timestamp) -> Changes {
        self.advance(AlertSource::Requests, rules, at)
    }

    /// Resolves alerts about servers that could not be evaluated for too long.
    pub fn expire_servers(&mut self, rules: Rules, at: Timestamp) -> Changes {
        self.advance(AlertSource::Servers, rules, at)
    }

    fn advance(&mut self, source: AlertSource, rules: Rules, at: Timestamp) -> Changes {
        let mut changes = Changes::default();
        for alert in self.active_of(source) {
            alert.advance(rules, at);
            if alert.fired_ns == Some(at.unix_ns()) {
                changes.fired.push(alert.id.clone());
            }
        }
        let (over, active): (Vec<Alert>, Vec<Alert>) = std::mem::take(&mut self.active)
            .into_iter()
            .partition(|alert| alert.state == AlertState::Resolved);
        self.active = active;
        // Pending alerts that never fired are discarded.
        let over = over.into_iter().filter(|alert| alert.fired_ns.is_some());
        self.resolved.extend(over.inspect(|alert| changes.resolved.push(alert.id.clone())));
        let surplus = self.resolved.len().saturating_sub(ALERTS_MAX);
        self.retire_incidents_of(surplus);
        self.resolved.drain(..surplus);
        self.follow_incidents(at);
        changes
    }

    /// Whether there are neither active nor resolved alerts.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.resolved.is_empty()
    }

    /// Alerts that receivers are notified of.
    pub fn firing(&self) -> impl Iterator<Item = &Alert> {
        self.active.iter().filter(|alert| alert.state == AlertState::Firing)
    }

    /// Whether a firing alert is about a service that requests no longer reach.
    pub fn lack_requests(&self) -> bool {
        self.firing().filter_map(|alert| alert.finding.operation()).any(Finding::lacks_requests)
    }

    /// When the last resolved alert about the service of a finding was resolved.
    pub fn last_resolved(&self, finding: &Finding) -> Option<Timestamp> {
        let own = self.resolved.iter().filter(|alert| alert.is_about(finding));
        own.filter_map(|alert| alert.resolved_ns).max().map(Timestamp::from_unix_ns)
    }

    /// Whether an alert about this operation was active in an interval.
    pub fn was_about(&self, finding: &Finding, window: Window) -> bool {
        let mut known = self.resolved.iter().chain(&self.active).filter(|alert| alert.is_about(finding));
        known.any(|alert| {
            let until = alert.resolved_ns.unwrap_or(i64::MAX);
            alert.since_ns <= window.until.unix_ns() && until >= window.since.unix_ns()
        })
    }
}

impl Alert {
    fn advance(&mut self, rules: Rules, at: Timestamp) {
        let age = |since_ns: i64| Nanos::from_ns(at.unix_ns().saturating_sub(since_ns).max(0) as u64);
        if age(self.evaluated_ns) >= rules.silent_after {
            return self.end(at, self.kind().silence_reason());
        }
        match self.state {
            AlertState::Pending if self.count_found(rules.fire_of) >= rules.fire_after => {
                self.state = AlertState::Firing;
                self.fired_ns = Some(at.unix_ns());
            }
            AlertState::Pending if self.count_found(rules.fire_of) == 0 => {
                self.end(at, "it was not confirmed");
            }
            AlertState::Firing if self.healthy_evaluations >= rules.resolve_after => {
                self.end(at, self.finding.end_reason());
            }
            AlertState::Firing
                if self.kind().adapts()
                    && self.fired_ns.is_some_and(|fired| age(fired) >= rules.adapt_after) =>
            {
                self.end(at, "it lasted so long that it now counts as usual");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
