//! The shape of a call tree: what makes two requests members of one category (algorithms §1.3).
//!
//! ```text
//! calls        entry            shape     entry            position of each call
//!              ├ write a                  ├ write          writes 1, 2, 3 → position 1
//!              ├ write b                  └ commit         commit → position 2
//!              ├ write c
//!              └ commit
//! ```

use laggard_model::{CallTree, Fingerprint, FingerprintBuilder, OperationId};

/// What of sibling order and repetition counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ShapeRule {
    /// Every repetition and every order of invocation is a shape of its own (CloudDiag §4.1).
    Exact,
    /// Siblings whose order is not known are sorted; runs of equal consecutive siblings, and runs of equal
    /// groups of up to [`PERIOD_MAX`] siblings (`open read close open read close`), collapse to one. Loops
    /// whose length depends on the data and races would otherwise make a category of nearly every request.
    #[default]
    Canonical,
}

/// Longest group of siblings that is recognised as the body of a loop.
pub const PERIOD_MAX: usize = 8;

/// One position of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapePosition {
    /// What is called there.
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

/// Computes shapes; keeps its buffers between trees.
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
}

impl<'a> Shaper<'a> {
    /// A shaper for trees whose operations have these fingerprints.
    pub fn new(rule: ShapeRule, operations: &'a [Fingerprint]) -> Shaper<'a> {
        Shaper { rule, operations, hashes: vec![], children: vec![], child_start: vec![], slots: vec![] }
    }

    /// The shape of a tree. `O(n log n)` in its nodes.
    pub fn shape(&mut self, tree: &CallTree) -> Shape {
        if tree.is_empty() {
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

    fn index_children(&mut self, tree: &CallTree) {
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

    fn hash_node(&mut self, tree: &CallTree, node: usize) {
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
        let sequence: Vec<Fingerprint> =
            self.children[range.clone()].iter().map(|&child| self.hashes[child as usize]).collect();
        let collapsed = match self.rule {
            ShapeRule::Exact => (0..sequence.len() as u32).collect(),
            ShapeRule::Canonical => collapse_loops(&sequence),
        };
        let mut slots_seen = 0;
        for (&slot, &hash) in collapsed.iter().zip(&sequence) {
            if slot == slots_seen {
                builder.fingerprint(hash);
                slots_seen += 1;
            }
        }
        self.slots[range].copy_from_slice(&collapsed);
        builder.word(u64::from(slots_seen));
        self.hashes[node] = builder.finish();
    }

    /// Numbers positions in pre-order. The nodes of one position have equal subtrees, so the first of them
    /// stands for all.
    fn number(&self, tree: &CallTree) -> Shape {
        let mut shape =
            Shape { fingerprint: self.hashes[0], positions: Vec::new(), position_of: vec![0; tree.len()] };
        let mut stack: Vec<(Vec<u32>, Option<u32>)> = vec![(vec![0], None)];
        while let Some((nodes, parent)) = stack.pop() {
            let position = shape.positions.len() as u32;
            shape.positions.push(ShapePosition { operation: tree.operation[nodes[0] as usize], parent });
            let mut slots: Vec<Vec<u32>> = Vec::new();
            for &node in &nodes {
                shape.position_of[node as usize] = position;
                self.gather_slots(node, &mut slots);
            }
            stack.extend(slots.into_iter().rev().map(|nodes| (nodes, Some(position))));
        }
        shape
    }

    fn gather_slots(&self, node: u32, slots: &mut Vec<Vec<u32>>) {
        let range = self.child_start[node as usize] as usize..self.child_start[node as usize + 1] as usize;
        for (&child, &slot) in self.children[range.clone()].iter().zip(&self.slots[range]) {
            if slots.len() <= slot as usize {
                slots.resize_with(slot as usize + 1, Vec::new);
            }
            slots[slot as usize].push(child);
        }
    }
}

/// The slot of each sibling after loops collapse: for period 1, 2, … a group equal to the group before it
/// takes that group's slots. Slots are dense, and a slot's first use comes in growing order.
fn collapse_loops(sequence: &[Fingerprint]) -> Vec<u32> {
    let mut slot_of: Vec<u32> = (0..sequence.len() as u32).collect();
    // What is left after the periods so far, as indices into `sequence`.
    let mut left: Vec<u32> = slot_of.clone();
    for period in 1..=PERIOD_MAX.min(sequence.len() / 2) {
        left = collapse_period(sequence, &left, period, &mut slot_of);
    }
    // Slots still point at representatives, possibly through several periods; make them dense.
    let mut dense = vec![0; sequence.len()];
    for (number, &representative) in left.iter().enumerate() {
        dense[representative as usize] = number as u32;
    }
    for at in 0..slot_of.len() {
        // A representative points at itself or at an earlier sibling, so its own slot is final by now.
        let representative = slot_of[at] as usize;
        slot_of[at] = if representative == at { dense[at] } else { slot_of[representative] };
    }
    slot_of
}

fn collapse_period(sequence: &[Fingerprint], left: &[u32], period: usize, slot_of: &mut [u32]) -> Vec<u32> {
    let mut kept: Vec<u32> = Vec::with_capacity(left.len());
    let mut at = 0;
    while at < left.len() {
        let repeats = kept.len() >= period
            && at + period <= left.len()
            && (0..period)
                .all(|k| sequence[left[at + k] as usize] == sequence[kept[kept.len() - period + k] as usize]);
        if !repeats {
            kept.push(left[at]);
            at += 1;
            continue;
        }
        for k in 0..period {
            slot_of[left[at + k] as usize] = kept[kept.len() - period + k];
        }
        at += period;
    }
    kept
}
