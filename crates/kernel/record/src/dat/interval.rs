//! Cuts a page of the ring buffer to an interval of its clock.
//!
//! A page is a time (8 bytes), a commit word (8 bytes: bytes of records in the lower bits, flags of losses above), and
//! records. A record's head is a word of 5 bits for its kind and 27 for the time since the one before.

use std::ops::Range;

/// An interval of the trace clock, both ends included, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockInterval {
    /// Its beginning.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// Bytes of a page before its records.
const HEAD: usize = 16;
/// Lower bits of the commit word: bytes of records.
const COMMIT_BYTES: u64 = (1 << 27) - 1;
/// Flag of the commit word: events were lost before this page.
const MISSED: u64 = 1 << 31;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a time step in a record's head.
const STEP_BITS: u32 = 27;

/// One record, or a word that only moves the time.
struct PageRecord {
    bytes: Range<usize>,
    /// Its time, in nanoseconds.
    time: u64,
    is_event: bool,
}

/// Leaves the events of an interval in a page; how many those are. A loss that the kernel flagged before the page stays
/// flagged unless events before the interval were cut off, which it is then before, too. A page that cannot be read to
/// its end is cut there.
pub fn cut_page(page: &mut [u8], interval: ClockInterval) -> u64 {
    let Some((time, commit)) = head_of(page) else { return 0 };
    let end = (HEAD + (commit & COMMIT_BYTES) as usize).min(page.len());
    let records = records(page, time, end);
    let events = || records.iter().filter(|record| record.is_event);
    let inside = |record: &&PageRecord| (interval.from_ns..=interval.to_ns).contains(&record.time);
    let count = events().filter(inside).count() as u64;
    let (Some(first), Some(last)) = (events().find(inside), events().rfind(inside)) else {
        page[8..HEAD].copy_from_slice(&0u64.to_ne_bytes());
        return 0;
    };
    let is_cut_before = events().next().is_some_and(|record| record.bytes.start < first.bytes.start);
    if is_cut_before {
        page[..8].copy_from_slice(&first.time.to_ne_bytes());
        clear_step(page, first.bytes.start);
    }
    let retained = match is_cut_before {
        true => first.bytes.start..last.bytes.end,
        // Words before the first event say its time.
        false => HEAD..last.bytes.end,
    };
    let length = retained.len();
    page.copy_within(retained, HEAD);
    page[HEAD + length..].fill(0);
    let flags = if is_cut_before { 0 } else { commit & MISSED };
    page[8..HEAD].copy_from_slice(&(length as u64 | flags).to_ne_bytes());
    count
}

/// The time at which a page begins, in nanoseconds.
pub(crate) fn page_time(page: &[u8]) -> u64 {
    head_of(page).map_or(0, |(time, _)| time)
}

fn head_of(page: &[u8]) -> Option<(u64, u64)> {
    let word = |offset: usize| Some(u64::from_ne_bytes(page.get(offset..offset + 8)?.try_into().ok()?));
    Some((word(0)?, word(8)?))
}

fn word(page: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(page.get(offset..offset + 4)?.try_into().ok()?))
}

/// Kind and time step of a record's head; which end the kind is at follows the byte order.
const fn kind_and_step(head: u32) -> (u32, u64) {
    match cfg!(target_endian = "big") {
        true => (head >> STEP_BITS, (head & ((1 << STEP_BITS) - 1)) as u64),
        false => (head & 31, (head >> 5) as u64),
    }
}

/// Sets a record's time step to zero: the page begins with it.
fn clear_step(page: &mut [u8], offset: usize) {
    let Some(head) = word(page, offset) else { return };
    let (kind, _) = kind_and_step(head);
    let head = if cfg!(target_endian = "big") { kind << STEP_BITS } else { kind };
    page[offset..offset + 4].copy_from_slice(&head.to_ne_bytes());
}

