//! Where time is spent, over all requests: the input of the combined method.

use laggard_model::{Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

/// A place in the code or between two places where requests spend time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Site {
    /// The operation's own work: its self time.
    Operation(OperationId),
    /// Between a caller's span and the span of the only callee, on another replica: network, queueing before
    /// the callee's span starts, and the caller's own work around the call.
    Link {
        /// The calling operation.
        caller: OperationId,
        /// The called one.
        callee: OperationId,
    },
    /// An operation that calls itself on other replicas, such as a replication pipeline: its calls hold each
    /// other up, so the inclusive time of the outermost is observed, with all replicas that took part.
    Chain(OperationId),
}

impl Site {
    /// The operation that the time is charged to: of a link the callee.
    pub fn operation(self) -> OperationId {
        match self {
            Site::Operation(operation) | Site::Chain(operation) => operation,
            Site::Link { callee, .. } => callee,
        }
    }
}

/// What one request spent at one site on one set of replicas.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// Index into [`SiteTable::sites`].
    pub site: u32,
    /// Index into [`SiteTable::requests`].
    pub request: u32,
    /// Index into [`SiteTable::sets`].
    pub set: u32,
    /// Calls, at least 1.
    pub calls: u32,
    /// Their time, nanoseconds.
    pub time_ns: f32,
    /// The part of it on the request's critical path, nanoseconds.
    pub path_ns: f32,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SiteRequest {
    /// Start, on the entry's clock.
    pub start: Timestamp,
    /// Its trace.
    pub trace: TraceId,
    /// Inclusive time of the entry, nanoseconds.
    pub latency_ns: f64,
    /// Index into [`SiteTable::categories`].
    pub category: u32,
    /// How many requests it stands for.
    pub weight: f32,
}

/// Time by site, request and replica set. Requests are in order of start, then trace; observations in order of
/// site, request and set; sites, sets and categories are sorted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteTable {
    /// Distinct sites.
    pub sites: Vec<Site>,
    /// Distinct sets of replicas, each sorted: one replica, or two at a link, or those of a chain.
    pub sets: Vec<Vec<ReplicaId>>,
    /// Distinct shapes of call trees.
    pub categories: Vec<Fingerprint>,
    /// Requests.
    pub requests: Vec<SiteRequest>,
    /// Observations.
    pub observations: Vec<Observation>,
    /// Which replicas ran which operation.
    pub homes: BTreeSet<(OperationId, ReplicaId)>,
}

impl SiteTable {
    /// The replicas that ran an operation, growing.
    pub fn homes_of(&self, operation: OperationId) -> impl Iterator<Item = ReplicaId> + '_ {
        let all =
            (operation, ReplicaId::from_index(0))..=(operation, ReplicaId::from_index(u32::MAX as usize));
        self.homes.range(all).map(|&(_, replica)| replica)
    }

    /// The observations of every site, in the order of `sites`.
    pub fn by_site(&self) -> impl Iterator<Item = (Site, &[Observation])> {
        self.observations
            .chunk_by(|a, b| a.site == b.site)
            .map(|rows| (self.sites[rows[0].site as usize], rows))
    }

    /// Sum of all latencies, each weighted, nanoseconds.
    pub fn latency_total_ns(&self) -> f64 {
        self.requests.iter().map(|request| request.latency_ns * f64::from(request.weight)).sum()
    }

    /// The requests for which `keep` says so, with their observations.
    pub fn only(&self, keep: impl Fn(&SiteRequest) -> bool) -> SiteTable {
        let mut place = vec![None; self.requests.len()];
        let mut requests = Vec::new();
        for (at, request) in self.requests.iter().enumerate().filter(|(_, request)| keep(request)) {
            place[at] = Some(requests.len() as u32);
            requests.push(*request);
        }
        let rows = self.observations.iter();
        let observations = rows
            .filter_map(|row| Some(Observation { request: place[row.request as usize]?, ..*row }))
            .collect();
        SiteTable {
            sites: self.sites.clone(),
            sets: self.sets.clone(),
            categories: self.categories.clone(),
            requests,
            observations,
            homes: self.homes.clone(),
        }
    }
}

/// Collects observations in any order and puts them into the order of a [`SiteTable`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteTableBuilder {
    sites: HashMap<Site, u32>,
    sets: HashMap<Vec<ReplicaId>, u32>,
    categories: HashMap<Fingerprint, u32>,
    requests: Vec<SiteRequest>,
    observations: Vec<Observation>,
    homes: HashSet<(OperationId, ReplicaId)>,
}

/// Time that one request spent at a site, before it is filed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spent<'a> {
    /// The site.
    pub site: Site,
    /// The replicas that took part, sorted and distinct.
    pub replicas: &'a [ReplicaId],
    /// Time, nanoseconds.
    pub time_ns: f64,
    /// The part of it on the critical path, nanoseconds.
    pub path_ns: f64,
}

impl SiteTableBuilder {
    /// Starts the next request; what is spent from now on is its.
    pub fn request(&mut self, category: Fingerprint, mut request: SiteRequest) {
        request.category = intern(&mut self.categories, category);
        self.merge_calls();
        self.requests.push(request);
    }

