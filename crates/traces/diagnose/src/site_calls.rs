//! Times of single calls at a site, of which a table of sites holds the sums by request.

use crate::population::Selected;
use crate::site_fold::{may_wait, only_children, waits_for};
use laggard_engine::RequestView;
use laggard_localize::{Observation, Site, SiteTable};
use laggard_model::{OperationId, ReplicaId};
use std::collections::HashMap;

/// A call at a site.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SiteCall {
    /// Index into the table's requests.
    pub(crate) request: u32,
    /// Index into the table's sets.
    pub(crate) set: u32,
    /// Time, nanoseconds.
    pub(crate) time_ns: f32,
}

/// The calls at a site of a table of the selected requests, in the order of its requests. Of several chains of one request on
/// the same replicas, each counts with the mean time.
pub(crate) fn site_calls(selected: &Selected<'_>, table: &SiteTable, site: Site) -> Vec<SiteCall> {
    let mut finder = NodeFinder::new(selected, site);
    let mut calls = Vec::with_capacity(table.rows_of(site).len());
    for rows in table.rows_of(site).chunk_by(|a, b| a.request == b.request) {
        if rows.iter().all(|row| row.calls == 1) || matches!(site, Site::Chain(_)) {
            calls.extend(rows.iter().flat_map(calls_of_equal_time));
            continue;
        }
        finder.each_call(rows, table, |row, request, node| {
            calls.push(SiteCall {
                request: row.request,
                set: row.set,
                time_ns: request.self_time(node).ns() as f32,
            });
        });
    }
    debug_assert_eq!(calls.len(), table.rows_of(site).iter().map(|row| row.calls as usize).sum::<usize>());
    calls
}

/// Calls `with` for each call at a site other than a chain: its row in the table, its request, and its node there.
pub(crate) fn each_call(
    selected: &Selected<'_>,
    table: &SiteTable,
    site: Site,
    mut with: impl FnMut(&Observation, &RequestView<'_>, usize),
) {
    let mut finder = NodeFinder::new(selected, site);
    for rows in table.rows_of(site).chunk_by(|a, b| a.request == b.request) {
        finder.each_call(rows, table, &mut with);
    }
}

fn calls_of_equal_time(row: &Observation) -> impl Iterator<Item = SiteCall> {
    let call = SiteCall { request: row.request, set: row.set, time_ns: row.time_ns / row.calls as f32 };
    std::iter::repeat_n(call, row.calls as usize)
}

/// Finds the calls of one site in requests.
struct NodeFinder<'a> {
    selected: &'a Selected<'a>,
    operation: OperationId,
    /// For a link.
    callee: Option<OperationId>,
    /// Whether calls of the operation may be links.
    may_wait: bool,
    /// Calls of the operation and their only callees, by structure.
    nodes: HashMap<usize, Vec<(usize, Option<usize>)>>,
}

impl<'a> NodeFinder<'a> {
    fn new(selected: &'a Selected<'a>, site: Site) -> NodeFinder<'a> {
        let (operation, callee) = match site {
            Site::Operation(operation) | Site::Chain(operation) => (operation, None),
            Site::Link { caller, callee } => (caller, Some(callee)),
        };
        let may_wait = may_wait(selected.union().names(), operation);
        NodeFinder { selected, operation, callee, may_wait, nodes: HashMap::new() }
    }

    /// Calls `with` for each call of the rows, which are of one request.
    fn each_call(
        &mut self,
        rows: &[Observation],
        table: &SiteTable,
        mut with: impl FnMut(&Observation, &RequestView<'_>, usize),
    ) {
        let number = table.requests[rows[0].request as usize].number as usize;
        let request = self.selected.range().requests().request(number);
        let (selected, operation, may_wait) = (self.selected, self.operation, self.may_wait);
        let nodes = self.nodes.entry(request.structure()).or_insert_with(|| {
            let children = if may_wait { only_children(request.tree()) } else { Vec::new() };
            let own = (0..request.calls()).filter(|&node| selected.operation(&request, node) == operation);
            own.map(|node| (node, children.get(node).copied().flatten())).collect()
        });
        for &(node, child) in nodes.iter().filter(|&&(node, _)| selected.is_measured(&request, node)) {
            let child = child.filter(|&child| waits_for(&request, node, child));
            if child.map(|child| selected.operation(&request, child)) != self.callee {
                continue;
            }
            let own = selected.replica(&request, node);
            let other = child.map_or(own, |child| selected.replica(&request, child));
            let replicas: &[ReplicaId] = if own == other { &[own] } else { &[own, other] };
            if let Some(row) = rows.iter().find(|row| table.sets[row.set as usize] == replicas) {
                with(row, &request, node);
            }
        }
    }
}
