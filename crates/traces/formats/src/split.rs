//! Cuts an input where records seem to be independent of each other. Readers check that: where a block ends in another state than
//! the next one was opened in, one reader goes on alone.

use crate::format::{InputBlock, Reader, Splitter};
use memchr::memchr;

/// Finds where an input may be cut.
pub(crate) trait Boundaries: Send {
    /// Follows `chunk` from this index on to the next boundary, and returns its index; `None` if there is none, and all of the chunk
    /// was followed.
    fn advance(&mut self, chunk: &[u8], from: usize) -> Option<usize>;

    /// Whether what was followed last is certainly no boundary.
    fn is_inside(&self) -> bool;

    /// A reader for what follows the boundary that was found last, which is at this position of the input.
    fn open(&self, position: u64) -> Box<dyn Reader>;
}

/// Cuts at boundaries.
pub(crate) struct BoundarySplitter<B> {
    boundaries: B,
    /// Reads the block.
    reader: Box<dyn Reader>,
    bytes: Vec<u8>,
    /// Of the block's end in the input.
    position: u64,
    block_bytes: usize,
}

/// A block without a boundary ends after this many times the usual bytes; its reader then reads the rest of the input.
const BLOCKS_MAX: usize = 16;

impl<B: Boundaries> BoundarySplitter<B> {
    /// `reader` has read the input up to this position, and `boundaries` has followed it.
    pub(crate) fn new(
        reader: Box<dyn Reader>,
        boundaries: B,
        position: u64,
        block_bytes: usize,
    ) -> BoundarySplitter<B> {
        BoundarySplitter { boundaries, reader, bytes: Vec::new(), position, block_bytes }
    }

    fn cut(&mut self) -> InputBlock {
        let reader = std::mem::replace(&mut self.reader, self.boundaries.open(self.position));
        let capacity = self.bytes.capacity();
        InputBlock { reader, bytes: std::mem::replace(&mut self.bytes, Vec::with_capacity(capacity)) }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
    }
}

impl<B: Boundaries + 'static> Splitter for BoundarySplitter<B> {
    fn push(&mut self, chunk: &[u8], emit: &mut dyn FnMut(InputBlock)) {
        let (mut start, mut index) = (0, 0);
        while let Some(boundary) = self.boundaries.advance(chunk, index) {
            index = boundary;
            if self.bytes.len() + (index - start) >= self.block_bytes {
                self.take(&chunk[start..index]);
                start = index;
                emit(self.cut());
            }
        }
        self.take(&chunk[start..]);
        if self.boundaries.is_inside() && self.bytes.len() >= BLOCKS_MAX.saturating_mul(self.block_bytes) {
            emit(self.cut());
        }
    }

    fn finish(self: Box<Self>) -> InputBlock {
        InputBlock { reader: self.reader, bytes: self.bytes }
    }
}

/// Lines that start with a bracket: documents of newline-delimited JSON.
pub(crate) struct DocumentLines<F> {
    is_line_start: bool,
    open: F,
}

impl<F: Fn(u64) -> Box<dyn Reader> + Send> DocumentLines<F> {
    /// `open` makes a reader for a line at a position of the input.
    pub(crate) fn new(open: F) -> DocumentLines<F> {
        DocumentLines { is_line_start: false, open }
    }
}

impl<F: Fn(u64) -> Box<dyn Reader> + Send> Boundaries for DocumentLines<F> {
    fn advance(&mut self, chunk: &[u8], mut from: usize) -> Option<usize> {
        loop {
            let first = chunk.get(from)?;
            if std::mem::take(&mut self.is_line_start) && matches!(first, b'{' | b'[') {
                return Some(from);
            }
            from += memchr(b'\n', &chunk[from..])? + 1;
            self.is_line_start = true;
        }
    }

    fn is_inside(&self) -> bool {
        !self.is_line_start
    }

    fn open(&self, position: u64) -> Box<dyn Reader> {
        (self.open)(position)
    }
}

/// Messages behind their lengths of four bytes.
pub(crate) struct LengthPrefixes<F> {
    pub(crate) length: Vec<u8>,
    /// Bytes of the message that follow.
    pub(crate) left: u64,
    /// Messages begun.
    pub(crate) messages: u64,
    /// Makes a reader for what follows this many messages.
    pub(crate) open: F,
}

impl<F: Fn(u64) -> Box<dyn Reader> + Send> Boundaries for LengthPrefixes<F> {
    fn advance(&mut self, chunk: &[u8], mut from: usize) -> Option<usize> {
        while from < chunk.len() {
            if self.left == 0 {
                self.length.push(chunk[from]);
                from += 1;
                let Ok(length) = <[u8; 4]>::try_from(self.length.as_slice()) else { continue };
                self.length.clear();
                self.messages += 1;
                self.left = u64::from(u32::from_be_bytes(length));
            } else {
                let read = self.left.min((chunk.len() - from) as u64);
                self.left -= read;
                from += read as usize;
            }
            if self.left == 0 {
                return Some(from);
            }
        }
        None
    }

    fn is_inside(&self) -> bool {
        self.left > 0 || !self.length.is_empty()
    }

    fn open(&self, _: u64) -> Box<dyn Reader> {
        (self.open)(self.messages)
    }
}
