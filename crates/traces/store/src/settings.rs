//! How much is kept, and when what is done.

use laggard_model::Nanos;

/// Settings of a [`Store`](crate::Store).
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Length of the stretches of time that data are laid out by.
    pub slice: Nanos,
    /// A trace that had no new span for so long is taken as whole.
    pub idle: Nanos,
    /// Most bytes of open traces and samples in memory; beyond it, appending waits, then is refused.
    pub memory_bytes: usize,
    /// Most bytes of decoded slices that are kept in memory for the next question.
    pub cache_bytes: usize,
    /// How often segments are looked at for compaction; retention comes with every sixth look.
    pub upkeep: Nanos,
    /// Data older than this are deleted; `None` keeps them for ever.
    pub keep_for: Option<Nanos>,
    /// Beyond so many bytes of segments the oldest are deleted; `None` for no limit.
    pub keep_bytes: Option<u64>,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        StoreSettings {
            slice: Nanos::from_secs(300),
            idle: Nanos::from_secs(10),
            memory_bytes: 512 << 20,
            cache_bytes: 512 << 20,
            upkeep: Nanos::from_secs(10),
            keep_for: Some(Nanos::from_secs(7 * 24 * 3600)),
            keep_bytes: None,
        }
    }
}
