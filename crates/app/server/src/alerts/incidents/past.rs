//! Incidents that are history: stored with their alerts, so that they outlive them, in a separate file.
//!
//! An incident becomes history a day after it was closed, since it may be open again within half an hour, and receivers may
//! still have to be notified of its end. Until it is in that file, it is stored with the alerts.

use super::super::lifecycle::{Alert, AlertList};
use super::{INCIDENTS_MAX, IncidentRecord, IncidentState};
use crate::line_log::LogRecord;
use laggard_model::{Nanos, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So long after it was closed an incident becomes history …
const RETIRED_AFTER: Nanos = Nanos::from_secs(86_400);

/// … and after this even if a receiver could not be notified of its end.
const RETIRED_UNNOTIFIED_AFTER: Nanos = Nanos::from_secs(7 * 86_400);

/// Incidents older than this are deleted: the same weeks of the last year are known.
pub(in crate::alerts) const KEPT_FOR: Nanos = Nanos::from_secs(400 * 86_400);

/// Most alerts that an incident of the history has.
const ALERTS_OF_INCIDENT_MAX: usize = 20;

/// An incident that is over, with its alerts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PastIncident {
    /// The incident.
    pub incident: IncidentRecord,
    /// Its alerts, the one that opened it first; at most twenty.
    pub alerts: Vec<Alert>,
}

/// Incidents that are history, by the time at which they were closed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IncidentHistory {
    by_time: BTreeMap<(i64, String), Arc<PastIncident>>,
    closed: BTreeMap<String, i64>,
}

impl LogRecord for Arc<PastIncident> {
    const NAME: &'static str = "incidents";
    const HEAD: &'static str = "laggard-incidents 1\n";
    // Limit: incidents remembered, per tenant, for 400 days | the oldest are forgotten
    const RECORDS_MAX: usize = 5_000;

    fn order(&self) -> i64 {
        self.incident.closed_ns.unwrap_or(self.incident.opened_ns)
    }

    fn to_json(&self) -> String {
        serde_json::to_string(self.as_ref()).expect("texts and numbers are JSON")
    }

    fn from_json(json: &[u8]) -> Option<Arc<PastIncident>> {
        let past: PastIncident = serde_json::from_slice(json).ok()?;
        (!past.alerts.is_empty()).then(|| Arc::new(past))
    }
}

impl IncidentHistory {
    pub(super) fn alerts(&self, id: &str) -> &[Alert] {
        let past = self.closed.get(id).and_then(|closed| self.by_time.get(&(*closed, id.to_owned())));
        past.map_or(&[], |past| &past.alerts)
    }

    pub(in crate::alerts) fn incidents(&self) -> impl Iterator<Item = &IncidentRecord> {
        self.by_time.values().map(|past| &past.incident)
    }

    /// Whether an incident is history.
    pub(in crate::alerts) fn contains(&self, id: &str) -> bool {
        self.closed.contains_key(id)
    }

    /// Adds an incident; one that is known is replaced.
    pub(in crate::alerts) fn add(&mut self, past: Arc<PastIncident>) {
        let (id, closed) = (past.incident.id.clone(), past.order());
        if let Some(known) = self.closed.insert(id.clone(), closed) {
            self.by_time.remove(&(known, id.clone()));
        }
        self.by_time.insert((closed, id), past);
    }
}

impl IncidentRecord {
    /// Whether everybody knows that it is over who knows that it began.
    fn is_settled(&self) -> bool {
        self.unconfirmed.is_empty() && self.notified.values().all(|last| last.state == IncidentState::Closed)
    }
}

impl AlertList {
    /// Makes history of incidents that were closed a day ago, of the oldest closed ones beyond the limit, and of those that lose
    /// an alert. Those without any alert cannot be shown; they only exist in damaged files.
    pub(in crate::alerts) fn retire_incidents(&mut self, at: Timestamp) {
        let surplus = self.incidents.len().saturating_sub(INCIDENTS_MAX);
        let mut retired = 0;
        self.retire_where(|incident| {
            let after = if incident.is_settled() { RETIRED_AFTER } else { RETIRED_UNNOTIFIED_AFTER };
            let is_old = incident.closed_for(at).is_some_and(|age| age >= after);
            let is_retired = is_old || retired < surplus;
            retired += usize::from(is_retired);
            is_retired
        });
    }

