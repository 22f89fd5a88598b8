//! Builds the parts of a [`SiteTable`] from the times of each request.

use crate::sites::sets::{Fast, ReplicaSets};
use crate::sites::table::{Observation, Site, SiteRequest, SiteTable};
use crate::sites::table_parts::join;
use laggard_model::{Fingerprint, OperationId, ReplicaId, SparseVec};
use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Collects observations in any order and puts them into the order of a [`SiteTable`]. Requests ordered by
/// start, then trace, are cheapest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteTableBuilder {
    part: SiteTablePart,
    /// Numbers of those that are not in the common ones.
    site_numbers: HashMap<Site, u32, Fast>,
    category_numbers: HashMap<Fingerprint, u32>,
    /// Observations of the last request.
    current: Vec<SiteObservation>,
    /// A cache of known homes.
    known_homes: KnownHomes,
    /// Parts of other builders: joined only at the end, so that nothing is copied twice.
    later: Vec<SiteTablePart>,
}

/// Sites and categories by number, in common for the builders of one table: there may be many builders, and many numbers of which
/// each uses few.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SiteNumbers {
    sites: Vec<Site>,
    categories: Vec<Fingerprint>,
    site_numbers: HashMap<Site, u32, Fast>,
    category_numbers: HashMap<Fingerprint, u32>,
}

impl SiteNumbers {
    /// The numbers are indices of these. All are distinct.
    pub fn new(sites: Vec<Site>, categories: Vec<Fingerprint>) -> SiteNumbers {
        SiteNumbers {
            site_numbers: sites.iter().copied().zip(0..).collect(),
            category_numbers: categories.iter().copied().zip(0..).collect(),
            sites,
            categories,
        }
    }

    /// The site of a number.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn site(&self, number: u32) -> Site {
        self.sites[number as usize]
    }
}

/// The observations of one builder, in its own numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct SiteTablePart {
    pub(crate) sets: ReplicaSets,
    pub(crate) requests: Vec<SiteRequest>,
    /// Observations by number of the site.
    pub(crate) rows: SparseVec<Blocks>,
    pub(crate) homes: HashSet<(OperationId, ReplicaId), Fast>,
    common: Arc<SiteNumbers>,
    /// Those that are not in the common numbers; theirs follow.
    more_sites: Vec<Site>,
    more_categories: Vec<Fingerprint>,
}

impl SiteTablePart {
    /// The site of a number.
    pub(crate) fn site(&self, number: u32) -> Site {
        let common = &self.common.sites;
        common
            .get(number as usize)
            .copied()
            .unwrap_or_else(|| self.more_sites[number as usize - common.len()])
    }

    /// The category of each number.
    pub(crate) fn categories(&self) -> impl ExactSizeIterator<Item = Fingerprint> {
        let common = &self.common.categories;
        let category = |number: usize| match common.get(number) {
            Some(category) => *category,
            None => self.more_categories[number - common.len()],
        };
        (0..common.len() + self.more_categories.len()).map(category)
    }
}

/// Observations in blocks: one list would be copied again and again as it grows, and have room for twice as many.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Blocks {
    full: Vec<Vec<Observation>>,
    last: Vec<Observation>,
}

/// Observations of a block: 10 kB.
const BLOCK: usize = 512;

impl Blocks {
    fn push(&mut self, row: Observation) {
        if self.last.len() == BLOCK {
            self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(BLOCK)));
        }
        self.last.push(row);
    }

    pub(crate) fn len(&self) -> usize {
        self.full.len() * BLOCK + self.last.len()
    }

    /// In the order in which they were added. Each block is dropped when it is done.
    pub(crate) fn into_blocks(self) -> impl Iterator<Item = Vec<Observation>> {
        self.full.into_iter().chain([self.last])
    }
}

/// Time that one request spent at a site.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spent<'a> {
    /// The site.
    pub site: Site,
    /// The replicas that took part, distinct: of a link the caller's, then the callee's; of a chain in ascending order.
    pub replicas: &'a [ReplicaId],
    /// Time, nanoseconds.
    pub time_ns: f64,
    /// The part of the time on the critical path, nanoseconds.
    pub path_ns: f64,
}

/// [`Spent`] with numbers for site and replicas.
#[derive(Clone, Copy, PartialEq, Debug)]
struct SiteObservation {
    site: u32,
    set: u32,
    calls: u32,
    time_ns: f32,
    path_ns: f32,
}

impl SiteTableBuilder {
    /// A builder with common numbers of sites and categories.
    pub fn with_numbers(common: Arc<SiteNumbers>) -> SiteTableBuilder {
        SiteTableBuilder {
            part: SiteTablePart { common, ..SiteTablePart::default() },
            ..SiteTableBuilder::default()
        }
    }

