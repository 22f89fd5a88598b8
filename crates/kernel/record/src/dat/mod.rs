//! Writes trace.dat, versions 6 and 7, as `trace-cmd.dat.v6(5)` and `trace-cmd.dat.v7(5)` describe them.
//!
//! In both, instants are those of the trace clock. The clock's offset to calendar time is the DATE option (id 1): the
//! microseconds to add, in hexadecimal after `0x`. `trace-cmd report` adds them (`--nodate` does not).

mod head;
mod interval;
mod options;
mod v6;
mod v7;

pub use head::{EventSystem, TraceHead};
pub(crate) use interval::page_time;
pub use interval::{ClockInterval, cut_page};

use crate::settings::DatForm;
use std::fs::File;
use std::io::{self, Read};

/// The complete pages of one CPU.
pub struct CpuPages<'a> {
    /// The CPU's number.
    pub cpu: u32,
    /// Bytes in all: a multiple of the page size.
    pub bytes: u64,
    /// Where they are read from.
    pub pages: &'a mut dyn Read,
}

/// Writes a trace to an empty file and returns its size in bytes.
///
/// # Errors
/// An error of the file system, in the file or in the pages.
pub fn write(form: DatForm, out: &mut File, head: &TraceHead, cpus: &mut [CpuPages<'_>]) -> io::Result<u64> {
    match form {
        DatForm::V6 => v6::write(out, head, cpus),
        DatForm::V7 => v7::write(out, head, cpus),
    }
}

/// The first bytes, which both versions share.
fn start(version: &str, page_bytes: u32) -> Vec<u8> {
    let mut bytes = b"\x17\x08\x44tracing".to_vec();
    bytes.extend(version.as_bytes());
    bytes.push(0);
    bytes.push(u8::from(cfg!(target_endian = "big")));
    bytes.push(size_of::<usize>() as u8);
    bytes.extend(page_bytes.to_ne_bytes());
    bytes
}

/// The next multiple of the page size at or above an offset.
fn page_aligned(position: u64, page_bytes: u32) -> u64 {
    position.next_multiple_of(u64::from(page_bytes).max(1))
}
