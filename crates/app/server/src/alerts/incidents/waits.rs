//! Recordings of the kernel for an incident: requested of the agents of a culprit and a healthy peer, where the operator allows
//! it, and compared when both have arrived. Executions are the calls of the suspect, where their spans have the kernel's number of
//! their thread; else all threads.

use super::IncidentRecord;
use super::recorded_spans::spans_of;
use crate::alerts::store_reader::StoreReader;
use crate::recordings::{
    AgentStatus, ExamineLimits, RecordedTrace, RecordingReason, RecordingRequest, RecordingState,
    TenantRecordings, recorded_comparison,
};
use laggard_model::{Nanos, Timestamp};
use laggard_params::{KernelDiagnoseParams, ReadProgress, Window};
use laggard_report::{KernelDiagnosis, KernelVerdict, Report, Scope, Suspect};

/// Length of a recording where the suspect is called often.
const LENGTH_MIN: Nanos = Nanos::from_secs(10);

/// Calls of the suspect that a recording should have: with fewer than five normal ones nothing can be compared.
const CALLS: f64 = 20.0;

/// An agent whose last poll is this recent counts as running.
const POLLED_WITHIN: Nanos = Nanos::from_secs(60);

/// So long after a recording's end its spans are stored at the latest: senders collect them for some seconds, and a trace is stored
/// when it has been idle.
const SPANS_WITHIN: Nanos = Nanos::from_secs(60);

/// A watch that never cancels.
struct Background;

impl ReadProgress for Background {
    fn events(&self, _: u64) {}
}

/// The recordings that were requested for an incident.
pub(super) fn of_incident(recordings: &TenantRecordings, incident: &IncidentRecord) -> Vec<RecordingRequest> {
    let all = Window { since: Timestamp::MIN, until: Timestamp::MAX };
    let mut requests = recordings.list(None, all);
    requests.retain(|request| request.incident.as_deref() == Some(&incident.id));
    requests
}

/// How many of them have arrived together with their spans. `newest`: the latest start of a stored span.
pub(super) fn arrived(requests: &[RecordingRequest], newest: Option<Timestamp>, at: Timestamp) -> u64 {
    let is_stored = |request: &&RecordingRequest| {
        let until = Timestamp::from_unix_ns(request.until_ns);
        matches!(request.state, RecordingState::Stored { .. })
            && (newest.is_some_and(|newest| newest >= until) || at >= until.plus(SPANS_WITHIN))
    };
    requests.iter().filter(is_stored).count() as u64
}

/// Requests the last seconds of the culprit and of a healthy peer; once for an incident. That there is no agent, or no rule
/// of the operator, is no error.
pub(super) fn request(
    recordings: &TenantRecordings,
    incident: &IncidentRecord,
    report: &Report,
    at: Timestamp,
) {
    let Some(lead) = report.suspects.iter().find(|suspect| suspect.stands_out) else { return };
    let Some(hosts) = hosts(recordings, report, lead, at) else { return };
    let length = length_for(report, lead).min(recordings.length_max());
    let window = Window { since: at.minus(length), until: at };
    let text = "a suspected replica of an incident, and a healthy peer".to_owned();
    let reason = RecordingReason { incident: Some(incident.id.clone()), text };
    if let Err(error) = recordings.request(&hosts, window, &reason, at) {
        tracing::info!(incident = incident.id, %error, "no recording of the kernel was requested");
    }
}

/// A suspected replica, and one that runs the same operation and is not suspected, both with an agent.
fn hosts(
    recordings: &TenantRecordings,
    report: &Report,
    lead: &Suspect,
    at: Timestamp,
) -> Option<[String; 2]> {
    if lead.scope != Scope::Replicas {
        return None;
    }
    let seen = report.heat_map.as_ref().map_or(&[][..], |map| &map.replicas);
    culprit_and_peer(&lead.replicas, seen, &recordings.agents(at), at)
}

/// The time in which each replica of the lead gets [`CALLS`] of its calls, at the rate of the report's window.
fn length_for(report: &Report, lead: &Suspect) -> Nanos {
    let window = report.window.and_then(|window| window.until.since(window.since).non_negative());
    let calls = lead.requests_seen as f64 / lead.replicas_seen.max(1) as f64;
    length_with_calls(window.unwrap_or_default(), calls)
}

