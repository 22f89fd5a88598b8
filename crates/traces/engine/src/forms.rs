//! A dictionary of call trees without their times and replicas.

use crate::TreeForm;
use laggard_assembly::TreeColumns;
use laggard_model::OperationId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Distinct forms, numbered in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct FormIndex {
    pub(crate) forms: Vec<TreeForm>,
    /// The latest form of each hash; those before it follow in `before`.
    latest: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    /// The form of equal hash before each, `NONE` at the first.
    before: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl FormIndex {
    /// The number of a form, a new one if it was not there.
    pub(crate) fn number(&mut self, tree: TreeColumns<'_>) -> u32 {
        let hash = hash(tree);
        self.find(hash, tree).unwrap_or_else(|| {
            let form = TreeForm {
                operation: tree.operation.to_vec(),
                parent: tree.parent.to_vec(),
                order_group: tree.order_group.to_vec(),
            };
            self.push(hash, form)
        })
    }

    /// The same of a form that nobody else needs.
    pub(crate) fn take(&mut self, form: TreeForm) -> u32 {
        let hash = hash(form.columns());
        self.find(hash, form.columns()).unwrap_or_else(|| self.push(hash, form))
    }

    fn find(&self, hash: u64, tree: TreeColumns<'_>) -> Option<u32> {
        let mut at = self.latest.get(&hash).copied().unwrap_or(NONE);
        while at != NONE {
            if self.forms[at as usize].columns() == tree {
                return Some(at);
            }
            at = self.before[at as usize];
        }
        None
    }

    fn push(&mut self, hash: u64, form: TreeForm) -> u32 {
        let new = u32::try_from(self.forms.len()).expect("fewer forms than calls");
        self.forms.push(form);
        self.before.push(self.latest.insert(hash, new).unwrap_or(NONE));
        new
    }

    /// The number of a form after its operations were exchanged; `exchanged` is a buffer.
    pub(crate) fn number_of(
        &mut self,
        form: &TreeForm,
        operations: &[OperationId],
        exchanged: &mut Vec<OperationId>,
    ) -> u32 {
        exchanged.clear();
        exchanged.extend(form.operation.iter().map(|id| operations[id.index()]));
        self.number(TreeColumns { operation: exchanged, ..form.columns() })
    }
}

impl TreeForm {
    /// The form as a shaper sees it.
    pub fn columns(&self) -> TreeColumns<'_> {
        TreeColumns { operation: &self.operation, parent: &self.parent, order_group: &self.order_group }
    }
}

fn hash(tree: TreeColumns<'_>) -> u64 {
    let mut hash = tree.operation.len() as u64;
    for node in 0..tree.operation.len() {
        let parent = tree.parent[node].map_or(0, |parent| parent + 1);
        let place = u64::from(parent) << 32 | u64::from(tree.order_group[node]);
        hash = (hash ^ tree.operation[node].index() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash = (hash.rotate_left(29) ^ place).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    hash ^ (hash >> 32)
}

/// Takes a number that is a hash already.
#[derive(Clone, Copy, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
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
