//! Version 7: sections anywhere in the file, found through lists of options.

use super::chunks::Compression;
use super::head::{Preamble, SECTION_BYTES_MAX, TraceHead};
use super::options::{
    self, CMDLINES, EVENT_FORMATS, FTRACE_FORMATS, HEADER_INFO, ListKind, SYMBOLS, SectionAt,
};
use crate::bytes::{ByteOrder, Cursor};
use crate::source::SharedFile;
use std::io;

/// Sections beyond this many are not read: there is one of a kind, and a damaged file may have them in a circle.
const SECTIONS_MAX: usize = 64;

/// Bytes of a section's head.
const SECTION_HEAD_BYTES: usize = 16;

/// Flag of a section's head: its content is compressed.
const COMPRESSED: u16 = 1;

/// The part between the preamble and the sections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SectionedStart {
    /// Name of the compression.
    pub(super) compression: String,
    /// Where the first list of options begins.
    first_options: u64,
}

impl SectionedStart {
    /// Reads it; `None` when the bytes end too early.
    pub(super) fn parse(bytes: &[u8], preamble: &Preamble) -> Option<SectionedStart> {
        let mut cursor = Cursor::new(bytes.get(preamble.bytes..)?, preamble.order);
        let compression = String::from_utf8_lossy(cursor.zero_ended()?).into_owned();
        cursor.zero_ended()?;
        Some(SectionedStart { compression, first_options: cursor.u64()? })
    }
}

/// Reads sections of one file.
pub(super) struct Sections<'a> {
    pub(super) file: &'a SharedFile,
    pub(super) order: ByteOrder,
    pub(super) compression: Compression,
}

/// The head of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SectionHead {
    kind: u16,
    flags: u16,
    bytes: u64,
}

impl SectionHead {
    /// Whether its content is compressed.
    pub(super) fn compressed(self) -> bool {
        self.flags & COMPRESSED != 0
    }
}

impl Sections<'_> {
    /// Reads all lists of options and the sections they point to.
    pub(super) fn read(&self, start: &SectionedStart) -> io::Result<TraceHead> {
        let mut head = TraceHead::default();
        let mut next = start.first_options;
        let mut sections_left = SECTIONS_MAX;
        while sections_left > 0 {
            let Some(content) = self.content(SectionAt { kind: 0, offset: next })? else {
                head.truncated = true;
                break;
            };
            let mut cursor = Cursor::new(&content, self.order);
            let Some(pointed) = options::read(&mut cursor, ListKind::Sections, self.order, &mut head) else {
                head.truncated = true;
                break;
            };
            sections_left -= 1;
            for section in pointed.sections.into_iter().take(sections_left) {
                sections_left -= 1;
                let read = self
                    .content(section)?
                    .and_then(|content| self.section(section.kind, &content, &mut head));
                head.truncated |= read.is_none();
            }
            next = pointed.next;
            if next == 0 {
                break;
            }
        }
        Ok(head)
    }

    /// The head of the section at `offset`; `None` beyond the file's end.
    pub(super) fn head(&self, offset: u64) -> io::Result<Option<SectionHead>> {
        let mut bytes = Vec::new();
        self.file.read_at(offset, SECTION_HEAD_BYTES, &mut bytes)?;
        let mut cursor = Cursor::new(&bytes, self.order);
        let parsed = (|| {
            let (kind, flags) = (cursor.u16()?, cursor.u16()?);
            cursor.u32()?;
            Some(SectionHead { kind, flags, bytes: cursor.u64()? })
        })();
        Ok(parsed)
    }

    /// The content of a section, unpacked; `None` if it is another one, incomplete, damaged, or too large.
    fn content(&self, section: SectionAt) -> io::Result<Option<Vec<u8>>> {
        let Some(head) = self.head(section.offset)?.filter(|head| head.kind == section.kind) else {
            return Ok(None);
        };
        if head.bytes > SECTION_BYTES_MAX {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let from = section.offset.saturating_add(SECTION_HEAD_BYTES as u64);
        self.file.read_at(from, head.bytes as usize, &mut bytes)?;
        if !head.compressed() {
            return Ok(Some(bytes).filter(|bytes| bytes.len() as u64 == head.bytes));
        }
        let mut cursor = Cursor::new(&bytes, self.order);
        let (Some(packed_bytes), Some(plain_bytes)) = (cursor.u32(), cursor.u32()) else { return Ok(None) };
        let Some(packed) = cursor.take(packed_bytes as usize) else { return Ok(None) };
        if u64::from(plain_bytes) > SECTION_BYTES_MAX {
            return Ok(None);
        }
        let mut plain = Vec::new();
        Ok(self.compression.unpack(packed, plain_bytes as usize, &mut plain).map(|()| plain))
    }

    fn section(&self, kind: u16, content: &[u8], head: &mut TraceHead) -> Option<()> {
        let mut cursor = Cursor::new(content, self.order);
        match kind {
            HEADER_INFO => head.add_header_info(&mut cursor),
            FTRACE_FORMATS => {
                let count = cursor.u32()?;
                head.add_formats("ftrace", count, &mut cursor)
            }
            EVENT_FORMATS => head.add_systems(&mut cursor),
            SYMBOLS => head.add_symbols(&mut cursor),
            CMDLINES => {
                let size = usize::try_from(cursor.u64()?).ok()?;
                head.add_threads(cursor.take(size)?);
                Some(())
            }
            _ => Some(()),
        }
    }
}
