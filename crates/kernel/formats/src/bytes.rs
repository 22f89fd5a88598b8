//! Numbers and texts out of bytes, in either byte order; nothing here can read past an end.

/// Which end of a number comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The 16-bit number at `offset`.
    #[inline]
    pub(crate) fn u16(self, bytes: &[u8], offset: usize) -> Option<u16> {
        let encoded = *bytes.get(offset..)?.first_chunk()?;
        Some(match self {
            ByteOrder::Little => u16::from_le_bytes(encoded),
            ByteOrder::Big => u16::from_be_bytes(encoded),
        })
    }

    /// The 32-bit number at `offset`.
    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], offset: usize) -> Option<u32> {
        let encoded = *bytes.get(offset..)?.first_chunk()?;
        Some(match self {
            ByteOrder::Little => u32::from_le_bytes(encoded),
            ByteOrder::Big => u32::from_be_bytes(encoded),
        })
    }

    /// The 64-bit number at `offset`.
    #[inline]
    pub(crate) fn u64(self, bytes: &[u8], offset: usize) -> Option<u64> {
        let encoded = *bytes.get(offset..)?.first_chunk()?;
        Some(match self {
            ByteOrder::Little => u64::from_le_bytes(encoded),
            ByteOrder::Big => u64::from_be_bytes(encoded),
        })
    }

    /// The unsigned number of 1, 2, 4 or 8 bytes at `offset`; `None` for another size.
    #[inline]
    pub(crate) fn unsigned(self, bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
        match size {
            1 => bytes.get(offset).map(|&byte| u64::from(byte)),
            2 => self.u16(bytes, offset).map(u64::from),
            4 => self.u32(bytes, offset).map(u64::from),
            8 => self.u64(bytes, offset),
            _ => None,
        }
    }
}

/// Reads values one after another.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
    offset: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte.
    pub(crate) fn new(bytes: &'a [u8], order: ByteOrder) -> Cursor<'a> {
        Cursor { bytes, order, offset: 0 }
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.offset.checked_add(count)?;
        let bytes = self.bytes.get(self.offset..end)?;
        self.offset = end;
        Some(bytes)
    }

    /// The next 16-bit number.
    pub(crate) fn u16(&mut self) -> Option<u16> {
        let value = self.order.u16(self.bytes, self.offset)?;
        self.offset += 2;
        Some(value)
    }

    /// The next 32-bit number.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        let value = self.order.u32(self.bytes, self.offset)?;
        self.offset += 4;
        Some(value)
    }

    /// The next 64-bit number.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let value = self.order.u64(self.bytes, self.offset)?;
        self.offset += 8;
        Some(value)
    }

    /// The bytes up to the next zero byte, which is passed over.
    pub(crate) fn zero_ended(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.offset..)?;
        let length = memchr::memchr(0, rest)?;
        self.offset += length + 1;
        rest.get(..length)
    }

    /// How many bytes were passed over.
    pub(crate) fn position(&self) -> usize {
        self.offset
    }

    /// The bytes still to come.
    #[cfg(test)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }
}

/// The bytes before the first zero byte, or all.
#[inline]
pub(crate) fn until_zero(bytes: &[u8]) -> &[u8] {
    match memchr::memchr(0, bytes) {
        Some(length) => &bytes[..length],
        None => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_byte_order_and_end_with_the_bytes() {
        let bytes = [1, 2, 3, 4];
        assert_eq!(ByteOrder::Little.u32(&bytes, 0), Some(0x0403_0201));
        assert_eq!(ByteOrder::Big.u32(&bytes, 0), Some(0x0102_0304));
        assert_eq!(ByteOrder::Big.u16(&bytes, 2), Some(0x0304));
        assert_eq!(ByteOrder::Big.u16(&bytes, 3), None);
        assert_eq!(ByteOrder::Big.u16(&bytes, usize::MAX), None);
        assert_eq!(ByteOrder::Little.unsigned(&bytes, 0, 3), None);
    }

    #[test]
    fn a_cursor_reads_null_terminated_strings() {
        let mut cursor = Cursor::new(b"none\0\0\x07\0rest", ByteOrder::Little);
        assert_eq!(cursor.zero_ended(), Some(&b"none"[..]));
        assert_eq!(cursor.zero_ended(), Some(&b""[..]));
        assert_eq!(cursor.u16(), Some(7));
        assert_eq!(cursor.zero_ended(), None);
        assert_eq!(cursor.rest(), b"rest");
        assert_eq!(cursor.take(5), None);
    }
}
