//! Delimited text cut into records and fields, fed in chunks of any size.
//!
//! ```text
//! chunk ─► RecordCutter ─► bytes of one record ─► UTF-8 check ─► Fields::split ─► Row
//! ```
//!
//! Records end at a line break outside quotes. A record that lies in one chunk is not copied. Quoting is
//! that of RFC 4180: a quote opens only at the start of a field, two quotes inside are one.

use laggard_model::Loss;
use memchr::{memchr, memchr_iter, memchr2};

/// Longest record in bytes; longer ones are skipped as [`Loss::OversizedRecord`]. Attribute columns may
/// hold SQL or stack traces of many kilobytes; a megabyte is a stray quote.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

/// The delimiters that are recognised, the likeliest first.
pub(crate) const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// What the cutter found next.
pub(crate) enum Cut<'a> {
    /// One record.
    Record(RawRecord<'a>),
    /// A record over [`RECORD_BYTES_MAX`] that starts on this line.
    Oversized { line: u64 },
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

/// Where in a field the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote inside quotes: the field's end, or the first half of a doubled quote.
    QuoteInQuoted,
}

impl Place {
    const fn after(self, byte: u8, is_delimiter: bool) -> Place {
        match (self, byte) {
            (Place::Quoted, b'"') => Place::QuoteInQuoted,
            (Place::Quoted, _) | (Place::FieldStart | Place::QuoteInQuoted, b'"') => Place::Quoted,
            _ if is_delimiter => Place::FieldStart,
            _ => Place::Unquoted,
        }
    }
}

/// Cuts chunks into records. Its answers do not depend on where the chunks are cut.
pub(crate) struct RecordCutter {
    /// Start of a record whose end has not come yet, or the record handed out last.
    carry: Vec<u8>,
    carry_is_spent: bool,
    /// `None` until the header is read: then any candidate may precede a quote.
    delimiter: Option<u8>,
    /// Place in the record once it has shown a quote.
    place: Option<Place>,
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
            place: None,
            is_skipping: false,
            record_line: 1,
            inner_breaks: 0,
        }
    }

    pub(crate) fn set_delimiter(&mut self, delimiter: u8) {
        self.delimiter = Some(delimiter);
    }

    /// The next record of `rest`, which is shortened by what was taken; `None` when all of it is taken.
    #[inline]
    pub(crate) fn next<'s, 'c: 's>(&'s mut self, rest: &mut &'c [u8]) -> Option<Cut<'s>> {
        self.drop_spent_carry();
        if self.is_skipping && !self.skip_line(rest) {
            return None;
        }
        let room = RECORD_BYTES_MAX - self.carry.len();
        let window = &rest[..rest.len().min(room + 1)];
        let Some(end) = self.find_end(window) else {
            return self.take_all(window.len(), room, rest);
        };
        let (head, tail) = (&rest[..end], &rest[end + 1..]);
        *rest = tail;
        let line = self.record_line;
        let has_quotes = self.place.is_some();
        self.start_record(1);
        if self.carry.is_empty() {
            return Some(Cut::Record(RawRecord { bytes: without_cr(head), line, has_quotes }));
        }
        self.carry.extend_from_slice(head);
        self.carry_is_spent = true;
        Some(Cut::Record(RawRecord { bytes: without_cr(&self.carry), line, has_quotes }))
    }

    /// What stands behind the last line break, at the end of the input.
    pub(crate) fn unterminated(&mut self) -> Option<RawRecord<'_>> {
        self.drop_spent_carry();
        let (line, has_quotes) = (self.record_line, self.place.is_some());
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
        self.place = None;
    }

    /// Keeps a record without an end for the next chunk, or gives it up when it is over the limit.
    fn take_all<'s>(&'s mut self, taken: usize, room: usize, rest: &mut &[u8]) -> Option<Cut<'s>> {
        let (window, tail) = rest.split_at(taken);
        *rest = tail;
        if taken <= room {
            self.carry.extend_from_slice(window);
            return None;
        }
        self.carry.clear();
        self.is_skipping = true;
        Some(Cut::Oversized { line: self.record_line })
    }

    /// Goes on behind the next line break, quoted or not: an unclosed quote must not cost the whole rest.
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
        if self.place.is_some() {
            return self.find_end_in_quotes(window);
        }
        let at = memchr2(b'\n', b'"', window)?;
        if window[at] == b'\n' {
            return Some(at);
        }
        self.place = Some(self.place_after_carry());
        self.find_end_in_quotes(window)
    }

    /// The carried part holds no quote, so only its last byte matters.
    fn place_after_carry(&self) -> Place {
        match self.carry.last() {
            None => Place::FieldStart,
            Some(&byte) if self.is_delimiter(byte) => Place::FieldStart,
            Some(_) => Place::Unquoted,
        }
    }

    fn is_delimiter(&self, byte: u8) -> bool {
        match self.delimiter {
            Some(delimiter) => byte == delimiter,
            None => DELIMITERS.contains(&byte),
        }
    }

    fn find_end_in_quotes(&mut self, window: &[u8]) -> Option<usize> {
        let mut place = self.place.unwrap_or(Place::FieldStart);
        for (at, &byte) in window.iter().enumerate() {
            if byte == b'\n' {
                if place != Place::Quoted {
                    return Some(at);
                }
                self.inner_breaks += 1;
            }
            place = place.after(byte, self.is_delimiter(byte));
        }
        self.place = Some(place);
        None
    }
}