fn length_with_calls(window: Nanos, calls: f64) -> Nanos {
    // The cast saturates: without calls, it is infinitely long.
    Nanos::from_ns((window.ns() as f64 * CALLS / calls) as u64).max(LENGTH_MIN)
}

fn culprit_and_peer(
    suspected: &[String],
    seen: &[String],
    agents: &[AgentStatus],
    at: Timestamp,
) -> Option<[String; 2]> {
    let recent = at.minus(POLLED_WITHIN).unix_ns();
    let has_agent =
        |host: &&String| agents.iter().any(|agent| agent.host == **host && agent.polled_ns >= recent);
    let culprit = suspected.iter().find(has_agent)?;
    let mut peers = seen.iter().filter(|host| !suspected.contains(host));
    Some([culprit.clone(), peers.find(has_agent)?.clone()])
}

/// Waits of the culprit that its peer did not have; `None` until both recordings have arrived.
pub(super) fn comparison(
    recordings: &TenantRecordings,
    requests: &[RecordingRequest],
    report: &Report,
    reader: &StoreReader,
) -> Option<KernelDiagnosis> {
    let lead = report.suspects.iter().find(|suspect| suspect.stands_out)?;
    let is_culprit = |request: &&RecordingRequest| lead.replicas.contains(&request.host);
    let trace = |request: &RecordingRequest| recordings.stored(&request.id).map(RecordedTrace::new);
    let of_culprit = requests.iter().find(is_culprit)?;
    let of_peer = requests.iter().find(|request| !is_culprit(request))?;
    let (culprit, peer) = (trace(of_culprit)?, trace(of_peer)?);
    let params = KernelDiagnoseParams::default();
    let limits = ExamineLimits { memory: reader.memory.graph_bytes(), threads: reader.threads };
    let compare = |culprit: &RecordedTrace, peer: &RecordedTrace| {
        let compared = recorded_comparison((culprit, Some(peer)), &params, limits, &Background);
        let log = |error| tracing::warn!(?error, "recordings of an incident could not be compared");
        compared.map_err(log).ok()
    };
    let [slow, normal] = spans_of(reader, lead, [of_culprit, of_peer]);
    if !slow.is_empty() && !normal.is_empty() {
        let of_spans = compare(&culprit.clone().with_spans(slow), &peer.clone().with_spans(normal));
        let is_enough = |found: &KernelDiagnosis| found.verdict != KernelVerdict::InsufficientData;
        if let Some(of_spans) = of_spans.filter(is_enough) {
            return Some(of_spans);
        }
    }
    compare(&culprit, &peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_long_enough_for_the_calls_to_compare() {
        let hour = Nanos::from_secs(3_600);
        assert_eq!(length_with_calls(hour, 36_000.0), LENGTH_MIN, "ten calls a second");
        assert_eq!(length_with_calls(hour, 3_600.0), Nanos::from_secs(20), "a call a second");
        assert_eq!(length_with_calls(hour, 0.0), Nanos::from_ns(u64::MAX), "as long as the operator allows");
        assert_eq!(length_with_calls(Nanos::default(), 0.0), LENGTH_MIN, "of no window");
    }

    #[test]
    fn a_culprit_is_compared_with_a_healthy_peer_that_has_an_agent() {
        let at = Timestamp::from_unix_ns(1_768_208_400_000_000_000);
        let agent = |host: &str, ago_s: u64| AgentStatus {
            host: host.to_owned(),
            polled_ns: at.minus(Nanos::from_secs(ago_s)).unix_ns(),
            recording: true,
            note: String::new(),
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        let agents = [agent("db-2", 5), agent("db-3", 100), agent("db-4", 5), agent("db-5", 5)];
        let seen = names(&["db-1", "db-2", "db-3", "db-4", "db-5"]);
        let chosen = |suspected: &[&str]| culprit_and_peer(&names(suspected), &seen, &agents, at);
        assert_eq!(chosen(&["db-1", "db-4"]), Some(["db-4".to_owned(), "db-2".to_owned()]));
        assert_eq!(chosen(&["db-1"]), None, "it has no agent");
        assert_eq!(chosen(&["db-3"]), None, "its agent polled long ago");
        assert_eq!(chosen(&["db-2", "db-4", "db-5"]), None, "no healthy peer has an agent");
    }
}
