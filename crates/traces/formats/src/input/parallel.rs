//! One document read by several threads.
//!
//! ```text
//! chunk ─► Splitter ─► InputBlock ─┬─► thread: Reader ─► SinkPart ─┬─► Sink, in the order of the input
//!                                  └─► thread: Reader ─► SinkPart ─┘
//! ```

use super::document::NamedSink;
use crate::format::{FormatError, InputBlock, Reader, Splitter};
use laggard_model::{Sink, SinkPart};
use laggard_parallel::{Pipeline, SpareThreads, check_canceled};
use std::collections::VecDeque;

/// Bytes in one block: enough that threads seldom wait for each other, and little enough that what is in memory at a time
/// does not matter.
pub(crate) const BLOCK_BYTES: usize = 512 << 10;

/// A block on its way to a thread, with where its records go.
struct UnreadBlock {
    block: InputBlock,
    part: Box<dyn SinkPart>,
}

/// A block that was read.
struct ReadBlock {
    /// In the state behind the block.
    reader: Box<dyn Reader>,
    part: Box<dyn SinkPart>,
    outcome: Result<(), FormatError>,
    bytes: Vec<u8>,
}

/// The rest of a document, from where its reader can be split.
pub(crate) struct ParallelReading {
    stage: Stage,
    /// Blocks of the last chunk.
    waiting: VecDeque<InputBlock>,
    pipeline: Pipeline<UnreadBlock, ReadBlock>,
    /// Empty, to be used again.
    parts: Vec<Box<dyn SinkPart>>,
}

enum Stage {
    Splitting(Box<dyn Splitter>),
    /// A block did not end where the splitter thought: from there on one reader reads everything.
    Sequential(Box<dyn Reader>),
    Ended,
}

impl ParallelReading {
    /// Examples of losses get the document's name if it has one.
    pub(crate) fn new(
        splitter: Box<dyn Splitter>,
        name: Option<&str>,
        spare: &SpareThreads,
    ) -> ParallelReading {
        let name: Option<Box<str>> = name.map(Box::from);
        let pipeline = Pipeline::new(spare.clone(), move |unread| read_block(unread, name.as_deref()));
        ParallelReading {
            stage: Stage::Splitting(splitter),
            waiting: VecDeque::new(),
            pipeline,
            parts: Vec::new(),
        }
    }

    /// Takes the next bytes, and passes on to the sink what has been read.
    pub(crate) fn push(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> Result<(), FormatError> {
        let splitter = match &mut self.stage {
            Stage::Splitting(splitter) => splitter,
            Stage::Sequential(reader) => return reader.push(chunk, sink),
            Stage::Ended => return Ok(()),
        };
        splitter.push(chunk, &mut |block| self.waiting.push_back(block));
        while let Some(block) = self.waiting.pop_front() {
            self.start(block, sink)?;
        }
        while let Some(read) = self.pipeline.try_next() {
            self.deliver(read, sink)?;
        }
        Ok(())
    }

    /// All bytes are there: waits for the threads, and returns the reader that has to finish the input.
    pub(crate) fn join(&mut self, sink: &mut dyn Sink) -> Result<Option<Box<dyn Reader>>, FormatError> {
        while let Some(read) = self.pipeline.next_result() {
            self.deliver(read, sink)?;
        }
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Splitting(splitter) => {
                let InputBlock { mut reader, bytes } = splitter.finish();
                reader.push(&bytes, sink)?;
                Ok(Some(reader))
            }
            Stage::Sequential(reader) => Ok(Some(reader)),
            Stage::Ended => Ok(None),
        }
    }

    /// Passes a block to the threads. Waits while they have enough.
    fn start(&mut self, block: InputBlock, sink: &mut dyn Sink) -> Result<(), FormatError> {
        let Some(part) = self.parts.pop().or_else(|| sink.part()) else {
            unreachable!("documents are split only for sinks with parts");
        };
        self.pipeline.push(UnreadBlock { block, part });
        while self.pipeline.is_full()
            && let Some(read) = self.pipeline.next_result()
        {
            self.deliver(read, sink)?;
        }
        Ok(())
    }

    /// Passes on what was read of a block, the next one in the order of the input.
    fn deliver(&mut self, read: ReadBlock, sink: &mut dyn Sink) -> Result<(), FormatError> {
        let ReadBlock { reader, mut part, outcome, .. } = read;
        sink.add_part(&mut *part);
        self.parts.push(part);
        outcome?;
        if reader.is_at_boundary() {
            return Ok(());
        }
        self.read_sequentially(reader, sink)
    }

    /// Reads what is left with one reader: the blocks in the pipeline first, then what the splitter holds.
    fn read_sequentially(
        &mut self,
        mut reader: Box<dyn Reader>,
        sink: &mut dyn Sink,
    ) -> Result<(), FormatError> {
        let mut left = Vec::new();
        while let Some(read) = self.pipeline.next_result() {
            // They were read from a wrong start.
            left.push(read.bytes);
        }
        left.extend(self.waiting.drain(..).map(|block| block.bytes));
        if let Stage::Splitting(splitter) = std::mem::replace(&mut self.stage, Stage::Ended) {
            left.push(splitter.finish().bytes);
        }
        for bytes in left {
            reader.push(&bytes, sink)?;
        }
        self.stage = Stage::Sequential(reader);
        Ok(())
    }
}

fn read_block(unread: UnreadBlock, name: Option<&str>) -> ReadBlock {
    check_canceled();
    let UnreadBlock { block: InputBlock { mut reader, bytes }, mut part } = unread;
    let outcome = match name {
        Some(name) => reader.push(&bytes, &mut NamedSink { name, sink: &mut *part }),
        None => reader.push(&bytes, &mut *part),
    };
    ReadBlock { reader, part, outcome, bytes }
}