    /// Starts the next request; subsequent times belong to it.
    pub fn request(&mut self, category: Fingerprint, request: SiteRequest) {
        let common = &self.part.common;
        let number = common.category_numbers.get(&category).copied().unwrap_or_else(|| {
            let next = (common.categories.len() + self.part.more_categories.len()) as u32;
            *self.category_numbers.entry(category).or_insert_with(|| {
                self.part.more_categories.push(category);
                next
            })
        });
        self.request_at(SiteRequest { category: number, ..request });
    }

    /// Like [`SiteTableBuilder::request`], where the request holds the number of its category: see
    /// [`SiteTableBuilder::with_numbers`].
    pub fn request_at(&mut self, request: SiteRequest) {
        self.file_current();
        self.part.requests.push(request);
    }

    /// Records that an operation ran on a replica.
    pub fn home(&mut self, operation: OperationId, replica: ReplicaId) {
        if !self.known_homes.meet(operation, replica) {
            self.part.homes.insert((operation, replica));
        }
    }

    /// Adds time of the current request.
    ///
    /// # Panics
    /// When no request was started.
    pub fn spend(&mut self, spent: Spent<'_>) {
        let site = self.site(spent.site);
        self.spend_at(site, spent);
    }

    /// Like [`SiteTableBuilder::spend`], at a site whose number is known: see [`SiteTableBuilder::with_numbers`].
    ///
    /// # Panics
    /// When no request was started.
    pub fn spend_at(&mut self, site: u32, spent: Spent<'_>) {
        assert!(!self.part.requests.is_empty(), "a request was started");
        let set = self.part.sets.number(spent.replicas);
        let (time_ns, path_ns) = (spent.time_ns as f32, spent.path_ns as f32);
        self.current.push(SiteObservation { site, set, calls: 1, time_ns, path_ns });
    }

    fn site(&mut self, site: Site) -> u32 {
        let common = &self.part.common;
        common.site_numbers.get(&site).copied().unwrap_or_else(|| {
            let next = (common.sites.len() + self.part.more_sites.len()) as u32;
            *self.site_numbers.entry(site).or_insert_with(|| {
                self.part.more_sites.push(site);
                next
            })
        })
    }

    /// Merges calls of the last request at one site on one set into one observation.
    fn file_current(&mut self) {
        let Some(request) = self.part.requests.len().checked_sub(1) else { return };
        let request = request as u32;
        // Ascending times, so that sums do not depend on the order of the calls.
        let order = |observation: &SiteObservation| {
            (observation.site, observation.set, observation.time_ns.to_bits(), observation.path_ns.to_bits())
        };
        self.current.sort_unstable_by_key(order);
        for group in self.current.chunk_by(|a, b| (a.site, a.set) == (b.site, b.set)) {
            let SiteObservation { site, set, .. } = group[0];
            let mut row = Observation { request, set, calls: 0, time_ns: 0.0, path_ns: 0.0 };
            for call in group {
                row.calls += call.calls;
                row.time_ns += call.time_ns;
                row.path_ns += call.path_ns;
            }
            self.part.rows.entry(site).push(row);
        }
        self.current.clear();
    }

    /// Adds what another builder collected.
    pub fn merge(&mut self, mut other: SiteTableBuilder) {
        other.file_current();
        self.later.push(other.part);
        self.later.append(&mut other.later);
    }

    /// The table; independent of the number of threads.
    ///
    /// # Panics
    /// With 2³² requests or more.
    pub fn finish(mut self, threads: NonZeroUsize) -> SiteTable {
        self.file_current();
        self.later.insert(0, self.part);
        self.later.retain(|part| !part.requests.is_empty() || !part.homes.is_empty());
        join(self.later, threads)
    }
}

/// A cache of recent homes: nearly every call has one of few, and a lookup here is cheaper than in a set of all.
#[derive(Clone, PartialEq, Debug)]
struct KnownHomes(Vec<Option<(OperationId, ReplicaId)>>);

/// Size of the cache, a power of two.
const KNOWN_HOMES: usize = 4096;

impl Default for KnownHomes {
    fn default() -> KnownHomes {
        KnownHomes(vec![None; KNOWN_HOMES])
    }
}

impl KnownHomes {
    /// Adds a home; returns whether it was in the cache.
    fn meet(&mut self, operation: OperationId, replica: ReplicaId) -> bool {
        let slot = (operation.index() * 61 + replica.index()) % KNOWN_HOMES;
        self.0[slot].replace((operation, replica)) == Some((operation, replica))
    }
}
