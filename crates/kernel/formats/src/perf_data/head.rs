//! The header of a file, before its first sample.

use super::attributes::Attribute;
use super::features::{self, Features};
use super::kinds;
use super::records::{NextRecord, PerfRecord, Records, following};
use super::sample::SampleLayouts;
use super::{MAGIC_BIG, MAGIC_LITTLE};
use crate::bytes::{ByteOrder, Cursor, until_zero};
use crate::source::SharedFile;
use crate::trace::ThreadName;
use laggard_model::Tid;
use std::io;
use std::sync::Arc;

/// Size of the head in pipe mode, which distinguishes it from a file's.
const PIPE_HEAD_BYTES: u64 = 16;

/// Bytes of a file's head.
const FILE_HEAD_BYTES: usize = 104;

/// Bytes of an offset and a size.
const SECTION_BYTES: usize = 16;

/// Events beyond this many are left out.
const ATTRIBUTES_MAX: usize = 1 << 16;

/// Numbers of events beyond this many are left out: one an event and CPU.
const IDS_MAX: usize = 1 << 22;

/// Names of threads beyond this many are left out.
const THREADS_MAX: usize = 1 << 22;

/// Features larger than this are not read.
const FEATURE_BYTES_MAX: u64 = 64 << 20;

/// Everything before the first sample.
pub(super) struct PerfHead {
    /// Byte order of the recording machine.
    pub(super) order: ByteOrder,
    /// Where records begin.
    pub(super) records_from: u64,
    /// Where they end.
    pub(super) records_end: u64,
    /// Whether the records' size is missing: `perf record` did not end properly.
    pub(super) unfinished: bool,
    /// The events that were recorded.
    pub(super) attributes: Vec<Attribute>,
    /// Values of the feature sections.
    pub(super) features: Features,
    /// Names of threads when the recording began.
    pub(super) threads: Vec<ThreadName>,
}

/// An offset and a size.
#[derive(Clone, Copy, Debug)]
struct FileSection {
    offset: u64,
    bytes: u64,
}

impl FileSection {
    fn read(cursor: &mut Cursor<'_>) -> Option<FileSection> {
        Some(FileSection { offset: cursor.u64()?, bytes: cursor.u64()? })
    }

    /// Its bytes, as far as the file has them, up to a limit.
    fn content(self, file: &SharedFile, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let count = usize::try_from(self.bytes.min(limit)).unwrap_or(usize::MAX);
        file.read_at(self.offset, count, &mut bytes)?;
        Ok(bytes)
    }
}

impl PerfHead {
    /// Reads the head; `None` when there is not even that.
    pub(super) fn read(file: &Arc<SharedFile>) -> io::Result<Option<PerfHead>> {
        let mut start = Vec::new();
        file.read_at(0, FILE_HEAD_BYTES, &mut start)?;
        let order = match start.get(..8) {
            Some(magic) if magic == MAGIC_LITTLE => ByteOrder::Little,
            Some(magic) if magic == MAGIC_BIG => ByteOrder::Big,
            _ => return Ok(None),
        };
        let Some(size) = order.u64(&start, 8) else { return Ok(None) };
        let head = if size == PIPE_HEAD_BYTES {
            Some(PerfHead::empty(order, size, file.bytes()))
        } else {
            PerfHead::from_file(file, &start, order)?
        };
        let Some(mut head) = head else { return Ok(None) };
        head.read_records(file)?;
        Ok(Some(head))
    }

    fn empty(order: ByteOrder, records_from: u64, records_end: u64) -> PerfHead {
        PerfHead {
            order,
            records_from,
            records_end,
            unfinished: false,
            attributes: Vec::new(),
            features: Features::default(),
            threads: Vec::new(),
        }
    }

    fn from_file(file: &SharedFile, start: &[u8], order: ByteOrder) -> io::Result<Option<PerfHead>> {
        let mut cursor = Cursor::new(start.get(16..).unwrap_or_default(), order);
        let parsed = (|| {
            let attribute_bytes = usize::try_from(cursor.u64()?).ok()?;
            let (attributes, data) = (FileSection::read(&mut cursor)?, FileSection::read(&mut cursor)?);
            FileSection::read(&mut cursor)?;
            let bits = [cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?];
            Some((attribute_bytes, attributes, data, bits))
        })();
        let Some((attribute_bytes, attributes, data, bits)) = parsed else { return Ok(None) };
        let unfinished = data.bytes == 0;
        let end = if unfinished { file.bytes() } else { data.offset.saturating_add(data.bytes) };
        let mut head = PerfHead::empty(order, data.offset, end);
        head.unfinished = unfinished;
        head.add_attributes(file, attributes, attribute_bytes)?;
        if !unfinished {
            head.add_features(file, end, bits)?;
        }
        Ok(Some(head))
    }

