//! Where time is spent, over all requests: the input of the default method.

use laggard_model::{AttributeSetId, Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use std::collections::{BTreeMap, BTreeSet};

/// Where requests spend time: in an operation, or between two operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Site {
    /// The operation itself: its self time.
    Operation(OperationId),
    /// Between a caller's span and the span of the only callee, on another replica: network, queueing before
    /// the callee's span starts, and the caller's own work around the call.
    Link {
        /// The calling operation.
        caller: OperationId,
        /// The called operation.
        callee: OperationId,
    },
    /// An operation that calls itself on other replicas, such as a replication pipeline: its calls block each
    /// other, so the inclusive time of the outermost is observed, with all replicas that took part.
    Chain(OperationId),
}

impl Site {
    /// The operation that the time is attributed to: for a link the callee.
    pub fn operation(self) -> OperationId {
        match self {
            Site::Operation(operation) | Site::Chain(operation) => operation,
            Site::Link { callee, .. } => callee,
        }
    }
}

/// The time of one request at one site on one set of replicas.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// Index into [`SiteTable::requests`].
    pub request: u32,
    /// Index into [`SiteTable::sets`].
    pub set: u32,
    /// Number of calls, at least 1.
    pub calls: u32,
    /// Sum of their times, nanoseconds.
    pub time_ns: f32,
    /// The part of the time on the request's critical path, nanoseconds.
    pub path_ns: f32,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SiteRequest {
    /// Start, on the entry's clock.
    pub start: Timestamp,
    /// Id of the request's trace.
    pub trace: TraceId,
    /// Inclusive time of the entry, nanoseconds.
    pub latency_ns: f64,
    /// Index into [`SiteTable::categories`].
    pub category: u32,
    /// Requests that this one represents, at least 1.
    pub weight: f32,
    /// Its index in the order of all requests that were read.
    pub number: u32,
    /// Attributes of its trace.
    pub attributes: AttributeSetId,
}

/// Time by site, request and replica set. Requests are in order of start, then trace; observations of a site in
/// order of request and set; sites, sets and categories are sorted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteTable {
    /// Distinct sites.
    pub sites: Vec<Site>,
    /// Distinct sets of replicas: one replica, or those of caller and callee at a link, or those of a chain, sorted.
    pub sets: Vec<Vec<ReplicaId>>,
    /// Distinct shapes of call trees.
    pub categories: Vec<Fingerprint>,
    /// Requests.
    pub requests: Vec<SiteRequest>,
    /// Observations by site: as long as `sites`.
    pub rows: Vec<Vec<Observation>>,
    /// Which replicas ran which operation; of requests selected by [`SiteTable::only`], those of the replicas that have
    /// observations among them.
    pub homes: BTreeSet<(OperationId, ReplicaId)>,
}

impl SiteTable {
    /// The replicas that ran an operation, ascending.
    pub fn homes_of(&self, operation: OperationId) -> impl Iterator<Item = ReplicaId> + '_ {
        let all =
            (operation, ReplicaId::from_index(0))..=(operation, ReplicaId::from_index(u32::MAX as usize));
        self.homes.range(all).map(|&(_, replica)| replica)
    }

    /// The observations of every site that has any, in the order of `sites`.
    pub fn by_site(&self) -> impl Iterator<Item = (Site, &[Observation])> {
        let all = self.sites.iter().zip(&self.rows);
        all.filter(|(_, rows)| !rows.is_empty()).map(|(&site, rows)| (site, rows.as_slice()))
    }

    /// The observations of one site; empty for an unknown site.
    pub fn rows_of(&self, site: Site) -> &[Observation] {
        self.sites.binary_search(&site).map_or(&[], |index| &self.rows[index])
    }

    /// Sum of all latencies, each weighted, nanoseconds.
    pub fn latency_total_ns(&self) -> f64 {
        self.requests.iter().map(|request| request.latency_ns * f64::from(request.weight)).sum()
    }

    /// Whether of several replicas each ran an operation only after the one before: as far as a release lets an old and a new one run
    /// together, a tenth of the shorter time may be of both.
    pub fn ran_in_succession(&self, operation: OperationId, replicas: &[ReplicaId]) -> bool {
        let mut ran: BTreeMap<ReplicaId, (u32, u32)> = BTreeMap::new();
        let sites = self.by_site().filter(|(site, _)| site.operation() == operation);
        for row in sites.flat_map(|(_, rows)| rows) {
            for &replica in self.sets[row.set as usize].iter().filter(|replica| replicas.contains(replica)) {
                let (first, last) = ran.entry(replica).or_insert((row.request, row.request));
                (*first, *last) = ((*first).min(row.request), (*last).max(row.request));
            }
        }
        let start = |request: u32| self.requests[request as usize].start;
        let mut ran: Vec<(Timestamp, Timestamp)> =
            ran.into_values().map(|(first, last)| (start(first), start(last))).collect();
        ran.sort_unstable();
        let follows = |pair: &[(Timestamp, Timestamp)]| {
            let length = |(first, last): (Timestamp, Timestamp)| last.since(first).ns();
            let shorter = length(pair[0]).min(length(pair[1]));
            pair[0].1.since(pair[1].0).ns() <= shorter / 10
        };
        replicas.len() > 1 && ran.len() == replicas.len() && ran.windows(2).all(follows)
    }

    /// The requests that `keep` accepts, with their observations and the replicas that have any.
    pub fn only(&self, keep: impl Fn(&SiteRequest) -> bool) -> SiteTable {
        let mut index = vec![None; self.requests.len()];
        let mut requests = Vec::new();
        for (old, request) in self.requests.iter().enumerate().filter(|(_, request)| keep(request)) {
            index[old] = Some(requests.len() as u32);
            requests.push(*request);
        }
        let renumbered =
            |row: &Observation| Some(Observation { request: index[row.request as usize]?, ..*row });
        let rows: Vec<Vec<Observation>> = (self.rows.iter())
            .map(|rows| {
                let mut selected: Vec<Observation> = rows.iter().filter_map(renumbered).collect();
                // Grown by doubling, up to half of it is unused.
                selected.shrink_to_fit();
                selected
            })
            .collect();
        let mut is_used = vec![false; self.sets.len()];
        rows.iter().flatten().for_each(|row| is_used[row.set as usize] = true);
        let used = self.sets.iter().zip(is_used).filter(|(_, is_used)| *is_used);
        let replicas: BTreeSet<ReplicaId> = used.flat_map(|(set, _)| set).copied().collect();
        SiteTable {
            sites: self.sites.clone(),
            sets: self.sets.clone(),
            categories: self.categories.clone(),
            requests,
            rows,
            homes: self.homes.iter().filter(|(_, replica)| replicas.contains(replica)).copied().collect(),
        }
    }
}
