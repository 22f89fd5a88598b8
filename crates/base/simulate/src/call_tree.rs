//! Call trees of request categories, grown at random.

use crate::components::{
    CHUNK_STORE, COMPONENTS, FRONT_END, MAIL_LOGIC, METADATA, Method, QUEUE_WAIT, SESSION, TRANSACTION,
    camel_case,
};
use crate::operations::{OperationIndex, Operations};
use crate::random::Random;
use laggard_model::SpanKind;
use std::ops::RangeInclusive;

/// How many positions a call tree may have.
pub(crate) const POSITIONS: RangeInclusive<usize> = 80..=135;
/// Levels of remote calls.
const REMOTE_LEVELS: u32 = 3;
/// Chance that a local operation calls another one.
const NESTING: f64 = 0.35;
/// A tree is rarely rejected more than a few times; this many times means the table is wrong.
const ATTEMPTS: u32 = 10_000;

/// The shape of one category's requests: positions in depth-first pre-order, position 0 is the entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TreeShape {
    /// The operation called at each position.
    pub(crate) operation: Vec<OperationIndex>,
    /// The caller's position; 0 for the entry itself.
    pub(crate) parent: Vec<u16>,
    /// Number of callees.
    pub(crate) children: Vec<u16>,
}

impl TreeShape {
    pub(crate) fn len(&self) -> usize {
        self.operation.len()
    }

    fn push(&mut self, operation: OperationIndex, parent: usize) -> usize {
        let node = self.len();
        self.operation.push(operation);
        self.parent.push(parent as u16);
        self.children.push(0);
        if node > 0 {
            self.children[parent] += 1;
        }
        node
    }

    /// The first position after a position's subtree.
    pub(crate) fn subtree_end(&self, node: usize) -> usize {
        let inside = |&next: &usize| usize::from(self.parent[next]) < node;
        (node + 1..self.len()).find(inside).unwrap_or(self.len())
    }

    /// This shape with a call of `operation` in front of the callees of every operation that `is_caller` accepts.
    pub(crate) fn with_first_callee(
        &self,
        operation: OperationIndex,
        is_caller: impl Fn(OperationIndex) -> bool,
    ) -> TreeShape {
        let mut grown = TreeShape::default();
        let mut moved = Vec::with_capacity(self.len());
        for (&old, &parent) in self.operation.iter().zip(&self.parent) {
            let parent = moved.get(usize::from(parent)).copied().unwrap_or(0);
            let new = grown.push(old, parent);
            moved.push(new);
            if is_caller(old) {
                grown.push(operation, new);
            }
        }
        grown
    }
}

/// Grows the call tree of a category of the service with this entry operation.
pub(crate) fn grow(operations: &mut Operations, random: &mut Random, entry: &str, writes: bool) -> TreeShape {
    for _ in 0..ATTEMPTS {
        let target = *POSITIONS.start() + random.index(25);
        let mut growth = Growth { operations, random, writes, shape: TreeShape::default() };
        growth.request(entry, target);
        let shape = growth.shape;
        if POSITIONS.contains(&shape.len()) && !has_equal_neighbors(&shape) {
            return shape;
        }
    }
    unreachable!("call trees of {POSITIONS:?} positions are common")
}

/// Whether two callees in a row have equal subtrees. A reader that folds loops would make one position of them.
fn has_equal_neighbors(shape: &TreeShape) -> bool {
    (1..shape.len()).any(|node| {
        let next = shape.subtree_end(node);
        let end = if next < shape.len() { shape.subtree_end(next) } else { next };
        if next == shape.len() || shape.parent[next] != shape.parent[node] || end - next != next - node {
            return false;
        }
        let same_parents = || {
            (1..next - node).all(|i| {
                usize::from(shape.parent[next + i]) - next == usize::from(shape.parent[node + i]) - node
            })
        };
        shape.operation[node..next] == shape.operation[next..end] && same_parents()
    })
}

struct Growth<'a> {
    operations: &'a mut Operations,
    random: &'a mut Random,
    writes: bool,
    shape: TreeShape,
}

