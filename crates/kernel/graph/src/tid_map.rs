//! A hash map keyed by tid.

use laggard_model::Tid;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by tid. Tids are small and assigned by the kernel, so one multiplication hashes them well enough
/// (Fibonacci hashing); the standard hash costs several times more per switch.
#[derive(Debug)]
pub(crate) struct TidMap<V> {
    values: HashMap<Tid, V, BuildHasherDefault<TidHasher>>,
}

impl<V> Default for TidMap<V> {
    fn default() -> TidMap<V> {
        TidMap { values: HashMap::default() }
    }
}

impl<V: Default> TidMap<V> {
    pub(crate) fn get(&self, tid: Tid) -> Option<&V> {
        self.values.get(&tid)
    }

    pub(crate) fn entry(&mut self, tid: Tid) -> &mut V {
        self.values.entry(tid).or_default()
    }

    pub(crate) fn remove(&mut self, tid: Tid) -> Option<V> {
        self.values.remove(&tid)
    }

    /// Changes all entries, in any order.
    pub(crate) fn each(&mut self, change: impl FnMut(&mut V)) {
        self.values.values_mut().for_each(change);
    }

    /// All entries, by thread.
    pub(crate) fn sorted(self) -> Vec<(Tid, V)> {
        let mut entries: Vec<(Tid, V)> = self.values.into_iter().collect();
        entries.sort_by_key(|(tid, _)| *tid);
        entries
    }
}

/// 2⁶⁴ divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Default)]
pub(crate) struct TidHasher(u64);

impl Hasher for TidHasher {
    fn finish(&self) -> u64 {
        // The map uses the low bits, and the high bits of the product are the most random.
        self.0.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(GOLDEN);
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0 ^ u64::from(value)).wrapping_mul(GOLDEN);
    }
}
