//! Localization by principal components and rank tests (Mi et al., Sci. China Inf. Sci. 55(12), 2012).
//!
//! ```text
//! categories ─ Algorithm 1 ─► major clusters ─ PCA, Q statistic ─► normal │ anomalous requests
//!            ─ Mann–Whitney ─► positions ─ by operation ─► Jensen–Shannon, replica tests ─► suspects
//! ```

mod clusters;
mod columns;
mod replicas;
mod settings;
mod split;
mod suspects;
pub(crate) mod table;

use clusters::CELLS_MAX;
pub use clusters::{ClusterSize, MajorClusters, MinorFate, cluster_sequences, major_clusters};
pub use columns::ColumnFinding;
pub use replicas::{ReplicaHistogram, ReplicaHistograms};
pub use settings::MiSettings;
pub use split::{Split, SplitDoubt};

use crate::category::CategoryCalls;
use crate::cloud_diag::SuspectOperation;
use crate::cloud_diag::settings::{CloudDiagSettings, Mode};
use laggard_model::OperationId;
use laggard_numeric::median_of;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use table::{CallTable, Member, sequence};

/// The answer over all categories.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mi {
    /// Major clusters, by entry operation, then largest first.
    pub clusters: Vec<ClusterFinding>,
    /// Suspect operations, the most suspicious first. Positions and categories are those of the clusters'
    /// first categories.
    pub suspects: Vec<SuspectOperation>,
    /// Times of the replicas of each suspect, and how much they differ, in the order of the suspects.
    pub histograms: Vec<ReplicaHistograms>,
    /// All clusters before smaller ones join: by entry operation, then largest first. The major ones are in the order of
    /// `clusters`.
    pub call_clusters: Vec<CallCluster>,
    /// Sum over analyzed clusters of every request's latency beyond the cluster's median, nanoseconds.
    pub excess_ns: f64,
    /// Requests that no cluster covers, because none is similar.
    pub uncovered_requests: u64,
    /// Those of `uncovered_requests` that were not compared because there were too many call trees.
    pub uncompared_requests: u64,
}

/// Requests with one sequence of calls (robust mode: one call tree).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallCluster {
    /// Its first category.
    pub category: usize,
    /// Its requests.
    pub requests: u64,
    /// Calls of a request, loops collapsed.
    pub positions: usize,
    /// What became of a minor cluster; `None` for a major one. It joins a cluster of the same entry operation, counted
    /// from the largest.
    pub minor: Option<MinorFate>,
}

/// The result for one major cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct ClusterFinding {
    /// Categories in it; the first one's call tree is the cluster's.
    pub categories: Vec<usize>,
    /// Requests in its matrix.
    pub requests: u64,
    /// Requests left out by regular thinning.
    pub rows_left_out: usize,
    /// Positions left out because the matrix was full.
    pub columns_left_out: usize,
    /// Normal and anomalous requests; the rows are not in the categories' order.
    pub split: Split,
    /// One per position of the call tree; `None` for one without a column.
    pub positions: Vec<Option<ColumnFinding>>,
}

/// Runs the method. As in the paper, requests with different entry operations are different services and
/// are clustered separately.
///
/// Work is split over `threads` by cluster; the answer does not depend on their number.
pub fn mi(
    categories: &[CategoryCalls],
    settings: &MiSettings,
    shared: &CloudDiagSettings,
    threads: NonZeroUsize,
) -> Mi {
    let mut out = Mi::default();
    let members = all_members(categories, settings, shared.mode, &mut out);
    let studies = laggard_parallel::parallel_map(&members, threads, |members| {
        study(categories, members, settings, shared)
    });
    out.excess_ns = studies.iter().filter(|study| study.is_analyzed()).map(Study::excess_ns).sum();
    let evidence = suspects::ClusterEvidence { categories, studies: &studies, shared };
    for suspect in evidence.suspects() {
        out.suspects.push(suspect.operation);
        out.histograms.push(suspect.histograms);
    }
    out.clusters = studies.into_iter().map(Study::finding).collect();
    out
}

/// A cluster with its intermediate results.
pub(crate) struct Study {
    members: Vec<Member>,
    table: CallTable,
    split: Split,
    columns: Vec<ColumnFinding>,
}

impl Study {
    fn is_analyzed(&self) -> bool {
        self.split.doubt != SplitDoubt::TooFewRequests
    }

    fn excess_ns(&self) -> f64 {
        let usual = median_of(&self.table.latencies);
        self.table.latencies.iter().map(|latency| (latency - usual).max(0.0)).sum()
    }

