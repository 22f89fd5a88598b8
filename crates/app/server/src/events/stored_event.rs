//! One event as it is stored: a line of JSON.

use crate::line_log::LogRecord;
use laggard_model::Timestamp;
use laggard_report::{ReplicasRunning, SystemEvent, SystemEventKind, SystemEventSource, SystemEventTime};
use serde::{Deserialize, Serialize};

/// The fields of a line. Fields may be added within a version of the file; they need a default.
#[derive(Serialize, Deserialize)]
struct StoredEvent {
    time_ns: i64,
    kind: SystemEventKind,
    #[serde(default)]
    service: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replicas: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(default)]
    source: SystemEventSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    running: Option<ReplicasRunning>,
}

impl LogRecord for SystemEvent {
    const NAME: &'static str = "events";
    const HEAD: &'static str = "laggard-events 1\n";
    // Limit: stored deployments and other changes of the system, per tenant | the oldest are deleted
    /// Most events of a tenant.
    const RECORDS_MAX: usize = 20_000;

    fn order(&self) -> i64 {
        self.at().unix_ns()
    }

    fn to_json(&self) -> String {
        let stored = StoredEvent {
            time_ns: self.at().unix_ns(),
            kind: self.kind,
            service: self.service.clone(),
            version: self.version.clone(),
            text: self.text.clone(),
            replicas: self.replicas,
            zone: self.zone.clone(),
            source: self.source,
            running: self.running,
        };
        serde_json::to_string(&stored).expect("texts and numbers are JSON")
    }

    fn from_json(json: &[u8]) -> Option<SystemEvent> {
        let stored: StoredEvent = serde_json::from_slice(json).ok()?;
        Some(SystemEvent {
            time: SystemEventTime { time: Timestamp::from_unix_ns(stored.time_ns) },
            kind: stored.kind,
            service: stored.service,
            version: stored.version,
            text: stored.text,
            replicas: stored.replicas,
            zone: stored.zone,
            source: stored.source,
            running: stored.running,
        })
    }
}