    /// Attributes of a file: each followed by where its numbers lie.
    fn add_attributes(
        &mut self,
        file: &SharedFile,
        section: FileSection,
        each_bytes: usize,
    ) -> io::Result<()> {
        let Some(own_bytes) = each_bytes.checked_sub(SECTION_BYTES).filter(|&bytes| bytes > 0) else {
            return Ok(());
        };
        let limit = (ATTRIBUTES_MAX as u64).saturating_mul(each_bytes as u64).min(FEATURE_BYTES_MAX);
        let bytes = section.content(file, limit)?;
        let mut ids_left = IDS_MAX;
        for entry in bytes.chunks_exact(each_bytes) {
            let (own, section) = entry.split_at(own_bytes);
            let Some(mut attribute) = Attribute::parse(own, self.order) else { continue };
            if let Some(section) = FileSection::read(&mut Cursor::new(section, self.order)) {
                let ids = section.content(file, 8 * ids_left as u64)?;
                attribute.ids = numbers(&ids, self.order);
                ids_left -= attribute.ids.len();
            }
            self.attributes.push(attribute);
        }
        Ok(())
    }

    /// Features of a file: a section each, listed behind the records in the order of their bits.
    fn add_features(&mut self, file: &SharedFile, list_at: u64, bits: [u64; 4]) -> io::Result<()> {
        let set = |number: u32| bits[(number / 64) as usize] >> (number % 64) & 1 == 1;
        let numbers: Vec<u32> = (0..256).filter(|&number| set(number)).collect();
        let mut list = Vec::new();
        file.read_at(list_at, numbers.len() * SECTION_BYTES, &mut list)?;
        let mut cursor = Cursor::new(&list, self.order);
        for number in numbers {
            let Some(section) = FileSection::read(&mut cursor) else { break };
            if features::READ.contains(&number) {
                let content = section.content(file, FEATURE_BYTES_MAX)?;
                self.features.add(number, &content, self.order);
            }
        }
        Ok(())
    }

    /// Reads records up to the first sample: names of threads, and in the pipe form all of the head.
    fn read_records(&mut self, file: &Arc<SharedFile>) -> io::Result<()> {
        let mut records = Records::new(Arc::clone(file), self.order, self.records_from, self.records_end);
        loop {
            let NextRecord::PerfRecord(record) = records.next()? else { return Ok(()) };
            let rest = following(record, self.order);
            let kind = record.kind;
            match kind {
                kinds::SAMPLE => return Ok(()),
                kinds::HEADER_ATTRIBUTE => self.add_attribute(record),
                kinds::HEADER_FEATURE => {
                    if let Some(number) = self.order.u64(record.body, 0) {
                        self.features.add(number as u32, &record.body[8..], self.order);
                    }
                }
                kinds::COMM => self.add_thread(record),
                _ => {}
            }
            let mut texts = Vec::new();
            let keeps = kind == kinds::TRACING_DATA && rest <= FEATURE_BYTES_MAX;
            let all = records.follow(rest, |part| {
                if keeps {
                    texts.extend_from_slice(part);
                }
            })?;
            if keeps {
                self.features.add(features::TRACING_DATA, &texts, self.order);
            }
            if all.is_none() {
                return Ok(());
            }
        }
    }

    fn add_attribute(&mut self, record: PerfRecord<'_>) {
        let Some(own_bytes) = Attribute::declared_bytes(record.body, self.order) else { return };
        let (own, ids) = record.body.split_at(own_bytes);
        if let Some(mut attribute) = Attribute::parse(own, self.order)
            && self.attributes.len() < ATTRIBUTES_MAX
        {
            attribute.ids = numbers(ids, self.order);
            self.attributes.push(attribute);
        }
    }

    /// Names before the first sample belong to threads that already existed; they have no time.
    fn add_thread(&mut self, record: PerfRecord<'_>) {
        let thread = self.order.u32(record.body, 4).zip(record.body.get(8..));
        let time = SampleLayouts::new(&self.attributes, self.order)
            .and_then(|layouts| layouts.trailer(record.body).time_ns);
        if let (Some((tid, name)), None | Some(0), true) = (thread, time, self.threads.len() < THREADS_MAX) {
            let name = String::from_utf8_lossy(until_zero(name)).into_owned();
            self.threads.push(ThreadName { tid: Tid(tid), name });
        }
    }
}

fn numbers(bytes: &[u8], order: ByteOrder) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|number| order.u64(number, 0)).collect()
}
