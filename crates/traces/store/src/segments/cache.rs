//! A cache of decoded data, bounded in bytes.

use crate::budget::SharedMemory;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An LRU cache: the least recently used values are evicted first. Caches of stores that share memory have equal parts of it.
pub(crate) struct Cache<K, V> {
    /// Of all stores together.
    bytes_max: usize,
    all: SharedMemory,
    state: Mutex<CacheState<K, V>>,
}

struct CacheState<K, V> {
    entries: HashMap<K, CacheEntry<V>>,
    bytes: usize,
    clock: u64,
}

struct CacheEntry<V> {
    value: Arc<V>,
    bytes: usize,
    used: u64,
    used_at: Instant,
}

impl<K, V> CacheState<K, V> {
    fn empty() -> CacheState<K, V> {
        CacheState { entries: HashMap::new(), bytes: 0, clock: 0 }
    }
}

impl<K: Eq + Hash + Clone, V> Cache<K, V> {
    /// A cache of values with a limit on their total bytes.
    pub(crate) fn new(bytes_max: usize, all: SharedMemory) -> Cache<K, V> {
        Cache { bytes_max, all, state: Mutex::new(CacheState::empty()) }
    }

    /// Evicts what has not been used for this long.
    pub(crate) fn expire(&self, idle: Duration) {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        state.entries.retain(|_, entry| entry.used_at.elapsed() < idle);
        state.bytes = state.entries.values().map(|entry| entry.bytes).sum();
    }

    /// Evicts everything.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        *state = CacheState::empty();
    }

    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        state.clock += 1;
        let now = state.clock;
        let found = state.entries.get_mut(key)?;
        found.used = now;
        found.used_at = Instant::now();
        Some(Arc::clone(&found.value))
    }

    /// Inserts a value of `bytes` bytes, unless it is larger than the cache.
    pub(crate) fn put(&self, key: K, value: Arc<V>, bytes: usize) {
        let bytes_max = self.all.part_of(self.bytes_max);
        if bytes > bytes_max {
            return;
        }
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        state.clock += 1;
        let entry = CacheEntry { value, bytes, used: state.clock, used_at: Instant::now() };
        state.bytes += bytes;
        if let Some(before) = state.entries.insert(key, entry) {
            state.bytes -= before.bytes;
        }
        while state.bytes > bytes_max {
            let oldest = state.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let oldest = oldest.expect("a cache in use has a value");
            let evicted = state.entries.remove(&oldest).expect("it was just found");
            state.bytes -= evicted.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_value_is_evicted_first() {
        let cache: Cache<u32, &str> = Cache::new(10, SharedMemory::default());
        cache.put(1, Arc::new("one"), 4);
        cache.put(2, Arc::new("two"), 4);
        assert!(cache.get(&1).is_some());
        cache.put(3, Arc::new("three"), 4);
        assert!(cache.get(&2).is_none());
        assert_eq!((cache.get(&1).as_deref(), cache.get(&3).as_deref()), (Some(&"one"), Some(&"three")));
        cache.put(4, Arc::new("too large"), 11);
        assert!(cache.get(&4).is_none());
        cache.put(1, Arc::new("complete"), 10);
        assert!(cache.get(&3).is_none());
        assert_eq!(cache.get(&1).as_deref(), Some(&"complete"));
        cache.clear();
        assert!(cache.get(&1).is_none());
    }

    #[test]
    fn unused_values_expire_and_leave_room() {
        let cache: Cache<u32, &str> = Cache::new(10, SharedMemory::default());
        cache.put(1, Arc::new("one"), 6);
        cache.expire(Duration::from_secs(3600));
        assert!(cache.get(&1).is_some());
        cache.expire(Duration::ZERO);
        assert!(cache.get(&1).is_none());
        cache.put(2, Arc::new("two"), 5);
        cache.put(3, Arc::new("three"), 5);
        assert!(cache.get(&2).is_some() && cache.get(&3).is_some());
    }

    #[test]
    fn caches_of_several_stores_have_equal_parts() {
        let all = SharedMemory::default();
        let _stores = [all.open_store(), all.open_store()];
        let cache: Cache<u32, &str> = Cache::new(10, all);
        cache.put(1, Arc::new("one"), 3);
        cache.put(2, Arc::new("two"), 3);
        assert!(cache.get(&1).is_none() && cache.get(&2).is_some());
    }
}
