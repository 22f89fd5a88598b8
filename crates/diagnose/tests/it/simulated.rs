//! Simulated requests as a span table.

use laggard_engine::{Ingest, IngestSettings, Traces};
use laggard_model::{ReplicaSource, Sampling, Sink, SpanRecord, Status};
use laggard_simulate::{Request, Settings, requests};
use std::num::NonZeroUsize;

pub(crate) const THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// The span table of a simulated incident, with what was injected: `service operation` of every hit call, and
/// where it ran.
pub(crate) struct Incident {
    pub(crate) traces: Traces,
    pub(crate) injected: Vec<(String, String)>,
}

pub(crate) fn incident(settings: &Settings) -> Incident {
    incident_of(settings, |_| true)
}

/// As [`incident`], of some of the requests only.
pub(crate) fn incident_of(settings: &Settings, wanted: impl Fn(&Request) -> bool) -> Incident {
    let mut ingest = Ingest::new(IngestSettings::default());
    let mut injected = Vec::new();
    for request in requests(settings).expect("settings in range").filter(wanted) {
        for call in &request.calls {
            ingest.span(&record(&request, call));
            if call.injected.ns() > 0 {
                let name = format!("{} {}", request.service(call), request.operation(call));
                injected.push((name, request.replica(call).to_owned()));
            }
        }
    }
    Incident { traces: ingest.finish(THREADS), injected }
}

pub(crate) fn record<'a>(request: &'a Request, call: &'a laggard_simulate::Call) -> SpanRecord<'a> {
    SpanRecord {
        trace_id: request.trace_id,
        trace_text: None,
        span_id: call.span_id,
        parent: call.parent.map(|parent| request.calls[parent as usize].span_id),
        service: request.service(call),
        replica: request.replica(call),
        replica_source: ReplicaSource::Column,
        operation: request.operation(call),
        kind: request.kind(call),
        status: Status::Unset,
        start: call.start,
        inclusive: call.inclusive,
        sampling: Sampling::default(),
    }
}
