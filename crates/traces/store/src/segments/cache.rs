//! A cache of decoded data, bounded in bytes.

use crate::budget::SharedMemory;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// An LRU cache: the least recently used values are evicted first. Caches of stores that share memory have equal parts of it.
/// An evicted value is still found while somebody uses it: it is in memory anyway.
pub(crate) struct Cache<K, V> {
    /// Of all stores together.
    bytes_max: usize,
    all: SharedMemory,
    state: Mutex<CacheState<K, V>>,
}

struct CacheState<K, V> {
    entries: HashMap<K, CacheEntry<V>>,
    /// Evicted values that were in use.
    evicted: HashMap<K, Weak<V>>,
    bytes: usize,
    clock: u64,
}

struct CacheEntry<V> {
    value: Arc<V>,
    bytes: usize,
    used: u64,
    used_at: Instant,
}

impl<K: Eq + Hash + Clone, V> CacheState<K, V> {
    fn evict(&mut self, key: K, entry: CacheEntry<V>) {
        self.bytes -= entry.bytes;
        self.evicted.retain(|_, value| value.strong_count() > 0);
        if Arc::strong_count(&entry.value) > 1 {
            self.evicted.insert(key, Arc::downgrade(&entry.value));
        }
    }

    fn evict_if(&mut self, is_evicted: impl Fn(&CacheEntry<V>) -> bool) {
        let evicted: Vec<(K, CacheEntry<V>)> =
            self.entries.extract_if(|_, entry| is_evicted(entry)).collect();
        for (key, entry) in evicted {
            self.evict(key, entry);
        }
    }
}

impl<K: Eq + Hash + Clone, V> Cache<K, V> {
    /// A cache of values with a limit on their total bytes.
    pub(crate) fn new(bytes_max: usize, all: SharedMemory) -> Cache<K, V> {
        let state = CacheState { entries: HashMap::new(), evicted: HashMap::new(), bytes: 0, clock: 0 };
        Cache { bytes_max, all, state: Mutex::new(state) }
    }

    /// Evicts what has not been used for this long.
    pub(crate) fn expire(&self, idle: Duration) {
        self.state().evict_if(|entry| entry.used_at.elapsed() >= idle);
    }

    /// Evicts everything.
    pub(crate) fn clear(&self) {
        self.state().evict_if(|_| true);
    }

    /// A value that is cached or in use.
    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut state = self.state();
        state.clock += 1;
        let now = state.clock;
        let Some(found) = state.entries.get_mut(key) else {
            return state.evicted.get(key).and_then(Weak::upgrade);
        };
        found.used = now;
        found.used_at = Instant::now();
        Some(Arc::clone(&found.value))
    }

    /// Inserts a value of `bytes` bytes. One that is larger than the cache is found while it is in use.
    pub(crate) fn put(&self, key: K, value: Arc<V>, bytes: usize) {
        let bytes_max = self.all.part_of(self.bytes_max);
        let mut state = self.state();
        state.clock += 1;
        let entry = CacheEntry { value, bytes, used: state.clock, used_at: Instant::now() };
        state.bytes += bytes;
        if let Some(before) = state.entries.insert(key.clone(), entry) {
            state.bytes -= before.bytes;
        }
        state.evicted.remove(&key);
        if bytes > bytes_max {
            let entry = state.entries.remove(&key).expect("it was just inserted");
            state.evict(key, entry);
        }
        while state.bytes > bytes_max {
            let oldest = state.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            let oldest = oldest.expect("a cache in use has a value");
            let entry = state.entries.remove(&oldest).expect("it was just found");
            state.evict(oldest, entry);
        }
    }

    fn state(&self) -> MutexGuard<'_, CacheState<K, V>> {
        self.state.lock().expect("no thread panics while it holds the lock")
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
    fn evicted_values_are_found_while_they_are_used() {
        let cache: Cache<u32, &str> = Cache::new(10, SharedMemory::default());
        let (one, large) = (Arc::new("one"), Arc::new("large"));
        cache.put(1, Arc::clone(&one), 4);
        cache.put(2, Arc::new("two"), 4);
        cache.put(3, Arc::clone(&large), 11);
        cache.clear();
        assert!(cache.get(&1).is_some_and(|found| Arc::ptr_eq(&found, &one)) && cache.get(&2).is_none());
        assert!(cache.get(&3).is_some_and(|found| Arc::ptr_eq(&found, &large)));
        drop((one, large));
        assert!(cache.get(&1).is_none() && cache.get(&3).is_none());
        cache.put(1, Arc::new("another"), 10);
        assert_eq!(cache.get(&1).as_deref(), Some(&"another"), "nothing else is counted");
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
