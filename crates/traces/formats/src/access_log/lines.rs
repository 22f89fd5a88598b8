//! Chunks cut into lines without regard to quotes: a stray one must not join lines.

use memchr::memchr;

// Limit: bytes of a line of an access log | `oversized_record`
/// Longest line in bytes; longer ones are skipped.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The next item of the input.
pub(super) enum LineEvent<'a> {
    /// A line without its line break, and its number from 1.
    Line { bytes: &'a [u8], number: u64 },
    /// A line over the limit.
    Oversized { number: u64 },
}

/// Cuts chunks into lines. Its answers do not depend on where the chunks are cut.
#[derive(Debug, Default)]
pub(super) struct LineCutter {
    /// The start of an incomplete line, or the line returned last.
    carry: Vec<u8>,
    carry_is_spent: bool,
    is_skipping: bool,
    lines: u64,
}

impl LineCutter {
    /// The next line of `rest`, which is shortened by what was consumed; `None` when all of it is consumed.
    #[inline]
    pub(super) fn next<'s, 'c: 's>(&'s mut self, rest: &mut &'c [u8]) -> Option<LineEvent<'s>> {
        if self.carry_is_spent {
            self.carry.clear();
            self.carry_is_spent = false;
        }
        if self.is_skipping && !self.skip(rest) {
            return None;
        }
        let window = &rest[..rest.len().min(LINE_BYTES_MAX + 1 - self.carry.len())];
        let Some(end) = memchr(b'\n', window) else {
            return self.carry_over(window.len(), rest);
        };
        let (head, tail) = (&rest[..end], &rest[end + 1..]);
        *rest = tail;
        self.lines += 1;
        if self.carry.is_empty() {
            return Some(LineEvent::Line { bytes: head, number: self.lines });
        }
        self.carry.extend_from_slice(head);
        self.carry_is_spent = true;
        Some(LineEvent::Line { bytes: &self.carry, number: self.lines })
    }

    /// The number of a line without an end, at the end of the input, unless it is blank.
    pub(super) fn unterminated(&self) -> Option<u64> {
        let is_line = !self.carry_is_spent && !self.is_skipping && !self.carry.trim_ascii().is_empty();
        is_line.then_some(self.lines + 1)
    }

    fn carry_over<'s>(&'s mut self, length: usize, rest: &mut &[u8]) -> Option<LineEvent<'s>> {
        let (window, tail) = rest.split_at(length);
        *rest = tail;
        self.carry.extend_from_slice(window);
        if self.carry.len() <= LINE_BYTES_MAX {
            return None;
        }
        self.carry.clear();
        self.is_skipping = true;
        Some(LineEvent::Oversized { number: self.lines + 1 })
    }

    fn skip(&mut self, rest: &mut &[u8]) -> bool {
        let Some(end) = memchr(b'\n', rest) else {
            *rest = &[];
            return false;
        };
        *rest = &rest[end + 1..];
        self.is_skipping = false;
        self.lines += 1;
        true
    }
}
