//! The pages of one CPU, a few at a time.

use super::chunks::{CHUNK_BYTES_MAX, Compression};
use super::head::{CpuPages, CycleLength};
use crate::bytes::ByteOrder;
use crate::format_text::{DecodedEvent, Decoder};
use crate::ring_buffer::{MissedEvents, Page, PageLayout, RecordsEnd};
use crate::source::SharedFile;
use crate::trace::{EventBatch, EventStream, StreamState};
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTime, Loss};
use std::sync::Arc;

/// Plain pages are read this many bytes at a time, or one page.
const READ_BYTES: usize = 64 << 10;

/// How a page's times become nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TimeScale {
    /// The length of a cycle, when times are in cycles.
    pub(super) cycles: Option<CycleLength>,
    /// Nanoseconds to add.
    pub(super) shift_ns: i64,
}

impl TimeScale {
    #[inline]
    fn time(self, stamp: u64) -> KernelTime {
        let ns = match self.cycles {
            Some(CycleLength { multiplier, shift }) => {
                u64::try_from((u128::from(stamp) * u128::from(multiplier)) >> shift).unwrap_or(u64::MAX)
            }
            None => stamp,
        };
        KernelTime::from_ns(ns.saturating_add_signed(self.shift_ns))
    }
}

/// How the pages lie in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PageSource {
    /// One behind the other.
    Plain,
    /// In chunks that are compressed.
    Chunks(Compression),
}

/// The result of reading pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PageRead {
    /// Some pages.
    Pages,
    /// Nothing: the end.
    End,
    /// Nothing: the file ends too early.
    Truncated,
    /// Nothing: damage.
    Corrupt,
}

/// One CPU's events.
pub(super) struct CpuStream {
    file: Arc<SharedFile>,
    layout: PageLayout,
    pages_are: PageSource,
    scale: TimeScale,
    decoder: Decoder,
    cpu: Cpu,
    next: u64,
    end: u64,
    /// Chunks still to come; `None` before their number was read.
    chunks: Option<u32>,
    pages: Vec<u8>,
    packed: Vec<u8>,
}

impl CpuStream {
    /// The pages of one CPU.
    pub(super) fn new(
        file: Arc<SharedFile>,
        layout: PageLayout,
        pages_are: PageSource,
        scale: TimeScale,
        decoder: Decoder,
        pages: CpuPages,
    ) -> CpuStream {
        CpuStream {
            file,
            layout,
            pages_are,
            scale,
            decoder,
            cpu: Cpu(pages.cpu as u16),
            next: pages.offset,
            end: pages.offset.saturating_add(pages.bytes),
            chunks: None,
            pages: Vec::new(),
            packed: Vec::new(),
        }
    }

    /// Reads pages into `self.pages`.
    fn read_pages(&mut self) -> std::io::Result<PageRead> {
        match self.pages_are {
            PageSource::Plain => self.plain(),
            PageSource::Chunks(compression) => self.chunk(compression),
        }
    }

    fn plain(&mut self) -> std::io::Result<PageRead> {
        if self.next >= self.end {
            return Ok(PageRead::End);
        }
        let read_bytes = (READ_BYTES / self.layout.page_bytes).max(1) * self.layout.page_bytes;
        let count = usize::try_from(self.end - self.next).unwrap_or(usize::MAX).min(read_bytes);
        self.file.read_at(self.next, count, &mut self.pages)?;
        self.next += self.pages.len() as u64;
        if self.pages.is_empty() {
            return Ok(PageRead::Truncated);
        }
        Ok(PageRead::Pages)
    }

