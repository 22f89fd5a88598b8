//! Slow periods, as in the report.

use super::site_study::SiteStudy;
use super::sites::{between, onset};
use crate::diagnose::answer::{Effect, Suspect};
use laggard_localize::SiteSuspect;
use laggard_model::OperationId;
use laggard_report::{Incident, IncidentSuspect, Window};

// Limit: suspects of a slow period | the rest is left out
/// Suspects shown per incident.
const INCIDENT_SUSPECTS_MAX: usize = 5;

/// The slow periods of the window, in order of time. Operations that are suspects of the window have the effect of their hit
/// calls in the period.
pub(super) fn incidents(study: &SiteStudy, suspects: &[Suspect]) -> Vec<Incident> {
    (0..study.incidents.len()).map(|period| describe(study, period, suspects)).collect()
}

fn describe(study: &SiteStudy, period: usize, of_window: &[Suspect]) -> Incident {
    let (incident, suspects) = &study.incidents[period];
    let hit_calls = |operation: OperationId| {
        let suspect = of_window.iter().find(|suspect| suspect.operation == operation)?;
        suspect.hits.as_ref()?.in_periods.get(period).copied()?
    };
    let total: f64 = suspects.iter().map(|suspect| suspect.excess_ns).sum();
    let names = study.union.names();
    let suspect = |suspect: &SiteSuspect| {
        let key = names.operation_key(suspect.operation);
        let all_calls = Effect { excess_ns: suspect.effect_ns, factor: suspect.factor };
        let effect = hit_calls(suspect.operation).unwrap_or(all_calls);
        IncidentSuspect {
            service: key.service.to_owned(),
            operation: key.operation.to_owned(),
            between: between(study, suspect),
            factor: effect.factor,
            effect_ns: effect.excess_ns.max(0.0) as u64,
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
