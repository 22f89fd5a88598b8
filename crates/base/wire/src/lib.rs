//! Protocol Buffers' wire format, read where it lies, and the numbers and texts of encodings of our own.
//!
//! Reference: <https://protobuf.dev/programming-guides/encoding/>

mod packed;

pub use packed::{Malformed, PackedReader, Unpacked, put_difference, put_text};

/// Groups nested deeper than this are treated as an error.
const GROUP_DEPTH_MAX: u32 = 64;

/// The bytes are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireError;

/// A field's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// A variable-length integer; signed fields are in two's complement or zigzag, depending on the schema.
    Varint(u64),
    /// Eight bytes, little endian.
    Fixed64(u64),
    /// A text, a message or a packed array.
    Bytes(&'a [u8]),
    /// Four bytes, little endian.
    Fixed32(u32),
}

/// The header of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The field's number, never 0.
    pub field: u32,
    /// The value, or how many bytes of it follow.
    pub contents: Contents,
    /// Bytes that the header takes.
    pub bytes: usize,
}

/// The value of a field as its header shows it, by wire type: a varint itself, else how many bytes follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    /// Nothing: this was the value.
    Varint(u64),
    /// This many bytes, for the wire type of that name.
    Fixed64,
    /// This many bytes.
    Bytes(u64),
    /// Four bytes.
    Fixed32,
    /// Fields up to the group's end.
    GroupStart,
    /// Nothing: a group ends here.
    GroupEnd,
}

/// Reads a header; `None` when the bytes end inside it.
///
/// # Errors
/// When no header can start here.
#[inline]
pub fn header(bytes: &[u8]) -> Result<Option<Header>, WireError> {
    let Some((tag, tag_bytes)) = varint(bytes)? else {
        return Ok(None);
    };
    let field = u32::try_from(tag >> 3).map_err(|_| WireError)?;
    if field == 0 {
        return Err(WireError);
    }
    let contents = match tag & 7 {
        0 | 2 => {
            let Some((value, value_bytes)) = varint(&bytes[tag_bytes..])? else {
                return Ok(None);
            };
            let contents = if tag & 7 == 0 { Contents::Varint(value) } else { Contents::Bytes(value) };
            return Ok(Some(Header { field, contents, bytes: tag_bytes + value_bytes }));
        }
        1 => Contents::Fixed64,
        3 => Contents::GroupStart,
        4 => Contents::GroupEnd,
        5 => Contents::Fixed32,
        _ => return Err(WireError),
    };
    Ok(Some(Header { field, contents, bytes: tag_bytes }))
}

/// Reads a variable-length integer and its length in bytes; `None` when the bytes end inside it.
///
/// # Errors
/// When it is longer than ten bytes.
#[inline]
pub fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, WireError> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => return Ok(Some((u64::from(byte), 1))),
        _ => {}
    }
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            return Ok(Some((value, index + 1)));
        }
    }
    if bytes.len() < 10 { Ok(None) } else { Err(WireError) }
}

