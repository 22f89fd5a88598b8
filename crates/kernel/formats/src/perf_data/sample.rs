//! Where the parts of a record lie: samples, and the end of all other records.

use super::attributes::{Attribute, sample_bits};
use crate::bytes::ByteOrder;
use std::collections::HashMap;

/// Bits of `read_format`.
const READ_TIME_ENABLED: u64 = 1;
const READ_TIME_RUNNING: u64 = 2;
const READ_ID: u64 = 4;
const READ_GROUP: u64 = 8;
const READ_LOST: u64 = 16;

/// Time, CPU, and thread of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SampleOrigin {
    pub(super) time_ns: Option<u64>,
    pub(super) cpu: Option<u32>,
    /// The thread.
    pub(super) tid: Option<u32>,
}

/// A sample of a tracepoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample<'a> {
    pub(super) origin: SampleOrigin,
    /// The process of the thread.
    pub(super) process: Option<u32>,
    /// The tracepoint's record.
    pub(super) raw: &'a [u8],
    /// Addresses of its call stack, 8 bytes each, the innermost first; empty if it has none.
    pub(super) stack: &'a [u8],
}

/// Offsets of the fields in the records of one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SampleLayout {
    tracepoint: bool,
    sample_type: u64,
    read_format: u64,
    sample_id_all: bool,
    /// In samples, from the start.
    tid_at: Option<usize>,
    time_at: Option<usize>,
    id_at: Option<usize>,
    cpu_at: Option<usize>,
    /// In samples: where the fields of variable size begin.
    varying_at: usize,
}

impl SampleLayout {
    fn new(attribute: &Attribute) -> SampleLayout {
        use sample_bits::*;
        let has = |bit: u64| attribute.sample_type & bit != 0;
        let mut position = 0;
        let mut next_field = |bit: u64| {
            let offset = has(bit).then_some(position);
            position += if has(bit) { 8 } else { 0 };
            offset
        };
        let identifier = next_field(IDENTIFIER);
        next_field(IP);
        let tid_at = next_field(TID).map(|offset| offset + 4);
        let time_at = next_field(TIME);
        next_field(ADDR);
        let id_at = identifier.or(next_field(ID));
        if identifier.is_some() {
            next_field(ID);
        }
        next_field(STREAM_ID);
        let cpu_at = next_field(CPU);
        next_field(PERIOD);
        SampleLayout {
            tracepoint: attribute.tracepoint,
            sample_type: attribute.sample_type,
            read_format: attribute.read_format,
            sample_id_all: attribute.sample_id_all,
            tid_at,
            time_at,
            id_at,
            cpu_at,
            varying_at: position,
        }
    }

    fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// The tracepoint's record in a sample, and the addresses of the call stack.
    fn raw_and_stack<'a>(&self, body: &'a [u8], order: ByteOrder) -> Option<(&'a [u8], &'a [u8])> {
        let mut offset = self.varying_at;
        let mut stack = &body[..0];
        if self.has(sample_bits::READ) {
            offset = offset.checked_add(self.read_bytes(body, offset, order)?)?;
        }
        if self.has(sample_bits::CALLCHAIN) {
            let count = usize::try_from(order.u64(body, offset)?).ok()?;
            let from = offset.checked_add(8)?;
            offset = from.checked_add(count.checked_mul(8)?)?;
            stack = body.get(from..offset)?;
        }
        let size = order.u32(body, offset)? as usize;
        Some((body.get(offset + 4..)?.get(..size)?, stack))
    }

    /// Bytes of the counters in a sample.
    fn read_bytes(&self, body: &[u8], offset: usize, order: ByteOrder) -> Option<usize> {
        let has = |bit: u64| usize::from(self.read_format & bit != 0);
        let times = has(READ_TIME_ENABLED) + has(READ_TIME_RUNNING);
        let each = 1 + has(READ_ID) + has(READ_LOST);
        if self.read_format & READ_GROUP == 0 {
            return Some(8 * (times + each));
        }
        let count = usize::try_from(order.u64(body, offset)?).ok()?;
        count.checked_mul(8 * each)?.checked_add(8 * (1 + times))
    }

    /// The end of a record that is no sample: thread, time, number, stream, CPU, number, as far as recorded.
    fn trailer(&self, body: &[u8], order: ByteOrder) -> SampleOrigin {
        use sample_bits::*;
        if !self.sample_id_all {
            return SampleOrigin::default();
        }
        let mut from_end = 0;
        let mut previous_field = |bit: u64| {
            from_end += if self.has(bit) { 8 } else { 0 };
            if self.has(bit) { body.len().checked_sub(from_end) } else { None }
        };
        previous_field(IDENTIFIER);
        let cpu_at = previous_field(CPU);
        previous_field(STREAM_ID);
        previous_field(ID);
        let time_at = previous_field(TIME);
        let tid_at = previous_field(TID);
        SampleOrigin {
            time_ns: time_at.and_then(|offset| order.u64(body, offset)),
            cpu: cpu_at.and_then(|offset| order.u32(body, offset)),
            tid: tid_at.and_then(|offset| order.u32(body, offset + 4)),
        }
    }
}

