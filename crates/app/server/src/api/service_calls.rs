//! Calls of services: requests that enter there, and calls from other services.

use super::latencies::quantile;
use super::measured::MeasuredCalls;
use laggard_engine::{RequestRange, Requests};
use laggard_model::{ServiceId, Status};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use utoipa::ToSchema;

/// Calls whose times are retained, of a service and of a pair of services.
const OF_SERVICE_MAX: usize = 2_000;
const OF_LINK_MAX: usize = 500;

// Limit: pairs of services of a map with times | the others have counts alone
/// Most pairs of services whose calls have times.
const TIMED_LINKS_MAX: usize = 10_000;

/// Memory for the times of calls at most, bytes.
pub(crate) const CALL_TIMES_BYTES: u64 = 8 * (TIMED_LINKS_MAX * OF_LINK_MAX) as u64;

/// Figures of calls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
pub(crate) struct CallFigures {
    /// Calls: requests that enter, and calls from other services.
    pub(crate) calls: u64,
    /// Those that failed.
    pub(crate) call_errors: u64,
    /// Median time of a call, with what it calls; absent without calls.
    pub(crate) call_p50_ns: Option<u64>,
    /// 99th percentile (nearest rank).
    pub(crate) call_p99_ns: Option<u64>,
}

/// Calls of services, by callee, and by caller and callee.
#[derive(Default)]
pub(crate) struct ServiceCalls {
    pub(crate) services: BTreeMap<ServiceId, CallFigures>,
    pub(crate) links: BTreeMap<Link, CallFigures>,
}

/// A node of a structure that is a call of a service.
struct ServiceCall {
    node: usize,
    callee: ServiceId,
    /// Place in the list of links; absent for an entry.
    link: Option<usize>,
}

/// Some calls while they are counted.
struct CallGroup {
    errors: u64,
    times: MeasuredCalls<u64>,
}

impl CallGroup {
    fn add(&mut self, status: Status, ns: u64) {
        self.errors += u64::from(status == Status::Error);
        self.times.add(ns);
    }

    fn figures(self) -> CallFigures {
        let calls = self.times.calls();
        let mut ns = self.times.into_values();
        CallFigures {
            calls,
            call_errors: self.errors,
            call_p50_ns: quantile(&mut ns, 50),
            call_p99_ns: quantile(&mut ns, 99),
        }
    }
}

impl ServiceCalls {
    /// Those of the requests of a range. The percentiles of more than a few hundred calls are those of an even sample.
    pub(crate) fn of(requests: &Requests, range: RequestRange<'_>) -> ServiceCalls {
        let (links, arrivals) = arrivals(requests);
        let mut of_structure = vec![0_usize; arrivals.len()];
        range.iter().for_each(|request| of_structure[request.structure()] += 1);
        let (mut of_service, mut of_link) = (vec![0; requests.names().services()], vec![0; links.len()]);
        for (arrivals, requests) in arrivals.iter().zip(of_structure) {
            for arrival in arrivals {
                of_service[arrival.callee.index()] += requests;
                arrival.link.into_iter().for_each(|link| of_link[link] += requests);
            }
        }
        let group = |most| move |calls| CallGroup { errors: 0, times: MeasuredCalls::new(calls, most) };
        let mut services: Vec<CallGroup> = of_service.into_iter().map(group(OF_SERVICE_MAX)).collect();
        let timed = of_link.len().min(TIMED_LINKS_MAX);
        let untimed = of_link.split_off(timed);
        let mut groups: Vec<CallGroup> = of_link.into_iter().map(group(OF_LINK_MAX)).collect();
        groups.extend(untimed.into_iter().map(group(1)));
        for request in range.iter() {
            for arrival in &arrivals[request.structure()] {
                let node = arrival.node;
                let status = if node == 0 { request.status() } else { request.call_status()[node] };
                let ns = request.inclusive_time(node).ns();
                services[arrival.callee.index()].add(status, ns);
                arrival.link.into_iter().for_each(|link| groups[link].add(status, ns));
            }
        }
        let called = |figures: &CallFigures| figures.calls > 0;
        let services = services.into_iter().map(CallGroup::figures).enumerate();
        let links = links.into_iter().zip(groups.into_iter().map(CallGroup::figures));
        ServiceCalls {
            services: (services.filter(|(_, figures)| called(figures)))
                .map(|(index, figures)| (ServiceId::from_index(index), figures))
                .collect(),
            links: links.filter(|(_, figures)| called(figures)).collect(),
        }
    }
}

/// A service, and another that it calls.
type Link = (ServiceId, ServiceId);

/// The pairs of services that call each other, and the calls of services in every structure.
fn arrivals(requests: &Requests) -> (Vec<Link>, Vec<Vec<ServiceCall>>) {
    let names = requests.names();
    let (mut links, mut places) = (Vec::new(), HashMap::new());
    let mut all = Vec::with_capacity(requests.structures().len());
    for structure in requests.structures() {
        let mut arrivals = Vec::new();
        for (node, (&operation, parent)) in structure.operation.iter().zip(&structure.parent).enumerate() {
            let callee = names.service_of(operation);
            let caller = parent.map(|parent| names.service_of(structure.operation[parent as usize]));
            if caller == Some(callee) {
                continue;
            }
            let link = caller.map(|caller| {
                *places.entry((caller, callee)).or_insert_with(|| {
                    links.push((caller, callee));
                    links.len() - 1
                })
            });
            arrivals.push(ServiceCall { node, callee, link });
        }
        all.push(arrivals);
    }
    (links, all)
}
