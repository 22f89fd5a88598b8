//! Code, workload or something foreign?
//!
//! ```text
//! WindowTable ── ObservedServer (one a server) ── laggard_changes ──► Analysis ──► ServerChanges ──► ChangeReport
//! ```

mod costs;
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
    CHANGES_SCHEMA_VERSION, ChangeReport, ChangeVerdict, Deployment, ServerChanges, change_headline, rfc3339,
};
use laggard_samples::WindowTable;
use laggard_settings::{SettingError, Settings};
pub(crate) use observed::{ObservedServer, POOLED};
use server::{ServerResult, not_judged};
use std::num::NonZeroUsize;

/// A deployment the user told of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredDeployment {
    /// When.
    pub time: Timestamp,
    /// A version, a commit.
    pub name: String,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct ChangesQuestion<'a> {
    /// Windows of all servers.
    pub table: &'a WindowTable,
    /// What only the reader knows.
    pub facts: &'a SampleFacts,
    /// Deployments, in order of time.
    pub deployments: &'a [DeclaredDeployment],
    /// Method and thresholds.
    pub settings: &'a ChangesSettings,
    /// Threads to use; they change no bit of the answer.
    pub threads: NonZeroUsize,
}

/// Analyzes every server, and says what happened over all.
///
/// # Errors
/// When a setting is out of its range.
pub fn changes(question: &ChangesQuestion<'_>) -> Result<ChangeReport, SettingError> {
    let ChangesQuestion { table, facts, deployments, settings, threads } = *question;
    settings.check()?;
    let mut report = empty(question);
    for server in &table.servers {
        let observed = ObservedServer::of(table, server, settings.types_max);
        let answer = settings.analyze(&observed.observations, threads);
        let mut told = match &answer {
            Ok(analysis) => ServerResult { table, server, observed: &observed, analysis }.report(),
            Err(_) => not_judged(table, server, &observed),
        };
        let name = remarks::server_name(&told.server, &told.tier);
        match answer {
            Err(reason) => report.missing.push(format!("{name}: {reason}.")),
            Ok(_) => told.cautions.extend(remarks::observed_cautions(&observed, settings.method)),
        }
        report.servers.push(told);
    }
    events::mark_deployments(&mut report.servers, deployments, table.length);
    report.events = events::join(&report.servers, table.length);
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
    let told = |one: &DeclaredDeployment| Deployment {
        name: one.name.clone(),
        at_ns: one.time.unix_ns(),
        at: rfc3339(one.time),
    };
    ChangeReport {
        schema_version: CHANGES_SCHEMA_VERSION,
        report: "changes",
        verdict: ChangeVerdict::InsufficientData,
        headline: String::new(),
        method: question.settings.method.name().to_owned(),
        input: Default::default(),
        deployments: question.deployments.iter().map(told).collect(),
        events: vec![],
        servers: vec![],
        mix: series::mix(question.table),
        ruled_out: vec![],
        cautions: vec![],
        missing: vec![],
        settings: question.settings.rows(question.table.length),
    }
}

/// The strongest of the servers'.
fn verdict(servers: &[ServerChanges]) -> ChangeVerdict {
    servers.iter().map(|server| server.verdict).max().unwrap_or(ChangeVerdict::InsufficientData)
}

/// What would have been needed; of a server that could not be judged beside others, a caution says so.
fn missing(report: &ChangeReport) -> Vec<String> {
    if !report.servers.is_empty() {
        return report.missing.clone();
    }
    let nothing = report.input.transactions.is_empty();
    let text = match nothing {
        true => {
            "Neither transactions nor CPU utilization were found: `laggard changes` needs both, window by window."
        }
        false => "Transactions were found, but no CPU utilization of any server: give a CPU series, too.",
    };
    vec![text.to_owned()]
}
