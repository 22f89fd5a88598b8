//! Numbers and texts as the program's own encodings pack them: what is written and what is sent.
//!
//! Reading accepts any bytes: what cannot have been written is an error, never a panic, and nothing is reserved for more items
//! than the bytes left can hold.

use crate::put_varint;

/// The bytes are not what was expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// Appends a text: its length in bytes, then UTF-8.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a number by its difference from the one before, which is short if the two are close. Any two numbers have one.
#[inline]
pub fn put_difference(out: &mut Vec<u8>, before: i64, now: i64) {
    let difference = now.wrapping_sub(before);
    put_varint(out, (difference.wrapping_shl(1) ^ (difference >> 63)) as u64);
}

/// Reads what was packed. Every method fails when the bytes are not what it reads; nothing can be read after that.
#[derive(Clone, Copy, Debug)]
pub struct PackedReader<'a> {
    rest: &'a [u8],
}

/// What is read, or that it is not there.
pub type Unpacked<T> = Result<T, Malformed>;

impl<'a> PackedReader<'a> {
    /// A reader of some bytes.
    pub const fn new(bytes: &'a [u8]) -> PackedReader<'a> {
        PackedReader { rest: bytes }
    }

    /// Whether everything has been read.
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A number of up to 64 bits.
    #[inline]
    pub fn number(&mut self) -> Unpacked<u64> {
        match crate::varint(self.rest) {
            Ok(Some((number, bytes))) => {
                self.rest = &self.rest[bytes..];
                Ok(number)
            }
            Ok(None) | Err(_) => Err(Malformed),
        }
    }

    /// A number that fits 32 bits.
    #[inline]
    pub fn number_u32(&mut self) -> Unpacked<u32> {
        u32::try_from(self.number()?).map_err(|_| Malformed)
    }

    /// A number below a limit.
    #[inline]
    pub fn index(&mut self, below: usize) -> Unpacked<usize> {
        let index = self.number()?;
        if index < below as u64 { Ok(index as usize) } else { Err(Malformed) }
    }

    /// The item that a number selects.
    #[inline]
    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> Unpacked<T> {
        self.index(items.len()).map(|index| items[index])
    }

    /// How many items of at least `bytes_min` bytes each follow (`bytes_min` above 0): no more than the bytes left can hold.
    pub fn count(&mut self, bytes_min: usize) -> Unpacked<usize> {
        let count = self.number()?;
        if self.holds(count, bytes_min) { Ok(count as usize) } else { Err(Malformed) }
    }

    /// Whether the bytes left can hold so many items of at least `bytes_min` bytes each.
    pub const fn holds(&self, count: u64, bytes_min: usize) -> bool {
        count <= (self.rest.len() / bytes_min) as u64
    }

    /// The counterpart of [`put_difference`].
    #[inline]
    pub fn difference(&mut self, before: i64) -> Unpacked<i64> {
        let zigzag = self.number()?;
        Ok(before.wrapping_add((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)))
    }

    /// A text.
    pub fn text(&mut self) -> Unpacked<&'a str> {
        let length = self.count(1)?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| Malformed)
    }

    /// A byte.
    #[inline]
    pub fn byte(&mut self) -> Unpacked<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(Malformed)?;
        self.rest = rest;
        Ok(byte)
    }

    /// A fixed number of bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Unpacked<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_read_back_until_the_bytes_end() {
        let mut out = Vec::new();
        put_text(&mut out, "größe");
        for (before, now) in [(0, 0), (5, 3), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
            put_difference(&mut out, before, now);
        }
        put_varint(&mut out, u64::MAX);
        let mut reader = PackedReader::new(&out);
        assert_eq!(reader.text(), Ok("größe"));
        for (before, now) in [(0, 0), (5, 3), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] {
            assert_eq!(reader.difference(before), Ok(now));
        }
        assert_eq!(reader.number(), Ok(u64::MAX));
        assert!(reader.is_empty());
        assert_eq!(
            (reader.byte(), reader.number(), reader.array::<4>()),
            (Err(Malformed), Err(Malformed), Err(Malformed))
        );
    }

    #[test]
    fn counts_are_no_larger_than_what_can_follow() {
        let bytes = [3, 0, 0, 0, 0, 0, 0];
        assert_eq!(PackedReader::new(&bytes).count(2), Ok(3));
        assert_eq!(PackedReader::new(&bytes).count(3), Err(Malformed));
        assert_eq!(PackedReader::new(&[200, 1]).text(), Err(Malformed));
        assert_eq!(PackedReader::new(&[1, 0xFF]).text(), Err(Malformed), "not UTF-8");
        assert_eq!(PackedReader::new(&[2]).index(2), Err(Malformed));
        assert_eq!(PackedReader::new(&[1]).one_of(&["a", "b"]), Ok("b"));
    }
}
