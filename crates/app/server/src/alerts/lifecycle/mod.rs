//! The lifecycle of alerts, driven by evaluations: pending, firing, resolved. No clock, no files, no network.
//!
//! ```text
//! finding ─► pending ── n of the last m evaluations ─► firing ── k evaluations in a row without it ─► resolved
//!               └─ no finding in the last m evaluations ─► discarded
//! ```

use super::evaluate::{Evaluation, Finding, Recovery, WindowEvaluation};
use laggard_model::{FingerprintBuilder, Nanos, Timestamp};
use laggard_params::Window;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// When alerts fire and resolve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// An alert fires after findings in this many …
    pub fire_after: u32,
    /// … of the last so many evaluations; at most 32.
    pub fire_of: u32,
    /// It resolves after so many consecutive evaluations without a finding.
    pub resolve_after: u32,
    /// A slow-down that lasts for so long counts as usual from then on.
    pub adapt_after: Nanos,
    /// An alert that could not be evaluated for so long is resolved.
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
    /// The latest evaluation of each other window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<WindowEvaluation>,
    /// Findings that were dropped because [`ALERTS_MAX`] alerts were active.
    pub omitted: u64,
}

/// A service that makes requests slow, over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Alert {
    /// Sixteen hexadecimal digits; another alert of the same service has another id.
    pub id: String,
    /// Pending, firing or resolved.
    pub state: AlertState,
    /// Its first finding, by the server's clock.
    pub first_ns: i64,
    /// Since when requests are slow, by their own clocks, as far as that is known.
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
    pub finding: Finding,
    /// The window of that finding.
    pub window: Interval,
    /// The baseline of that finding.
    pub baseline: Interval,
    /// The end of the last baseline before the slow-down.
    pub healthy_ns: i64,
    /// The last evaluations, the latest in the lowest bit: 1 for a finding.
    #[serde(alias = "looks")]
    pub evaluations: u32,
    /// Consecutive evaluations without a finding.
    #[serde(alias = "healthy_looks")]
    pub healthy_evaluations: u32,
    /// The last notification of each receiver, by its name.
    #[serde(alias = "told")]
    pub notified: BTreeMap<String, LastNotification>,
}

/// An interval of time, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Interval {
    /// First instant, since the Unix epoch.
    pub since_ns: i64,
    /// Last instant, since the Unix epoch.
    pub until_ns: i64,
}

impl From<Window> for Interval {
    fn from(window: Window) -> Interval {
        Interval { since_ns: window.since.unix_ns(), until_ns: window.until.unix_ns() }
    }
}

/// The state of an alert.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlertState {
    /// Not enough evaluations with a finding yet.
    Pending,
    /// Receivers are notified.
    Firing,
    /// Requests are no longer slower and nothing fails any more, or it could not be evaluated.
    Resolved,
}

/// The last notification that a receiver acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LastNotification {
    /// Firing or resolved.
    pub state: AlertState,
    /// When it was sent, by the server's clock.
    pub at_ns: i64,
}

impl Alert {
    /// Whether it is about this service.
    pub fn is_about(&self, finding: &Finding) -> bool {
        self.finding.service == finding.service
    }

    fn new(finding: Finding, (window, baseline): (Interval, Interval), at: Timestamp) -> Alert {
        let mut id = FingerprintBuilder::new();
        id.bytes(finding.service.as_bytes());
        id.bytes(&at.unix_ns().to_le_bytes());
        let id = id.finish().to_string()[..16].to_owned();
        // Without a known onset: it began within the window.
        let since_ns = finding.onset_ns.unwrap_or(window.since_ns);
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
            window,
            baseline,
            healthy_ns: baseline.until_ns,
            evaluations: 1,
            healthy_evaluations: 0,
            notified: BTreeMap::new(),
        }
    }

    /// Records one evaluation.
    fn record(&mut self, evaluation: &Evaluation, at: Timestamp) {
        let recovery = evaluation.recoveries.get(&self.id).copied();
        let is_over = |finding: &Finding| {
            recovery == Some(Recovery::Recovered) && finding.operation == self.finding.operation
        };
        let finding = evaluation.finding(|finding| self.is_about(finding) && !is_over(finding));
        let is_slow = finding.is_some() || recovery == Some(Recovery::StillSlow);
        let is_known = match recovery {
            None => evaluation.is_complete,
            Some(recovery) => recovery != Recovery::Unknown,
        };
        if !is_slow && !is_known {
            return;
        }
        self.evaluated_ns = at.unix_ns();
        self.evaluations = self.evaluations << 1 | u32::from(is_slow);
        self.healthy_evaluations = if is_slow { 0 } else { self.healthy_evaluations.saturating_add(1) };
        if let Some((finding, window, baseline)) = finding {
            (self.finding, self.window, self.baseline) = (finding.clone(), window, baseline);
        }
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

/// What one evaluation changed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Ids of alerts that began to fire.
    pub fired: Vec<String>,
    /// Ids of resolved alerts.
    pub resolved: Vec<String>,
}

impl Changes {
    /// Whether no alert fired or was resolved.
    pub fn is_empty(&self) -> bool {
        self.fired.is_empty() && self.resolved.is_empty()
    }
}

impl AlertList {
    /// Applies an evaluation. `at` is the server's clock.
    pub fn apply(&mut self, evaluation: &Evaluation, rules: Rules, at: Timestamp) -> Changes {
        self.active.iter_mut().for_each(|alert| alert.record(evaluation, at));
        self.others.clone_from(&evaluation.others);
        for (finding, window, baseline) in evaluation.all() {
            if self.active.iter().any(|alert| alert.is_about(finding)) {
                continue;
            }
            if self.active.len() >= ALERTS_MAX {
                self.omitted += 1;
                continue;
            }
            self.active.push(Alert::new(finding.clone(), (window, baseline), at));
        }
        self.advance(rules, at)
    }

    /// Resolves alerts that could not be evaluated for too long; for evaluations that were skipped.
    pub fn expire(&mut self, rules: Rules, at: Timestamp) -> Changes {
        self.advance(rules, at)
    }

    fn advance(&mut self, rules: Rules, at: Timestamp) -> Changes {
        let mut changes = Changes::default();
        for alert in &mut self.active {
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
        self.resolved.drain(..surplus);
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
            return self.end(at, "too few requests to evaluate it");
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
                let is_failing = self.finding.is_failing();
                let reason =
                    if is_failing { "it behaves as before" } else { "requests are no longer slower" };
                self.end(at, reason);
            }
            AlertState::Firing if self.fired_ns.is_some_and(|fired| age(fired) >= rules.adapt_after) => {
                self.end(at, "it lasted so long that it now counts as usual");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
