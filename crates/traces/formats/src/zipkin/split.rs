//! Cuts a stream of spans into blocks of whole spans.
//!
//! One thread follows the brackets and strings, as for one reader. What remains for the other threads is most of the work: to
//! read the spans.

use super::{Spans, ZipkinLevel, action};
use crate::format::{FormatError, InputBlock, Reader, Splitter};
use crate::json_stream::{Scanner, Shape, ValueAction, Visitor};
use crate::sampling::WantedAttributes;
use laggard_model::{CallRecord, Loss, Sink, SpanRecord};
use std::cell::RefCell;

/// What a loss counts towards the size of a block.
const LOSS_BYTES: usize = 128;

/// Follows the structure of an input.
pub(super) struct ZipkinSplitter {
    scanner: Scanner<ZipkinLevel>,
    wanted: WantedAttributes,
    found: SpanBlock,
    block_bytes: usize,
}

/// Spans as they are in the input, one behind the other, and losses between them.
#[derive(Default)]
struct SpanBlock {
    bytes: Vec<u8>,
    items: Vec<Item>,
    losses: usize,
}

enum Item {
    /// A span, up to this byte.
    Span { end: usize },
    /// A loss between spans.
    Lost(Loss, String),
}

impl ZipkinSplitter {
    pub(super) fn new(wanted: &WantedAttributes, block_bytes: usize) -> ZipkinSplitter {
        ZipkinSplitter {
            scanner: Scanner::new(),
            wanted: wanted.clone(),
            found: SpanBlock::default(),
            block_bytes,
        }
    }
}

impl Splitter for ZipkinSplitter {
    fn push(&mut self, chunk: &[u8], emit: &mut dyn FnMut(InputBlock)) {
        let mut emit = |found: SpanBlock| emit(found.block(&self.wanted));
        let (block_bytes, found) = (self.block_bytes, &mut self.found);
        let collector = RefCell::new(Collector { found, block_bytes, emit: &mut emit });
        self.scanner.push(chunk, &mut SpanCollector(&collector), &mut LossCollector(&collector));
    }

    fn finish(mut self: Box<Self>) -> InputBlock {
        let mut emit = |_| {};
        let (block_bytes, found) = (usize::MAX, &mut self.found);
        let collector = RefCell::new(Collector { found, block_bytes, emit: &mut emit });
        self.scanner.finish(&mut SpanCollector(&collector), &mut LossCollector(&collector));
        self.found.block(&self.wanted)
    }
}

impl SpanBlock {
    fn block(self, wanted: &WantedAttributes) -> InputBlock {
        let spans = Spans { wanted: wanted.clone(), ..Spans::default() };
        InputBlock { reader: Box::new(SpanBlockReader { items: self.items, spans }), bytes: self.bytes }
    }
}

/// Collects the spans and losses that the scanner finds, in their order.
struct Collector<'a> {
    found: &'a mut SpanBlock,
    block_bytes: usize,
    emit: &'a mut dyn FnMut(SpanBlock),
}

impl Collector<'_> {
    fn add(&mut self, item: Item) {
        self.found.items.push(item);
        if self.found.bytes.len() + self.found.losses * LOSS_BYTES >= self.block_bytes {
            let next =
                SpanBlock { bytes: Vec::with_capacity(self.found.bytes.capacity()), ..SpanBlock::default() };
            (self.emit)(std::mem::replace(self.found, next));
        }
    }
}

struct SpanCollector<'a, 'b>(&'a RefCell<Collector<'b>>);

impl Visitor<ZipkinLevel> for SpanCollector<'_, '_> {
    const TOP: ZipkinLevel = ZipkinLevel;

    fn enter(
        &mut self,
        level: ZipkinLevel,
        _: &[u8],
        shape: Shape,
        _: &mut dyn Sink,
    ) -> ValueAction<ZipkinLevel> {
        action(level, shape)
    }

    fn captured(&mut self, _: ZipkinLevel, value: &[u8], _: &mut dyn Sink) {
        let mut collector = self.0.borrow_mut();
        collector.found.bytes.extend_from_slice(value);
        let end = collector.found.bytes.len();
        collector.add(Item::Span { end });
    }

    fn leave(&mut self, _: ZipkinLevel, _: &mut dyn Sink) {}

    fn abandon(&mut self, _: Loss, _: &mut dyn Sink) {}
}

struct LossCollector<'a, 'b>(&'a RefCell<Collector<'b>>);

impl Sink for LossCollector<'_, '_> {
    /// The scanner has no records.
    fn span(&mut self, _: &SpanRecord<'_>) {}

    fn call(&mut self, _: &CallRecord<'_>) {}

    fn lose(&mut self, loss: Loss, example: &dyn Fn() -> String) {
        let mut collector = self.0.borrow_mut();
        collector.found.losses += 1;
        collector.add(Item::Lost(loss, example()));
    }
}

/// Reads the spans of a block.
struct SpanBlockReader {
    items: Vec<Item>,
    spans: Spans,
}

impl Reader for SpanBlockReader {
    fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        let mut start = 0;
        for item in &self.items {
            match item {
                &Item::Span { end } => {
                    self.spans.captured(ZipkinLevel, &chunk[start..end], sink);
                    start = end;
                }
                Item::Lost(loss, example) => sink.lose(*loss, &|| example.clone()),
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut dyn Sink) -> Result<(), FormatError> {
        Ok(())
    }
}
