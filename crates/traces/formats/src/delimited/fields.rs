//! Splits one record into fields, and guesses the delimiter.

use super::{DELIMITERS, FieldState, RawRecord, RecordError};
use laggard_model::Loss;

/// The delimiter that is most frequent outside quotes; a comma when there is none.
pub(crate) fn guess_delimiter(record: &str) -> u8 {
    let mut counts = [0_usize; DELIMITERS.len()];
    let mut is_quoted = false;
    for byte in record.bytes() {
        is_quoted ^= byte == b'"';
        if let Some(which) = DELIMITERS.iter().position(|&delimiter| delimiter == byte && !is_quoted) {
            counts[which] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    counts.iter().position(|&count| count == most).map_or(b',', |which| DELIMITERS[which])
}

/// Where one field lies in a row's text.
#[derive(Clone, Copy)]
struct FieldRange {
    start: u32,
    end: u32,
}

/// Buffers for splitting records into fields, reused for every record.
#[derive(Default)]
pub(crate) struct FieldBuffers {
    ranges: Vec<FieldRange>,
    unquoted: String,
}

/// One record's fields.
#[derive(Clone, Copy)]
pub(crate) struct RecordFields<'a> {
    text: &'a str,
    ranges: &'a [FieldRange],
    /// Number of the record's first line, from 1.
    pub(crate) line: u64,
}

impl FieldBuffers {
    /// Splits a record. What follows the first `fields_max` fields stays together as one more.
    pub(crate) fn split<'a>(
        &'a mut self,
        record: RawRecord<'a>,
        delimiter: u8,
        fields_max: usize,
    ) -> Result<RecordFields<'a>, RecordError> {
        let Ok(text) = std::str::from_utf8(record.bytes) else {
            return Err(RecordError::record(Loss::MalformedRecord, "not UTF-8 text"));
        };
        self.ranges.clear();
        if record.has_quotes {
            self.split_quoted(text, delimiter, fields_max);
            return Ok(RecordFields { text: &self.unquoted, ranges: &self.ranges, line: record.line });
        }
        self.split_unquoted(text.as_bytes(), delimiter, fields_max);
        Ok(RecordFields { text, ranges: &self.ranges, line: record.line })
    }

    /// Fields are shorter than a vectorized search takes to start, so eight bytes at a time are compared in one register.
    #[inline]
    fn split_unquoted(&mut self, text: &[u8], delimiter: u8, fields_max: usize) {
        let (words, rest) = text.as_chunks::<8>();
        let mut start = 0;
        for (index, word) in words.iter().enumerate() {
            let mut found = equal_bytes(u64::from_le_bytes(*word), delimiter);
            while found != 0 {
                let end = index as u32 * 8 + found.trailing_zeros() / 8;
                if self.ranges.len() < fields_max {
                    self.ranges.push(FieldRange { start, end });
                    start = end + 1;
                }
                found &= found - 1;
            }
        }
        for (index, &byte) in rest.iter().enumerate() {
            if byte == delimiter && self.ranges.len() < fields_max {
                let end = (words.len() * 8 + index) as u32;
                self.ranges.push(FieldRange { start, end });
                start = end + 1;
            }
        }
        self.ranges.push(FieldRange { start, end: text.len() as u32 });
    }

    fn split_quoted(&mut self, text: &str, delimiter: u8, fields_max: usize) {
        self.unquoted.clear();
        let mut state = FieldState::FieldStart;
        let mut start = 0;
        for character in text.chars() {
            // Any byte that is neither quote nor delimiter represents the characters beyond ASCII.
            let byte = u8::try_from(character).ok().filter(u8::is_ascii).unwrap_or(b'a');
            let next = state.after(byte, byte == delimiter);
            let ends_field = next == FieldState::FieldStart && self.ranges.len() < fields_max;
            if ends_field {
                let end = self.unquoted.len() as u32;
                self.ranges.push(FieldRange { start, end });
                start = end;
            }
            let opens = state == FieldState::FieldStart && next == FieldState::Quoted;
            if !ends_field && !opens && next != FieldState::QuoteInQuoted {
                self.unquoted.push(character);
            }
            state = next;
        }
        self.ranges.push(FieldRange { start, end: self.unquoted.len() as u32 });
    }
}

/// The top bit of every byte of `word` that equals `byte`, and no other.
#[inline]
fn equal_bytes(word: u64, byte: u8) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const LOW: u64 = u64::from_le_bytes([0x7F; 8]);
    let difference = word ^ (ONES * u64::from(byte));
    // The sum carries into the top bit of a byte unless its low bits are all zero, and never out of the byte.
    !(((difference & LOW) + LOW) | difference | LOW)
}

impl<'a> RecordFields<'a> {
    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Field `index` without surrounding spaces; empty when there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &'a str {
        let Some(range) = self.ranges.get(index) else { return "" };
        let text = self.text.get(range.start as usize..range.end as usize).unwrap_or("");
        match text.as_bytes() {
            // Most fields have no spaces around them.
            [first, .., last] if *first > b' ' && *last > b' ' => text,
            _ => text.trim_ascii(),
        }
    }

    /// All fields in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a str> {
        let row = *self;
        (0..row.len()).map(move |index| row.get(index))
    }
}
