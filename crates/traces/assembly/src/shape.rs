//! The shape of a call tree: what makes two requests members of one category (algorithms §1.3).
//!
//! ```text
//! calls        entry            shape     entry            position of each call
//!              ├ write a                  ├ write          writes 1, 2, 3 → position 1
//!              ├ write b                  └ commit         commit → position 2
//!              ├ write c
//!              └ commit
//! ```

use crate::loops::Loops;
use laggard_model::{CallTree, Fingerprint, FingerprintBuilder, OperationId};
use std::ops::Range;

/// Which sibling orders and repetitions distinguish shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ShapeRule {
    /// Every repetition and every order of invocation is a separate shape (CloudDiag §4.1).
    Exact,
    /// Siblings whose order is not known are sorted; runs of equal consecutive siblings, and runs of equal
    /// groups of up to [`PERIOD_MAX`] siblings (`open read close open read close`), collapse to one. Loops
    /// whose length depends on the data and races would otherwise make a category of nearly every request.
    #[default]
    Canonical,
}

// Limit: siblings in the body of a loop that collapses | each repetition is a separate position
/// Longest group of siblings that is recognized as the body of a loop.
pub const PERIOD_MAX: usize = 8;

/// One position of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapePosition {
    /// The operation called at this position.
    pub operation: OperationId,
    /// Position of the caller; `None` for position 0.
    pub parent: Option<u32>,
}

/// The shape of one call tree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Stable hash; equal shapes have equal fingerprints, on every machine.
    pub fingerprint: Fingerprint,
    /// Positions in depth-first pre-order.
    pub positions: Vec<ShapePosition>,
    /// Position of each node of the tree.
    pub position_of: Vec<u32>,
}

/// The columns of a call tree that determine its shape, of equal length, as in [`CallTree`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeColumns<'a> {
    /// The operation that is called.
    pub operation: &'a [OperationId],
    /// The caller's node.
    pub parent: &'a [Option<u32>],
    /// Which siblings ran at the same time.
    pub order_group: &'a [u32],
}

impl TreeColumns<'_> {
    fn len(&self) -> usize {
        self.operation.len()
    }
}

impl<'a> From<&'a CallTree> for TreeColumns<'a> {
    fn from(tree: &'a CallTree) -> TreeColumns<'a> {
        TreeColumns { operation: &tree.operation, parent: &tree.parent, order_group: &tree.order_group }
    }
}

/// Computes shapes; reuses its buffers between trees.
pub struct Shaper<'a> {
    rule: ShapeRule,
    /// Stable fingerprint of each operation, by its handle's index.
    operations: &'a [Fingerprint],
    hashes: Vec<Fingerprint>,
    /// Children of each node, in canonical order: `children[child_start[i]..child_start[i + 1]]`.
    children: Vec<u32>,
    child_start: Vec<u32>,
    /// For each entry of `children`: its slot among the collapsed siblings.
    slots: Vec<u32>,
    loops: Loops,
    /// The next node of the same position, `NO_NODE` at the last.
    next_alike: Vec<u32>,
    /// The positions below the one being numbered.
    below: Vec<PositionNodes>,
}

/// The end of a chain of nodes.
const NO_NODE: u32 = u32::MAX;

/// The nodes of one position, chained by [`Shaper::next_alike`].
#[derive(Clone, Copy)]
struct PositionNodes {
    first: u32,
    last: u32,
}

/// Nodes whose position is still to be numbered.
struct Unnumbered {
    nodes: PositionNodes,
    parent: Option<u32>,
}

