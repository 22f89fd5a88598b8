//! An incremental scanner over a stream of JSON documents: reads chunks of any size, and returns complete values.
//!
//! The scanner checks structure and nothing else. For each value that starts it calls a [`Visitor`], which
//! knows the level in the document and decides what to do:
//!
//! ```text
//! {"resourceSpans":[{"resource":{…},"scopeSpans":[{"spans":[{…},{…}]}]}]}
//!  Descend ────────► Descend   Capture            Descend  Capture each
//! ```
//!
//! Documents may follow each other with or without white space (newline-delimited JSON, RFC 7464 record
//! separators and byte order marks included). After a syntax error the scanner counts a
//! [`Loss::MalformedRecord`] and continues at the next line that starts with `{` or `[` in its first column: a
//! document of newline-delimited JSON starts there, and what lies inside an indented document does not.
//! Member names are compared as written: a name spelled with `\u` escapes is an unknown one.

mod extent;
#[cfg(test)]
mod tests;

use extent::{Extent, ValueProgress};
use laggard_model::{Loss, Sink};
use memchr::{memchr, memchr3};

// Limit: bytes of a JSON record | `oversized_record`, skipped
/// A captured value may have this many bytes; a larger one is a [`Loss::OversizedRecord`].
pub(crate) const CAPTURE_BYTES_MAX: usize = 16 << 20;
// Limit: nesting of JSON | `malformed_record`
/// Containers a visitor may descend into below each other.
const DEPTH_MAX: usize = 128;
/// Longer member names are truncated, which makes them unknown: every name a visitor checks for is shorter.
const KEY_BYTES_MAX: usize = 64;

/// The kind of a value, known from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Object,
    Array,
    /// A string, a number, `true`, `false` or `null`.
    Scalar,
}

/// Decision of a [`Visitor`] on a value that starts: enter, collect, or skip it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueAction<P> {
    /// Visit its contents, at this level. A scalar has no contents and is skipped.
    Descend(P),
    /// Collect its bytes and pass them to [`Visitor::captured`] with this level.
    Capture(P),
    /// Pass over it.
    Skip,
}

/// Interprets the documents. It defines the levels of a document.
pub(crate) trait Visitor<L: Copy> {
    /// The level of top-level values.
    const TOP: L;

    /// A value starts in a container at `level`, under `key` when that is an object (else empty).
    fn enter(&mut self, level: L, key: &[u8], shape: Shape, sink: &mut dyn Sink) -> ValueAction<L>;

    /// A value that was to be captured is complete. Its brackets balance; else it is unchecked.
    fn captured(&mut self, level: L, value: &[u8], sink: &mut dyn Sink);

    /// A container that was descended into ends.
    fn leave(&mut self, level: L, sink: &mut dyn Sink);

    /// Every open container is abandoned, and `cause` has been counted once for that.
    fn abandon(&mut self, cause: Loss, sink: &mut dyn Sink);
}

/// The scanner's state between two chunks.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<P> {
    frames: Vec<LevelFrame<P>>,
    mode: Mode<P>,
    key: Vec<u8>,
    /// The part of a captured value that lay in earlier chunks.
    held: Vec<u8>,
    /// Position in the stream of the current chunk's first byte.
    chunk_offset: u64,
    last_byte: u8,
    /// What is wrong with the documents' nesting, first of all.
    damage: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct LevelFrame<P> {
    level: P,
    is_object: bool,
}

#[derive(Clone, Copy, Debug)]
enum Mode<P> {
    /// Between tokens.
    Between(Expect),
    /// In a member's name.
    Key { escaped: bool },
    /// In a value that is captured (`Some`) or skipped.
    Whole { level: Option<P>, start: u64, extent: Extent },
    /// After damage, before the next line that can be the start of a document.
    Resync { line_start: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
}

impl Expect {
    const fn phrase(self) -> &'static str {
        match self {
            Expect::Value => "a value",
            Expect::ValueOrEnd => "a value or ]",
            Expect::Key => "a member's name",
            Expect::KeyOrEnd => "a member's name or }",
            Expect::Colon => "a colon",
            Expect::CommaOrEnd => "a comma or a closing bracket",
        }
    }
}

/// Everything a visitor's call needs beside the scanner.
struct VisitContext<'a, V> {
    chunk: &'a [u8],
    visitor: &'a mut V,
    sink: &'a mut dyn Sink,
}

