//! Version 6: one contiguous head, then the pages.

use super::head::{CpuBuffers, CpuPages, Preamble, SECTION_BYTES_MAX, TraceHead};
use super::options::{self, ListKind};
use crate::bytes::Cursor;
use crate::source::SharedFile;
use std::io;

/// The head is searched in this many bytes first, then in twice as many, and so on.
const FIRST_BYTES: u64 = 8 << 20;

/// CPUs beyond this many are refused; Linux has at most 8192.
const CPUS_MAX: u32 = 8192;

/// Reads the head; `None` when the file ends inside it, or it is larger than any.
pub(super) fn read(file: &SharedFile, preamble: &Preamble) -> io::Result<Option<TraceHead>> {
    let mut bytes = Vec::new();
    let mut size = FIRST_BYTES;
    loop {
        file.read_at(preamble.bytes as u64, usize::try_from(size).unwrap_or(usize::MAX), &mut bytes)?;
        if let Some(head) = parse(&bytes, preamble) {
            return Ok(Some(head));
        }
        if size >= file.bytes() || size >= SECTION_BYTES_MAX {
            return Ok(None);
        }
        size *= 2;
    }
}

fn parse(bytes: &[u8], preamble: &Preamble) -> Option<TraceHead> {
    let mut cursor = Cursor::new(bytes, preamble.order);
    let mut head = TraceHead::default();
    texts(&mut cursor, &mut head)?;
    let size = usize::try_from(cursor.u64()?).ok()?;
    head.add_threads(cursor.take(size)?);
    let cpus = cursor.u32().filter(|&cpus| cpus <= CPUS_MAX)?;
    pages(&mut cursor, cpus, preamble, &mut head)?;
    Some(head)
}

/// The texts that every sequential head begins with.
fn texts(cursor: &mut Cursor<'_>, head: &mut TraceHead) -> Option<()> {
    head.add_header_info(cursor)?;
    let count = cursor.u32()?;
    head.add_formats("ftrace", count, cursor)?;
    head.add_systems(cursor)?;
    head.add_symbols(cursor)?;
    // Formats of trace_printk.
    let size = cursor.u32()? as usize;
    cursor.take(size).map(|_| ())
}

/// Reads the texts that perf.data carries: the same head without pages. `None` when it is damaged before the end of its
/// event formats.
pub(crate) fn read_texts(bytes: &[u8]) -> Option<TraceHead> {
    let preamble = Preamble::parse(bytes)?;
    let mut cursor = Cursor::new(bytes.get(preamble.bytes..)?, preamble.order);
    let mut head = TraceHead::default();
    head.truncated = texts(&mut cursor, &mut head).is_none();
    let size = cursor.u64().and_then(|size| usize::try_from(size).ok());
    if let Some(threads) = size.and_then(|size| cursor.take(size)) {
        head.add_threads(threads);
    }
    (!head.formats.is_empty()).then_some(head)
}

/// The part after the number of CPUs: options, then where the pages lie.
fn pages(cursor: &mut Cursor<'_>, cpus: u32, preamble: &Preamble, head: &mut TraceHead) -> Option<()> {
    let mut word = cursor.take(10)?;
    if word.starts_with(b"options") {
        options::read(cursor, ListKind::Sequential, preamble.order, head)?;
        word = cursor.take(10)?;
    }
    head.options.cpus = head.options.cpus.or(Some(cpus));
    if word.starts_with(b"latency") {
        head.latency_text = true;
        return Some(());
    }
    if !word.starts_with(b"flyrecord") {
        return None;
    }
    let mut top = CpuBuffers::default();
    for cpu in 0..cpus {
        let (offset, bytes) = (cursor.u64()?, cursor.u64()?);
        top.cpus.push(CpuPages { cpu, offset, bytes });
    }
    if head.options.clock.is_none() {
        let size = cursor.u64().filter(|&size| size < 4096);
        let clock = size.and_then(|size| cursor.take(size as usize));
        head.options.clock =
            clock.map(|clock| String::from_utf8_lossy(clock).trim_matches(['\0', '\n']).to_owned());
    }
    head.buffers.insert(0, top);
    Some(())
}