impl Growth<'_> {
    /// The entry, its queue wait, its local operations, and remote calls until `target` positions.
    fn request(&mut self, entry: &str, target: usize) {
        let root = self.add(0, FRONT_END, entry, SpanKind::Server);
        self.add(root, FRONT_END, QUEUE_WAIT, SpanKind::Internal);
        self.locals(root, FRONT_END);
        self.remote(root, SESSION, 1);
        self.remote(root, MAIL_LOGIC, 1);
        while self.shape.len() + 1 < target {
            let callee = self.pick_callee(FRONT_END);
            self.remote(root, callee, 1);
        }
        self.add(root, FRONT_END, "SendResponse", SpanKind::Internal);
    }

    /// A remote call: send and handle, queue wait, local operations, further calls, the specific operation.
    fn remote(&mut self, caller: usize, callee: usize, level: u32) {
        let method = self.pick_method(callee);
        let from = self.operations.get(self.shape.operation[caller]).component;
        let send = format!("Call{}{}", camel_case(COMPONENTS[callee].name), method.name);
        let send = self.add(caller, from, &send, SpanKind::Client);
        let handle = self.add(send, callee, method.name, SpanKind::Server);
        self.add(handle, callee, QUEUE_WAIT, SpanKind::Internal);
        self.locals(handle, callee);
        let specific_first = self.random.chance(0.3);
        if specific_first {
            self.add(handle, callee, method.specific, SpanKind::Internal);
        }
        self.further_calls(handle, callee, level);
        if !specific_first {
            self.add(handle, callee, method.specific, SpanKind::Internal);
        }
    }

    fn further_calls(&mut self, handle: usize, component: usize, level: u32) {
        if level == REMOTE_LEVELS || COMPONENTS[component].calls.is_empty() {
            return;
        }
        let count = if component == MAIL_LOGIC { 2 + self.random.index(3) } else { self.random.index(2) };
        for node in 0..count {
            let callee = match node {
                0 if component == MAIL_LOGIC => self.staple(),
                _ => self.pick_callee(component),
            };
            self.remote(handle, callee, level + 1);
        }
    }

    /// What the logic calls first, so that most categories use storage and writing ones a transaction.
    fn staple(&mut self) -> usize {
        let choices: &[usize] = match self.writes {
            true => &[TRANSACTION, CHUNK_STORE, METADATA],
            false => &[CHUNK_STORE, METADATA],
        };
        choices[self.random.index(choices.len())]
    }

    /// One to three local operations, no two alike in a row, some calling one more.
    fn locals(&mut self, parent: usize, component: usize) {
        let names = COMPONENTS[component].local;
        let mut last = self.random.index(names.len());
        for _ in 0..1 + self.random.index(3) {
            last = (last + 1 + self.random.index(names.len() - 1)) % names.len();
            let node = self.add(parent, component, names[last], SpanKind::Internal);
            if self.random.chance(NESTING) {
                let inner = (last + 1 + self.random.index(names.len() - 1)) % names.len();
                self.add(node, component, names[inner], SpanKind::Internal);
            }
        }
    }

    fn pick_callee(&mut self, component: usize) -> usize {
        let calls = COMPONENTS[component].calls;
        calls[self.random.index(calls.len())]
    }

    /// Reading services only read; writing ones write two times out of three.
    fn pick_method(&mut self, component: usize) -> Method {
        let write = self.writes && self.random.chance(2.0 / 3.0);
        let methods = COMPONENTS[component].methods(write);
        methods[self.random.index(methods.len())]
    }

    fn add(&mut self, parent: usize, component: usize, name: &str, kind: SpanKind) -> usize {
        let operation = self.operations.intern(component, name, kind);
        self.shape.push(operation, parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn shape(parents: &[u16], operations: &[u16]) -> TreeShape {
        let mut shape = TreeShape::default();
        for (&parent, &operation) in parents.iter().zip(operations) {
            shape.push(operation, usize::from(parent));
        }
        shape
    }

    #[test]
    fn subtrees_end_where_the_next_sibling_begins() {
        // 0 ─┬─ 1 ── 2
        //    └─ 3
        let tree = shape(&[0, 0, 1, 0], &[9, 5, 6, 5]);
        assert_eq!([0, 1, 2, 3].map(|node| tree.subtree_end(node)), [4, 3, 3, 4]);
        assert!(!has_equal_neighbors(&tree));
        assert!(has_equal_neighbors(&shape(&[0, 0, 1, 0, 3], &[9, 5, 6, 5, 6])));
        assert!(!has_equal_neighbors(&shape(&[0, 0, 1, 0, 3], &[9, 5, 6, 5, 7])));
        assert!(has_equal_neighbors(&shape(&[0, 0, 0], &[9, 5, 5])));
    }

    #[test]
    fn a_new_callee_comes_first_and_shifts_the_rest() {
        let tree = shape(&[0, 0, 1, 0], &[9, 5, 6, 5]).with_first_callee(7, |operation| operation == 5);
        assert_eq!(tree, shape(&[0, 0, 1, 1, 0, 4], &[9, 5, 7, 6, 5, 7]));
    }

    #[test]
    fn trees_have_the_size_and_parts_of_the_workload() {
        let mut operations = Operations::new(1);
        for index in 0..200 {
            let mut random = Random::new(1, Stream::Categories, &[index]);
            let tree = grow(&mut operations, &mut random, "SendMail", true);
            assert!(POSITIONS.contains(&tree.len()));
            let kinds = |kind| tree.operation.iter().filter(|&&o| operations.get(o).kind == kind).count();
            assert_eq!(kinds(SpanKind::Server), kinds(SpanKind::Client) + 1);
            assert!((1..tree.len()).all(|node| usize::from(tree.parent[node]) < node));
        }
    }
}