/// Appends a variable-length integer.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field of a variable-length integer.
pub fn put_integer(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

/// Appends a field of bytes, text or a message.
pub fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a field of eight bytes.
pub fn put_fixed64(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// The fields of a complete message, in order. Groups are passed over. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of `message`.
    pub fn new(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(WireError)?;
        self.rest = rest;
        Ok(head)
    }

    /// The next field of any type; `None` for a group's start or end.
    #[inline]
    fn step(&mut self) -> Result<(Header, Option<Value<'a>>), WireError> {
        let header = header(self.rest)?.ok_or(WireError)?;
        self.rest = &self.rest[header.bytes..];
        let value = match header.contents {
            Contents::Varint(value) => Value::Varint(value),
            Contents::Fixed64 => {
                let bytes = self.take(8)?.try_into().expect("eight bytes were split off");
                Value::Fixed64(u64::from_le_bytes(bytes))
            }
            Contents::Bytes(length) => {
                Value::Bytes(self.take(usize::try_from(length).map_err(|_| WireError)?)?)
            }
            Contents::Fixed32 => {
                let bytes = self.take(4)?.try_into().expect("four bytes were split off");
                Value::Fixed32(u32::from_le_bytes(bytes))
            }
            Contents::GroupStart | Contents::GroupEnd => return Ok((header, None)),
        };
        Ok((header, Some(value)))
    }

    fn skip_group(&mut self) -> Result<(), WireError> {
        let mut depth = 1;
        while depth > 0 {
            match self.step()?.0.contents {
                Contents::GroupStart if depth == GROUP_DEPTH_MAX => return Err(WireError),
                Contents::GroupStart => depth += 1,
                Contents::GroupEnd => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> Fields<'a> {
    /// The next field when its header is two bytes long at most, as most are.
    #[inline(always)]
    fn next_short(&mut self) -> Option<(u32, Value<'a>)> {
        let (&[tag, first], rest) = self.rest.split_first_chunk::<2>()?;
        if !(8..0x80).contains(&tag) || first >= 0x80 {
            return None;
        }
        let (value, rest) = match tag & 7 {
            0 => (Value::Varint(u64::from(first)), rest),
            2 => {
                let (contents, rest) = rest.split_at_checked(usize::from(first))?;
                (Value::Bytes(contents), rest)
            }
            _ => return None,
        };
        self.rest = rest;
        Some((u32::from(tag >> 3), value))
    }

    fn next_any(&mut self) -> Option<Result<(u32, Value<'a>), WireError>> {
        while !self.rest.is_empty() {
            let found = match self.step() {
                Ok((header, Some(value))) => return Some(Ok((header.field, value))),
                Ok((Header { contents: Contents::GroupStart, .. }, None)) => self.skip_group(),
                Ok(_) | Err(WireError) => Err(WireError),
            };
            if found.is_err() {
                self.rest = &[];
                return Some(Err(WireError));
            }
        }
        None
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), WireError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(field) = self.next_short() {
            return Some(Ok(field));
        }
        self.next_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_encoding_guide() {
        let fields = |bytes: &'static [u8]| Fields::new(bytes).collect::<Vec<_>>();
        assert_eq!(fields(b"\x08\x96\x01"), [Ok((1, Value::Varint(150)))]);
        assert_eq!(fields(b"\x12\x07testing"), [Ok((2, Value::Bytes(b"testing")))]);
        let negative = b"\x08\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01";
        assert_eq!(fields(negative), [Ok((1, Value::Varint(-2_i64 as u64)))]);
        let fixed = b"\x09\x01\0\0\0\0\0\0\0\x15\x02\0\0\0";
        assert_eq!(fields(fixed), [Ok((1, Value::Fixed64(1))), Ok((2, Value::Fixed32(2)))]);
    }

    #[test]
    fn written_fields_are_read_again() {
        let mut out = Vec::new();
        put_fixed64(&mut out, 7, u64::MAX - 1);
        put_bytes(&mut out, 20, b"x");
        put_integer(&mut out, 58, 300);
        let fields: Vec<_> = Fields::new(&out).collect();
        let expected =
            [(7, Value::Fixed64(u64::MAX - 1)), (20, Value::Bytes(b"x")), (58, Value::Varint(300))];
        assert_eq!(fields, expected.map(Ok));
    }

    #[test]
    fn groups_are_skipped() {
        // Group 8 with field 1, a group 9 inside, then field 2.
        let bytes = b"\x43\x08\x01\x4B\x12\x01x\x4C\x44\x10\x05";
        assert_eq!(Fields::new(bytes).collect::<Vec<_>>(), [Ok((2, Value::Varint(5)))]);
        assert_eq!(Fields::new(&b"\x43".repeat(100_000)).last(), Some(Err(WireError)));
    }

    #[test]
    fn damage_ends_the_message() {
        for bytes in [
            &b"\x12\x07test"[..],                                // cut
            b"\x44",                                             // a group ends that has not started
            b"\x43\x08\x01",                                     // a group does not end
            b"\x0E",                                             // wire type 6
            b"\x00\x01",                                         // field 0
            b"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", // eleven bytes
            b"\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F",         // endless
        ] {
            assert_eq!(Fields::new(bytes).collect::<Vec<_>>(), [Err(WireError)], "{bytes:?}");
        }
    }

    #[test]
    fn incomplete_headers_need_more_bytes() {
        let bytes = b"\xC2\x3E\x80\x01";
        for cut in 0..bytes.len() {
            assert_eq!(header(&bytes[..cut]), Ok(None));
        }
        assert_eq!(header(bytes), Ok(Some(Header { field: 1000, contents: Contents::Bytes(128), bytes: 4 })));
    }
}
