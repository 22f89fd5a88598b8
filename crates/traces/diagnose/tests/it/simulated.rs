//! Simulated requests as a span table.

use laggard_engine::{Ingest, IngestSettings, Requests};
use laggard_model::Sink;
use laggard_simulate::{Request, Settings, requests};
use std::num::NonZeroUsize;

pub(crate) const THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("two is not zero");

/// The span table of a simulated incident, with what was injected: `service operation` of every hit call, and
/// where it ran.
pub(crate) struct Incident {
    pub(crate) traces: Requests,
    pub(crate) injected: Vec<(String, String)>,
}

pub(crate) fn incident(settings: &Settings) -> Incident {
    incident_of(settings, |_| true)
}

/// As [`incident`], of some of the requests only.
pub(crate) fn incident_of(settings: &Settings, is_included: impl Fn(&Request) -> bool) -> Incident {
    let mut ingest = Ingest::new(IngestSettings::default());
    let mut injected = Vec::new();
    for request in requests(settings).expect("settings in range").filter(is_included) {
        for call in &request.calls {
            ingest.span(&request.span(call));
            if call.injected.ns() > 0 {
                let name = format!("{} {}", request.service(call), request.operation(call));
                injected.push((name, request.replica(call).to_owned()));
            }
        }
    }
    Incident { traces: Requests::from_traces(ingest.finish(THREADS), THREADS), injected }
}

/// The spans of a simulated incident, inserted in a given order.
pub(crate) fn requests_in_order(settings: &Settings, order: impl Fn(&mut Vec<(usize, usize)>)) -> Requests {
    let requests: Vec<Request> = requests(settings).expect("settings in range").collect();
    let calls = |(index, request): (usize, &Request)| (0..request.calls.len()).map(move |call| (index, call));
    let mut spans: Vec<(usize, usize)> = requests.iter().enumerate().flat_map(calls).collect();
    order(&mut spans);
    let mut ingest = Ingest::new(IngestSettings::default());
    for (request, call) in spans {
        ingest.span(&requests[request].span(&requests[request].calls[call]));
    }
    Requests::from_traces(ingest.finish(THREADS), THREADS)
}
