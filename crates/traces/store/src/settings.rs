//! Settings of a store: retention, memory, and intervals.

use crate::Claim;
use crate::budget::SharedMemory;
use laggard_model::Nanos;

/// Settings of a [`Store`](crate::Store).
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Length of the time slices that data are partitioned by.
    pub slice: Nanos,
    /// A trace without a new span for this long is treated as complete.
    pub idle: Nanos,
    /// Most bytes of open traces and samples in memory; beyond it, appending waits, then is rejected.
    pub memory_bytes: usize,
    /// Maximum bytes of decoded slices cached in memory.
    pub cache_bytes: usize,
    /// What is used of both: stores that are opened with clones of these settings share them.
    pub shared: SharedMemory,
    /// How often compaction runs; retention runs with every sixth compaction.
    pub upkeep: Nanos,
    /// Data older than this are deleted; `None` for no limit.
    pub keep_for: Option<Nanos>,
    /// Maximum total size of segments in bytes, beyond which the oldest are deleted; `None` for no limit.
    pub keep_bytes: Option<u64>,
    /// Files of replaced segments are deleted after this time, so that other processes can read them until then.
    pub delete_after: Nanos,
    /// The claim of the prefix that the segments are below; `None` where nothing but this process can write them.
    pub claim: Option<Claim>,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        StoreSettings {
            slice: Nanos::from_secs(300),
            idle: Nanos::from_secs(10),
            memory_bytes: 512 << 20,
            cache_bytes: 512 << 20,
            shared: SharedMemory::default(),
            upkeep: Nanos::from_secs(10),
            keep_for: Some(Nanos::from_secs(7 * 24 * 3600)),
            keep_bytes: None,
            delete_after: Nanos::ZERO,
            claim: None,
        }
    }
}
