//! Kinds of records, as far as they matter here (perf_event_open(2), perf.data-file-format.txt of the kernel).

/// The kernel's own.
pub(super) const MMAP: u32 = 1;
pub(super) const LOST: u32 = 2;
pub(super) const COMM: u32 = 3;
pub(super) const EXIT: u32 = 4;
pub(super) const THROTTLE: u32 = 5;
pub(super) const FORK: u32 = 7;
pub(super) const SAMPLE: u32 = 9;
pub(super) const MMAP2: u32 = 10;
pub(super) const LOST_SAMPLES: u32 = 13;

/// Written by `perf record`.
pub(super) const HEADER_ATTRIBUTE: u32 = 64;
pub(super) const TRACING_DATA: u32 = 66;
pub(super) const FINISHED_ROUND: u32 = 68;
pub(super) const AUXTRACE: u32 = 71;
pub(super) const HEADER_FEATURE: u32 = 80;
pub(super) const COMPRESSED: u32 = 81;
pub(super) const COMPRESSED_2: u32 = 83;
