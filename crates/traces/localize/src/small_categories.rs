//! CloudDiag over all categories: those with too few requests are judged together with similar ones.
//!
//! A category with fewer than `requests_min` requests joins the most similar one of the same entry operation (Mi et al.
//! 2012, Algorithm 1). Its call trees differ, so whole latencies do not compare: only calls that both trees make do.
//!
//! ```text
//! large    get ─ find ─ read          200 requests       latency
//! small    get ─ find ─ log ─ read      3 requests       usual latency of the large one + what its own calls of get,
//!               │        ✗    │                          find, and read take beyond the usual; log is left out
//! ```
//!
//! The same call may take longer in one kind of request than in another. A category's own level, the median of its calls over
//! the usual one, is therefore removed, shrunk by `n / (n + 1)` for `n` requests: of a single request it says little.

use crate::category::{Call, CategoryCalls, RequestRow};
use crate::cloud_diag::gate::{DispersionGate, gate_weighted};
use crate::cloud_diag::settings::{CloudDiagSettings, Mode, TimeKind};
use crate::cloud_diag::{CategoryFinding, CloudDiag, SuspectOperation, analyze};
use crate::pca_rank::table::{Member, sequence};
use crate::pca_rank::{ALIGNED_CELLS_MAX, ClusterSize, MinorFate, by_entry, major_clusters};
use laggard_model::OperationId;
use laggard_numeric::{Weights, median_of};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// [`cloud_diag`](crate::cloud_diag) over categories of any size. Small categories are judged by the calls that they share with
/// a similar one. Findings and suspects are in the numbers of the input.
pub fn cloud_diag_with_small(
    categories: &[CategoryCalls],
    settings: &CloudDiagSettings,
    threads: NonZeroUsize,
) -> CloudDiag {
    let clusters: Vec<Cluster<'_>> = (clusters_of(categories, settings).into_iter())
        .map(|members| Cluster::new(categories, members))
        .collect();
    let calls: Vec<Cow<'_, CategoryCalls>> =
        clusters.iter().map(|cluster| Cow::Borrowed(cluster.calls.as_ref())).collect();
    let found = analyze(&calls, settings, threads, |_, _| None);
    let mut findings = vec![CategoryFinding::default(); categories.len()];
    for (cluster, finding) in clusters.iter().zip(found.categories) {
        cluster.set_findings(categories, finding, settings, &mut findings);
    }
    let suspects = found.suspects.into_iter().map(|suspect| in_categories(suspect, &clusters)).collect();
    CloudDiag { categories: findings, suspects, excess_ns: found.excess_ns }
}

/// Only what is judged by itself is joined, or the largest category if none is: with the paper's share of the requests, most major
/// clusters of a long tail would be too small as well.
const COVERAGE: f64 = 0.0;

/// Most cells of edit-distance tables per call. Reading and judging a call takes as long as several hundred cells, so a long tail
/// adds a few percent at most.
const CELLS_PER_CALL: u64 = 20;

/// The members of every cluster, the category that the others join first; by that category.
fn clusters_of(categories: &[CategoryCalls], settings: &CloudDiagSettings) -> Vec<Vec<Member>> {
    let enough = settings.requests_min;
    let is_small = |category: &usize| (categories[*category].requests.len() as u64) < enough;
    // Inclusive times contain the calls that are left out.
    let joins = settings.mode == Mode::Robust && settings.time == TimeKind::SelfTime;
    let mut clusters: Vec<Vec<Member>> = Vec::new();
    for service in by_entry(categories) {
        let alone = |&category: &usize| vec![Member::same(category, categories[category].positions.len())];
        if !joins || !service.iter().any(is_small) {
            clusters.extend(service.iter().map(alone));
            continue;
        }
        let sequences: Vec<Vec<OperationId>> =
            service.iter().map(|&category| sequence(&categories[category])).collect();
        let sizes: Vec<ClusterSize<'_, OperationId>> = (service.iter().zip(&sequences))
            .map(|(&category, sequence)| ClusterSize {
                sequence,
                requests: categories[category].requests.len() as u64,
            })
            .collect();
        let calls: usize = service.iter().map(|&category| categories[category].calls.len()).sum();
        let cells_max = calls as u64 * CELLS_PER_CALL;
        let clustered = major_clusters(&sizes, COVERAGE, enough, Mode::Robust, cells_max);
        let mut members: Vec<Vec<Member>> =
            clustered.majors.iter().map(|&major| alone(&service[major])).collect();
        for (minor, fate) in clustered.minors {
            let host = clustered.majors.iter().position(|&major| fate == MinorFate::Joins(major));
            let fits = |host: &usize| {
                let cells = sequences[minor].len().saturating_mul(sequences[clustered.majors[*host]].len());
                cells <= ALIGNED_CELLS_MAX
            };
            match host.filter(fits) {
                Some(host) => {
                    let theirs = &sequences[clustered.majors[host]];
                    members[host].push(Member::aligned(service[minor], &sequences[minor], theirs));
                }
                None => members.push(alone(&service[minor])),
            }
        }
        clusters.extend(members);
    }
    clusters.sort_by_key(|members| members[0].category);
    clusters
}