/// Reads records of all events of a file.
#[derive(Clone, Debug)]
pub(super) struct SampleLayouts {
    order: ByteOrder,
    /// One for each event, or a single one when all are equal.
    layouts: Vec<SampleLayout>,
    by_id: HashMap<u64, usize>,
}

impl SampleLayouts {
    /// Layouts of these events; `None` when there are none.
    pub(super) fn new(attributes: &[Attribute], order: ByteOrder) -> Option<SampleLayouts> {
        let layouts: Vec<SampleLayout> = attributes.iter().map(SampleLayout::new).collect();
        let first = *layouts.first()?;
        if layouts.iter().all(|layout| *layout == first) {
            return Some(SampleLayouts { order, layouts: vec![first], by_id: HashMap::new() });
        }
        let mut by_id = HashMap::new();
        for (index, attribute) in attributes.iter().enumerate() {
            by_id.extend(attribute.ids.iter().map(|&id| (id, index)));
        }
        Some(SampleLayouts { order, layouts, by_id })
    }

    /// The kind of a sample, with the record of its tracepoint.
    #[inline]
    pub(super) fn sample<'a>(&self, body: &'a [u8]) -> SampleKind<'a> {
        let layout = self.layout(body);
        if !layout.tracepoint || !layout.has(sample_bits::RAW) {
            return SampleKind::Other;
        }
        let order = self.order;
        let Some((raw, stack)) = layout.raw_and_stack(body, order) else { return SampleKind::Malformed };
        let origin = SampleOrigin {
            time_ns: layout.time_at.and_then(|offset| order.u64(body, offset)),
            cpu: layout.cpu_at.and_then(|offset| order.u32(body, offset)),
            tid: layout.tid_at.and_then(|offset| order.u32(body, offset)),
        };
        let process = layout.tid_at.and_then(|offset| order.u32(body, offset - 4));
        SampleKind::Tracepoint(Sample { origin, process, raw, stack })
    }

    /// Origin of a record that is no sample.
    pub(super) fn trailer(&self, body: &[u8]) -> SampleOrigin {
        self.layouts[0].trailer(body, self.order)
    }

    /// The layout of a sample: that of the event whose number it carries. Numbers are at the same offset in all
    /// samples; otherwise samples could not be identified.
    #[inline]
    fn layout(&self, body: &[u8]) -> &SampleLayout {
        if let [single] = self.layouts.as_slice() {
            return single;
        }
        let id = self.layouts[0].id_at.and_then(|offset| self.order.u64(body, offset));
        let index = id.and_then(|id| self.by_id.get(&id)).copied().unwrap_or(0);
        &self.layouts[index]
    }
}

/// The kind of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SampleKind<'a> {
    Tracepoint(Sample<'a>),
    /// Of a counter or a timer: nothing for us.
    Other,
    /// Too short for what it says it holds.
    Malformed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_chain_lies_before_the_record_of_the_tracepoint() {
        let attribute = Attribute {
            tracepoint: true,
            config: 1,
            sample_type: sample_bits::TIME | sample_bits::CALLCHAIN | sample_bits::RAW,
            read_format: 0,
            sample_id_all: false,
            clock: None,
            ids: Vec::new(),
        };
        let layouts = SampleLayouts::new(&[attribute], ByteOrder::Little).unwrap();
        let mut body = [9_u64, 2, 11, 12].map(u64::to_le_bytes).concat();
        body.extend(3_u32.to_le_bytes());
        body.extend(b"raw");
        let SampleKind::Tracepoint(sample) = layouts.sample(&body) else { panic!("no sample") };
        assert_eq!((sample.origin.time_ns, sample.raw), (Some(9), &b"raw"[..]));
        assert_eq!(sample.stack, &body[16..32]);
        assert_eq!(layouts.sample(&body[..31]), SampleKind::Malformed);
        for count in [3, u64::MAX, u64::MAX / 8] {
            body[8..16].copy_from_slice(&count.to_le_bytes());
            assert_eq!(layouts.sample(&body), SampleKind::Malformed, "{count}");
        }
    }
}