    /// Notes that an operation ran on a replica.
    pub fn home(&mut self, operation: OperationId, replica: ReplicaId) {
        self.homes.insert((operation, replica));
    }

    /// Adds time of the current request.
    ///
    /// # Panics
    /// When no request was started.
    pub fn spend(&mut self, spent: Spent<'_>) {
        let request = self.requests.len().checked_sub(1).expect("a request was started") as u32;
        let set = match self.sets.get(spent.replicas) {
            Some(&set) => set,
            None => intern(&mut self.sets, spent.replicas.to_vec()),
        };
        self.observations.push(Observation {
            site: intern(&mut self.sites, spent.site),
            request,
            set,
            calls: 1,
            time_ns: spent.time_ns as f32,
            path_ns: spent.path_ns as f32,
        });
    }

    /// Calls of the last request at one site on one set become one observation.
    fn merge_calls(&mut self) {
        let Some(last) = self.requests.len().checked_sub(1) else { return };
        let from = self.observations.partition_point(|row| (row.request as usize) < last);
        self.observations[from..].sort_unstable_by_key(|row| (row.site, row.set, row.time_ns.to_bits()));
        let mut kept = from;
        for at in from..self.observations.len() {
            let row = self.observations[at];
            let before = &mut self.observations[kept.max(from + 1) - 1];
            if at > from && (before.site, before.set) == (row.site, row.set) {
                before.calls += row.calls;
                before.time_ns += row.time_ns;
                before.path_ns += row.path_ns;
            } else {
                self.observations[kept] = row;
                kept += 1;
            }
        }
        self.observations.truncate(kept);
    }

    /// Adds what another builder collected.
    pub fn merge(&mut self, mut other: SiteTableBuilder) {
        self.merge_calls();
        other.merge_calls();
        let sites = other.sites.into_iter().map(|(site, at)| (at, intern(&mut self.sites, site))).collect();
        let sets = other.sets.into_iter().map(|(set, at)| (at, intern(&mut self.sets, set))).collect();
        let categories =
            other.categories.into_iter().map(|(id, at)| (at, intern(&mut self.categories, id))).collect();
        let (sites, sets, categories) = (lookup(sites), lookup(sets), lookup(categories));
        self.homes.extend(other.homes);
        let before = self.requests.len() as u32;
        let requests = other.requests.into_iter();
        self.requests.extend(
            requests
                .map(|request| SiteRequest { category: categories[request.category as usize], ..request }),
        );
        self.observations.extend(other.observations.into_iter().map(|row| Observation {
            site: sites[row.site as usize],
            request: row.request + before,
            set: sets[row.set as usize],
            ..row
        }));
    }

    /// The table.
    pub fn finish(mut self) -> SiteTable {
        self.merge_calls();
        let (sites, site_rank) = ranked(self.sites);
        let (sets, set_rank) = ranked(self.sets);
        let (categories, category_rank) = ranked(self.categories);
        for request in &mut self.requests {
            request.category = category_rank[request.category as usize];
        }
        let mut order: Vec<u32> = (0..self.requests.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| {
            let (x, y) = (&self.requests[a as usize], &self.requests[b as usize]);
            (x.start, x.trace, x.category)
                .cmp(&(y.start, y.trace, y.category))
                .then(x.latency_ns.total_cmp(&y.latency_ns))
                .then(a.cmp(&b))
        });
        let mut request_rank = vec![0; order.len()];
        for (rank, &at) in order.iter().enumerate() {
            request_rank[at as usize] = rank as u32;
        }
        for row in &mut self.observations {
            row.site = site_rank[row.site as usize];
            row.set = set_rank[row.set as usize];
            row.request = request_rank[row.request as usize];
        }
        self.observations.sort_unstable_by_key(|row| (row.site, row.request, row.set));
        let requests = order.iter().map(|&at| self.requests[at as usize]).collect();
        let homes = self.homes.into_iter().collect();
        SiteTable { sites, sets, categories, requests, observations: self.observations, homes }
    }
}

fn intern<K: Eq + Hash>(known: &mut HashMap<K, u32>, key: K) -> u32 {
    let next = known.len() as u32;
    *known.entry(key).or_insert(next)
}

/// `(old, new)` pairs as a list by old.
fn lookup(mut pairs: Vec<(u32, u32)>) -> Vec<u32> {
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, new)| new).collect()
}

/// Keys in their own order, and the rank of each by its number.
fn ranked<K: Ord>(known: HashMap<K, u32>) -> (Vec<K>, Vec<u32>) {
    let mut ranks = vec![0; known.len()];
    let mut pairs: Vec<(K, u32)> = known.into_iter().collect();
    pairs.sort_unstable();
    let mut keys = Vec::with_capacity(pairs.len());
    for (rank, (key, at)) in pairs.into_iter().enumerate() {
        ranks[at as usize] = rank as u32;
        keys.push(key);
    }
    (keys, ranks)
}