impl<'a> Shaper<'a> {
    /// A shaper for trees whose operations have these fingerprints.
    pub fn new(rule: ShapeRule, operations: &'a [Fingerprint]) -> Shaper<'a> {
        Shaper {
            rule,
            operations,
            hashes: vec![],
            children: vec![],
            child_start: vec![],
            slots: vec![],
            loops: Loops::default(),
            next_alike: vec![],
            below: vec![],
        }
    }

    /// The shape of a tree. `O(n log n)` in its nodes.
    pub fn shape(&mut self, tree: &CallTree) -> Shape {
        self.shape_of(tree.into())
    }

    /// The same from columns.
    pub fn shape_of(&mut self, tree: TreeColumns<'_>) -> Shape {
        if tree.operation.is_empty() {
            return Shape::default();
        }
        self.index_children(tree);
        self.slots.clear();
        self.slots.resize(self.children.len(), 0);
        self.hashes.clear();
        self.hashes.resize(tree.len(), Fingerprint::default());
        // Parents precede children, so walking backwards meets children first.
        for node in (0..tree.len()).rev() {
            self.hash_node(tree, node);
        }
        self.number(tree)
    }

    fn index_children(&mut self, tree: TreeColumns<'_>) {
        self.child_start.clear();
        self.child_start.resize(tree.len() + 1, 0);
        for parent in tree.parent.iter().flatten() {
            self.child_start[*parent as usize + 1] += 1;
        }
        for node in 0..tree.len() {
            self.child_start[node + 1] += self.child_start[node];
        }
        self.children.clear();
        self.children.resize(tree.len() - 1, 0);
        let mut next = self.child_start.clone();
        for (node, parent) in tree.parent.iter().enumerate() {
            if let Some(parent) = parent {
                self.children[next[*parent as usize] as usize] = node as u32;
                next[*parent as usize] += 1;
            }
        }
    }

    fn hash_node(&mut self, tree: TreeColumns<'_>, node: usize) {
        let range = self.child_start[node] as usize..self.child_start[node + 1] as usize;
        let mut builder = FingerprintBuilder::new();
        builder.fingerprint(self.operations[tree.operation[node].index()]);
        if self.rule == ShapeRule::Canonical && range.len() > 1 {
            let hashes = &self.hashes;
            self.children[range.clone()].sort_by_key(|&child| {
                let operation = self.operations[tree.operation[child as usize].index()];
                let group = tree.order_group[child as usize];
                (group, operation, hashes[child as usize])
            });
        }
        self.fill_slots(range.clone());
        let mut slots_seen = 0;
        for (&slot, &child) in self.slots[range.clone()].iter().zip(&self.children[range]) {
            if slot == slots_seen {
                builder.fingerprint(self.hashes[child as usize]);
                slots_seen += 1;
            }
        }
        builder.word(u64::from(slots_seen));
        self.hashes[node] = builder.finish();
    }

    /// The slots of one node's children: a slot each, unless loops collapse.
    fn fill_slots(&mut self, range: Range<usize>) {
        let slots = &mut self.slots[range.clone()];
        if self.rule == ShapeRule::Exact || range.len() < 2 {
            slots.iter_mut().zip(0..).for_each(|(slot, index)| *slot = index);
            return;
        }
        let hashes = &self.hashes;
        self.loops.collapse(self.children[range].iter().map(|&child| hashes[child as usize]), slots);
    }

    /// Numbers positions in pre-order. The nodes of one position have equal subtrees, so the first of them
    /// represents all.
    fn number(&mut self, tree: TreeColumns<'_>) -> Shape {
        let mut shape =
            Shape { fingerprint: self.hashes[0], positions: Vec::new(), position_of: vec![0; tree.len()] };
        self.next_alike.clear();
        self.next_alike.resize(tree.len(), NO_NODE);
        let mut stack = vec![Unnumbered { nodes: PositionNodes { first: 0, last: 0 }, parent: None }];
        while let Some(Unnumbered { nodes, parent }) = stack.pop() {
            let position = shape.positions.len() as u32;
            shape.positions.push(ShapePosition { operation: tree.operation[nodes.first as usize], parent });
            self.below.clear();
            let mut node = nodes.first;
            while node != NO_NODE {
                shape.position_of[node as usize] = position;
                self.chain_children(node);
                node = self.next_alike[node as usize];
            }
            let below = self.below.iter().rev();
            stack.extend(below.map(|&nodes| Unnumbered { nodes, parent: Some(position) }));
        }
        shape
    }

    /// Chains the children of a node to those in the same slots.
    fn chain_children(&mut self, node: u32) {
        let range = self.child_start[node as usize] as usize..self.child_start[node as usize + 1] as usize;
        for (&child, &slot) in self.children[range.clone()].iter().zip(&self.slots[range]) {
            match self.below.get_mut(slot as usize) {
                Some(alike) => {
                    self.next_alike[alike.last as usize] = child;
                    alike.last = child;
                }
                // Slots are dense and first used in growing order.
                None => self.below.push(PositionNodes { first: child, last: child }),
            }
        }
    }
}
