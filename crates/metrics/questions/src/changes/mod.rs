//! The question `changes`: was the CPU use of a server changed by code, workload, or another process?
//!
//! ```text
//! WindowTable ── ObservedServer (one a server) ── laggard_changes ──► Analysis ──► ServerChanges ──► ChangeReport
//! ```

mod capacity_cost;
mod costs;
mod drift;
mod events;
mod observed;
mod regions;
mod remarks;
mod series;
mod server;
mod server_events;
mod settings;
mod times;

pub use settings::ChangesSettings;

use crate::sample_summary::{SampleFacts, sample_summary};
use laggard_model::Timestamp;
use laggard_report::{
    CHANGES_SCHEMA_VERSION, ChangeReport, ChangeVerdict, Deployment, DeploymentTime, ServerChanges,
    change_headline,
};
use laggard_samples::WindowTable;
use laggard_settings::{SettingError, Settings};
pub(crate) use observed::{ObservedServer, POOLED};
use server::{ServerResult, not_evaluated};
use std::num::NonZeroUsize;

/// A deployment declared by the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredDeployment {
    /// The time.
    pub time: Timestamp,
    /// Its name, such as a version or a commit.
    pub name: String,
}

/// The parameters of a change report.
#[derive(Clone, Copy, Debug)]
pub struct ChangesQuestion<'a> {
    /// Windows of all servers.
    pub table: &'a WindowTable,
    /// Facts on the input.
    pub facts: &'a SampleFacts,
    /// Deployments, in order of time.
    pub deployments: &'a [DeclaredDeployment],
    /// Method and thresholds.
    pub settings: &'a ChangesSettings,
    /// Number of threads; the result does not depend on it.
    pub threads: NonZeroUsize,
}

/// Analyzes every server, and joins the changes to events over all servers.
///
/// # Errors
/// If a setting is out of its range.
pub fn changes(question: &ChangesQuestion<'_>) -> Result<ChangeReport, SettingError> {
    let ChangesQuestion { table, facts, deployments, settings, threads } = *question;
    settings.check()?;
    let mut report = empty(question);
    for server in &table.servers {
        let observed = ObservedServer::of(table, server, settings.types_max);
        let answer = settings.analyze(&observed.observations, threads);
        let mut result = match &answer {
            Ok(analysis) => ServerResult { table, server, observed: &observed, analysis }.report(),
            Err(_) => not_evaluated(table, server, &observed),
        };
        match answer {
            Err(reason) => report.missing.push(remarks::too_little(table, server, &observed, reason)),
            Ok(_) => result.cautions.extend(remarks::observed_cautions(&observed, settings.method)),
        }
        report.servers.push(result);
    }
    events::mark_deployments(&mut report.servers, deployments, table.length);
    report.events = drift::fold(events::join(&report.servers, table.length));
    report.input = sample_summary(table, facts);
    report.verdict = verdict(&report.servers);
    report.missing = missing(&report);
    report.ruled_out = remarks::ruled_out(&report, deployments);
    report.cautions.extend(table.cautions.iter().cloned());
    report.cautions.extend(remarks::cautions(&report, table, deployments));
    report.headline = change_headline(&report);
    Ok(report)
}

fn empty(question: &ChangesQuestion<'_>) -> ChangeReport {
    let result = |deployment: &DeclaredDeployment| Deployment {
        name: deployment.name.clone(),
        time: DeploymentTime { at: deployment.time },
    };
    ChangeReport {
        schema_version: CHANGES_SCHEMA_VERSION,
        report: "changes",
        verdict: ChangeVerdict::InsufficientData,
        headline: String::new(),
        method: question.settings.method.name().to_owned(),
        input: Default::default(),
        deployments: question.deployments.iter().map(result).collect(),
        events: vec![],
        servers: vec![],
        mix: series::mix(question.table),
        response: series::response(question.table),
        ruled_out: vec![],
        cautions: vec![],
        missing: vec![],
        settings: question.settings.rows(question.table.length),
    }
}

/// The most severe verdict of the servers.
fn verdict(servers: &[ServerChanges]) -> ChangeVerdict {
    servers.iter().map(|server| server.verdict).max().unwrap_or(ChangeVerdict::InsufficientData)
}

/// The missing data, by server, or of the whole system if there are no servers.
fn missing(report: &ChangeReport) -> Vec<String> {
    if !report.servers.is_empty() {
        return report.missing.clone();
    }
    let has_none = report.input.transactions.is_empty();
    let text = match has_none {
        true => {
            "Neither transactions nor CPU utilization were found: `laggard changes` needs both in every window."
        }
        false => "Transactions were found, but no CPU utilization of any server: provide a CPU series, too.",
    };
    vec![text.to_owned()]
}
