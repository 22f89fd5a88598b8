//! Sets of replicas, numbered.

use laggard_model::ReplicaId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Distinct sets in order of first appearance, each in the order in which it was given. Most hold one replica, nearly all others two.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ReplicaSets {
    sets: Vec<Vec<ReplicaId>>,
    /// The number of the set of one replica, by replica; `NONE` if there is none.
    single: Vec<u32>,
    pairs: HashMap<(ReplicaId, ReplicaId), u32, Fast>,
    more: HashMap<Vec<ReplicaId>, u32, Fast>,
}

const NONE: u32 = u32::MAX;

impl ReplicaSets {
    /// The number of a set; another order is another set.
    pub(crate) fn number(&mut self, replicas: &[ReplicaId]) -> u32 {
        let next = self.sets.len() as u32;
        let number = match *replicas {
            [only] => {
                if self.single.len() <= only.index() {
                    self.single.resize(only.index() + 1, NONE);
                }
                let known = &mut self.single[only.index()];
                if *known == NONE {
                    *known = next;
                }
                *known
            }
            [first, second] => *self.pairs.entry((first, second)).or_insert(next),
            _ => match self.more.get(replicas) {
                Some(&known) => known,
                None => *self.more.entry(replicas.to_vec()).or_insert(next),
            },
        };
        if number == next {
            self.sets.push(replicas.to_vec());
        }
        number
    }

    /// The sets, by number.
    pub(crate) fn sets(&self) -> &[Vec<ReplicaId>] {
        &self.sets
    }

    /// The sets in ascending order, and the rank of each by its number.
    pub(crate) fn ranked(self) -> (Vec<Vec<ReplicaId>>, Vec<u32>) {
        let mut order: Vec<(Vec<ReplicaId>, u32)> = self.sets.into_iter().zip(0..).collect();
        order.sort_unstable();
        let mut ranks = vec![0; order.len()];
        for (rank, &(_, number)) in order.iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        (order.into_iter().map(|(set, _)| set).collect(), ranks)
    }
}

/// Handles are small dense numbers that the input does not control: the standard library's keyed hash would cost more
/// than everything else done with them.
pub(crate) type Fast = BuildHasherDefault<HandleHasher>;

/// See [`Fast`].
#[derive(Clone, Copy, Default)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, handle: u32) {
        self.write_u64(u64::from(handle));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
