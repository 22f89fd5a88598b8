//! Waits in words: what was waited for, for whom, how often and how long.

mod amounts;
mod describe;
mod losses;
mod phrase;
mod wait;

pub use describe::{Circumstances, PieceRange, waits_of};
pub use losses::LossInstants;
pub use wait::{Resource, UnknownReason, Wait};

#[cfg(test)]
mod tests;
