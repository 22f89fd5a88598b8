//! The number of threads that the machine can run at a time.

use std::num::NonZeroUsize;

/// Threads that can run at a time: the processors this process may use; 1 where the system does not say.
pub fn available_threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
