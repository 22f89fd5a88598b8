//! A dictionary of call trees without their times and replicas.

use crate::TreeStructure;
use laggard_assembly::TreeColumns;
use laggard_model::OperationId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Distinct tree structures, numbered in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct StructureIndex {
    pub(crate) structures: Vec<TreeStructure>,
    /// The latest structure of each hash; earlier ones are linked through `before`.
    latest: HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>,
    /// The previous structure of equal hash for each, `NONE` for the first.
    before: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl StructureIndex {
    /// The number of a structure; a new one if it is not in the index.
    pub(crate) fn number(&mut self, tree: TreeColumns<'_>) -> u32 {
        let hash = hash(tree);
        self.find(hash, tree).unwrap_or_else(|| {
            let structure = TreeStructure {
                operation: tree.operation.to_vec(),
                parent: tree.parent.to_vec(),
                order_group: tree.order_group.to_vec(),
            };
            self.push(hash, structure)
        })
    }

    fn find(&self, hash: u64, tree: TreeColumns<'_>) -> Option<u32> {
        let mut candidate = self.latest.get(&hash).copied().unwrap_or(NONE);
        while candidate != NONE {
            if self.structures[candidate as usize].columns() == tree {
                return Some(candidate);
            }
            candidate = self.before[candidate as usize];
        }
        None
    }

    fn push(&mut self, hash: u64, structure: TreeStructure) -> u32 {
        let new = u32::try_from(self.structures.len()).expect("fewer structures than calls");
        self.structures.push(structure);
        self.before.push(self.latest.insert(hash, new).unwrap_or(NONE));
        new
    }

    /// The number of a structure after its operations were exchanged; `exchanged` is a buffer.
    pub(crate) fn number_of(
        &mut self,
        structure: &TreeStructure,
        operations: &[OperationId],
        exchanged: &mut Vec<OperationId>,
    ) -> u32 {
        exchanged.clear();
        exchanged.extend(structure.operation.iter().map(|id| operations[id.index()]));
        self.number(TreeColumns { operation: exchanged, ..structure.columns() })
    }
}

impl TreeStructure {
    /// The columns that determine the shape.
    pub fn columns(&self) -> TreeColumns<'_> {
        TreeColumns { operation: &self.operation, parent: &self.parent, order_group: &self.order_group }
    }
}

fn hash(tree: TreeColumns<'_>) -> u64 {
    let mut hash = tree.operation.len() as u64;
    for node in 0..tree.operation.len() {
        let parent = tree.parent[node].map_or(0, |parent| parent + 1);
        let request_ref = u64::from(parent) << 32 | u64::from(tree.order_group[node]);
        hash = (hash ^ tree.operation[node].index() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash = (hash.rotate_left(29) ^ request_ref).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    hash ^ (hash >> 32)
}

/// A hasher for keys that are already hashes.
#[derive(Clone, Copy, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
