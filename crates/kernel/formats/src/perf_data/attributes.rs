//! Reads `perf_event_attr`, which describes the records of an event (perf_event_open(2)).

use crate::bytes::ByteOrder;

/// The type of attributes of tracepoints.
const TYPE_TRACEPOINT: u32 = 2;

/// Bits of `sample_type`, in the order in which records hold them.
pub(super) mod sample_bits {
    pub(in super::super) const IP: u64 = 1 << 0;
    pub(in super::super) const TID: u64 = 1 << 1;
    pub(in super::super) const TIME: u64 = 1 << 2;
    pub(in super::super) const ADDR: u64 = 1 << 3;
    pub(in super::super) const READ: u64 = 1 << 4;
    pub(in super::super) const CALLCHAIN: u64 = 1 << 5;
    pub(in super::super) const ID: u64 = 1 << 6;
    pub(in super::super) const CPU: u64 = 1 << 7;
    pub(in super::super) const PERIOD: u64 = 1 << 8;
    pub(in super::super) const STREAM_ID: u64 = 1 << 9;
    pub(in super::super) const RAW: u64 = 1 << 10;
    pub(in super::super) const IDENTIFIER: u64 = 1 << 16;
}

/// Bits of the attribute's flags: other records carry a thread, a time and a CPU at their end.
const SAMPLE_ID_ALL: u32 = 18;
/// The clock is the one named.
const USE_CLOCK_ID: u32 = 25;

/// Bytes of the oldest attribute.
const ATTRIBUTE_BYTES_MIN: usize = 64;

/// One event that was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Attribute {
    /// Whether it is a tracepoint.
    pub(super) tracepoint: bool,
    /// A tracepoint's number: that of its format text.
    pub(super) config: u64,
    /// Bits of `PERF_SAMPLE_…`: the fields of its samples.
    pub(super) sample_type: u64,
    /// How counters are held, when they are.
    pub(super) read_format: u64,
    /// Whether records of other kinds end with a thread, a time and a CPU.
    pub(super) sample_id_all: bool,
    /// The clock, when it is not perf's own.
    pub(super) clock: Option<u32>,
    /// The numbers that its records may carry.
    pub(super) ids: Vec<u64>,
}

impl Attribute {
    /// Reads an attribute; bytes behind what is known are passed over. `None` when it is too short.
    pub(super) fn parse(bytes: &[u8], order: ByteOrder) -> Option<Attribute> {
        if bytes.len() < ATTRIBUTE_BYTES_MIN {
            return None;
        }
        let flags = order.u64(bytes, 40)?;
        // A bit field begins at the end where the first byte is.
        let flag = |bit: u32| match order {
            ByteOrder::Little => flags >> bit & 1 == 1,
            ByteOrder::Big => flags >> (63 - bit) & 1 == 1,
        };
        Some(Attribute {
            tracepoint: order.u32(bytes, 0)? == TYPE_TRACEPOINT,
            config: order.u64(bytes, 8)?,
            sample_type: order.u64(bytes, 24)?,
            read_format: order.u64(bytes, 32)?,
            sample_id_all: flag(SAMPLE_ID_ALL),
            clock: order.u32(bytes, 92).filter(|_| flag(USE_CLOCK_ID)),
            ids: Vec::new(),
        })
    }

    /// The declared size of an attribute; `None` when there are fewer bytes.
    pub(super) fn declared_bytes(bytes: &[u8], order: ByteOrder) -> Option<usize> {
        let size = order.u32(bytes, 4)? as usize;
        // The first version has no size.
        let size = if size == 0 { ATTRIBUTE_BYTES_MIN } else { size };
        (size <= bytes.len()).then_some(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_both_byte_orders() {
        let mut bytes = vec![0; 96];
        bytes[0..4].copy_from_slice(&2_u32.to_le_bytes());
        bytes[8..16].copy_from_slice(&317_u64.to_le_bytes());
        bytes[40..48].copy_from_slice(&(1_u64 << 18 | 1 << 25).to_le_bytes());
        bytes[92..96].copy_from_slice(&1_u32.to_le_bytes());
        let attribute = Attribute::parse(&bytes, ByteOrder::Little).unwrap();
        assert!(attribute.tracepoint && attribute.sample_id_all);
        assert_eq!((attribute.config, attribute.clock), (317, Some(1)));
        bytes[40..48].copy_from_slice(&(1_u64 << (63 - 18)).to_be_bytes());
        let attribute = Attribute::parse(&bytes, ByteOrder::Big).unwrap();
        assert!(attribute.sample_id_all && attribute.clock.is_none());
        assert_eq!(Attribute::parse(&bytes[..63], ByteOrder::Big), None);
    }
}
