//! Version 6: everything in a row, nothing compressed.

use super::{CpuPages, TraceHead, options, page_aligned, start};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

pub(super) fn write(out: &mut File, head: &TraceHead, cpus: &mut [CpuPages<'_>]) -> io::Result<u64> {
    let mut bytes = front(head);
    let table = bytes.len() as u64 + cpus.len() as u64 * 16;
    let mut position = page_aligned(table, head.page_bytes);
    for cpu in cpus.iter() {
        bytes.extend(position.to_ne_bytes());
        bytes.extend(cpu.bytes.to_ne_bytes());
        position = page_aligned(position + cpu.bytes, head.page_bytes);
    }
    let mut out = BufWriter::with_capacity(1 << 20, out);
    out.write_all(&bytes)?;
    let mut written = table;
    for cpu in cpus {
        let padding = page_aligned(written, head.page_bytes) - written;
        io::copy(&mut io::repeat(0).take(padding), &mut out)?;
        let copied = io::copy(&mut cpu.pages.take(cpu.bytes), &mut out)?;
        if copied != cpu.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        written += padding + copied;
    }
    out.flush()?;
    Ok(written)
}

/// All that comes before the table of CPUs.
fn front(head: &TraceHead) -> Vec<u8> {
    let mut bytes = start("6", head.page_bytes);
    bytes.extend(head.header_section());
    bytes.extend(head.ftrace_section());
    bytes.extend(head.events_section());
    bytes.extend(head.symbols_section());
    bytes.extend(head.printk_section());
    bytes.extend(head.command_lines_section());
    bytes.extend(head.cpus.to_ne_bytes());
    bytes.extend(b"options  \0");
    options::put_facts(&mut bytes, head);
    bytes.extend(options::id::DONE.to_ne_bytes());
    bytes.extend(b"flyrecord\0");
    bytes
}
