//! perf.data, as `perf record` writes it: files and the pipe form, plain and compressed (`-z`), both byte orders.
//!
//! Read natively. The crate `linux-perf-data` is the reference in the tests; it cannot be the reader: in pipe mode it
//! treats the format texts after their record as records, it holds a file without rounds entirely in memory, and it
//! trusts every size in a damaged file.

mod attributes;
mod features;
mod folder;
mod head;
mod kinds;
mod mappings;
mod open;
mod records;
mod round;
mod sample;
mod stream;

use crate::interface::{KernelFormat, SampleShape};

/// First bytes of files written on machines with the least significant byte first.
const MAGIC_LITTLE: &[u8] = b"PERFILE2";
/// First bytes of files written on machines with the most significant byte first.
const MAGIC_BIG: &[u8] = b"2ELIFREP";

/// The row of [`KERNEL_FORMATS`](crate::KERNEL_FORMATS).
pub(crate) const FORMAT: KernelFormat = KernelFormat {
    name: "perf.data",
    about: "perf record, of tracepoints: files, pipes, compressed",
    manual: "docs/manual/formats/perf-data.md",
    sample: SampleShape::File(MAGIC_LITTLE),
    recognize: |path, head| is_magic(head) || folder::recognize(path),
    open: open::open,
};

fn is_magic(head: &[u8]) -> bool {
    head.starts_with(MAGIC_LITTLE) || head.starts_with(MAGIC_BIG)
}
