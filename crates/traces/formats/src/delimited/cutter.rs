//! Cuts bytes into records at line breaks outside quotes.

use super::{DELIMITERS, FieldState, RECORD_BYTES_MAX};
use memchr::{memchr, memchr_iter, memchr2, memrchr};

/// The next item of the input.
pub(crate) enum RecordEvent<'a> {
    Record(RawRecord<'a>),
    /// A record over [`RECORD_BYTES_MAX`] that starts on this line.
    Oversized {
        line: u64,
    },
}

/// The bytes of one record, without its line break.
#[derive(Clone, Copy)]
pub(crate) struct RawRecord<'a> {
    pub(crate) bytes: &'a [u8],
    /// Number of its first line, from 1.
    pub(crate) line: u64,
    /// Whether any quote is in it.
    pub(crate) has_quotes: bool,
}

/// Cuts chunks into records. Its answers do not depend on where the chunks are cut.
pub(crate) struct RecordCutter {
    /// Start of an incomplete record, or the record returned last.
    carry: Vec<u8>,
    carry_is_spent: bool,
    /// `None` until the header is read: then any candidate may precede a quote.
    delimiter: Option<u8>,
    /// State in the record once it contains a quote.
    state: Option<FieldState>,
    is_skipping: bool,
    record_line: u64,
    /// Line breaks inside the quotes of the current record.
    inner_breaks: u64,
}

impl RecordCutter {
    pub(crate) fn new() -> RecordCutter {
        RecordCutter {
            carry: Vec::new(),
            carry_is_spent: false,
            delimiter: None,
            state: None,
            is_skipping: false,
            record_line: 1,
            inner_breaks: 0,
        }
    }

    /// A cutter for the bytes from the start of a record on, which is on this line.
    pub(crate) fn starting_at(line: u64, delimiter: Option<u8>) -> RecordCutter {
        RecordCutter { record_line: line, delimiter, ..RecordCutter::new() }
    }

    pub(crate) fn set_delimiter(&mut self, delimiter: u8) {
        self.delimiter = Some(delimiter);
    }

    /// The line on which the next record, or the incomplete one, starts.
    pub(crate) const fn line(&self) -> u64 {
        self.record_line
    }

    /// What there is of an incomplete record; `None` while one over the limit is skipped.
    pub(crate) fn incomplete(&self) -> Option<&[u8]> {
        let carry: &[u8] = if self.carry_is_spent { &[] } else { &self.carry };
        (!self.is_skipping).then_some(carry)
    }

    /// Passes over whole records without looking at each: `rest` has no quotes, and is shortened to behind the first record
    /// that ends at or after `bytes`, or behind its last one if it is shorter. False, and nothing has happened, when it
    /// ends no record, or when more must be known.
    pub(crate) fn pass_unquoted(&mut self, rest: &mut &[u8], bytes: usize) -> bool {
        let carry = self.incomplete().map(<[u8]>::len);
        let is_simple = carry.is_some_and(|carry| carry + rest.len() <= RECORD_BYTES_MAX);
        if self.state.is_some() || !is_simple {
            return false;
        }
        let from = bytes.saturating_sub(1).min(rest.len());
        let Some(end) = memchr(b'\n', &rest[from..]).map(|end| from + end).or_else(|| memrchr(b'\n', rest))
        else {
            return false;
        };
        let (records, tail) = rest.split_at(end + 1);
        *rest = tail;
        self.carry.clear();
        self.carry_is_spent = false;
        self.start_record(memchr_iter(b'\n', records).count() as u64);
        true
    }

    /// While a record over the limit is skipped: continues behind its line, if that ends in `rest`, which is shortened.
    pub(crate) fn skip(&mut self, rest: &mut &[u8]) {
        if self.is_skipping {
            self.skip_line(rest);
        }
    }

