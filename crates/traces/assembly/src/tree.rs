//! From linked rows to call trees with self times.

use crate::DEPTH_MAX;
use crate::children::{Children, Covered};
use crate::clocks::ClockAgreement;
use crate::trace::Links;
use laggard_model::{CallTree, Loss, Losses, Nanos};

/// A tree, and whether every row in it was complete.
pub(crate) struct BuiltTree {
    pub(crate) tree: CallTree,
    pub(crate) complete: bool,
    /// A row has a different adjusted count than the top row. Rows without one do not differ.
    pub(crate) unequal_counts: bool,
    /// The index of each node's row among all rows; empty unless recorded.
    pub(crate) rows: Vec<u32>,
}

/// Builds trees top-down; reuses its buffers between trees.
pub(crate) struct TreeBuilder<'a> {
    links: &'a Links<'a>,
    nodes_expected: usize,
    stack: Vec<PendingNode>,
    children: Children,
    /// Whether to record the rows of nodes.
    pub(crate) records_rows: bool,
}

/// A row whose node is still to be made.
struct PendingNode {
    at: u32,
    parent: Option<u32>,
    depth: u32,
    order_group: u32,
    /// How much of the node's time is on the request's critical path.
    awaited: Nanos,
}

impl<'a> TreeBuilder<'a> {
    /// A builder of trees with `nodes` nodes on average.
    pub(crate) fn new(links: &'a Links<'a>, nodes_expected: usize) -> TreeBuilder<'a> {
        TreeBuilder {
            links,
            nodes_expected,
            stack: Vec::new(),
            children: Children::default(),
            records_rows: false,
        }
    }

    /// The tree below a top row, in depth-first pre-order.
    pub(crate) fn build(&mut self, top: u32, losses: &mut Losses, clocks: &mut ClockAgreement) -> BuiltTree {
        let tree = tree_with_capacity(self.nodes_expected);
        let mut built = BuiltTree { tree, complete: true, unequal_counts: false, rows: Vec::new() };
        let entry = self.links.row(top);
        self.stack.push(PendingNode {
            at: top,
            parent: None,
            depth: 1,
            order_group: 0,
            awaited: entry.inclusive,
        });
        while let Some(pending) = self.stack.pop() {
            let row = self.links.row(pending.at);
            built.complete &= !row.incomplete;
            built.unequal_counts |=
                row.adjusted_count.is_some() && row.adjusted_count != entry.adjusted_count;
            let node = built.tree.len() as u32;
            let covered = self.visit_children(&pending, node, losses, clocks);
            if self.records_rows {
                built.rows.push(self.links.row_index(pending.at));
            }
            let tree = &mut built.tree;
            tree.operation.push(row.operation);
            tree.parent.push(pending.parent);
            tree.replica.push(row.replica);
            tree.status.push(row.status);
            tree.inclusive_time.push(row.inclusive);
            tree.self_time.push(self_time(row.inclusive, covered));
            tree.path_time.push(scaled(self_time(row.inclusive, covered), pending.awaited, row.inclusive));
            tree.order_group.push(pending.order_group);
        }
        built
    }

    /// Pushes the children of a row, last first, and returns how much of the row's time they cover.
    fn visit_children(
        &mut self,
        pending: &PendingNode,
        node: u32,
        losses: &mut Losses,
        clocks: &mut ClockAgreement,
    ) -> Covered {
        let children = self.links.children(pending.at);
        if children.is_empty() {
            return Covered::Length(Nanos::ZERO);
        }
        if pending.depth >= DEPTH_MAX {
            losses.add(Loss::DepthLimit, || format!("trace {}", self.links.trace()));
            return Covered::Length(Nanos::ZERO);
        }
        let covered = self.children.arrange(self.links, pending.at, losses, clocks);
        let inclusive = self.links.row(pending.at).inclusive;
        for child in self.children.ordered().rev() {
            self.stack.push(PendingNode {
                at: child.at,
                parent: Some(node),
                depth: pending.depth + 1,
                order_group: child.order_group,
                awaited: scaled(child.awaited, pending.awaited, inclusive),
            });
        }
        covered
    }
}

fn tree_with_capacity(nodes: usize) -> CallTree {
    CallTree {
        operation: Vec::with_capacity(nodes),
        parent: Vec::with_capacity(nodes),
        replica: Vec::with_capacity(nodes),
        status: Vec::with_capacity(nodes),
        self_time: Vec::with_capacity(nodes),
        inclusive_time: Vec::with_capacity(nodes),
        path_time: Vec::with_capacity(nodes),
        order_group: Vec::with_capacity(nodes),
    }
}

/// The part of `time` that counts when only `awaited` of `inclusive` does.
fn scaled(time: Nanos, awaited: Nanos, inclusive: Nanos) -> Nanos {
    if awaited >= inclusive {
        return time;
    }
    let part = u128::from(time.ns()) * u128::from(awaited.ns()) / u128::from(inclusive.ns());
    Nanos::from_ns(part as u64)
}

fn self_time(inclusive: Nanos, covered: Covered) -> Nanos {
    match covered {
        Covered::Length(covered) => inclusive.minus(covered),
        Covered::Everything => Nanos::ZERO,
    }
}
