//! Iterates over records, including those inside compressed records.

use super::kinds::{AUXTRACE, COMPRESSED, COMPRESSED_2, TRACING_DATA};
use crate::bytes::ByteOrder;
use crate::source::SharedFile;
use std::io;
use std::sync::Arc;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Bytes of a record's head: kind, flags, size.
const HEAD_BYTES: usize = 8;

/// The file is read in parts of this size.
const BLOCK_BYTES: usize = 256 << 10;

/// Compressed records are decompressed in parts of this size.
const PLAIN_BYTES: usize = 128 << 10;

/// Bytes not yet consumed.
#[derive(Debug, Default)]
struct PendingRecord {
    bytes: Vec<u8>,
    at: usize,
}

impl PendingRecord {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Drops consumed bytes.
    fn compact(&mut self) {
        self.bytes.drain(..self.at);
        self.at = 0;
    }
}

/// The head of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RecordHead {
    kind: u32,
    misc: u16,
    size: usize,
}

impl RecordHead {
    fn parse(bytes: &[u8], order: ByteOrder) -> Option<RecordHead> {
        let (kind, misc) = (order.u32(bytes, 0)?, order.u16(bytes, 4)?);
        Some(RecordHead { kind, misc, size: usize::from(order.u16(bytes, 6)?) })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PerfRecord<'a> {
    pub(super) kind: u32,
    /// Its flags.
    pub(super) misc: u16,
    /// The bytes after its header.
    pub(super) body: &'a [u8],
}

/// The next item of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextRecord<'a> {
    PerfRecord(PerfRecord<'a>),
    End,
    /// The file ends inside a record.
    Truncated,
    /// A size that cannot be: nothing behind it can be read.
    Malformed,
    /// A compressed record is damaged; what it continues is lost.
    Corrupt,
}

/// Location of the next record.
enum RecordLocation {
    InPlain(RecordHead),
    InFile(RecordHead),
    Nothing(NextRecord<'static>),
}

/// The records of a file.
pub(super) struct Records {
    file: Arc<SharedFile>,
    order: ByteOrder,
    /// Where the file is read next.
    next: u64,
    end: u64,
    block: PendingRecord,
    /// Input of the decoder: the body of a compressed record.
    packed: PendingRecord,
    plain: PendingRecord,
    decoder: Option<Decoder<'static>>,
    /// Whether the decoder may have more to give without further input.
    more_plain: bool,
}

impl Records {
    /// The records between two offsets of a file.
    pub(super) fn new(file: Arc<SharedFile>, order: ByteOrder, from: u64, end: u64) -> Records {
        Records {
            file,
            order,
            next: from,
            end,
            block: PendingRecord::default(),
            packed: PendingRecord::default(),
            plain: PendingRecord::default(),
            decoder: None,
            more_plain: false,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<NextRecord<'_>> {
        Ok(match self.find()? {
            RecordLocation::Nothing(next) => next,
            RecordLocation::InPlain(head) => NextRecord::PerfRecord(consumed(&mut self.plain, head)),
            RecordLocation::InFile(head) => NextRecord::PerfRecord(consumed(&mut self.block, head)),
        })
    }

    fn find(&mut self) -> io::Result<RecordLocation> {
        loop {
            match self.complete_record(&self.plain) {
                CompleteRecord::Yes(head) => return Ok(RecordLocation::InPlain(head)),
                CompleteRecord::Malformed => return Ok(RecordLocation::Nothing(NextRecord::Malformed)),
                CompleteRecord::No => {}
            }
            if self.more_plain || self.packed.at < self.packed.bytes.len() {
                if self.unpack().is_none() {
                    self.abandon();
                    return Ok(RecordLocation::Nothing(NextRecord::Corrupt));
                }
                continue;
            }
            let head = match self.in_file()? {
                RecordLocation::InFile(head) => head,
                other => return Ok(other),
            };
            match head.kind {
                COMPRESSED | COMPRESSED_2 => {
                    let record = consumed(&mut self.block, head);
                    let Some(packed) = packed(record, self.order) else {
                        return Ok(RecordLocation::Nothing(NextRecord::Malformed));
                    };
                    self.packed.bytes.clear();
                    self.packed.bytes.extend_from_slice(packed);
                    self.packed.at = 0;
                }
                _ => return Ok(RecordLocation::InFile(head)),
            }
        }
    }

    /// Whether a complete record is buffered.
    fn complete_record(&self, pending: &PendingRecord) -> CompleteRecord {
        let Some(head) = RecordHead::parse(pending.rest(), self.order) else { return CompleteRecord::No };
        match head.size {
            size if size < HEAD_BYTES => CompleteRecord::Malformed,
            size if size <= pending.rest().len() => CompleteRecord::Yes(head),
            _ => CompleteRecord::No,
        }
    }

    /// Reads the file until a complete record is buffered.
    fn in_file(&mut self) -> io::Result<RecordLocation> {
        loop {
            match self.complete_record(&self.block) {
                CompleteRecord::Yes(head) => return Ok(RecordLocation::InFile(head)),
                CompleteRecord::Malformed => return Ok(RecordLocation::Nothing(NextRecord::Malformed)),
                CompleteRecord::No => {}
            }
            self.block.compact();
            if self.read_block()? == 0 {
                let cut = !self.block.bytes.is_empty() || self.next < self.end;
                self.block.bytes.clear();
                self.next = self.end;
                return Ok(RecordLocation::Nothing(if cut {
                    NextRecord::Truncated
                } else {
                    NextRecord::End
                }));
            }
        }
    }

    /// Appends to the pending block; returns how many bytes.
    fn read_block(&mut self) -> io::Result<usize> {
        let before = self.block.bytes.len();
        let remaining = usize::try_from(self.end.saturating_sub(self.next)).unwrap_or(usize::MAX);
        self.file.append_at(self.next, remaining.min(BLOCK_BYTES), &mut self.block.bytes)?;
        let count = self.block.bytes.len() - before;
        self.next += count as u64;
        Ok(count)
    }

    /// Consumes the bytes that follow the last record and are not included in its size: the format texts behind
    /// [`TRACING_DATA`] and the traces behind [`AUXTRACE`]. `None` when the file has fewer.
    pub(super) fn follow(&mut self, count: u64, mut each: impl FnMut(&[u8])) -> io::Result<Option<()>> {
        let mut remaining = count;
        while remaining > 0 {
            if self.block.rest().is_empty() {
                self.block.compact();
                if self.read_block()? == 0 {
                    return Ok(None);
                }
            }
            let rest = self.block.rest();
            let part = &rest[..rest.len().min(usize::try_from(remaining).unwrap_or(usize::MAX))];
            each(part);
            remaining -= part.len() as u64;
            self.block.at += part.len();
        }
        Ok(Some(()))
    }

    /// Decompresses the next part; `None` when it is damaged. One stream runs through all compressed records of a file.
    fn unpack(&mut self) -> Option<()> {
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let decoder = self.decoder.as_mut()?;
        self.plain.compact();
        let plain_before = self.plain.bytes.len();
        self.plain.bytes.resize(plain_before + PLAIN_BYTES, 0);
        let mut input = InBuffer::around(&self.packed.bytes[self.packed.at..]);
        let mut output = OutBuffer::around(&mut self.plain.bytes[plain_before..]);
        decoder.run(&mut input, &mut output).ok()?;
        let (read, written) = (input.pos(), output.pos());
        self.packed.at += read;
        self.plain.bytes.truncate(plain_before + written);
        self.more_plain = written == PLAIN_BYTES;
        // Neither read nor written with input left: nothing would ever come.
        (read > 0 || written > 0 || self.packed.rest().is_empty()).then_some(())
    }

    /// Gives up what is compressed.
    fn abandon(&mut self) {
        self.packed = PendingRecord::default();
        self.plain = PendingRecord::default();
        self.more_plain = false;
        self.decoder = None;
    }
}

/// Whether a complete record is buffered.
enum CompleteRecord {
    Yes(RecordHead),
    No,
    Malformed,
}

fn consumed(pending: &mut PendingRecord, head: RecordHead) -> PerfRecord<'_> {
    let start = pending.at;
    pending.at += head.size;
    PerfRecord {
        kind: head.kind,
        misc: head.misc,
        body: &pending.bytes[start + HEAD_BYTES..start + head.size],
    }
}

/// The compressed bytes of a record; the newer kind states their number, as padding may follow.
fn packed(record: PerfRecord<'_>, order: ByteOrder) -> Option<&[u8]> {
    if record.kind == COMPRESSED {
        return Some(record.body);
    }
    let count = usize::try_from(order.u64(record.body, 0)?).ok()?;
    record.body.get(8..)?.get(..count)
}

/// Bytes that follow a record although its size does not count them.
pub(super) fn following(record: PerfRecord<'_>, order: ByteOrder) -> u64 {
    match record.kind {
        TRACING_DATA => order.u32(record.body, 0).map_or(0, |count| u64::from(count).next_multiple_of(8)),
        AUXTRACE => order.u64(record.body, 0).unwrap_or(0),
        _ => 0,
    }
}
