//! Incidents: alerts that belong together, with one verdict, from the first alert to the end of the last one.
//!
//! ```text
//! alerts that fire ─► grouping: which incident ─► verdict: traces, samples, and events together ─► notifications
//!                                                  ├─ history: earlier incidents about the same
//!                                                  └─ waits: recordings of the kernel, on request
//! ```

mod grouping;
mod history;
mod objective_clauses;
mod past;
mod recorded_spans;
#[cfg(test)]
mod recorded_tests;
mod server_clauses;
mod silence;
mod traffic_clauses;
pub(super) mod verdict;
mod waits;

pub(super) use past::KEPT_FOR;
pub use past::{IncidentHistory, PastIncident};
pub(crate) use silence::SILENCES_MAX;
pub use silence::Silence;

use super::lifecycle::{Alert, AlertList, AlertState};
use laggard_model::{FingerprintBuilder, Nanos, Timestamp};
use laggard_report::{CauseClass, Clause, clauses_text};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Alerts that belong together, over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IncidentRecord {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// Open or closed.
    pub state: IncidentState,
    /// When its first alert began to fire, by the server's clock.
    pub opened_ns: i64,
    /// When its last alert was resolved, by the server's clock.
    pub closed_ns: Option<i64>,
    /// Since when, by the clocks of the data: the onset that its verdict states, else the earliest of its alerts.
    pub since_ns: i64,
    /// Ids of its alerts; the first one opened it and names it.
    pub alerts: Vec<String>,
    /// The verdict from all kinds of data; `None` until it is known.
    pub verdict: Option<IncidentVerdict>,
    /// Whether a verdict was tried: nobody is notified before. Files of version 4 have a number here.
    #[serde(alias = "verdicts_tried", deserialize_with = "count_or_flag")]
    pub was_examined: bool,
    /// The last notification of each receiver, by its name.
    pub notified: BTreeMap<String, IncidentNotification>,
    /// Notifications without a known outcome: being sent, or cut off by a kill or a timeout. By receiver.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unconfirmed: BTreeMap<String, UnconfirmedNotification>,
}

/// The state of an incident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncidentState {
    /// One of its alerts fires.
    Open,
    /// None does.
    Closed,
}

/// The last notification about an incident that a receiver acknowledged.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct IncidentNotification {
    /// Open or closed.
    pub state: IncidentState,
    /// When it was sent, by the server's clock.
    pub at_ns: i64,
    /// How large the incident was.
    pub size: IncidentSize,
}

/// A notification that a receiver may or may not have.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnconfirmedNotification {
    /// The id of its message, which may be about several incidents.
    pub message: String,
    /// What the receiver knows once it acknowledges the message.
    pub notification: IncidentNotification,
}

/// How large an incident is.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct IncidentSize {
    /// Alerts that fire.
    pub alerts: u64,
    /// The largest slow-down of requests, as a share of their usual time.
    pub slower: f64,
}

/// The verdict on an incident from traces, samples, and events.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct IncidentVerdict {
    /// When it was reached, or examined again without any other result, by the server's clock.
    pub at_ns: i64,
    /// The alerts that it is about.
    pub alerts: u64,
    /// Recordings of the kernel that it was reached with.
    #[serde(default)]
    pub recordings: u64,
    /// The class of the cause, if it was looked for.
    pub class: Option<CauseClass>,
    /// All statements, in the order in which they are read.
    pub clauses: Vec<Clause>,
}

/// A flag, or a count that is a flag.
fn count_or_flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum CountOrFlag {
        Flag(bool),
        Count(u32),
    }
    Ok(match CountOrFlag::deserialize(deserializer)? {
        CountOrFlag::Flag(flag) => flag,
        CountOrFlag::Count(count) => count > 0,
    })
}

/// Maximum time after which a repeated incident counts as the same one.
pub(super) const REOPENED_WITHIN: Nanos = Nanos::from_secs(1_800);

/// Incidents of the last day, and open ones; the oldest closed ones become history early.
pub(super) const INCIDENTS_MAX: usize = 1_000;

/// Lines of a message.
pub(super) const LINES_MAX: usize = 10;

impl IncidentSize {
    /// Whether it has become large enough to notify receivers again: twice as slow, or twice as many alerts.
    pub(super) fn is_worse_than(&self, notified: IncidentSize) -> bool {
        self.alerts >= 2 * notified.alerts.max(1)
            || (notified.slower > 0.0 && self.slower >= 2.0 * notified.slower)
    }
}

