//! Joins the parts of a [`SiteTable`].
//!
//! ```text
//!            names of all, ranked        by site, in parallel
//!  part 0 ─┐                          ┌─ site a: rows of part 0, 1, … in the numbers of all ─┐
//!  part 1 ─┼─ sites, sets, categories ┼─ site b: …                                          ─┼─► SiteTable
//!  part 2 ─┘                          └─ site c: …                                          ─┘
//! ```

use crate::sites::sets::ReplicaSets;
use crate::sites::table::{Observation, Site, SiteRequest, SiteTable};
use crate::sites::table_builder::{Blocks, SiteTablePart};
use laggard_model::{Fingerprint, ReplicaId};
use laggard_parallel::parallel_map_owned;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// The table of all parts. Observations are most of it, and would be in memory twice: those of a site in the parts are dropped as
/// soon as they are joined.
pub(crate) fn join(mut parts: Vec<SiteTablePart>, threads: NonZeroUsize) -> SiteTable {
    let (sets, set_numbers) = join_sets(&parts);
    let (categories, category_numbers) = join_categories(&parts);
    let homes: BTreeSet<_> = parts.iter().flat_map(|part| &part.homes).copied().collect();
    let (requests, order) = join_requests(&parts, &category_numbers);
    let mut rows: BTreeMap<Site, Vec<PartRows<'_>>> = BTreeMap::new();
    let mut first_request = 0;
    for (part, sets) in parts.iter_mut().zip(&set_numbers) {
        for (number, part_rows) in std::mem::take(&mut part.rows) {
            rows.entry(part.site(number)).or_default().push(PartRows {
                rows: part_rows,
                first_request,
                sets,
            });
        }
        first_request += part.requests.len() as u32;
    }
    drop(parts);
    let (sites, parts_of_sites): (Vec<Site>, Vec<Vec<PartRows<'_>>>) = rows.into_iter().unzip();
    let rows = parallel_map_owned(parts_of_sites, threads, |parts_of_site| {
        join_rows(parts_of_site, order.as_deref())
    });
    SiteTable { sites, sets, categories, requests, rows, homes }
}

/// Observations of one site in one part.
struct PartRows<'a> {
    rows: Blocks,
    /// Requests of all earlier parts.
    first_request: u32,
    /// New number of each of the part's sets.
    sets: &'a [u32],
}

fn join_rows(parts: Vec<PartRows<'_>>, order: Option<&[u32]>) -> Vec<Observation> {
    let mut joined = Vec::with_capacity(parts.iter().map(|part| part.rows.len()).sum());
    for part in parts {
        let renumbered = |row: &Observation| {
            let request = row.request + part.first_request;
            let request = order.map_or(request, |order| order[request as usize]);
            Observation { request, set: part.sets[row.set as usize], ..*row }
        };
        part.rows.into_blocks().for_each(|block| joined.extend(block.iter().map(renumbered)));
    }
    let key = |row: &Observation| (row.request, row.set);
    if !joined.is_sorted_by_key(key) {
        joined.sort_by_key(key);
    }
    joined
}

/// All sets in ascending order, and the new number of each part's sets.
fn join_sets(parts: &[SiteTablePart]) -> (Vec<Vec<ReplicaId>>, Vec<Vec<u32>>) {
    let mut all = ReplicaSets::default();
    let numbers: Vec<Vec<u32>> =
        (parts.iter()).map(|part| part.sets.sets().iter().map(|set| all.number(set)).collect()).collect();
    let (sets, ranks) = all.ranked();
    let ranked = |numbers: Vec<u32>| numbers.into_iter().map(|number| ranks[number as usize]).collect();
    (sets, numbers.into_iter().map(ranked).collect())
}

/// Categories of all requests in ascending order, and the new number of each part's categories.
fn join_categories(parts: &[SiteTablePart]) -> (Vec<Fingerprint>, Vec<Vec<u32>>) {
    let mut all: BTreeMap<Fingerprint, u32> = BTreeMap::new();
    for part in parts {
        let mut met = vec![false; part.categories().len()];
        part.requests.iter().for_each(|request| met[request.category as usize] = true);
        let ids = part.categories().zip(&met).filter(|(_, met)| **met);
        all.extend(ids.map(|(id, _)| (id, 0)));
    }
    all.values_mut().zip(0..).for_each(|(number, rank)| *number = rank);
    // Categories without a request are never looked up.
    let number_of = |id: Fingerprint| all.get(&id).copied().unwrap_or(u32::MAX);
    let numbers = parts.iter().map(|part| part.categories().map(number_of).collect()).collect();
    (all.keys().copied().collect(), numbers)
}

/// Requests of all parts by start, trace, category and latency; and the new index of each, if the order differs from
/// that of the parts.
fn join_requests(
    parts: &[SiteTablePart],
    category_numbers: &[Vec<u32>],
) -> (Vec<SiteRequest>, Option<Vec<u32>>) {
    let all: usize = parts.iter().map(|part| part.requests.len()).sum();
    u32::try_from(all).expect("fewer than 2^32 requests");
    let mut requests = Vec::with_capacity(all);
    for (part, numbers) in parts.iter().zip(category_numbers) {
        requests.extend(
            (part.requests.iter())
                .map(|request| SiteRequest { category: numbers[request.category as usize], ..*request }),
        );
    }
    ordered(requests)
}

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
    for (index, &old) in order.iter().enumerate() {
        rank[old as usize] = index as u32;
    }
    (order.iter().map(|&at| requests[at as usize]).collect(), Some(rank))
}
