//! The write-ahead log: batches are in it before they are acknowledged.
//!
//! ```text
//! file  = magic, version, number of the first record, checksum        named after that number
//! frame = length u32 · crc32c u32 · number u64 · payload              the checksum covers number and payload
//! ```
//! All integers are little-endian; payloads are batches (`encode.rs`).

mod decode;
mod encode;
mod files;
mod frame;
mod numbers;
mod repair;
mod replay;
mod writer;

#[cfg(test)]
pub(crate) mod simulated;
#[cfg(test)]
mod tests;

pub(crate) use files::{Disk, LogFile, LogFiles, ReadOnly};
pub(crate) use frame::first_of_name;
pub(crate) use repair::{RepairedFile, lost_batch, missing_file, repaired};
pub(crate) use replay::{DamagedRange, ReplayReport, missing, replay};
pub(crate) use writer::{FILE_BYTES, WriteAheadLog};