fn without_cr(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

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

/// Buffers for splitting records into fields, kept from record to record.
#[derive(Default)]
pub(crate) struct Fields {
    ranges: Vec<FieldRange>,
    unquoted: String,
}

/// One record's fields.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    text: &'a str,
    ranges: &'a [FieldRange],
    /// Number of the record's first line, from 1.
    pub(crate) line: u64,
}

impl Fields {
    /// Splits a record. What follows the first `fields_max` fields stays together as one more.
    pub(crate) fn split<'a>(
        &'a mut self,
        record: RawRecord<'a>,
        delimiter: u8,
        fields_max: usize,
    ) -> Result<Row<'a>, Trouble> {
        let Ok(text) = std::str::from_utf8(record.bytes) else {
            return Err(Trouble::record(Loss::MalformedRecord, "not UTF-8 text"));
        };
        self.ranges.clear();
        if record.has_quotes {
            self.split_quoted(text, delimiter, fields_max);
            return Ok(Row { text: &self.unquoted, ranges: &self.ranges, line: record.line });
        }
        let mut start = 0;
        for at in memchr_iter(delimiter, text.as_bytes()).take(fields_max) {
            self.ranges.push(FieldRange { start, end: at as u32 });
            start = at as u32 + 1;
        }
        self.ranges.push(FieldRange { start, end: text.len() as u32 });
        Ok(Row { text, ranges: &self.ranges, line: record.line })
    }

    fn split_quoted(&mut self, text: &str, delimiter: u8, fields_max: usize) {
        self.unquoted.clear();
        let mut place = Place::FieldStart;
        let mut start = 0;
        for character in text.chars() {
            // Any byte that is neither quote nor delimiter stands for the characters beyond ASCII.
            let byte = u8::try_from(character).ok().filter(u8::is_ascii).unwrap_or(b'a');
            let next = place.after(byte, byte == delimiter);
            let ends_field = next == Place::FieldStart && self.ranges.len() < fields_max;
            if ends_field {
                let end = self.unquoted.len() as u32;
                self.ranges.push(FieldRange { start, end });
                start = end;
            }
            let opens = place == Place::FieldStart && next == Place::Quoted;
            if !ends_field && !opens && next != Place::QuoteInQuoted {
                self.unquoted.push(character);
            }
            place = next;
        }
        self.ranges.push(FieldRange { start, end: self.unquoted.len() as u32 });
    }
}

impl<'a> Row<'a> {
    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Field `index` without surrounding spaces; empty when there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &'a str {
        let Some(range) = self.ranges.get(index) else { return "" };
        self.text.get(range.start as usize..range.end as usize).unwrap_or("").trim_ascii()
    }

    /// All fields in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a str> {
        let row = *self;
        (0..row.len()).map(move |index| row.get(index))
    }
}

/// Why a record was skipped, cheap enough to make for every record of a hostile input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Trouble {
    pub(crate) loss: Loss,
    /// The column, when the trouble is in one field.
    pub(crate) column: Option<usize>,
    pub(crate) problem: &'static str,
}

impl Trouble {
    pub(crate) const fn record(loss: Loss, problem: &'static str) -> Trouble {
        Trouble { loss, column: None, problem }
    }

    pub(crate) const fn field(column: usize, problem: &'static str) -> Trouble {
        Trouble { loss: Loss::MalformedRecord, column: Some(column), problem }
    }
}
