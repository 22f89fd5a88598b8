//! Independent work on several threads, and its cancellation.
//!
//! Answers do not depend on the number of threads. Work that nobody waits for any longer is canceled from outside, without every
//! function on the way having to return that: the thread that does the work unwinds at its next check, as in salsa, the framework of
//! rust-analyzer. Work on other threads belongs to the [`Cancellation`] of the thread that started it.

mod cancellation;
mod map;
mod pipeline;
mod spare;

pub use cancellation::{CancelReason, Canceled, Cancellation, check_canceled};
pub use map::{parallel_map, parallel_map_owned};
pub use pipeline::Pipeline;
pub use spare::SpareThreads;