    /// Makes history of closed incidents with one of these alerts, which are about to be forgotten.
    pub(in crate::alerts) fn retire_incidents_of(&mut self, forgotten: usize) {
        let ids: Vec<String> = self.resolved.iter().take(forgotten).map(|alert| alert.id.clone()).collect();
        if !ids.is_empty() {
            self.retire_where(|incident| incident.alerts.iter().any(|id| ids.contains(id)));
        }
    }

    fn retire_where(&mut self, mut is_retired: impl FnMut(&IncidentRecord) -> bool) {
        let incidents = std::mem::take(&mut self.incidents);
        let (retired, retained): (Vec<IncidentRecord>, Vec<IncidentRecord>) = incidents
            .into_iter()
            .partition(|incident| incident.state == IncidentState::Closed && is_retired(incident));
        self.incidents = retained;
        for incident in retired {
            let alerts: Vec<Alert> =
                self.of_incident(&incident).take(ALERTS_OF_INCIDENT_MAX).cloned().collect();
            if !alerts.is_empty() {
                let past = PastIncident { incident, alerts };
                Arc::make_mut(&mut self.history).add(Arc::new(past.clone()));
                self.retired.push(past);
            }
        }
        // They wait here as long as the file cannot be written.
        let surplus = self.retired.len().saturating_sub(INCIDENTS_MAX);
        self.retired.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::lifecycle::ALERTS_MAX;
    use super::super::super::lifecycle::tests::{evaluated, rules, time};
    use super::*;
    use crate::line_log::LineLog;

    /// An incident of `service` that opens at a minute and closes five minutes later.
    fn incident(list: &mut AlertList, service: &str, minute: i64) {
        let operation = format!("{service} read");
        for at in minute..minute + 6 {
            let operations: &[&str] = if at < minute + 3 { &[&operation] } else { &[] };
            list.apply(&evaluated(operations, at), rules(), time(at));
        }
    }

    #[test]
    fn an_incident_outlives_its_alerts() {
        let mut list = AlertList::default();
        incident(&mut list, "cart", 0);
        let id = list.incidents[0].id.clone();
        for number in 0..=ALERTS_MAX as i64 {
            incident(&mut list, "db", 60 * (number + 1));
        }
        assert!(list.resolved.len() == ALERTS_MAX && list.alert(&id).is_none());
        let first = list.all_incidents().next().unwrap();
        assert_eq!(first.id, id);
        assert_eq!(list.of_incident(first).next().unwrap().finding.subject(), "cart");
        assert_eq!(list.all_incidents().count(), ALERTS_MAX + 2);
        assert!(list.incidents.len() < 30, "those of a day");
    }

    #[test]
    fn an_open_incident_never_becomes_history() {
        let mut list = AlertList::default();
        for minute in 0..3 {
            list.apply(&evaluated(&["read"], minute), rules(), time(minute));
        }
        list.retire_incidents(time(10_000));
        assert_eq!((list.incidents.len(), list.retired.len()), (1, 0));
    }

    #[test]
    fn a_damaged_line_loses_one_incident() {
        let folder = tempfile::tempdir().unwrap();
        let mut list = AlertList::default();
        for number in 0..3 {
            incident(&mut list, "db", 60 * number);
        }
        list.retire_incidents(time(10_000));
        let all: Vec<Arc<PastIncident>> = list.retired.iter().cloned().map(Arc::new).collect();
        assert_eq!(all.len(), 3);
        LineLog::open(folder.path()).unwrap().append(&all).unwrap();
        let file = folder.path().join("incidents.log");
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x20;
        std::fs::write(&file, bytes).unwrap();
        let log: LineLog<Arc<PastIncident>> = LineLog::open(folder.path()).unwrap();
        assert_eq!((log.records(), log.damaged()), ([all[0].clone(), all[2].clone()].as_slice(), 1));
    }

    /// As version 1 wrote it: files of this version stay readable.
    #[test]
    fn stored_version_1_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("incidents.log"), include_str!("stored_version_1.log")).unwrap();
        let log: LineLog<Arc<PastIncident>> = LineLog::open(folder.path()).unwrap();
        assert_eq!((log.records().len(), log.damaged()), (1, 0));
        let past = &log.records()[0];
        assert_eq!((past.incident.id.as_str(), past.alerts.len()), ("7d9b2c1fe03a4658", 1));
    }
}
