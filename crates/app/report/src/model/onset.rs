//! Since when a suspect is slow.

use crate::{Incident, IncidentSuspect, Onset, Report, Suspect};

/// The slow periods of which an operation is one reason.
pub fn incidents_of<'a>(incidents: &'a [Incident], service: &str, operation: &str) -> Vec<&'a Incident> {
    let is_it = |found: &IncidentSuspect| found.service == service && found.operation == operation;
    incidents.iter().filter(|incident| incident.suspects.iter().any(is_it)).collect()
}

impl Report {
    /// The slow periods of which a suspect's operation is one reason.
    pub(crate) fn incidents_of(&self, suspect: &Suspect) -> Vec<&Incident> {
        incidents_of(&self.incidents, &suspect.service, &suspect.operation)
    }

    /// Whether a suspect is slow in periods, and not in the window as such.
    pub(crate) fn is_slow_in_periods(&self, suspect: &Suspect) -> bool {
        self.baseline.is_none() || !suspect.evidence.iter().any(|kind| kind == "baseline")
    }

    /// The suspect's onset, or that of the only period in which it is slow.
    pub fn onset_of(&self, suspect: &Suspect) -> Option<Onset> {
        if suspect.onset.is_some() || !self.is_slow_in_periods(suspect) {
            return suspect.onset;
        }
        match self.incidents_of(suspect).as_slice() {
            [only] => only.onset,
            _ => None,
        }
    }
}