    fn chunk(&mut self, compression: Compression) -> std::io::Result<PageRead> {
        let order = self.layout.order;
        if self.chunks.is_none() && self.next < self.end {
            let Some(count) = self.word(order)? else { return Ok(PageRead::Truncated) };
            self.chunks = Some(count);
        }
        let chunks_left = self.chunks.unwrap_or(0);
        if chunks_left == 0 {
            return Ok(PageRead::End);
        }
        self.chunks = Some(chunks_left - 1);
        let (Some(packed_bytes), Some(plain_bytes)) = (self.word(order)?, self.word(order)?) else {
            return Ok(PageRead::Truncated);
        };
        let (packed_bytes, plain_bytes) = (packed_bytes as usize, plain_bytes as usize);
        if plain_bytes > CHUNK_BYTES_MAX || packed_bytes > 2 * CHUNK_BYTES_MAX {
            return Ok(PageRead::Corrupt);
        }
        self.file.read_at(self.next, packed_bytes, &mut self.packed)?;
        self.next = self.next.saturating_add(packed_bytes as u64);
        if self.packed.len() < packed_bytes {
            return Ok(PageRead::Truncated);
        }
        let unpacked = compression.unpack(&self.packed, plain_bytes, &mut self.pages);
        Ok(if unpacked.is_some() { PageRead::Pages } else { PageRead::Corrupt })
    }

    fn word(&mut self, order: ByteOrder) -> std::io::Result<Option<u32>> {
        self.file.read_at(self.next, 4, &mut self.packed)?;
        self.next = self.next.saturating_add(4);
        Ok(order.u32(&self.packed, 0))
    }

    /// Appends the events of the pages read.
    fn decode(&mut self, batch: &mut EventBatch) {
        let (cpu, scale, decoder) = (self.cpu, self.scale, &mut self.decoder);
        let EventBatch { events, texts, losses } = batch;
        for bytes in self.pages.chunks(self.layout.page_bytes) {
            let Some(page) = Page::parse(bytes, &self.layout) else {
                losses.add(Loss::TruncatedInput, || format!("CPU {}: a page ends in its head", cpu.0));
                continue;
            };
            if let Some(lost) = lost(page.missed, cpu, losses) {
                let (time, flags, recorded) = (scale.time(page.time), None, None);
                events.push(KernelEvent { time, cpu, flags, recorded, kind: lost });
            }
            let mut malformed = 0;
            let end =
                page.records(|stamp, record| match decoder.decode(record, scale.time(stamp), cpu, texts) {
                    DecodedEvent::Event(event) => events.push(event),
                    DecodedEvent::Unwanted => {}
                    DecodedEvent::Malformed => malformed += 1,
                });
            if page.truncated {
                losses.add(Loss::TruncatedInput, || format!("CPU {}: the last page is incomplete", cpu.0));
            } else if end == RecordsEnd::Damaged {
                malformed += 1;
            }
            losses.add_many(Loss::MalformedRecord, malformed, || {
                format!("CPU {}, page at {} ns", cpu.0, scale.time(page.time).ns())
            });
        }
    }
}

fn lost(missed: MissedEvents, cpu: Cpu, losses: &mut laggard_model::Losses) -> Option<EventKind> {
    match missed {
        MissedEvents::None => None,
        MissedEvents::Some => {
            losses.add(Loss::LostInterval, || format!("CPU {}", cpu.0));
            Some(EventKind::Lost { count: None })
        }
        MissedEvents::Count(count) => {
            losses.add_many(Loss::LostEvents, count, || format!("CPU {}", cpu.0));
            Some(EventKind::Lost { count: Some(count) })
        }
    }
}

impl EventStream for CpuStream {
    fn read(&mut self, batch: &mut EventBatch) -> StreamState {
        let cpu = self.cpu.0;
        let loss = match self.read_pages() {
            Ok(PageRead::Pages) => {
                self.decode(batch);
                return StreamState::More;
            }
            Ok(PageRead::End) => return StreamState::Ended,
            Ok(PageRead::Truncated) | Err(_) => Loss::TruncatedInput,
            Ok(PageRead::Corrupt) => Loss::CorruptCompression,
        };
        batch.losses.add(loss, || format!("the pages of CPU {cpu}"));
        // A damaged chunk is skipped: the following ones are independent frames.
        let goes_on =
            loss == Loss::CorruptCompression && self.chunks.is_some_and(|chunks_left| chunks_left > 0);
        if goes_on && self.next < self.end { StreamState::More } else { StreamState::Ended }
    }
}