    fn finding(self) -> ClusterFinding {
        let mut positions = vec![None; self.members[0].position_at.len()];
        for (&position, column) in self.table.columns.iter().zip(&self.columns) {
            positions[position as usize] = Some(*column);
        }
        ClusterFinding {
            categories: self.members.iter().map(|member| member.category).collect(),
            requests: self.table.rows.len() as u64,
            rows_left_out: self.table.rows_left_out,
            columns_left_out: self.table.columns_left_out,
            split: self.split,
            positions,
        }
    }
}

fn study(
    categories: &[CategoryCalls],
    members: &[Member],
    settings: &MiSettings,
    shared: &CloudDiagSettings,
) -> Study {
    let table = CallTable::new(categories, members, shared.rows_max, shared.columns_max);
    let split = split::split(&table, settings, shared);
    let columns = columns::test_columns(&table, &split, settings, shared);
    Study { members: members.to_vec(), table, split, columns }
}

/// Most cells of an alignment; longer call trees are not aligned.
pub(crate) const ALIGNED_CELLS_MAX: usize = 16_000_000;

/// The members of every major cluster.
fn all_members(
    categories: &[CategoryCalls],
    settings: &MiSettings,
    mode: Mode,
    out: &mut Mi,
) -> Vec<Vec<Member>> {
    let services = by_entry(categories).into_iter();
    services.flat_map(|service| members_of_service(categories, &service, settings, mode, out)).collect()
}

/// Categories by entry operation; of each by first appearance, independent of the categories' ids.
pub(crate) fn by_entry(categories: &[CategoryCalls]) -> Vec<Vec<usize>> {
    let mut by_entry: BTreeMap<OperationId, Vec<usize>> = BTreeMap::new();
    for (index, category) in categories.iter().enumerate() {
        if let Some(entry) = category.positions.first() {
            by_entry.entry(entry.operation).or_default().push(index);
        }
    }
    let mut services: Vec<Vec<usize>> = by_entry.into_values().collect();
    for service in &mut services {
        service.sort_by_key(|&category| {
            (categories[category].requests.first().map(|first| (first.start, first.trace)), category)
        });
    }
    services
}

fn members_of_service(
    categories: &[CategoryCalls],
    service: &[usize],
    settings: &MiSettings,
    mode: Mode,
    out: &mut Mi,
) -> Vec<Vec<Member>> {
    let sequences: Vec<Vec<OperationId>> =
        service.iter().map(|&index| sequence(&categories[index])).collect();
    let groups: Vec<Vec<usize>> = match mode {
        Mode::Paper => cluster_sequences(&sequences),
        // A call tree is more specific than the sequence of its calls.
        Mode::Robust => (0..service.len()).map(|index| vec![index]).collect(),
    };
    let requests = |group: &[usize]| -> u64 {
        group.iter().map(|&index| categories[service[index]].requests.len() as u64).sum()
    };
    let sizes: Vec<ClusterSize<'_, OperationId>> = groups
        .iter()
        .map(|group| ClusterSize { sequence: &sequences[group[0]], requests: requests(group) })
        .collect();
    let clustered = major_clusters(&sizes, settings.coverage, u64::MAX, mode, CELLS_MAX);
    let same = |group: usize| {
        let positions = sizes[group].sequence.len();
        groups[group].iter().map(move |&category| Member::same(service[category], positions))
    };
    let call_cluster = |group: usize, minor| CallCluster {
        category: service[groups[group][0]],
        requests: sizes[group].requests,
        positions: sizes[group].sequence.len(),
        minor,
    };
    out.call_clusters.extend(clustered.majors.iter().map(|&major| call_cluster(major, None)));
    let mut members: Vec<Vec<Member>> = clustered.majors.iter().map(|&major| same(major).collect()).collect();
    for (minor, fate) in clustered.minors {
        let lost = match fate {
            MinorFate::Joins(major) => {
                let (theirs, ours) = (sizes[minor].sequence, sizes[major].sequence);
                let index = clustered
                    .majors
                    .iter()
                    .position(|&known| known == major)
                    .expect("it joins a major cluster");
                let fits = theirs.len().saturating_mul(ours.len()) <= ALIGNED_CELLS_MAX;
                if fits {
                    out.call_clusters.push(call_cluster(minor, Some(MinorFate::Joins(index))));
                    let aligned = groups[minor].iter();
                    members[index]
                        .extend(aligned.map(|&index| Member::aligned(service[index], theirs, ours)));
                    continue;
                }
                MinorFate::NotCompared
            }
            lost => lost,
        };
        out.call_clusters.push(call_cluster(minor, Some(lost)));
        out.uncovered_requests += sizes[minor].requests;
        out.uncompared_requests += if lost == MinorFate::NotCompared { sizes[minor].requests } else { 0 };
    }
    members
}
