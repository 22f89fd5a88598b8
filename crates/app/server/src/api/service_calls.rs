//! Calls of services: requests that enter there, and calls from other services.

use super::latencies::quantile;
use super::measured::MeasuredCalls;
use laggard_engine::{RequestRange, Requests};
use laggard_model::{ServiceId, Status};
use serde::Serialize;
use std::collections::BTreeMap;
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
    pub(crate) links: BTreeMap<(ServiceId, ServiceId), CallFigures>,
}

/// A node of a structure that is a call of a service: its groups.
struct Arrival {
    node: usize,
    callee: ServiceId,
    link: Option<(ServiceId, ServiceId)>,
}

/// Some calls while they are counted.
struct Group {
    errors: u64,
    times: MeasuredCalls<u64>,
}

impl Group {
    fn of(calls: usize, most: usize) -> Group {
        Group { errors: 0, times: MeasuredCalls::new(calls, most) }
    }

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
        let arrivals = arrivals(requests);
        let (mut of_service, mut of_link) = (BTreeMap::<_, usize>::new(), BTreeMap::<_, usize>::new());
        for request in range.iter() {
            for arrival in &arrivals[request.structure()] {
                *of_service.entry(arrival.callee).or_default() += 1;
                if let Some(link) = arrival.link {
                    *of_link.entry(link).or_default() += 1;
                }
            }
        }
        let of_link_max = |index: usize| if index < TIMED_LINKS_MAX { OF_LINK_MAX } else { 1 };
        let mut services: BTreeMap<ServiceId, Group> =
            of_service.into_iter().map(|(id, calls)| (id, Group::of(calls, OF_SERVICE_MAX))).collect();
        let mut links: BTreeMap<_, Group> = (of_link.into_iter().enumerate())
            .map(|(index, (link, calls))| (link, Group::of(calls, of_link_max(index))))
            .collect();
        for request in range.iter() {
            for arrival in &arrivals[request.structure()] {
                let node = arrival.node;
                let status = if node == 0 { request.status() } else { request.call_status()[node] };
                let ns = request.inclusive_time()[node].ns();
                services.get_mut(&arrival.callee).into_iter().for_each(|group| group.add(status, ns));
                let link = arrival.link.and_then(|link| links.get_mut(&link));
                link.into_iter().for_each(|group| group.add(status, ns));
            }
        }
        ServiceCalls {
            services: services.into_iter().map(|(id, group)| (id, group.figures())).collect(),
            links: links.into_iter().map(|(link, group)| (link, group.figures())).collect(),
        }
    }
}

/// The calls of services in every structure.
fn arrivals(requests: &Requests) -> Vec<Vec<Arrival>> {
    let names = requests.names();
    let structures = requests.structures().iter().map(|structure| {
        let nodes = structure.operation.iter().zip(&structure.parent).enumerate();
        let arrivals = nodes.filter_map(|(node, (&operation, parent))| {
            let callee = names.service_of(operation);
            match parent.map(|parent| names.service_of(structure.operation[parent as usize])) {
                None => Some(Arrival { node, callee, link: None }),
                Some(caller) if caller != callee => Some(Arrival { node, callee, link: Some((caller, callee)) }),
                Some(_) => None,
            }
        });
        arrivals.collect()
    });
    structures.collect()
}
