//! Options: numbered facts of a file about itself.

use super::head::{CpuBuffers, CpuPages, CycleLength, TraceHead};
use crate::bytes::{ByteOrder, Cursor, until_zero};
use laggard_model::{HostSnapshot, UserFunctions};

/// Numbers of options (trace-cmd.dat.v7(5)).
const DONE: u16 = 0;
const DATE: u16 = 1;
const CPU_STATS: u16 = 2;
const BUFFER: u16 = 3;
const TRACE_CLOCK: u16 = 4;
const UNAME: u16 = 5;
const OFFSET: u16 = 7;
const CPU_COUNT: u16 = 8;
const TSC_TO_NS: u16 = 14;
pub(super) const HEADER_INFO: u16 = 16;
pub(super) const FTRACE_FORMATS: u16 = 17;
pub(super) const EVENT_FORMATS: u16 = 18;
pub(super) const SYMBOLS: u16 = 19;
pub(super) const CMDLINES: u16 = 21;
const BUFFER_TEXT: u16 = 22;

/// CPUs of one buffer beyond this many are left out; Linux has at most 8192.
const CPUS_MAX: u32 = 8192;

/// A section that an option points to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SectionAt {
    /// Its kind: the option's number.
    pub(super) kind: u16,
    /// Where it begins in the file.
    pub(super) offset: u64,
}

/// The sections and the next list that a list of options refers to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ListedSection {
    pub(super) sections: Vec<SectionAt>,
    /// Where the next list of options begins; 0 for none. Version 7 only.
    pub(super) next: u64,
}

/// How a version lists options and buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListKind {
    /// Version 6: the list ends with a bare number 0, buffers are only named.
    Sequential,
    /// Version 7: the last option contains the position of the next list, buffers that of their pages.
    Sections,
}

/// Reads a list of options; `None` when it ends before its end.
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    kind: ListKind,
    order: ByteOrder,
    head: &mut TraceHead,
) -> Option<ListedSection> {
    let mut pointed = ListedSection::default();
    loop {
        let number = cursor.u16()?;
        if number == DONE && kind == ListKind::Sequential {
            return Some(pointed);
        }
        let size = cursor.u32()? as usize;
        let data = cursor.take(size)?;
        match number {
            DONE => {
                pointed.next = order.u64(data, 0).unwrap_or(0);
                return Some(pointed);
            }
            BUFFER | BUFFER_TEXT if kind == ListKind::Sections => {
                head.latency_text |= number == BUFFER_TEXT;
                head.buffers.extend((number == BUFFER).then(|| buffer(data, order)).flatten());
            }
            BUFFER => {
                let name = data.get(8..).map(text).unwrap_or_default();
                head.buffers.push(CpuBuffers { name, ..CpuBuffers::default() });
            }
            HEADER_INFO | FTRACE_FORMATS | EVENT_FORMATS | SYMBOLS | CMDLINES => {
                pointed.sections.extend(order.u64(data, 0).map(|offset| SectionAt { kind: number, offset }));
            }
            _ => plain(number, data, order, head),
        }
    }
}

/// Options that are a number or a text.
fn plain(number: u16, data: &[u8], order: ByteOrder, head: &mut TraceHead) {
    let options = &mut head.options;
    match number {
        DATE => options.calendar_ns = integer(data).and_then(|us| us.checked_mul(1000)),
        CPU_STATS => {
            let text = text(data);
            options.snapshot = HostSnapshot::from_text(&text).or(options.snapshot.take());
            options.programs =
                UserFunctions::from_text(&text).unwrap_or(std::mem::take(&mut options.programs));
        }
        TRACE_CLOCK => options.clock = Some(text(data)).filter(|clock| !clock.is_empty()),
        UNAME => options.uname = Some(text(data)),
        OFFSET => options.shift_ns = options.shift_ns.saturating_add(integer(data).unwrap_or(0)),
        CPU_COUNT => options.cpus = order.u32(data, 0),
        TSC_TO_NS => {
            let (multiplier, shift) = (order.u32(data, 0), order.u32(data, 4));
            options.cycles = multiplier
                .zip(shift)
                .map(|(multiplier, shift)| CycleLength { multiplier, shift })
                .filter(|length| length.multiplier > 0 && length.shift < 64);
        }
        _ => {}
    }
}

/// A buffer of version 7. CPUs that its data does not hold are missing.
fn buffer(data: &[u8], order: ByteOrder) -> Option<CpuBuffers> {
    let mut cursor = Cursor::new(data, order);
    let section = cursor.u64()?;
    let name = text(cursor.zero_ended()?);
    let clock = text(cursor.zero_ended()?);
    let page_bytes = cursor.u32()?;
    let count = cursor.u32()?.min(CPUS_MAX);
    let mut cpus = Vec::new();
    for _ in 0..count {
        let (Some(cpu), Some(offset), Some(bytes)) = (cursor.u32(), cursor.u64(), cursor.u64()) else {
            break;
        };
        cpus.push(CpuPages { cpu, offset, bytes });
    }
    Some(CpuBuffers { name, clock, page_bytes: Some(page_bytes), section: Some(section), cpus })
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(until_zero(data)).trim().to_owned()
}

/// Decimal, or hexadecimal after `0x`; a hexadecimal one may have all 64 bits.
fn integer(data: &[u8]) -> Option<i64> {
    let text = text(data);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.trim_start_matches('+')),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}
