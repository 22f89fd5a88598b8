//! Delimited text cut into records and fields, fed in chunks of any size.
//!
//! ```text
//! chunk ─► RecordCutter ─► bytes of one record ─► UTF-8 check ─► Fields::split ─► Row
//! ```
//!
//! Records end at a line break outside quotes. A record that lies in one chunk is not copied. Quoting is
//! that of RFC 4180: a quote opens only at the start of a field, two quotes inside are one.

mod cutter;
mod fields;
#[cfg(test)]
mod tests;

pub(crate) use cutter::{RawRecord, RecordCutter, RecordEvent};
pub(crate) use fields::{FieldBuffers, RecordFields, guess_delimiter};

use laggard_model::Loss;

// Limit: bytes of a line of a table | `oversized_record`, skipped
/// Longest record in bytes; longer ones are skipped as [`Loss::OversizedRecord`]. Attribute columns may
/// hold SQL or stack traces of many kilobytes; a megabyte is a stray quote.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

/// The delimiters that are recognized, the likeliest first.
pub(crate) const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// Position of the next byte within a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FieldState {
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote inside quotes: the field's end, or the first half of a doubled quote.
    QuoteInQuoted,
}

impl FieldState {
    const fn after(self, byte: u8, is_delimiter: bool) -> FieldState {
        match (self, byte) {
            (FieldState::Quoted, b'"') => FieldState::QuoteInQuoted,
            (FieldState::Quoted, _) | (FieldState::FieldStart | FieldState::QuoteInQuoted, b'"') => {
                FieldState::Quoted
            }
            _ if is_delimiter => FieldState::FieldStart,
            _ => FieldState::Unquoted,
        }
    }
}

/// Why a record was skipped, cheap enough to make for every record of a hostile input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordError {
    pub(crate) loss: Loss,
    /// The column, when the trouble is in one field.
    pub(crate) column: Option<usize>,
    pub(crate) reason: &'static str,
}

impl RecordError {
    pub(crate) const fn record(loss: Loss, reason: &'static str) -> RecordError {
        RecordError { loss, column: None, reason }
    }

    pub(crate) const fn field(column: usize, reason: &'static str) -> RecordError {
        RecordError { loss: Loss::MalformedRecord, column: Some(column), reason }
    }
}