fn records(page: &[u8], mut time: u64, end: usize) -> Vec<PageRecord> {
    let (mut records, mut offset) = (Vec::new(), HEAD);
    while offset < end {
        let Some(head) = word(page, offset) else { break };
        let (kind, step) = kind_and_step(head);
        let next_word = u64::from(word(page, offset + 4).unwrap_or(0));
        let length = match kind {
            PADDING if step == 0 => break,
            PADDING => 4 + (next_word as usize).next_multiple_of(4).max(4),
            TIME_EXTEND | TIME_STAMP => 8,
            0 if next_word < 4 => break,
            0 => 4 + (next_word as usize).next_multiple_of(4),
            words => 4 + words as usize * 4,
        };
        time = match kind {
            TIME_EXTEND => time.wrapping_add((next_word << STEP_BITS) + step),
            // The bits that a stamp has no place for are those of the time before.
            TIME_STAMP => time >> 59 << 59 | ((next_word << STEP_BITS) + step),
            _ => time.wrapping_add(step),
        };
        if offset + length > end {
            break;
        }
        records.push(PageRecord { bytes: offset..offset + length, time, is_event: kind < PADDING });
        offset += length;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flag of the commit word: the number of lost events follows the records.
    const MISSED_STORED: u64 = 1 << 30;

    /// A record of 8 bytes of data.
    fn event(step: u32, value: u64) -> Vec<u8> {
        let head = if cfg!(target_endian = "big") { 2 << 27 | step } else { 2 | step << 5 };
        [&head.to_ne_bytes()[..], &value.to_ne_bytes()].concat()
    }

    fn extend(step: u64) -> Vec<u8> {
        let (low, high) = ((step & ((1 << 27) - 1)) as u32, (step >> 27) as u32);
        let head = if cfg!(target_endian = "big") { 30 << 27 | low } else { 30 | low << 5 };
        [head.to_ne_bytes(), high.to_ne_bytes()].concat()
    }

    fn page(time: u64, flags: u64, records: &[Vec<u8>]) -> Vec<u8> {
        let data = records.concat();
        let mut bytes = [time.to_ne_bytes(), (data.len() as u64 | flags).to_ne_bytes()].concat();
        bytes.extend(data);
        bytes.resize(256, 0);
        bytes
    }

    /// Times and values of the events of a page, and its flags.
    fn events(page: &[u8]) -> (Vec<(u64, u64)>, u64) {
        let (time, commit) = head_of(page).unwrap();
        let end = HEAD + (commit & COMMIT_BYTES) as usize;
        let value = |record: &PageRecord| {
            let data = &page[record.bytes.start + 4..record.bytes.end];
            (record.time, u64::from_ne_bytes(data.try_into().unwrap()))
        };
        let records = records(page, time, end);
        (records.iter().filter(|record| record.is_event).map(value).collect(), commit & !COMMIT_BYTES)
    }

    fn cut(page: &[u8], from_ns: u64, to_ns: u64) -> (Vec<(u64, u64)>, u64) {
        let mut page = page.to_vec();
        let count = cut_page(&mut page, ClockInterval { from_ns, to_ns });
        let remaining = events(&page);
        assert_eq!(remaining.0.len() as u64, count);
        remaining
    }

    #[test]
    fn events_of_the_interval_stay_with_their_times() {
        const LONG: u64 = 1 << 30;
        let records = [event(5, 1), event(10, 2), extend(LONG), event(3, 3), event(0, 4), event(7, 5)];
        let page = page(1_000, MISSED, &records);
        let late = 1_015 + LONG;
        let all = [(1_005, 1), (1_015, 2), (late + 3, 3), (late + 3, 4), (late + 10, 5)];
        assert_eq!(events(&page), (all.to_vec(), MISSED));
        let times: Vec<u64> = all.iter().flat_map(|(time, _)| [time - 1, *time, time + 1]).collect();
        for &from in &times {
            for &to in &times {
                let expected: Vec<_> =
                    all.iter().copied().filter(|(time, _)| (from..=to).contains(time)).collect();
                let is_from_the_start = expected.first() == Some(&all[0]);
                let flags = if is_from_the_start { MISSED } else { 0 };
                assert_eq!(cut(&page, from, to), (expected, flags), "{from} {to}");
            }
        }
    }

    #[test]
    fn a_stored_count_of_lost_events_is_omitted_with_its_flag() {
        let mut page = page(1_000, MISSED | MISSED_STORED, &[event(5, 1), event(10, 2)]);
        page[HEAD + 24..HEAD + 32].copy_from_slice(&77u64.to_ne_bytes());
        assert_eq!(cut(&page, 0, u64::MAX), (vec![(1_005, 1), (1_015, 2)], MISSED));
    }

    #[test]
    fn hostile_bytes_do_no_harm() {
        let mut seed = 1u64;
        for length in 0..200 {
            let mut page: Vec<u8> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 33) as u8
                })
                .collect();
            cut_page(&mut page, ClockInterval { from_ns: 0, to_ns: u64::MAX });
            cut_page(&mut page, ClockInterval { from_ns: 9, to_ns: 3 });
        }
    }
}
