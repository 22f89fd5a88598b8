//! The options both versions share: facts of a trace about itself.

use super::TraceHead;

/// Numbers of options.
pub(super) mod id {
    pub(in super::super) const DONE: u16 = 0;
    pub(in super::super) const DATE: u16 = 1;
    pub(in super::super) const CPU_STATS: u16 = 2;
    pub(in super::super) const BUFFER: u16 = 3;
    pub(in super::super) const TRACE_CLOCK: u16 = 4;
    pub(in super::super) const UNAME: u16 = 5;
    pub(in super::super) const CPU_COUNT: u16 = 8;
    pub(in super::super) const VERSION: u16 = 9;
    pub(in super::super) const TRACE_ID: u16 = 11;
}

/// Appends one option.
pub(super) fn put(bytes: &mut Vec<u8>, id: u16, data: &[u8]) {
    bytes.extend(id.to_ne_bytes());
    bytes.extend(u32::try_from(data.len()).expect("an option is small").to_ne_bytes());
    bytes.extend(data);
}

/// Appends an option that is a text.
fn put_text(bytes: &mut Vec<u8>, id: u16, text: &str) {
    put(bytes, id, &[text.as_bytes(), b"\0"].concat());
}

/// Appends facts of a trace about itself.
pub(super) fn put_facts(bytes: &mut Vec<u8>, head: &TraceHead) {
    if let Some(offset) = head.calendar_offset_ns {
        put_text(bytes, id::DATE, &format!("{:#x}", offset.div_euclid(1000)));
    }
    put_text(bytes, id::TRACE_CLOCK, &head.clocks);
    put_text(bytes, id::UNAME, &head.system);
    put_text(bytes, id::VERSION, &head.version);
    put(bytes, id::TRACE_ID, &head.trace_id.to_ne_bytes());
    head.cpu_stats.iter().for_each(|stats| put_text(bytes, id::CPU_STATS, stats));
    // Other readers show this kind of option as text, so they pass over it.
    for text in [&head.snapshot, &head.programs] {
        if !text.is_empty() {
            put_text(bytes, id::CPU_STATS, text);
        }
    }
    put(bytes, id::CPU_COUNT, &head.cpus.to_ne_bytes());
}
