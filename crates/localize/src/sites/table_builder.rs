//! From what each request spent to a [`SiteTable`].

use crate::sites::sets::{Fast, ReplicaSets};
use crate::sites::table::{Observation, Site, SiteRequest, SiteTable};
use laggard_model::{Fingerprint, OperationId, ReplicaId};
use std::collections::{HashMap, HashSet};

/// Collects observations in any order and puts them into the order of a [`SiteTable`]. Requests that come by
/// start, then trace, cost least.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteTableBuilder {
    sites: Vec<Site>,
    site_numbers: HashMap<Site, u32, Fast>,
    sets: ReplicaSets,
    categories: HashMap<Fingerprint, u32>,
    /// The category of the last request, which the next one often shares.
    last_category: Option<(Fingerprint, u32)>,
    requests: Vec<SiteRequest>,
    /// What the last request spent.
    current: Vec<Piece>,
    /// What earlier requests spent, by number of the site.
    rows: Vec<Vec<Observation>>,
    homes: HashSet<(OperationId, ReplicaId), Fast>,
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

/// The same with a number for the site and one for the replicas.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Piece {
    site: u32,
    set: u32,
    calls: u32,
    time_ns: f32,
    path_ns: f32,
}

impl SiteTableBuilder {
    /// A builder in which sites have numbers already: their places here.
    pub fn with_sites(sites: &[Site]) -> SiteTableBuilder {
        SiteTableBuilder {
            sites: sites.to_vec(),
            site_numbers: sites.iter().copied().zip(0..).collect(),
            rows: vec![Vec::new(); sites.len()],
            ..SiteTableBuilder::default()
        }
    }

    /// Starts the next request; what is spent from now on is its.
    pub fn request(&mut self, category: Fingerprint, mut request: SiteRequest) {
        self.file_current();
        request.category = self.category(category);
        self.requests.push(request);
    }

    fn category(&mut self, id: Fingerprint) -> u32 {
        if let Some((last, number)) = self.last_category
            && last == id
        {
            return number;
        }
        let next = self.categories.len() as u32;
        let number = *self.categories.entry(id).or_insert(next);
        self.last_category = Some((id, number));
        number
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
        let site = self.site(spent.site);
        self.spend_at(site, spent);
    }

    /// The same at a site whose number is known: see [`SiteTableBuilder::with_sites`].
    ///
    /// # Panics
    /// When no request was started.
    pub fn spend_at(&mut self, site: u32, spent: Spent<'_>) {
        assert!(!self.requests.is_empty(), "a request was started");
        let set = self.sets.number(spent.replicas);
        let (time_ns, path_ns) = (spent.time_ns as f32, spent.path_ns as f32);
        self.current.push(Piece { site, set, calls: 1, time_ns, path_ns });
    }

    fn site(&mut self, site: Site) -> u32 {
        let next = self.sites.len() as u32;
        let number = *self.site_numbers.entry(site).or_insert(next);
        if number == next {
            self.sites.push(site);
            self.rows.push(Vec::new());
        }
        number
    }

    /// Calls of the last request at one site on one set become one observation.
    fn file_current(&mut self) {
        let Some(request) = self.requests.len().checked_sub(1) else { return };
        let request = request as u32;
        // Growing times, so that sums do not depend on the order of the calls.
        let order = |piece: &Piece| (piece.site, piece.set, piece.time_ns.to_bits(), piece.path_ns.to_bits());
        self.current.sort_unstable_by_key(order);
        for pieces in self.current.chunk_by(|a, b| (a.site, a.set) == (b.site, b.set)) {
            let Piece { site, set, .. } = pieces[0];
            let mut row = Observation { request, set, calls: 0, time_ns: 0.0, path_ns: 0.0 };
            for piece in pieces {
                row.calls += piece.calls;
                row.time_ns += piece.time_ns;
                row.path_ns += piece.path_ns;
            }
            self.rows[site as usize].push(row);
        }
        self.current.clear();
    }

