//! Whether calls are slow because their replicas had just started: the first calls load code, fill caches, and open
//! connections, after every deployment and whenever the number of replicas follows the load.

use crate::sites::incidents::Incident;
use crate::sites::table::{Observation, Site, SiteTable};
use laggard_model::{Nanos, ReplicaId, Timestamp};
use laggard_parallel::parallel_map;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// A period is a cold start if starting replicas take part in this share of its slow requests.
const STARTING_SHARE: f64 = 0.5;

/// A replica warms up for this long after its first call.
const WARM_UP: Nanos = Nanos::from_secs(120);
/// A replica did not run before its first call if it would have been called with this probability, given how many requests
/// call it, and, without a baseline, if the data begin at least a warm-up earlier.
const CALLED_BEFORE_MIN: f64 = 0.99;

/// When each replica was first called.
#[derive(Clone, Debug)]
pub struct FirstCalls {
    start: Timestamp,
    by_replica: BTreeMap<ReplicaId, Timestamp>,
    /// Those that started in the data.
    started: BTreeSet<ReplicaId>,
}

impl FirstCalls {
    /// The first calls in a table. Replicas of the baseline did not start in it.
    pub fn new(table: &SiteTable, baseline: Option<&SiteTable>, threads: NonZeroUsize) -> FirstCalls {
        let sites: Vec<&[Observation]> = table.rows.iter().map(Vec::as_slice).collect();
        let groups: Vec<&[&[Observation]]> = sites.chunks(sites.len().div_ceil(SITE_GROUPS).max(1)).collect();
        let mut calls: BTreeMap<ReplicaId, FirstCall> = BTreeMap::new();
        for of_group in parallel_map(&groups, threads, |sites| first_calls(sites, &table.sets)) {
            for (replica, call) in of_group {
                calls.entry(replica).or_default().merge(call);
            }
        }
        let earlier: BTreeSet<ReplicaId> =
            baseline.iter().flat_map(|table| &table.homes).map(|&(_, replica)| replica).collect();
        let before = baseline.map_or(0, |table| table.requests.len()) as f64;
        let all = before + table.requests.len() as f64;
        let start = |request: u32| table.requests[request as usize].start;
        let begin = table.requests.first().map_or(Timestamp::MIN, |request| request.start);
        let has_started = |&(&replica, &FirstCall { first, requests }): &(&ReplicaId, &FirstCall)| {
            let uncalled = (1.0 - (before + f64::from(first)) / all).powf(requests as f64);
            let was_absent = baseline.is_some() || start(first).since(begin).magnitude() >= WARM_UP;
            !earlier.contains(&replica) && was_absent && 1.0 - uncalled >= CALLED_BEFORE_MIN
        };
        FirstCalls {
            start: begin,
            started: calls.iter().filter(has_started).map(|(&replica, _)| replica).collect(),
            by_replica: calls.into_iter().map(|(replica, call)| (replica, start(call.first))).collect(),
        }
    }

    /// Whether a replica that started in the data is warming up at a time.
    pub fn is_warming_up(&self, replica: ReplicaId, at: Timestamp) -> bool {
        let since = |first: &Timestamp| at.since(*first).magnitude();
        self.started.contains(&replica)
            && self.by_replica.get(&replica).map(since).is_some_and(|age| age < WARM_UP)
    }

    /// Whether most of some slow requests of a period meet replicas at some sites that started in it or just before: at
    /// most as long before as the period lasts. What ran from the beginning of the data did not start.
    pub fn explain(&self, incident: &Incident, table: &SiteTable, sites: &[Site], slow: &[u32]) -> bool {
        let length = incident.until.since(incident.since).magnitude();
        let from = incident.since.minus(length).max(self.start.plus(length));
        let is_starting = |replica: &ReplicaId| {
            self.by_replica.get(replica).is_some_and(|first| (from..incident.until).contains(first))
        };
        let slow: BTreeSet<u32> = slow.iter().copied().collect();
        let rows = sites.iter().flat_map(|&site| table.rows_of(site));
        let met =
            rows.filter(|row| table.sets[row.set as usize].iter().any(is_starting)).map(|row| row.request);
        let met: BTreeSet<u32> = met.filter(|request| slow.contains(request)).collect();
        !slow.is_empty() && met.len() as f64 >= STARTING_SHARE * slow.len() as f64
    }
}

/// Groups of sites that are read at once: several times the cores of most machines.
const SITE_GROUPS: usize = 32;

/// A replica's first request, and the most requests of a site that call it.
#[derive(Clone, Copy)]
struct FirstCall {
    first: u32,
    requests: u64,
}

impl Default for FirstCall {
    fn default() -> FirstCall {
        FirstCall { first: u32::MAX, requests: 0 }
    }
}