/// Categories that are judged together.
struct Cluster<'a> {
    members: Vec<Member>,
    /// Category and row of each request.
    rows: Vec<(usize, u32)>,
    calls: Cow<'a, CategoryCalls>,
}

impl<'a> Cluster<'a> {
    fn new(categories: &'a [CategoryCalls], members: Vec<Member>) -> Cluster<'a> {
        let host = &categories[members[0].category];
        if members.len() == 1 {
            let rows = (0..host.requests.len() as u32).map(|row| (members[0].category, row)).collect();
            return Cluster { members, rows, calls: Cow::Borrowed(host) };
        }
        let mut shared: Vec<CategoryCalls> =
            members.iter().map(|member| shared_calls(&categories[member.category], member)).collect();
        level(&mut shared);
        set_latencies(&mut shared);
        let mut order: Vec<(usize, u32)> = (shared.iter().enumerate())
            .flat_map(|(member, calls)| (0..calls.requests.len() as u32).map(move |row| (member, row)))
            .collect();
        order.sort_by_key(|&(member, row)| {
            let request = &shared[member].requests[row as usize];
            (request.start, request.trace, member, row)
        });
        let by_request: Vec<Vec<&[Call]>> = shared.iter().map(calls_by_request).collect();
        let mut joined = empty_like(host);
        for (request, &(member, row)) in (0..).zip(&order) {
            joined.requests.push(shared[member].requests[row as usize]);
            let calls = by_request[member][row as usize].iter();
            joined.calls.extend(calls.map(|&call| Call { request, ..call }));
        }
        let rows = order.into_iter().map(|(member, row)| (members[member].category, row)).collect();
        Cluster { members, rows, calls: Cow::Owned(joined) }
    }

    /// Sets the findings of its categories: each is judged if the cluster is, and anomalous if the cluster is and requests of
    /// its own are in the tail. Figures are of the category's own latencies; those at positions belong to the first category.
    fn set_findings(
        &self,
        categories: &[CategoryCalls],
        found: CategoryFinding,
        settings: &CloudDiagSettings,
        findings: &mut [CategoryFinding],
    ) {
        if self.members.len() > 1 {
            for member in &self.members {
                let category = &categories[member.category];
                let own =
                    gate_weighted(&category.latencies(), Weights::from_slice(&category.weights()), settings);
                let rows = self.rows.iter().zip(&self.calls.requests);
                let in_tail = |(row, request): &(&(usize, u32), &RequestRow)| {
                    row.0 == member.category && request.latency_ns as f64 > found.gate.tail_limit_ns
                };
                let tail_requests = rows.filter(in_tail).count() as u64;
                findings[member.category] = CategoryFinding {
                    gate: DispersionGate {
                        judged: found.gate.judged,
                        anomalous: found.gate.anomalous && tail_requests > 0,
                        tail_requests,
                        ..own
                    },
                    converged: true,
                    ..CategoryFinding::default()
                };
            }
            let gate = findings[self.members[0].category].gate;
            findings[self.members[0].category] = CategoryFinding { gate, ..found };
            return;
        }
        findings[self.members[0].category] = found;
    }
}

fn empty_like(category: &CategoryCalls) -> CategoryCalls {
    CategoryCalls {
        id: category.id,
        positions: category.positions.clone(),
        requests: Vec::new(),
        calls: Vec::new(),
        left_out: category.left_out,
    }
}

/// The calls of a category at positions of the cluster.
fn shared_calls(category: &CategoryCalls, member: &Member) -> CategoryCalls {
    let mut position_of: Vec<Option<u32>> = vec![None; category.positions.len()];
    for (to, from) in (0..).zip(&member.position_at) {
        if let Some(from) = from {
            position_of[*from as usize] = Some(to);
        }
    }
    let shared = |call: &Call| Some(Call { position: position_of[call.position as usize]?, ..*call });
    let mut calls: Vec<Call> = category.calls.iter().filter_map(shared).collect();
    calls.sort_by_key(|call| (call.request, call.position));
    CategoryCalls {
        positions: Vec::new(),
        requests: category.requests.clone(),
        calls,
        ..empty_like(category)
    }
}

/// Times of calls by position of the cluster.
fn times_by_position(category: &CategoryCalls) -> Vec<Vec<f64>> {
    let positions = category.calls.iter().map(|call| call.position as usize + 1).max().unwrap_or(0);
    let mut times = vec![Vec::new(); positions];
    category.calls.iter().for_each(|call| times[call.position as usize].push(call.time_ns as f64));
    times
}

/// Removes the level of every category but the first, at every position.
fn level(shared: &mut [CategoryCalls]) {
    let by_member: Vec<Vec<Vec<f64>>> = shared.iter().map(times_by_position).collect();
    let positions = by_member.iter().map(Vec::len).max().unwrap_or(0);
    let all = |position: usize| by_member.iter().filter_map(move |times| times.get(position)).flatten();
    let usual: Vec<f64> = (0..positions)
        .map(|position| median_of(&all(position).copied().collect::<Vec<f64>>()).max(1.0))
        .collect();
    for (category, times) in shared.iter_mut().zip(&by_member).skip(1) {
        let requests = category.requests.len() as f64;
        let level = |(times, usual): (&Vec<f64>, &f64)| {
            let log = (median_of(times).max(1.0) / usual).ln();
            if times.is_empty() { 1.0 } else { (log * requests / (requests + 1.0)).exp() }
        };
        let levels: Vec<f64> = times.iter().zip(&usual).map(level).collect();
        for call in &mut category.calls {
            call.time_ns = (call.time_ns as f64 / levels[call.position as usize]) as u64;
        }
    }
}

/// Sets the latencies of all but the first category's requests to the first one's median, plus what the requests' calls take
/// beyond the usual.
fn set_latencies(shared: &mut [CategoryCalls]) {
    let latency_ns = median_of(&shared[0].latencies());
    let mut sums: Vec<Vec<f64>> = Vec::new();
    for request in shared.iter().flat_map(calls_by_request) {
        for calls in request.chunk_by(|a, b| a.position == b.position) {
            let position = calls[0].position as usize;
            sums.resize_with(sums.len().max(position + 1), Vec::new);
            sums[position].push(calls.iter().map(|call| call.time_ns as f64).sum());
        }
    }
    let usual: Vec<f64> = sums.iter().map(|sums| median_of(sums)).collect();
    for category in &mut shared[1..] {
        let mut beyond_ns = vec![0.0; category.requests.len()];
        for calls in category.calls.chunk_by(|a, b| (a.request, a.position) == (b.request, b.position)) {
            let time_ns: f64 = calls.iter().map(|call| call.time_ns as f64).sum();
            beyond_ns[calls[0].request as usize] += time_ns - usual[calls[0].position as usize];
        }
        for (request, beyond_ns) in category.requests.iter_mut().zip(beyond_ns) {
            request.latency_ns = (latency_ns + beyond_ns).max(1.0) as u64;
        }
    }
}

/// The calls of each request.
fn calls_by_request(category: &CategoryCalls) -> Vec<&[Call]> {
    let mut by_request: Vec<&[Call]> = vec![&[]; category.requests.len()];
    for calls in category.calls.chunk_by(|a, b| a.request == b.request) {
        by_request[calls[0].request as usize] = calls;
    }
    by_request
}

/// A suspect of clusters in the numbers of categories.
fn in_categories(suspect: SuspectOperation, clusters: &[Cluster<'_>]) -> SuspectOperation {
    let hit: BTreeSet<(usize, u32)> =
        suspect.hit.iter().map(|&(cluster, row)| clusters[cluster].rows[row as usize]).collect();
    let categories: BTreeSet<usize> = hit.iter().map(|&(category, _)| category).collect();
    let position = |&(cluster, position): &(usize, u32)| {
        let hit = clusters[cluster].members.iter().filter(|member| categories.contains(&member.category));
        let own =
            hit.filter_map(move |member| Some((member.category, member.position_at[position as usize]?)));
        own.collect::<Vec<(usize, u32)>>()
    };
    let positions: BTreeSet<(usize, u32)> = suspect.positions.iter().flat_map(position).collect();
    SuspectOperation {
        positions: positions.into_iter().collect(),
        categories: categories.into_iter().collect(),
        hit: hit.into_iter().collect(),
        ..suspect
    }
}