impl<P: Copy> Scanner<P> {
    pub(crate) fn new() -> Scanner<P> {
        Scanner {
            frames: Vec::new(),
            mode: Mode::Between(Expect::Value),
            key: Vec::new(),
            held: Vec::new(),
            chunk_offset: 0,
            last_byte: b'\n',
            damage: None,
        }
    }

    /// A scanner for what follows at this position of a stream, at the start of a line.
    pub(crate) fn starting_at(position: u64) -> Scanner<P> {
        Scanner { chunk_offset: position, ..Scanner::new() }
    }

    /// How many bytes it has read.
    pub(crate) const fn position(&self) -> u64 {
        self.chunk_offset
    }

    /// Whether a line with a bracket in its first column would be the start of a document here, as for
    /// [`Scanner::starting_at`].
    pub(crate) fn is_at_document(&self) -> bool {
        let is_between = match self.mode {
            Mode::Between(expect) => expect == Expect::Value,
            Mode::Resync { line_start } => line_start,
            Mode::Key { .. } | Mode::Whole { .. } => false,
        };
        is_between && self.frames.is_empty() && self.last_byte == b'\n'
    }

    /// Whether it has read nothing.
    pub(crate) fn is_new(&self) -> bool {
        self.chunk_offset == 0
    }

    /// Damage of the documents as such: values that a visitor ignores are no damage.
    pub(crate) fn take_damage(&mut self) -> Option<String> {
        self.damage.take()
    }

    /// Reads the next bytes of the stream.
    pub(crate) fn push<V: Visitor<P>>(&mut self, chunk: &[u8], visitor: &mut V, sink: &mut dyn Sink) {
        let mut context = VisitContext { chunk, visitor, sink };
        let mut position = 0;
        while position < chunk.len() {
            position = self.step(position, &mut context);
        }
        self.advance(chunk);
    }

    /// Reads up to behind the next value that is captured or skipped, and returns how many bytes these are; `None` if no value
    /// ends in `chunk`, all of which was read then.
    pub(crate) fn push_to_value_end<V: Visitor<P>>(
        &mut self,
        chunk: &[u8],
        visitor: &mut V,
        sink: &mut dyn Sink,
    ) -> Option<usize> {
        let mut context = VisitContext { chunk, visitor, sink };
        let mut position = 0;
        while position < chunk.len() {
            let was_in_value = matches!(self.mode, Mode::Whole { .. });
            position = self.step(position, &mut context);
            if was_in_value && matches!(self.mode, Mode::Between(_)) {
                self.advance(&chunk[..position]);
                return Some(position);
            }
        }
        self.advance(chunk);
        None
    }

    fn step<V: Visitor<P>>(&mut self, position: usize, context: &mut VisitContext<'_, V>) -> usize {
        match self.mode {
            Mode::Between(expect) => self.between(position, expect, context),
            Mode::Key { escaped } => self.key(position, escaped, context),
            Mode::Whole { level, start, extent } => self.whole(position, level, start, extent, context),
            Mode::Resync { line_start } => self.resync(position, line_start, context),
        }
    }

    fn advance(&mut self, read: &[u8]) {
        self.chunk_offset += read.len() as u64;
        self.last_byte = read.last().copied().unwrap_or(self.last_byte);
    }

    /// Whether an element of a list has just ended, in containers of these levels; `true` stands for an object.
    pub(crate) fn is_behind_element(&self, containers: &[(P, bool)]) -> bool
    where
        P: PartialEq,
    {
        let found = self.frames.iter().map(|frame| (frame.level, frame.is_object));
        matches!(self.mode, Mode::Between(Expect::CommaOrEnd)) && found.eq(containers.iter().copied())
    }

    /// Counts a document that the input cuts off, and is ready for another input.
    pub(crate) fn finish<V: Visitor<P>>(&mut self, visitor: &mut V, sink: &mut dyn Sink) {
        let complete = match self.mode {
            Mode::Between(_) => self.frames.is_empty(),
            Mode::Key { .. } | Mode::Whole { .. } => false,
            // What was abandoned has been counted already.
            Mode::Resync { .. } => true,
        };
        if !complete {
            let offset = self.chunk_offset;
            let what = || format!("the input ends at byte {offset} inside a document");
            self.damage.get_or_insert_with(what);
            sink.lose(Loss::TruncatedInput, &what);
            visitor.abandon(Loss::TruncatedInput, sink);
        }
        *self = Scanner { damage: self.damage.take(), ..Scanner::new() };
    }

