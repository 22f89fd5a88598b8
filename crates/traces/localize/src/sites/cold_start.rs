//! Whether a slow period is that of replicas which had just started: their first calls load code, fill caches, and open
//! connections, after every deployment and whenever the number of replicas follows the load.

use crate::sites::incidents::Incident;
use crate::sites::table::{Site, SiteTable};
use laggard_model::{ReplicaId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// A period is a cold start if starting replicas take part in this share of its slow requests.
const STARTING_SHARE: f64 = 0.5;

/// When each replica was first called.
#[derive(Clone, Debug)]
pub struct FirstCalls {
    start: Timestamp,
    by_replica: BTreeMap<ReplicaId, Timestamp>,
}

impl FirstCalls {
    /// The first calls in a table.
    pub fn new(table: &SiteTable) -> FirstCalls {
        let mut by_replica: BTreeMap<ReplicaId, Timestamp> = BTreeMap::new();
        let mut known = vec![u32::MAX; table.sets.len()];
        for row in table.rows.iter().flatten() {
            let first = &mut known[row.set as usize];
            *first = (*first).min(row.request);
        }
        let called = known.iter().zip(&table.sets).filter(|(request, _)| **request != u32::MAX);
        for (&request, set) in called {
            let time = table.requests[request as usize].start;
            for &replica in set {
                let first = by_replica.entry(replica).or_insert(time);
                *first = (*first).min(time);
            }
        }
        let start = table.requests.first().map_or(Timestamp::MIN, |request| request.start);
        FirstCalls { start, by_replica }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::table::{Observation, SiteRequest};
    use laggard_model::{AttributeSetId, Fingerprint, Nanos, OperationId, TraceId};

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
            homes: BTreeSet::new(),
        }
    }

    fn explains(born: u32, slow: impl Fn(&u32) -> bool) -> bool {
        let table = table(born);
        let at = |second| Timestamp::from_unix_ns(0).plus(Nanos::from_secs(second));
        let incident = Incident { since: at(300), until: at(360), bins: 1, excess_share: 1.0, onset: None };
        let slow: Vec<u32> = (300..360).filter(slow).collect();
        FirstCalls::new(&table).explain(&incident, &table, &table.sites, &slow)
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
