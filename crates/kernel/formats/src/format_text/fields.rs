//! Where a field lies in a record, and reading it.

use crate::bytes::{ByteOrder, until_zero};

/// A number in a record: 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberField {
    /// Bytes from the record's start.
    pub(crate) offset: usize,
    /// Its size in bytes.
    pub(crate) size: usize,
    /// Whether it may be negative.
    pub(crate) signed: bool,
}

impl NumberField {
    /// Its value; a negative one with all higher bits set.
    #[inline]
    pub(crate) fn read(self, record: &[u8], order: ByteOrder) -> Option<u64> {
        let value = order.unsigned(record, self.offset, self.size)?;
        if !self.signed || self.size >= 8 {
            return Some(value);
        }
        let unused = 64 - 8 * self.size as u32;
        Some((((value << unused) as i64) >> unused) as u64)
    }

    /// Its lower 32 bits.
    #[inline]
    pub(crate) fn read_u32(self, record: &[u8], order: ByteOrder) -> Option<u32> {
        order.unsigned(record, self.offset, self.size).map(|value| value as u32)
    }
}

/// A run of bytes in a record, or what points to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BytesField {
    /// At a fixed offset.
    Fixed {
        /// Bytes from the record's start.
        offset: usize,
        /// Its size in bytes.
        size: usize,
    },
    /// From an offset to the record's end (an array declared with no size).
    Rest {
        /// Bytes from the record's start.
        offset: usize,
    },
    /// `__data_loc`: a word at `offset` contains the offset from the record's start (low half) and the size.
    DataLocation {
        /// Bytes from the record's start.
        offset: usize,
    },
    /// `__rel_loc`: the same, with the offset counted from the end of that word.
    RelativeLocation {
        /// Bytes from the record's start.
        offset: usize,
    },
}

impl BytesField {
    /// Its bytes, as far as the record has them.
    #[inline]
    pub(crate) fn read<'r>(&self, record: &'r [u8], order: ByteOrder) -> Option<&'r [u8]> {
        let (from, size) = match *self {
            BytesField::Fixed { offset, size } => (offset, size),
            BytesField::Rest { offset } => (offset, record.len().checked_sub(offset)?),
            BytesField::DataLocation { offset } => {
                let word = order.u32(record, offset)? as usize;
                (word & 0xffff, word >> 16)
            }
            BytesField::RelativeLocation { offset } => {
                let word = order.u32(record, offset)? as usize;
                (offset + 4 + (word & 0xffff), word >> 16)
            }
        };
        record.get(from..from.checked_add(size)?)
    }

    /// Its bytes before the first zero.
    #[inline]
    pub(crate) fn read_text<'r>(&self, record: &'r [u8], order: ByteOrder) -> Option<&'r [u8]> {
        self.read(record, order).map(until_zero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_sign() {
        let record = [0xff, 0xff, 0xfe, 0xff];
        let field = NumberField { offset: 2, size: 2, signed: true };
        assert_eq!(field.read(&record, ByteOrder::Little), Some(-2_i64 as u64));
        assert_eq!(field.read(&record, ByteOrder::Big), Some(-257_i64 as u64));
        let field = NumberField { signed: false, ..field };
        assert_eq!(field.read(&record, ByteOrder::Little), Some(0xfffe));
        assert_eq!(NumberField { offset: 3, ..field }.read(&record, ByteOrder::Little), None);
    }

    #[test]
    fn locations_point_from_the_record_or_from_themselves() {
        let mut record = vec![0; 4];
        record.extend_from_slice(b"virtio0\0");
        record[..4].copy_from_slice(&(4_u32 | 8 << 16).to_le_bytes());
        let text = BytesField::DataLocation { offset: 0 }.read_text(&record, ByteOrder::Little);
        assert_eq!(text, Some(&b"virtio0"[..]));
        record[..4].copy_from_slice(&(8_u32 << 16).to_le_bytes());
        let text = BytesField::RelativeLocation { offset: 0 }.read_text(&record, ByteOrder::Little);
        assert_eq!(text, Some(&b"virtio0"[..]));
        record[..4].copy_from_slice(&(9_u32 << 16).to_le_bytes());
        assert_eq!(BytesField::RelativeLocation { offset: 0 }.read(&record, ByteOrder::Little), None);
    }
}