    /// Adds what another builder collected.
    pub fn merge(&mut self, mut other: SiteTableBuilder) {
        self.file_current();
        other.file_current();
        let sites: Vec<u32> = other.sites.iter().map(|&site| self.site(site)).collect();
        let sets: Vec<u32> = other.sets.sets().iter().map(|set| self.sets.number(set)).collect();
        let mut categories = vec![0; other.categories.len()];
        let mut order: Vec<(u32, Fingerprint)> =
            other.categories.into_iter().map(|(id, number)| (number, id)).collect();
        order.sort_unstable();
        for (number, id) in order {
            categories[number as usize] = self.category(id);
        }
        self.homes.extend(other.homes);
        let before = u32::try_from(self.requests.len()).expect("fewer than 2^32 requests");
        let requests = other.requests.into_iter();
        self.requests.extend(
            requests
                .map(|request| SiteRequest { category: categories[request.category as usize], ..request }),
        );
        for (site, rows) in sites.into_iter().zip(other.rows) {
            let moved = rows.into_iter().map(|row| Observation {
                request: row.request + before,
                set: sets[row.set as usize],
                ..row
            });
            self.rows[site as usize].extend(moved);
        }
    }

    /// The table.
    pub fn finish(mut self) -> SiteTable {
        self.file_current();
        let (sets, set_rank) = self.sets.ranked();
        let (categories, category_rank) = ranked(self.categories);
        for request in &mut self.requests {
            request.category = category_rank[request.category as usize];
        }
        let (requests, request_rank) = ordered(self.requests);
        let mut by_site: Vec<(Site, Vec<Observation>)> =
            self.sites.into_iter().zip(self.rows).filter(|(_, rows)| !rows.is_empty()).collect();
        by_site.sort_unstable_by_key(|&(site, _)| site);
        for (_, rows) in &mut by_site {
            for row in rows.iter_mut() {
                row.set = set_rank[row.set as usize];
                if let Some(rank) = &request_rank {
                    row.request = rank[row.request as usize];
                }
            }
            let order = |row: &Observation| (row.request, row.set);
            if !rows.is_sorted_by_key(order) {
                rows.sort_by_key(order);
            }
            rows.shrink_to_fit();
        }
        let (sites, rows) = by_site.into_iter().unzip();
        SiteTable { sites, sets, categories, requests, rows, homes: self.homes.into_iter().collect() }
    }
}

/// Requests by start, trace, category and latency; and the rank of each, if that is not its place.
fn ordered(requests: Vec<SiteRequest>) -> (Vec<SiteRequest>, Option<Vec<u32>>) {
    let compare = |x: &SiteRequest, y: &SiteRequest| {
        (x.start, x.trace, x.category)
            .cmp(&(y.start, y.trace, y.category))
            .then(x.latency_ns.total_cmp(&y.latency_ns))
    };
    if requests.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return (requests, None);
    }
    let mut order: Vec<u32> = (0..requests.len() as u32).collect();
    order.sort_by(|&a, &b| compare(&requests[a as usize], &requests[b as usize]));
    let mut rank = vec![0; order.len()];
    for (place, &at) in order.iter().enumerate() {
        rank[at as usize] = place as u32;
    }
    (order.iter().map(|&at| requests[at as usize]).collect(), Some(rank))
}

/// Ids in their own order, and the rank of each by its number.
fn ranked(known: HashMap<Fingerprint, u32>) -> (Vec<Fingerprint>, Vec<u32>) {
    let mut ranks = vec![0; known.len()];
    let mut pairs: Vec<(Fingerprint, u32)> = known.into_iter().collect();
    pairs.sort_unstable();
    for (rank, &(_, number)) in pairs.iter().enumerate() {
        ranks[number as usize] = rank as u32;
    }
    (pairs.into_iter().map(|(id, _)| id).collect(), ranks)
}
