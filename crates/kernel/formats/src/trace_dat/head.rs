//! The header of a file, before its pages.

use crate::bytes::{ByteOrder, Cursor};
use crate::format_text::{EventFormat, Symbols};
use laggard_model::{HostSnapshot, Tid, UserFunctions};

/// The first bytes of every trace.dat.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Head sections are at most this large: all format texts of a kernel are some 4 MB, its symbols some 15.
pub(crate) const SECTION_BYTES_MAX: u64 = 64 << 20;

/// Event formats beyond this many are left out; a kernel's numbers have 16 bits.
const FORMATS_MAX: usize = 1 << 16;

/// Saved names of threads beyond this many are left out; kernels have at most 4 million threads.
const THREADS_MAX: usize = 1 << 22;

/// The first few bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Preamble {
    /// The version: `6` or `7`, and `0.6` inside perf.data.
    pub(crate) version: String,
    /// Byte order of all that follows.
    pub(crate) order: ByteOrder,
    /// Bytes of a page of the traced host.
    pub(crate) page_bytes: u32,
    /// Where the next part begins.
    pub(crate) bytes: usize,
}

impl Preamble {
    /// Reads the first bytes; `None` when they end too early or name no byte order.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Preamble> {
        let mut cursor = Cursor::new(bytes, ByteOrder::Little);
        cursor.take(MAGIC.len())?;
        let version = String::from_utf8_lossy(cursor.zero_ended()?).into_owned();
        let order = match cursor.take(1)? {
            [0] => ByteOrder::Little,
            [1] => ByteOrder::Big,
            _ => return None,
        };
        cursor.take(1)?;
        let start = cursor.position();
        let page_bytes = order.u32(bytes, start)?;
        Some(Preamble { version, order, page_bytes, bytes: start + 4 })
    }
}

/// The pages of one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CpuPages {
    /// The CPU's number.
    pub(crate) cpu: u32,
    /// Where they begin in the file.
    pub(crate) offset: u64,
    /// Their bytes in the file.
    pub(crate) bytes: u64,
}

/// One ring buffer in the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CpuBuffers {
    /// Its name; empty for the top one.
    pub(crate) name: String,
    /// Its clock, if recorded here.
    pub(crate) clock: String,
    /// Bytes of a page, if recorded here.
    pub(crate) page_bytes: Option<u32>,
    /// Offset of the section with the pages; its head states whether they are compressed. Version 7.
    pub(crate) section: Option<u64>,
    pub(crate) cpus: Vec<CpuPages>,
}

/// Values of the file's options.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct HeadOptions {
    /// `uname` of the host.
    pub(crate) uname: Option<String>,
    /// Content of the file `trace_clock`.
    pub(crate) clock: Option<String>,
    /// Number of CPUs.
    pub(crate) cpus: Option<u32>,
    /// Nanoseconds from the trace's clock to calendar time.
    pub(crate) calendar_ns: Option<i64>,
    /// Processes and control groups that our own recorder saw.
    pub(crate) snapshot: Option<HostSnapshot>,
    /// Functions of programs in call stacks, which our own recorder looked up.
    pub(crate) programs: UserFunctions,
    /// Nanoseconds to add to every time.
    pub(crate) shift_ns: i64,
    /// How cycles become nanoseconds: `(cycles × multiplier) >> shift`.
    pub(crate) cycles: Option<CycleLength>,
}

/// The length of a cycle of the time stamp counter, as a fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CycleLength {
    /// Its numerator.
    pub(crate) multiplier: u32,
    /// Its denominator's power of two.
    pub(crate) shift: u32,
}

/// Everything before the pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct TraceHead {
    /// The text of `events/header_page`.
    pub(crate) header_page: String,
    pub(crate) formats: Vec<EventFormat>,
    /// Names of the kernel's functions.
    pub(crate) symbols: Symbols,
    /// Names of threads, saved when the recording ended.
    pub(crate) threads: Vec<(Tid, String)>,
    /// Values of the file's options.
    pub(crate) options: HeadOptions,
    /// Buffers, in the file's order.
    pub(crate) buffers: Vec<CpuBuffers>,
    /// Whether the file contains only a latency text instead of pages.
    pub(crate) latency_text: bool,
    /// Whether the file ended before all of this was read.
    pub(crate) truncated: bool,
}

impl TraceHead {
    /// Adds the event formats of one system: `count` times a size of 64 bits and a text.
    pub(crate) fn add_formats(&mut self, system: &str, count: u32, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..count {
            let size = usize::try_from(cursor.u64()?).ok()?;
            let text = String::from_utf8_lossy(cursor.take(size)?);
            if self.formats.len() < FORMATS_MAX {
                self.formats.extend(EventFormat::parse(system, &text));
            }
        }
        Some(())
    }

    /// Adds the formats of all systems: a count, and for each a name, a count and that many formats.
    pub(crate) fn add_systems(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..cursor.u32()? {
            let system = String::from_utf8_lossy(cursor.zero_ended()?).into_owned();
            let count = cursor.u32()?;
            self.add_formats(&system, count, cursor)?;
        }
        Some(())
    }

    /// Adds saved names: lines of a number and a name.
    pub(crate) fn add_threads(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            let Some((tid, name)) = line.trim_end_matches('\0').split_once(' ') else { continue };
            if let (Ok(tid), true) = (tid.parse(), self.threads.len() < THREADS_MAX) {
                self.threads.push((Tid(tid), name.to_owned()));
            }
        }
    }

    /// Reads lines of `/proc/kallsyms` after their size.
    pub(crate) fn add_symbols(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let size = cursor.u32()? as usize;
        self.symbols = Symbols::from_lines(cursor.take(size)?);
        Some(())
    }

    /// Reads `header_page` and `header_event`.
    pub(crate) fn add_header_info(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        for _ in 0..2 {
            let name = cursor.zero_ended()?;
            let size = usize::try_from(cursor.u64()?).ok()?;
            let text = cursor.take(size)?;
            if name == b"header_page" {
                self.header_page = String::from_utf8_lossy(text).into_owned();
            }
        }
        Some(())
    }
}
