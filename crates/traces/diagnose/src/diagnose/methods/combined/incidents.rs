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

/// The slow periods of the window with suspects, in order of time. Operations that are suspects of the window have the effect of their hit
/// calls in the period.
pub(super) fn incidents(study: &SiteStudy, suspects: &[Suspect]) -> Vec<Incident> {
    let named = (0..study.incidents.len()).filter(|&period| is_named(study, period, suspects));
    named.map(|period| describe(study, period, suspects)).collect()
}

/// Whether a period has a suspect. Those of a short period may take too small a part of the whole window to be suspects of it;
/// beside a baseline that is no difference worth a report.
fn is_named(study: &SiteStudy, period: usize, suspects: &[Suspect]) -> bool {
    let (_, slow) = &study.incidents[period];
    let is_suspect = |slow: &SiteSuspect| suspects.iter().any(|suspect| suspect.operation == slow.operation);
    match study.baseline {
        None => !slow.is_empty() && !suspects.is_empty(),
        Some(_) => slow.iter().any(is_suspect),
    }
}

/// One sentence about all slow periods without suspects.
pub(super) fn unnamed(study: &SiteStudy, suspects: &[Suspect]) -> Option<String> {
    let unnamed = (0..study.incidents.len()).filter(|&period| !is_named(study, period, suspects));
    let unnamed: Vec<_> = unnamed.map(|period| &study.incidents[period].0).collect();
    let worst = unnamed.iter().max_by(|a, b| a.excess_share.total_cmp(&b.excess_share))?;
    let time = Window { since: worst.since, until: worst.until };
    let factor = 1.0 + worst.excess_share;
    let several = match unnamed.len() {
        1 => String::new(),
        all => format!(", the worst of {all} such periods"),
    };
    let reason = match study.baseline {
        Some(_) => "no operation is clearly slower than in the baseline",
        None => "no operation explains it",
    };
    Some(format!("Requests took up to {factor:.1} times as long as usual in {time}{several}, but {reason}."))
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
