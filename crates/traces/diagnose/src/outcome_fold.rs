//! Which calls requests make, and which of them fail.

use crate::population::Selected;
use laggard_engine::{Fold, RequestView, Requests};
use laggard_localize::{FailedRequest, OutcomeTable, OutcomeTree, RequestNumbers, SiteTable};
use laggard_model::{OperationId, Status};

/// Collects the outcomes of the requests of a table of sites, in unified handles. What is counted are shares of calls: where requests
/// of frequent kinds were left out, those of a fair sample.
pub(crate) struct OutcomeFold<'a> {
    requests: &'a Requests,
    /// Unified handles of operations.
    operations: &'a [OperationId],
    /// The requests that count, by start and trace; others are left out.
    rows: &'a SiteTable,
}

/// Requests of structures before these are numbered.
#[derive(Default)]
pub(crate) struct PartialOutcomes {
    /// The row after that of the last request: both are in the same order, so that the next request is there or soon after.
    next_row: usize,
    clean: Vec<(u32, RequestNumbers)>,
    failed: Vec<FailedRequest>,
}

impl<'a> OutcomeFold<'a> {
    pub(crate) fn new(selected: &Selected<'a>, rows: &'a SiteTable) -> OutcomeFold<'a> {
        OutcomeFold { requests: selected.range().requests(), operations: selected.operations(), rows }
    }
}

/// Rows that are tried one by one before the others are searched.
const ROWS_TRIED: usize = 8;

impl OutcomeFold<'_> {
    /// The row of a request, which is probably at or after another.
    fn row(&self, probable: usize, request: &RequestView<'_>) -> Option<usize> {
        let rows = &self.rows.requests;
        let key = (request.start(), request.trace());
        let nearby = probable..rows.len().min(probable + ROWS_TRIED);
        let found = nearby.into_iter().find(|&row| (rows[row].start, rows[row].trace) >= key);
        match found {
            Some(row) if (rows[row].start, rows[row].trace) == key => Some(row),
            _ => rows.binary_search_by_key(&key, |row| (row.start, row.trace)).ok(),
        }
    }
}

impl Fold for OutcomeFold<'_> {
    type Partial = PartialOutcomes;
    type Output = OutcomeTable;

    fn start(&self) -> PartialOutcomes {
        PartialOutcomes::default()
    }

    fn add(&self, partial: &mut PartialOutcomes, request: &RequestView<'_>) {
        if !request.is_complete() || self.requests.fair_factor(request.number()).is_none() {
            return;
        }
        let Some(row) = self.row(partial.next_row, request) else { return };
        partial.next_row = row + 1;
        let numbers = RequestNumbers { row: row as u32, number: request.number() as u32 };
        let statuses = request.call_status();
        let structure = request.structure() as u32;
        if !statuses.contains(&Status::Error) {
            partial.clean.push((structure, numbers));
            return;
        }
        let errors = (0..).zip(statuses).filter(|&(_, &status)| status == Status::Error);
        let errors = errors.map(|(node, _)| node).collect();
        partial.failed.push(FailedRequest { request: numbers, tree: structure, errors });
    }

    fn merge(&self, into: &mut PartialOutcomes, later: PartialOutcomes) {
        into.clean.extend(later.clean);
        into.failed.extend(later.failed);
    }

    fn finish(&self, partial: PartialOutcomes) -> OutcomeTable {
        let structures = self.requests.structures();
        let mut table = OutcomeTable { rows: self.rows.requests.len(), ..OutcomeTable::default() };
        let mut numbers: Vec<Option<u32>> = vec![None; structures.len()];
        let mut number = |table: &mut OutcomeTable, structure: u32| {
            *numbers[structure as usize].get_or_insert_with(|| {
                let tree = &structures[structure as usize];
                let unified = |operation: &OperationId| self.operations[operation.index()];
                table.trees.push(OutcomeTree {
                    operation: tree.operation.iter().map(unified).collect(),
                    parent: tree.parent.clone(),
                });
                table.clean.push(Vec::new());
                (table.trees.len() - 1) as u32
            })
        };
        for (structure, request) in partial.clean {
            let tree = number(&mut table, structure);
            table.clean[tree as usize].push(request);
        }
        for failed in partial.failed {
            let tree = number(&mut table, failed.tree);
            table.failed.push(FailedRequest { tree, ..failed });
        }
        table
    }
}