impl IncidentRecord {
    fn open(alerts: &[&Alert], at: Timestamp) -> IncidentRecord {
        let mut id = FingerprintBuilder::new();
        alerts.iter().for_each(|alert| id.bytes(alert.id.as_bytes()));
        // Before there were incidents, receivers were notified of alerts.
        let mut notified = BTreeMap::new();
        for alert in alerts {
            for (receiver, last) in &alert.notified {
                let state = match last.state {
                    AlertState::Resolved => IncidentState::Closed,
                    _ => IncidentState::Open,
                };
                let size = IncidentSize { alerts: alerts.len() as u64, slower: 0.0 };
                let at_ns = last.at_ns;
                notified.insert(receiver.clone(), IncidentNotification { state, at_ns, size });
            }
        }
        IncidentRecord {
            id: id.finish().to_string()[..16].to_owned(),
            state: IncidentState::Open,
            opened_ns: at.unix_ns(),
            closed_ns: None,
            since_ns: alerts.iter().map(|alert| alert.since_ns).min().unwrap_or_else(|| at.unix_ns()),
            alerts: alerts.iter().map(|alert| alert.id.clone()).collect(),
            verdict: None,
            was_examined: false,
            notified,
            unconfirmed: BTreeMap::new(),
        }
    }

    fn add(&mut self, alert: &Alert) {
        self.alerts.push(alert.id.clone());
        self.since_ns = self.since_ns.min(alert.since_ns);
        self.state = IncidentState::Open;
        self.closed_ns = None;
    }

    /// How large it is now.
    pub(super) fn size(&self, list: &AlertList) -> IncidentSize {
        let firing: Vec<&Alert> =
            list.of_incident(self).filter(|alert| alert.state == AlertState::Firing).collect();
        let slower = firing.iter().filter_map(|alert| alert.finding.operation()).map(|own| own.slower);
        IncidentSize { alerts: firing.len() as u64, slower: slower.fold(0.0, f64::max) }
    }

    /// One sentence: the first clause, or the headline of its first alert.
    pub(crate) fn headline(&self, list: &AlertList) -> String {
        let first = self.verdict.as_ref().and_then(|verdict| verdict.clauses.first());
        let summary = || list.of_incident(self).next().map(|alert| alert.finding.summary());
        first.map(|clause| clause.text.clone()).or_else(summary).unwrap_or_default()
    }

    /// The verdict as text, one clause a line; without a verdict, what its alerts say.
    pub(super) fn text(&self, list: &AlertList, lines: usize) -> String {
        match &self.verdict {
            Some(verdict) if !verdict.clauses.is_empty() => clauses_text(&verdict.clauses, lines),
            _ => {
                let summaries = list.of_incident(self).map(|alert| alert.finding.summary());
                summaries.take(lines).collect::<Vec<String>>().join("\n")
            }
        }
    }

    /// Since when it is closed, by the server's clock.
    pub(super) fn closed_for(&self, at: Timestamp) -> Option<Nanos> {
        let closed = Timestamp::from_unix_ns(self.closed_ns?);
        Some(at.since(closed).non_negative().unwrap_or(Nanos::ZERO))
    }
}

impl AlertList {
    /// An alert by its id.
    pub(crate) fn alert(&self, id: &str) -> Option<&Alert> {
        self.active.iter().chain(&self.resolved).find(|alert| alert.id == id)
    }

    /// An incident by its id.
    pub(super) fn incident_mut(&mut self, id: &str) -> Option<&mut IncidentRecord> {
        self.incidents.iter_mut().find(|incident| incident.id == id)
    }

    /// Incidents with a firing alert.
    pub(crate) fn open_incidents(&self) -> impl Iterator<Item = &IncidentRecord> {
        self.incidents.iter().filter(|incident| incident.state == IncidentState::Open)
    }

    /// The alerts of an incident, the first one first: those that are stored, or that were when it became history.
    pub(crate) fn of_incident(&self, incident: &IncidentRecord) -> impl Iterator<Item = &Alert> {
        let past = self.history.alerts(&incident.id);
        let stored = incident.alerts.iter().filter_map(|id| self.alert(id));
        past.iter().chain(stored.filter(|_| past.is_empty()))
    }

    /// Incidents of the last day, and before them those that are history.
    pub(crate) fn all_incidents(&self) -> impl Iterator<Item = &IncidentRecord> {
        self.history.incidents().chain(&self.incidents)
    }

    /// Opens incidents for alerts that began to fire or adds the alerts to those they belong to, and closes incidents
    /// without a firing alert.
    pub(super) fn follow_incidents(&mut self, at: Timestamp) {
        let mut incidents = std::mem::take(&mut self.incidents);
        grouping::assign(self, &mut incidents, at);
        for incident in incidents.iter_mut().filter(|incident| incident.state == IncidentState::Open) {
            let lasts = self.of_incident(incident).any(|alert| alert.state == AlertState::Firing);
            if !lasts {
                incident.state = IncidentState::Closed;
                incident.closed_ns = Some(at.unix_ns());
            }
        }
        self.incidents = incidents;
        self.retire_incidents(at);
    }
}

#[cfg(test)]
mod tests;