    /// Reads white space and one token's first byte.
    fn between<V: Visitor<P>>(
        &mut self,
        position: usize,
        expect: Expect,
        context: &mut VisitContext<'_, V>,
    ) -> usize {
        let Some(blank) = context.chunk[position..].iter().position(|&byte| !self.is_blank(byte)) else {
            return context.chunk.len();
        };
        let position = position + blank;
        match (expect, context.chunk[position]) {
            (Expect::Key | Expect::KeyOrEnd, b'"') => {
                self.key.clear();
                self.mode = Mode::Key { escaped: false };
            }
            (Expect::Colon, b':') => self.mode = Mode::Between(Expect::Value),
            (Expect::CommaOrEnd, b',') => self.mode = Mode::Between(self.after_comma()),
            (Expect::CommaOrEnd | Expect::KeyOrEnd, b'}') if self.in_object() => self.close(context),
            (Expect::CommaOrEnd | Expect::ValueOrEnd, b']') if !self.in_object() => self.close(context),
            (Expect::Value | Expect::ValueOrEnd, byte) if self.can_start(byte) => {
                self.begin(position, byte, context);
            }
            _ => return self.fail(position, expect.phrase(), context),
        }
        position + 1
    }

    /// Between documents a byte order mark and a record separator count as white space.
    fn is_blank(&self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
            || (self.frames.is_empty() && matches!(byte, 0xEF | 0xBB | 0xBF | 0x1E))
    }

