//! Which calls the requests of a population made, and which of them failed.

use crate::sites::Fast;
use laggard_model::OperationId;
use std::collections::HashMap;

/// The calls of requests and their outcomes. Most requests have no failed call: of them only the call tree is stored.
#[derive(Clone, Debug, Default)]
pub struct OutcomeTable {
    /// Distinct call trees.
    pub trees: Vec<OutcomeTree>,
    /// Requests without a failed call, by tree; as long as `trees`.
    pub clean: Vec<Vec<RequestNumbers>>,
    /// Requests with failed calls.
    pub failed: Vec<FailedRequest>,
    /// Number of requests that `row` counts.
    pub rows: usize,
}

/// Who calls whom, in depth-first pre-order.
#[derive(Clone, Debug, Default)]
pub struct OutcomeTree {
    /// The operation that is called.
    pub operation: Vec<OperationId>,
    /// The caller's node; `None` for node 0.
    pub parent: Vec<Option<u32>>,
}

/// Which request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RequestNumbers {
    /// Its index among the population's requests in order of start.
    pub row: u32,
    /// The caller's own number of it.
    pub number: u32,
}

/// A request with failed calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedRequest {
    /// The request.
    pub request: RequestNumbers,
    /// Its call tree: an index into [`OutcomeTable::trees`].
    pub tree: u32,
    /// Nodes of the failed calls, ascending.
    pub errors: Box<[u32]>,
}

impl OutcomeTree {
    /// The calls of an operation.
    pub fn nodes_of(&self, operation: OperationId) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.operation).filter(move |&(_, &called)| called == operation).map(|(node, _)| node)
    }

    /// The callees of a call.
    pub fn callees(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let later = self.parent.iter().enumerate().skip(node as usize + 1);
        later.filter(move |(_, parent)| **parent == Some(node)).map(|(below, _)| below as u32)
    }

    /// The deepest failed calls: those that call nothing that failed.
    pub fn error_starts<'a>(&'a self, errors: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        // Depth-first order: callees come after their caller and before its next sibling.
        errors.iter().enumerate().filter_map(|(index, &node)| {
            let calls_failed = errors[index + 1..]
                .iter()
                .take_while(|&&later| self.is_below(later, node))
                .any(|&later| self.parent[later as usize] == Some(node));
            (!calls_failed).then_some(node)
        })
    }

    fn is_below(&self, node: u32, above: u32) -> bool {
        let mut next = Some(node);
        while let Some(here) = next {
            if here <= above {
                return here == above;
            }
            next = self.parent[here as usize];
        }
        false
    }
}

impl OutcomeTable {
    /// The block of a request if all are cut into `blocks` blocks of equally many requests.
    pub(crate) fn block(&self, row: u32, blocks: usize) -> usize {
        (row as usize * blocks / self.rows.max(1)).min(blocks - 1)
    }
}

/// Call paths: the operations from the entry to a call. Numbers are common to several tables.
#[derive(Debug, Default)]
pub(crate) struct CallPaths {
    numbers: HashMap<(Option<u32>, OperationId), u32, Fast>,
    pub(crate) paths: Vec<CallPath>,
}

/// The last step of a call path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallPath {
    pub(crate) caller: Option<u32>,
    pub(crate) operation: OperationId,
}

impl CallPaths {
    /// The path of every node of a tree.
    pub(crate) fn of_tree(&mut self, tree: &OutcomeTree) -> Vec<u32> {
        let mut paths: Vec<u32> = Vec::with_capacity(tree.operation.len());
        for (&operation, parent) in tree.operation.iter().zip(&tree.parent) {
            let caller = parent.map(|parent| paths[parent as usize]);
            let known = &mut self.paths;
            paths.push(*self.numbers.entry((caller, operation)).or_insert_with(|| {
                known.push(CallPath { caller, operation });
                (known.len() - 1) as u32
            }));
        }
        paths
    }
}
