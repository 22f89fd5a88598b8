//! One event as it is stored: a line of JSON with a checksum.

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

/// The line of an event: the checksum of its JSON, the JSON, and the end of the line.
pub(super) fn line_of(event: &SystemEvent) -> String {
    let stored = StoredEvent {
        time_ns: event.at().unix_ns(),
        kind: event.kind,
        service: event.service.clone(),
        version: event.version.clone(),
        text: event.text.clone(),
        replicas: event.replicas,
        zone: event.zone.clone(),
        source: event.source,
        running: event.running,
    };
    let json = serde_json::to_string(&stored).expect("texts and numbers are JSON");
    format!("{:08x} {json}\n", crc32c::crc32c(json.as_bytes()))
}

/// The event of a line without its end; `None` if the line is damaged.
pub(super) fn event_of(line: &[u8]) -> Option<SystemEvent> {
    let (sum, json) = line.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    if crc32c::crc32c(json) != sum {
        return None;
    }
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
