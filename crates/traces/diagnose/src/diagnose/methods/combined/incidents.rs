//! Slow periods, as in the report.

use super::site_study::SiteStudy;
use super::sites::{between, onset};
use laggard_localize::SiteSuspect;
use laggard_report::{Incident, IncidentSuspect, Window};

// Limit: suspects of a slow period | the rest is left out
/// Suspects shown per incident.
const INCIDENT_SUSPECTS_MAX: usize = 5;

/// The slow periods of the window, in order of time.
pub(super) fn incidents(study: &SiteStudy) -> Vec<Incident> {
    study.incidents.iter().map(|(incident, suspects)| describe(study, incident, suspects)).collect()
}

fn describe(study: &SiteStudy, incident: &laggard_localize::Incident, suspects: &[SiteSuspect]) -> Incident {
    let total: f64 = suspects.iter().map(|suspect| suspect.excess_ns).sum();
    let names = study.union.names();
    let suspect = |suspect: &SiteSuspect| {
        let key = names.operation_key(suspect.operation);
        IncidentSuspect {
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            between: between(study, suspect),
            factor: suspect.factor,
            effect_ns: suspect.effect_ns.max(0.0) as u64,
            share: suspect.excess_ns / total.max(1.0),
        }
    };
    Incident {
        time: Window { since: incident.since, until: incident.until },
        excess_share: incident.excess_share,
        onset: incident.onset.map(onset),
        suspects: suspects.iter().take(INCIDENT_SUSPECTS_MAX).map(suspect).collect(),
    }
}