    fn in_object(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_object)
    }

    fn after_comma(&self) -> Expect {
        if self.in_object() { Expect::Key } else { Expect::Value }
    }

    /// Whether a value starts with this byte; a document is an object or an array.
    fn can_start(&self, byte: u8) -> bool {
        match byte {
            b'{' | b'[' => true,
            b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I' => !self.frames.is_empty(),
            _ => false,
        }
    }

    fn close<V: Visitor<P>>(&mut self, context: &mut VisitContext<'_, V>) {
        let frame = self.frames.pop().expect("a closing bracket is only expected in a container");
        self.mode = Mode::Between(self.after_value());
        context.visitor.leave(frame.level, context.sink);
    }

    fn after_value(&self) -> Expect {
        if self.frames.is_empty() { Expect::Value } else { Expect::CommaOrEnd }
    }

    /// A value starts at `at`: calls the visitor to decide what to do with it.
    fn begin<V: Visitor<P>>(&mut self, position: usize, byte: u8, context: &mut VisitContext<'_, V>) {
        let shape = match byte {
            b'{' => Shape::Object,
            b'[' => Shape::Array,
            _ => Shape::Scalar,
        };
        let level = self.frames.last().map_or(V::TOP, |frame| frame.level);
        let key: &[u8] = if self.in_object() { &self.key } else { b"" };
        let start = self.chunk_offset + position as u64;
        match context.visitor.enter(level, key, shape, context.sink) {
            ValueAction::Descend(level) if shape != Shape::Scalar && self.frames.len() < DEPTH_MAX => {
                let is_object = shape == Shape::Object;
                self.frames.push(LevelFrame { level, is_object });
                let expect = if is_object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                self.mode = Mode::Between(expect);
            }
            ValueAction::Capture(level) => {
                self.held.clear();
                self.held.push(byte);
                self.mode = Mode::Whole { level: Some(level), start, extent: Extent::starting(byte) };
            }
            step => {
                if matches!(step, ValueAction::Descend(_)) && shape != Shape::Scalar {
                    context.sink.lose(Loss::MalformedRecord, &|| {
                        format!("byte {start}: nested deeper than {DEPTH_MAX} levels, skipped")
                    });
                }
                self.mode = Mode::Whole { level: None, start, extent: Extent::starting(byte) };
            }
        }
    }

    fn key<V: Visitor<P>>(
        &mut self,
        mut position: usize,
        mut escaped: bool,
        context: &mut VisitContext<'_, V>,
    ) -> usize {
        if escaped {
            position += 1;
            escaped = false;
        }
        let rest = &context.chunk[position..];
        let found = memchr3(b'"', b'\\', b'\n', rest);
        let name = &rest[..found.unwrap_or(rest.len())];
        let room = KEY_BYTES_MAX.saturating_sub(self.key.len());
        self.key.extend_from_slice(&name[..name.len().min(room)]);
        self.mode = Mode::Key { escaped };
        let Some(found) = found else {
            return context.chunk.len();
        };
        match rest[found] {
            b'"' => self.mode = Mode::Between(Expect::Colon),
            b'\\' => {
                // An escaped name is always unknown.
                self.key.truncate(KEY_BYTES_MAX - 1);
                self.key.push(b'\\');
                self.mode = Mode::Key { escaped: true };
            }
            _ => return self.fail(position + found, "the end of a member's name", context),
        }
        position + found + 1
    }

    /// Continues through a captured or skipped value, and passes it on when it ends.
    fn whole<V: Visitor<P>>(
        &mut self,
        position: usize,
        mut level: Option<P>,
        start: u64,
        mut extent: Extent,
        context: &mut VisitContext<'_, V>,
    ) -> usize {
        let progress = extent.scan(context.chunk, position);
        let end = match progress {
            ValueProgress::Ended(end) | ValueProgress::WireError(end) => end,
            ValueProgress::More => context.chunk.len(),
        };
        let bytes = self.chunk_offset + end as u64 - start;
        if level.is_some() && bytes > CAPTURE_BYTES_MAX as u64 {
            level = None;
            context.sink.lose(Loss::OversizedRecord, &|| {
                format!("the value at byte {start} is larger than {CAPTURE_BYTES_MAX} bytes")
            });
        }
        match progress {
            ValueProgress::More => {
                if level.is_some() {
                    self.held.extend_from_slice(&context.chunk[position..end]);
                }
                self.mode = Mode::Whole { level, start, extent };
            }
            ValueProgress::WireError(_) => return self.fail(end, "the rest of a value", context),
            ValueProgress::Ended(_) => {
                self.mode = Mode::Between(self.after_value());
                let Some(level) = level else {
                    return end;
                };
                // A value within one chunk is passed on without copying.
                match usize::try_from(start.wrapping_sub(self.chunk_offset)) {
                    Ok(from) if start >= self.chunk_offset => {
                        context.visitor.captured(level, &context.chunk[from..end], context.sink);
                    }
                    _ => {
                        self.held.extend_from_slice(&context.chunk[position..end]);
                        context.visitor.captured(level, &self.held, context.sink);
                    }
                }
            }
        }
        end
    }

    /// Abandons the document at `at`; returns where to continue.
    fn fail<V: Visitor<P>>(
        &mut self,
        position: usize,
        expected: &str,
        context: &mut VisitContext<'_, V>,
    ) -> usize {
        let offset = self.chunk_offset + position as u64;
        let found = char::from(context.chunk[position]).escape_default();
        let what = || format!("byte {offset}: expected {expected}, found '{found}'");
        self.damage.get_or_insert_with(what);
        context.sink.lose(Loss::MalformedRecord, &what);
        if !self.frames.is_empty() {
            self.frames.clear();
            context.visitor.abandon(Loss::MalformedRecord, context.sink);
        }
        let before = position.checked_sub(1).map_or(self.last_byte, |index| context.chunk[index]);
        // A line that is cut off is often noticed at the first byte of the next one.
        if before == b'\n' && matches!(context.chunk[position], b'{' | b'[') {
            self.mode = Mode::Between(Expect::Value);
        } else {
            self.mode = Mode::Resync { line_start: false };
        }
        position
    }

    fn resync<V: Visitor<P>>(
        &mut self,
        position: usize,
        line_start: bool,
        context: &mut VisitContext<'_, V>,
    ) -> usize {
        if !line_start {
            let Some(newline) = memchr(b'\n', &context.chunk[position..]) else {
                return context.chunk.len();
            };
            self.mode = Mode::Resync { line_start: true };
            return position + newline + 1;
        }
        match context.chunk[position] {
            b'{' | b'[' => {
                self.mode = Mode::Between(Expect::Value);
                return position;
            }
            b'\n' | 0x1E => return position + 1,
            // The rest of an indented document.
            b' ' | b'\t' | b'\r' | b'}' | b']' => {}
            _ => {
                let offset = self.chunk_offset + position as u64;
                let what = || format!("byte {offset}: a line that is not JSON");
                self.damage.get_or_insert_with(what);
                context.sink.lose(Loss::MalformedRecord, &what);
            }
        }
        self.mode = Mode::Resync { line_start: false };
        position
    }
}
