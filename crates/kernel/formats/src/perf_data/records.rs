//! Records one after another, those in compressed records in their place.

use super::kinds::{AUXTRACE, COMPRESSED, COMPRESSED_2, TRACING_DATA};
use crate::bytes::ByteOrder;
use crate::source::SharedFile;
use std::io;
use std::sync::Arc;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

/// Bytes of a record's head: kind, flags, size.
const HEAD_BYTES: usize = 8;

/// The file is read in pieces of this size.
const BLOCK_BYTES: usize = 256 << 10;

/// Compressed records are unpacked in pieces of this size.
const PLAIN_BYTES: usize = 128 << 10;

/// Bytes not yet handed out.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    at: usize,
}

impl Pending {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Drops what was handed out.
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
pub(super) struct Record<'a> {
    pub(super) kind: u32,
    /// Its flags.
    pub(super) misc: u16,
    /// What comes behind its head.
    pub(super) body: &'a [u8],
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next<'a> {
    Record(Record<'a>),
    End,
    /// The file ends inside a record.
    Truncated,
    /// A size that cannot be: nothing behind it can be read.
    Malformed,
    /// A compressed record is damaged; what it continues is lost.
    Corrupt,
}

/// Where the next record lies.
enum Found {
    InPlain(RecordHead),
    InFile(RecordHead),
    Nothing(Next<'static>),
}

/// The records of a file.
pub(super) struct Records {
    file: Arc<SharedFile>,
    order: ByteOrder,
    /// Where the file is read next.
    next: u64,
    end: u64,
    block: Pending,
    /// Input of the decoder: the body of a compressed record.
    packed: Pending,
    plain: Pending,
    decoder: Option<Decoder<'static>>,
    /// Whether the decoder may have more to give without further input.
    more_plain: bool,
}

impl Records {
    /// The records between two places of a file.
    pub(super) fn new(file: Arc<SharedFile>, order: ByteOrder, from: u64, end: u64) -> Records {
        Records {
            file,
            order,
            next: from,
            end,
            block: Pending::default(),
            packed: Pending::default(),
            plain: Pending::default(),
            decoder: None,
            more_plain: false,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        Ok(match self.find()? {
            Found::Nothing(next) => next,
            Found::InPlain(head) => Next::Record(taken(&mut self.plain, head)),
            Found::InFile(head) => Next::Record(taken(&mut self.block, head)),
        })
    }

    fn find(&mut self) -> io::Result<Found> {
        loop {
            match self.whole(&self.plain) {
                Whole::Yes(head) => return Ok(Found::InPlain(head)),
                Whole::Malformed => return Ok(Found::Nothing(Next::Malformed)),
                Whole::No => {}
            }
            if self.more_plain || self.packed.at < self.packed.bytes.len() {
                if self.unpack().is_none() {
                    self.abandon();
                    return Ok(Found::Nothing(Next::Corrupt));
                }
                continue;
            }
            let head = match self.in_file()? {
                Found::InFile(head) => head,
                other => return Ok(other),
            };
            match head.kind {
                COMPRESSED | COMPRESSED_2 => {
                    let record = taken(&mut self.block, head);
                    let Some(packed) = packed(record, self.order) else {
                        return Ok(Found::Nothing(Next::Malformed));
                    };
                    self.packed.bytes.clear();
                    self.packed.bytes.extend_from_slice(packed);
                    self.packed.at = 0;
                }
                _ => return Ok(Found::InFile(head)),
            }
        }
    }

    /// Whether a whole record is pending.
    fn whole(&self, pending: &Pending) -> Whole {
        let Some(head) = RecordHead::parse(pending.rest(), self.order) else { return Whole::No };
        match head.size {
            size if size < HEAD_BYTES => Whole::Malformed,
            size if size <= pending.rest().len() => Whole::Yes(head),
            _ => Whole::No,
        }
    }

    /// Reads the file until a whole record is there.
    fn in_file(&mut self) -> io::Result<Found> {
        loop {
            match self.whole(&self.block) {
                Whole::Yes(head) => return Ok(Found::InFile(head)),
                Whole::Malformed => return Ok(Found::Nothing(Next::Malformed)),
                Whole::No => {}
            }
            self.block.compact();
            if self.read_block()? == 0 {
                let cut = !self.block.bytes.is_empty() || self.next < self.end;
                self.block.bytes.clear();
                self.next = self.end;
                return Ok(Found::Nothing(if cut { Next::Truncated } else { Next::End }));
            }
        }
    }

    /// Appends to the pending block; returns how many bytes.
    fn read_block(&mut self) -> io::Result<usize> {
        let before = self.block.bytes.len();
        let left = usize::try_from(self.end.saturating_sub(self.next)).unwrap_or(usize::MAX);
        self.file.append_at(self.next, left.min(BLOCK_BYTES), &mut self.block.bytes)?;
        let count = self.block.bytes.len() - before;
        self.next += count as u64;
        Ok(count)
    }

    /// Takes the bytes that follow the record handed out last, and that its size does not count: the format texts
    /// behind [`TRACING_DATA`] and the traces behind [`AUXTRACE`]. `None` when the file has fewer.
    pub(super) fn follow(&mut self, count: u64, mut each: impl FnMut(&[u8])) -> io::Result<Option<()>> {
        let mut left = count;
        while left > 0 {
            if self.block.rest().is_empty() {
                self.block.compact();
                if self.read_block()? == 0 {
                    return Ok(None);
                }
            }
            let rest = self.block.rest();
            let part = &rest[..rest.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            each(part);
            left -= part.len() as u64;
            self.block.at += part.len();
        }
        Ok(Some(()))
    }

    /// Unpacks a piece; `None` when it is damaged. One stream runs through all compressed records of a file.
    fn unpack(&mut self) -> Option<()> {
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let decoder = self.decoder.as_mut()?;
        self.plain.compact();
        let kept = self.plain.bytes.len();
        self.plain.bytes.resize(kept + PLAIN_BYTES, 0);
        let mut input = InBuffer::around(&self.packed.bytes[self.packed.at..]);
        let mut output = OutBuffer::around(&mut self.plain.bytes[kept..]);
        decoder.run(&mut input, &mut output).ok()?;
        let (read, written) = (input.pos(), output.pos());
        self.packed.at += read;
        self.plain.bytes.truncate(kept + written);
        self.more_plain = written == PLAIN_BYTES;
        // Neither read nor written with input left: nothing would ever come.
        (read > 0 || written > 0 || self.packed.rest().is_empty()).then_some(())
    }

    /// Gives up what is compressed.
    fn abandon(&mut self) {
        self.packed = Pending::default();
        self.plain = Pending::default();
        self.more_plain = false;
        self.decoder = None;
    }
}

/// Whether a whole record is there.
enum Whole {
    Yes(RecordHead),
    No,
    Malformed,
}

fn taken(pending: &mut Pending, head: RecordHead) -> Record<'_> {
    let start = pending.at;
    pending.at += head.size;
    Record { kind: head.kind, misc: head.misc, body: &pending.bytes[start + HEAD_BYTES..start + head.size] }
}

/// The compressed bytes of a record; the newer kind tells their number, as padding may follow.
fn packed(record: Record<'_>, order: ByteOrder) -> Option<&[u8]> {
    if record.kind == COMPRESSED {
        return Some(record.body);
    }
    let count = usize::try_from(order.u64(record.body, 0)?).ok()?;
    record.body.get(8..)?.get(..count)
}

/// Bytes that follow a record although its size does not count them.
pub(super) fn following(record: Record<'_>, order: ByteOrder) -> u64 {
    match record.kind {
        TRACING_DATA => order.u32(record.body, 0).map_or(0, |count| u64::from(count).next_multiple_of(8)),
        AUXTRACE => order.u64(record.body, 0).unwrap_or(0),
        _ => 0,
    }
}