impl FirstCall {
    fn merge(&mut self, other: FirstCall) {
        self.first = self.first.min(other.first);
        self.requests = self.requests.max(other.requests);
    }
}

/// The first calls among some sites. Observations are counted by set first, as there are many of each.
fn first_calls(sites: &[&[Observation]], sets: &[Vec<ReplicaId>]) -> BTreeMap<ReplicaId, FirstCall> {
    let mut calls: BTreeMap<ReplicaId, FirstCall> = BTreeMap::new();
    let mut by_set = vec![FirstCall::default(); sets.len()];
    for rows in sites {
        let mut met = Vec::new();
        for row in *rows {
            let of_set = &mut by_set[row.set as usize];
            if of_set.requests == 0 {
                met.push(row.set);
            }
            of_set.first = of_set.first.min(row.request);
            of_set.requests += 1;
        }
        let mut of_site: BTreeMap<ReplicaId, FirstCall> = BTreeMap::new();
        for set in met {
            let of_set = std::mem::take(&mut by_set[set as usize]);
            for &replica in &sets[set as usize] {
                let call = of_site.entry(replica).or_default();
                call.first = call.first.min(of_set.first);
                call.requests += of_set.requests;
            }
        }
        for (replica, call) in of_site {
            calls.entry(replica).or_default().merge(call);
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::table::SiteRequest;
    use laggard_model::{AttributeSetId, Fingerprint, OperationId, TraceId};

    /// A request a second for ten minutes, on two replicas in turn; the second takes calls from `born` on.
    fn table(born: u32) -> SiteTable {
        let request = |number: u32| SiteRequest {
            start: Timestamp::from_unix_ns(0).plus(Nanos::from_secs(number.into())),
            trace: TraceId::from_value(number.into()),
            latency_ns: 1e6,
            category: 0,
            weight: 1.0,
            number,
            attributes: AttributeSetId::from_index(0),
        };
        let row = |number: u32| Observation {
            request: number,
            set: u32::from(number >= born && number % 2 == 1),
            calls: 1,
            time_ns: 1e6,
            path_ns: 1e6,
        };
        SiteTable {
            sites: vec![Site::Operation(OperationId::from_index(0))],
            sets: (0..2).map(|replica| vec![ReplicaId::from_index(replica)]).collect(),
            categories: vec![Fingerprint::from_value(1)],
            requests: (0..600).map(request).collect(),
            rows: vec![(0..600).map(row).collect()],
            homes: (0..2)
                .map(|replica| (OperationId::from_index(0), ReplicaId::from_index(replica)))
                .collect(),
        }
    }

    fn explains(born: u32, slow: impl Fn(&u32) -> bool) -> bool {
        let table = table(born);
        let at = |second| Timestamp::from_unix_ns(0).plus(Nanos::from_secs(second));
        let incident = Incident { since: at(300), until: at(360), bins: 1, excess_share: 1.0, onset: None };
        let slow: Vec<u32> = (300..360).filter(slow).collect();
        FirstCalls::new(&table, None, NonZeroUsize::MIN).explain(&incident, &table, &table.sites, &slow)
    }

    #[test]
    fn a_replica_warms_up_after_its_first_call() {
        let at = |second| Timestamp::from_unix_ns(0).plus(Nanos::from_secs(second));
        let [old, new] = [0, 1].map(ReplicaId::from_index);
        let first_calls = FirstCalls::new(&table(300), None, NonZeroUsize::MIN);
        assert!(first_calls.is_warming_up(new, at(301)) && first_calls.is_warming_up(new, at(420)));
        assert!(!first_calls.is_warming_up(new, at(422)) && !first_calls.is_warming_up(old, at(301)));
        assert!(
            !FirstCalls::new(&table(1), None, NonZeroUsize::MIN).is_warming_up(new, at(2)),
            "it may have run before"
        );
        assert!(
            !FirstCalls::new(&table(300), Some(&table(0)), NonZeroUsize::MIN).is_warming_up(new, at(301)),
            "it did run before"
        );
    }

    #[test]
    fn slow_first_calls_of_a_new_replica_are_a_cold_start() {
        assert!(explains(310, |number| *number >= 310 && number % 2 == 1));
        assert!(explains(250, |number| number % 2 == 1), "just before");
    }

    #[test]
    fn other_slow_calls_are_not() {
        assert!(!explains(310, |number| number % 2 == 0), "of the older replica");
        assert!(!explains(310, |number| number % 5 == 0), "of both, most of them of the older");
        assert!(!explains(100, |number| number % 2 == 1), "a replica that has run for minutes");
        assert!(!explains(0, |number| number % 2 == 1), "a replica that ran from the beginning");
    }
}
