//! Cuts a table into blocks of whole rows.

use super::{Rows, Table, TableReader};
use crate::delimited::{FieldBuffers, RecordCutter, RecordEvent};
use crate::format::{InputBlock, Splitter};
use memchr::memchr;

/// Follows the records of a table without reading them.
pub(super) struct TableSplitter<T> {
    rows: Rows<T>,
    cutter: RecordCutter,
    /// The block so far, from the start of a record on.
    bytes: Vec<u8>,
    /// The line on which the block starts.
    line: u64,
    block_bytes: usize,
}

impl<T: Table> TableSplitter<T> {
    /// Continues where the reader of a table has come to. `None` before the header, and within a record over the limit.
    pub(super) fn new(
        cutter: &mut RecordCutter,
        rows: &Rows<T>,
        block_bytes: usize,
    ) -> Option<TableSplitter<T>> {
        rows.delimiter?;
        let bytes = cutter.incomplete()?.to_vec();
        let rows = rows.for_another_part()?;
        let cutter = std::mem::replace(cutter, RecordCutter::new());
        let line = cutter.line();
        Some(TableSplitter { rows, cutter, bytes, line, block_bytes })
    }

    /// The block so far; the next one starts where the cutter is.
    fn block(&mut self) -> InputBlock {
        let cutter = RecordCutter::starting_at(self.line, self.rows.delimiter);
        let rows = self.rows.for_another_part().expect("the table gave a copy of itself before");
        self.line = self.cutter.line();
        let capacity = self.bytes.capacity();
        let bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(capacity));
        InputBlock { reader: Box::new(TableReader { cutter, rows }), bytes }
    }
}

impl<T: Table> Splitter for TableSplitter<T> {
    fn push(&mut self, chunk: &[u8], emit: &mut dyn FnMut(InputBlock)) {
        let has_quotes = memchr(b'"', chunk).is_some();
        // Behind what is in the block.
        let mut start = 0;
        let mut rest = chunk;
        loop {
            if self.cutter.incomplete().is_none() {
                self.cutter.skip(&mut rest);
                self.line = self.cutter.line();
                start = chunk.len() - rest.len();
            }
            let known = self.bytes.len() + (chunk.len() - rest.len() - start);
            let missing = self.block_bytes.saturating_sub(known);
            let is_oversized = if !has_quotes && self.cutter.pass_unquoted(&mut rest, missing) {
                false
            } else {
                match self.cutter.next(&mut rest) {
                    None => break,
                    Some(RecordEvent::Record(_)) => false,
                    // Its reader finds the same; the rest of the record is in no block.
                    Some(RecordEvent::Oversized { .. }) => true,
                }
            };
            let end = chunk.len() - rest.len();
            if is_oversized || self.bytes.len() + (end - start) >= self.block_bytes {
                self.bytes.extend_from_slice(&chunk[start..end]);
                start = end;
                let block = self.block();
                emit(block);
            }
        }
        if self.cutter.incomplete().is_some() {
            self.bytes.extend_from_slice(&chunk[start..]);
        }
    }

    fn finish(mut self: Box<Self>) -> InputBlock {
        self.block()
    }
}

impl<T: Table> Rows<T> {
    fn for_another_part(&self) -> Option<Rows<T>> {
        let table = self.table.for_another_part()?;
        let titles = self.titles.clone();
        Some(Rows { table, titles, fields: FieldBuffers::default(), delimiter: self.delimiter })
    }
}