    /// The next record of `rest`, which is shortened by what was consumed; `None` when all of it is consumed.
    #[inline]
    pub(crate) fn next<'s, 'c: 's>(&'s mut self, rest: &mut &'c [u8]) -> Option<RecordEvent<'s>> {
        self.drop_spent_carry();
        if self.is_skipping && !self.skip_line(rest) {
            return None;
        }
        let space = RECORD_BYTES_MAX - self.carry.len();
        let window = &rest[..rest.len().min(space + 1)];
        let Some(end) = self.find_end(window) else {
            return self.carry_over(window.len(), space, rest);
        };
        let (head, tail) = (&rest[..end], &rest[end + 1..]);
        *rest = tail;
        let line = self.record_line;
        let has_quotes = self.state.is_some();
        self.start_record(1);
        if self.carry.is_empty() {
            return Some(RecordEvent::Record(RawRecord { bytes: without_cr(head), line, has_quotes }));
        }
        self.carry.extend_from_slice(head);
        self.carry_is_spent = true;
        Some(RecordEvent::Record(RawRecord { bytes: without_cr(&self.carry), line, has_quotes }))
    }

    /// The rest behind the last line break, at the end of the input.
    pub(crate) fn unterminated(&mut self) -> Option<RawRecord<'_>> {
        self.drop_spent_carry();
        let (line, has_quotes) = (self.record_line, self.state.is_some());
        if self.carry.is_empty() || self.is_skipping {
            return None;
        }
        Some(RawRecord { bytes: without_cr(&self.carry), line, has_quotes })
    }

    fn drop_spent_carry(&mut self) {
        if self.carry_is_spent {
            self.carry.clear();
            self.carry_is_spent = false;
        }
    }

    fn start_record(&mut self, line_breaks: u64) {
        self.record_line += self.inner_breaks + line_breaks;
        self.inner_breaks = 0;
        self.state = None;
    }

    /// Carries an incomplete record over to the next chunk, or drops it when it exceeds the limit.
    fn carry_over<'s>(
        &'s mut self,
        length: usize,
        space: usize,
        rest: &mut &[u8],
    ) -> Option<RecordEvent<'s>> {
        let (window, tail) = rest.split_at(length);
        *rest = tail;
        if length <= space {
            self.carry.extend_from_slice(window);
            return None;
        }
        self.carry.clear();
        self.is_skipping = true;
        Some(RecordEvent::Oversized { line: self.record_line })
    }

    /// Continues after the next line break, quoted or not: an unclosed quote must not lose the entire rest.
    fn skip_line(&mut self, rest: &mut &[u8]) -> bool {
        let Some(end) = memchr(b'\n', rest) else {
            *rest = &[];
            return false;
        };
        *rest = &rest[end + 1..];
        self.is_skipping = false;
        self.start_record(1);
        true
    }

    #[inline]
    fn find_end(&mut self, window: &[u8]) -> Option<usize> {
        if self.state.is_some() {
            return self.find_end_in_quotes(window);
        }
        let position = memchr2(b'\n', b'"', window)?;
        if window[position] == b'\n' {
            return Some(position);
        }
        self.state = Some(self.state_after_carry());
        self.find_end_in_quotes(window)
    }

    /// The carried part holds no quote, so only its last byte matters.
    fn state_after_carry(&self) -> FieldState {
        match self.carry.last() {
            None => FieldState::FieldStart,
            Some(&byte) if self.is_delimiter(byte) => FieldState::FieldStart,
            Some(_) => FieldState::Unquoted,
        }
    }

    fn is_delimiter(&self, byte: u8) -> bool {
        match self.delimiter {
            Some(delimiter) => byte == delimiter,
            None => DELIMITERS.contains(&byte),
        }
    }

    fn find_end_in_quotes(&mut self, window: &[u8]) -> Option<usize> {
        let mut state = self.state.unwrap_or(FieldState::FieldStart);
        for (index, &byte) in window.iter().enumerate() {
            if byte == b'\n' {
                if state != FieldState::Quoted {
                    return Some(index);
                }
                self.inner_breaks += 1;
            }
            state = state.after(byte, self.is_delimiter(byte));
        }
        self.state = Some(state);
        None
    }
}

fn without_cr(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}
