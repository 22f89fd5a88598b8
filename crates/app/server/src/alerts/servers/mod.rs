//! Detection of servers in trouble: what the last minutes of samples show.
//!
//! ```text
//! store ─ schedule: read, windows ─► ServerDetection::evaluate ─► ServerEvaluation ─► lifecycle
//!                                      ├─ cpu: more than the transactions used to take; less free than the reserve
//!                                      └─ storage: memory and file systems that will be full
//! ```

mod cpu;
pub(super) mod schedule;
mod storage;
#[cfg(test)]
mod tests;

pub use super::finding::ServerEvaluation;
use super::finding::{ServerFinding, ServerSubject};
use super::lifecycle::{Alert, AlertList, AlertState, Rules};
use crate::settings::AlertSettings;
use laggard_metrics_questions::ExcessSettings;
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;
use laggard_samples::{StorageUse, WindowTable};

/// Length of a window.
pub(super) const WINDOW: Nanos = Nanos::from_secs(60);

/// Windows before the end that are never part of what is usual: an excess that grows slowly would hide in it.
pub(super) const RECENT_WINDOWS: usize = 60;

/// A resolved alert that lasted no longer is no exception, but usual: a job that comes again and again.
const SHORT: Nanos = Nanos::from_secs(1_800);

/// Everything the detection of servers depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerDetection {
    /// Length of the time that shows what is usual.
    pub baseline: Nanos,
    /// Thresholds of additional CPU.
    pub excess: ExcessSettings,
    /// Part of the CPU to be kept free, 0..1; 0 for none.
    pub reserve: f64,
    /// When alerts fire and resolve.
    pub rules: Rules,
}

impl ServerDetection {
    /// The configured detection; `rules` as for operations.
    pub fn from_settings(settings: &AlertSettings, rules: Rules) -> ServerDetection {
        ServerDetection {
            baseline: settings.servers_baseline.nanos(),
            excess: ExcessSettings { share_min: settings.cpu_min, ..ExcessSettings::default() },
            reserve: settings.reserve,
            rules,
        }
    }

    /// The first instant that an evaluation may need.
    pub fn since(&self, alerts: &AlertList, end: Timestamp) -> Timestamp {
        let recent = Nanos::from_ns(WINDOW.ns() * RECENT_WINDOWS as u64);
        let of_cpu =
            alerts.firing().filter(|alert| alert.finding.server().is_some_and(ServerFinding::is_of_cpu));
        let healthy = of_cpu.map(|alert| Timestamp::from_unix_ns(alert.healthy_ns));
        healthy.fold(end.minus(recent), Timestamp::min).minus(self.baseline)
    }

    /// Evaluates the last windows of `table`, and the use of memory and file systems up to `end`.
    pub fn evaluate(
        &self,
        alerts: &AlertList,
        table: Option<&WindowTable>,
        storage: &[StorageUse],
        end: Timestamp,
    ) -> ServerEvaluation {
        let recent = Nanos::from_ns(WINDOW.ns() * RECENT_WINDOWS as u64);
        let until = end.minus(recent);
        let mut evaluation = ServerEvaluation {
            window: Window { since: until, until: end },
            baseline: Window { since: until.minus(self.baseline), until },
            findings: Vec::new(),
            healthy: Vec::new(),
        };
        if let Some(table) = table {
            for server in &table.servers {
                cpu::evaluate(self, alerts, table, server, &mut evaluation);
            }
        }
        for resource in storage {
            storage::evaluate(alerts, resource, end, &mut evaluation);
        }
        evaluation
    }
}

/// The firing alert about a subject.
fn firing<'a>(alerts: &'a AlertList, subject: &ServerSubject) -> Option<&'a Alert> {
    alerts.firing().find(|alert| alert.finding.server().is_some_and(|finding| finding.subject() == *subject))
}

/// Times of earlier alerts about a subject that are no part of what is usual.
fn exceptions(alerts: &AlertList, subject: &ServerSubject, rules: Rules) -> Vec<Window> {
    let is_about =
        |alert: &&Alert| alert.finding.server().is_some_and(|finding| finding.subject() == *subject);
    let resolved =
        alerts.resolved.iter().filter(|alert| alert.state == AlertState::Resolved).filter(is_about);
    let times = resolved.filter_map(|alert| {
        let until = alert.resolved_ns?;
        let lasted = until.saturating_sub(alert.since_ns).max(0) as u64;
        let fired = until.saturating_sub(alert.fired_ns?).max(0) as u64;
        // An excess that outlasted its alert counts as usual from then on.
        (lasted > SHORT.ns() && fired < rules.adapt_after.ns()).then(|| Window {
            since: Timestamp::from_unix_ns(alert.since_ns),
            until: Timestamp::from_unix_ns(until),
        })
    });
    times.collect()
}
