//! Findings about service level objectives.

use super::interval::Interval;
use laggard_model::Nanos;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How urgent it is that an error budget is used up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveSeverity {
    /// Within hours or a few days: somebody is to be called.
    Page,
    /// Before the end of its period.
    Ticket,
}

/// An objective, and one of its two alerts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ObjectiveSubject {
    /// The name of the objective.
    pub objective: String,
    /// Which alert.
    pub severity: ObjectiveSeverity,
}

/// A burn rate that uses up an error budget too fast.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ObjectiveFinding {
    /// The name of the objective.
    pub objective: String,
    /// How urgent it is.
    pub severity: ObjectiveSeverity,
    /// The service at which its requests enter.
    pub service: String,
    /// The operation by which they enter; absent for all of the service.
    pub operation: Option<String>,
    /// Share of requests that are to be good, above 0 and below 1.
    pub target: f64,
    /// Burn rate over the longer window; 1 uses up the budget in exactly its period.
    pub burn_rate: f64,
    /// Burn rate over the shorter window.
    pub short_burn_rate: f64,
    /// What both reach.
    pub threshold: f64,
    /// Length of the longer window.
    pub long_ns: u64,
    /// Length of the shorter window.
    pub short_ns: u64,
    /// Complete requests of the longer window.
    pub requests: u64,
    /// Bad ones among them.
    pub bad: u64,
    /// Part of the budget of the period that is left; below 0 if more is used up.
    pub budget_left: f64,
    /// The slow operation that most bad requests are slow by.
    pub cause: Option<ObjectiveCause>,
    /// Start of the first five minutes in which it was used up that fast.
    pub onset_ns: Option<i64>,
}

/// The slow operation that uses up an error budget.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ObjectiveCause {
    /// The alert about it.
    pub alert: String,
    /// Its service.
    pub service: String,
    /// The operation.
    pub operation: String,
    /// Bad requests that it explains.
    pub explained: u64,
    /// Bad requests of the same time.
    pub bad: u64,
    /// The page with the evidence: a path with a query.
    pub page: String,
}

/// A finding with its windows.
#[derive(Clone, PartialEq, Debug)]
pub struct BurningObjective {
    /// The finding.
    pub finding: ObjectiveFinding,
    /// The longer window.
    pub window: Interval,
    /// The period before it.
    pub baseline: Interval,
}

/// Result of an evaluation of objectives.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ObjectiveEvaluation {
    /// Budgets that are used up too fast.
    pub burning: Vec<BurningObjective>,
    /// Those that are not. Of all others nothing is known: there were no requests.
    pub healthy: Vec<ObjectiveSubject>,
}

impl ObjectiveSeverity {
    /// The label `severity` of notifications.
    pub const fn label(self) -> &'static str {
        match self {
            ObjectiveSeverity::Page => "critical",
            ObjectiveSeverity::Ticket => "warning",
        }
    }
}

impl ObjectiveFinding {
    /// The objective's subject.
    pub fn subject(&self) -> ObjectiveSubject {
        ObjectiveSubject { objective: self.objective.clone(), severity: self.severity }
    }

    /// The finding in a sentence or two.
    pub(super) fn summary(&self) -> String {
        let budget = match self.budget_left {
            share if share > 0.0 => format!("{:.0} % of it are left", 100.0 * share),
            _ => "nothing of it is left".to_owned(),
        };
        let cause = self.cause.as_ref().map_or_else(String::new, |cause| {
            format!(
                " `{}` of `{}` explains {} of the {} bad requests of the last hour.",
                cause.operation, cause.service, cause.explained, cause.bad
            )
        });
        format!(
            "Objective `{}` uses up its error budget {:.1} times as fast as allowed: {} of {} requests of the last {} were bad; {budget}.{cause}",
            self.objective,
            self.burn_rate,
            self.bad,
            self.requests,
            hours(Nanos::from_ns(self.long_ns))
        )
    }
}

fn hours(length: Nanos) -> String {
    match length.ns() / 3_600_000_000_000 {
        0 | 1 => "hour".to_owned(),
        hours if hours % 24 == 0 => format!("{} days", hours / 24),
        hours => format!("{hours} hours"),
    }
}
