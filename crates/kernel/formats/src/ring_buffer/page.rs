//! One page and its records.

use super::layout::PageLayout;

/// Lower bits of the commit word: bytes of records.
const COMMIT_BYTES: u64 = (1 << 27) - 1;
/// Bit of the commit word: events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// Bit of the commit word: the number of lost events follows the records.
const MISSED_STORED: u64 = 1 << 30;

/// Kinds of a record's head above the lengths.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Bits of an absolute time stamp; those above come from the time before it.
const STAMP_BITS: u32 = 59;

/// Events lost just before a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MissedEvents {
    None,
    /// Some; their number is unknown.
    Some,
    /// So many.
    Count(u64),
}

/// How the records of a page ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordsEnd {
    /// Where the page's head says.
    Whole,
    /// In a record that is longer than the page, or has an impossible length: the rest of the page is lost.
    Damaged,
}

/// One page of one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Page<'a> {
    layout: &'a PageLayout,
    /// Time of the first record, in the clock's unit, before its own step.
    pub(crate) time: u64,
    /// Events lost before it.
    pub(crate) missed: MissedEvents,
    records: &'a [u8],
    /// Whether the page's head promised more bytes than there are.
    pub(crate) truncated: bool,
}

impl<'a> Page<'a> {
    /// Reads a page's head; `None` when there is not even a head.
    pub(crate) fn parse(bytes: &'a [u8], layout: &'a PageLayout) -> Option<Page<'a>> {
        let order = layout.order;
        let time = order.u64(bytes, 0)?;
        let commit = order.unsigned(bytes, layout.commit_at, layout.long_bytes)?;
        let data = bytes.get(layout.data_at..)?;
        let size = (commit & COMMIT_BYTES) as usize;
        let records = data.get(..size).unwrap_or(data);
        let missed = if commit & MISSED_EVENTS == 0 {
            MissedEvents::None
        } else {
            let missed_count =
                order.unsigned(data, size, layout.long_bytes).filter(|_| commit & MISSED_STORED != 0);
            missed_count.filter(|&count| count > 0).map_or(MissedEvents::Some, MissedEvents::Count)
        };
        Some(Page { layout, time, missed, records, truncated: records.len() < size })
    }

    /// Passes every record to `each`, with its time in the clock's unit.
    ///
    /// Record heads are a word of 5 bits for the kind and 27 for the time step; which end the 5 bits are at follows
    /// the byte order (`events/header_event`).
    #[inline]
    pub(crate) fn records(&self, mut each: impl FnMut(u64, &'a [u8])) -> RecordsEnd {
        let order = self.layout.order;
        let mut rest = self.records;
        let mut time = self.time;
        while !rest.is_empty() {
            let Some(head) = order.u32(rest, 0) else { return RecordsEnd::Damaged };
            let (kind, step) = match order {
                crate::bytes::ByteOrder::Little => (head & 31, u64::from(head >> 5)),
                crate::bytes::ByteOrder::Big => (head >> 27, u64::from(head & ((1 << 27) - 1))),
            };
            if kind == PADDING && step == 0 {
                return RecordsEnd::Whole;
            }
            let (data_at, data_bytes, next) = match kind {
                1..PADDING => {
                    let length = kind as usize * 4;
                    (4, length, 4 + length)
                }
                _ => {
                    let Some(word) = order.u32(rest, 4) else { return RecordsEnd::Damaged };
                    match kind {
                        0 if word >= 4 => {
                            let length = word as usize - 4;
                            (8, length, 8 + length.next_multiple_of(4))
                        }
                        0 => return RecordsEnd::Damaged,
                        PADDING => {
                            time = time.wrapping_add(step);
                            (8, 0, 4 + (word as usize).next_multiple_of(4).max(4))
                        }
                        TIME_EXTEND => {
                            time = time.wrapping_add((u64::from(word) << 27) + step);
                            (8, 0, 8)
                        }
                        _ => {
                            debug_assert_eq!(kind, TIME_STAMP, "5 bits");
                            time = absolute((u64::from(word) << 27) + step, time);
                            (8, 0, 8)
                        }
                    }
                }
            };
            if kind < PADDING {
                time = time.wrapping_add(step);
                let Some(data) = rest.get(data_at..data_at + data_bytes) else { return RecordsEnd::Damaged };
                each(time, data);
            }
            rest = rest.get(next..).unwrap_or_default();
        }
        RecordsEnd::Whole
    }
}

/// The time of an absolute stamp of 59 bits: the higher bits come from the time before it; a stamp below that time has wrapped.
fn absolute(stamp: u64, before: u64) -> u64 {
    let stamp = stamp & ((1 << STAMP_BITS) - 1);
    let high_bits = before >> STAMP_BITS << STAMP_BITS;
    let time = high_bits | stamp;
    if high_bits != 0 && time < before { time.wrapping_add(1 << STAMP_BITS) } else { time }
}
