//! Silences: for a time, nobody is notified of incidents about a service or a server, or of one incident.

use super::super::finding::AlertFinding;
use laggard_model::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Most silences of a tenant.
pub(crate) const SILENCES_MAX: usize = 1_000;

/// Incidents that nobody is notified of for a time. At least one of `service`, `server`, and `incident` is given; all that are
/// given must match.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Silence {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// The service of the suspected operation or of the objective's requests, or the server's tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The id of an incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// When it was made, by the server's clock.
    pub since_ns: i64,
    /// When it ends.
    pub until_ns: i64,
    /// Why.
    #[serde(default)]
    pub comment: String,
}

impl Silence {
    /// Whether nobody is to be notified at a time of the incident with this id, whose first alert has this finding.
    pub(crate) fn covers(&self, incident: &str, lead: &AlertFinding, at: Timestamp) -> bool {
        let (service, server) = match lead {
            AlertFinding::Operation(finding) => (finding.service.as_str(), ""),
            AlertFinding::Server(finding) => (finding.tier.as_str(), finding.server.as_str()),
            AlertFinding::Objective(finding) => (finding.service.as_str(), ""),
        };
        let matches =
            |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        self.lasts(at)
            && matches(&self.service, service)
            && matches(&self.server, server)
            && matches(&self.incident, incident)
    }

    /// Whether it has not ended.
    pub(crate) fn lasts(&self, at: Timestamp) -> bool {
        at.unix_ns() < self.until_ns
    }
}
