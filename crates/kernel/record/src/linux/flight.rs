//! A flight recorder: the latest events in memory, a part of them on request.
//!
//! ```text
//! ring of each CPU ─► capture (whole pages, in a file without a name) ─► cut to an interval ─► trace.dat
//! ```
//!
//! Reading a ring empties it. The latest captures are kept, so that intervals may overlap.

use super::buffer::{Buffer, refused};
use super::groups::GroupWatch;
use super::guardian::Guardian;
use super::reader::{CpuFile, nameless, open_pages, read_page};
use super::tracefs::Tracefs;
use super::undo::Restorer;
use super::{available_events, facts, stale};
use crate::dat::{self, ClockInterval, CpuPages, cut_page, page_time};
use crate::error::RecordError;
use crate::events::{EventName, flight_events};
use crate::settings::{DatForm, FlightSettings};
use crate::summary::FlightSnapshot;
use laggard_model::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::rc::Rc;

/// Pages of one CPU's ring that are read in one capture beyond its size: those that fill up meanwhile.
const PAGES_BEYOND: u64 = 64;

/// A flight recorder that runs. Dropping it restores everything it changed.
pub struct FlightRecorder {
    buffer: Buffer,
    events: Vec<EventName>,
    rings: Vec<Ring>,
    page_bytes: usize,
    ring_bytes: u64,
    settings: FlightSettings,
    captures: VecDeque<Capture>,
    restorer: Restorer,
}

/// The pages of one CPU in the kernel.
struct Ring {
    cpu: u32,
    pages: File,
}

/// Data read from all rings at one time.
struct Capture {
    cpus: Vec<CpuFile>,
}

impl Capture {
    fn bytes(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.bytes).sum()
    }
}

impl FlightRecorder {
    /// Starts recording. Leftovers of recorders that have died are removed first.
    ///
    /// # Errors
    /// When something is missing; its text says what, and how to get it.
    pub fn start(settings: &FlightSettings) -> Result<FlightRecorder, RecordError> {
        let guardian = Guardian::start(&settings.guardian)?;
        let tracefs = Rc::new(Tracefs::open()?);
        let mut restorer = Restorer::new(tracefs.clone(), guardian);
        stale::remove(&tracefs);
        // What an event shows that the kernel does not have is missing from every recording of this host.
        let mut events = available_events(&tracefs, flight_events(), &mut Vec::new())?;
        if events.iter().any(|event| event.name == "sched_waking") {
            // The same again, where the woken thread will run; only programs that do not know the other need it.
            events.retain(|event| event.name != "sched_wakeup");
        }
        let buffer = Buffer::prepare_without_markers(&tracefs, &mut restorer, settings.buffer_bytes)?;
        for event in &events {
            buffer.enable(&mut restorer, event)?;
        }
        let page_bytes = facts::ring_page_bytes(&buffer)? as usize;
        let rings = rings(&buffer)?;
        let total_kb = buffer.tracefs.text(&buffer.file("buffer_total_size_kb")).parse::<u64>();
        let ring_bytes = total_kb.map_or(settings.buffer_bytes, |kilobytes| kilobytes * 1024);
        buffer.start()?;
        let (settings, captures) = (settings.clone(), VecDeque::new());
        Ok(FlightRecorder { buffer, events, rings, page_bytes, ring_bytes, settings, captures, restorer })
    }

    /// Events recorded since the start, those included that were overwritten since.
    pub fn recorded_events(&self) -> u64 {
        self.rings.iter().map(|ring| facts::recorded_events(&self.buffer, ring.cpu)).sum()
    }

    /// Stops recording temporarily; events in memory are retained.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn pause(&mut self) -> Result<(), RecordError> {
        self.buffer.stop()
    }

    /// Resumes recording, also if another process has switched it off.
    ///
    /// # Errors
    /// When the kernel refuses, or the buffer is gone.
    pub fn resume(&mut self) -> Result<(), RecordError> {
        self.buffer.start()
    }

    /// Writes a trace.dat with the events of an interval, its ends included, to an empty file. The interval is one of the
    /// calendar of this machine. Recording goes on meanwhile.
    ///
    /// # Errors
    /// When the rings cannot be read, or the file not be written.
    pub fn snapshot(
        &mut self,
        (since, until): (Timestamp, Timestamp),
        out: &mut File,
    ) -> Result<FlightSnapshot, RecordError> {
        let offset_ns = facts::calendar_offset_ns();
        let clock = |time: Timestamp| u64::try_from(time.unix_ns().saturating_sub(offset_ns)).unwrap_or(0);
        let interval = ClockInterval { from_ns: clock(since), to_ns: clock(until) };
        self.capture()?;
        let head = facts::head(&self.buffer, &self.events, offset_ns, &GroupWatch::at_once())?;
        let folder = self.settings.folder.clone();
        let written = self.cut(interval).and_then(|(mut files, events)| {
            let mut pages: Vec<CpuPages<'_>> = files
                .iter_mut()
                .map(|file| CpuPages { cpu: file.cpu, bytes: file.bytes, pages: &mut file.file })
                .collect();
            let bytes = dat::write(DatForm::V7, out, &head, &mut pages)?;
            Ok(FlightSnapshot { bytes, events })
        });
        written.map_err(|source| RecordError::Output { path: folder, source })
    }

    /// Moves the contents of the rings to files. The oldest captures are dropped while the later ones hold as much as the rings.
    fn capture(&mut self) -> Result<(), RecordError> {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64);
        let ring_pages = self.ring_bytes / self.rings.len().max(1) as u64 / self.page_bytes as u64;
        let mut cpus = Vec::new();
        for ring in &mut self.rings {
            let file = nameless(&self.settings.folder)
                .map_err(|source| RecordError::Output { path: self.settings.folder.clone(), source })?;
            let until = PageLimit { time_ns: now_ns, pages: ring_pages + PAGES_BEYOND };
            let copied = copy_pages(&mut ring.pages, self.page_bytes, until, file);
            let (bytes, file) =
                copied.map_err(|source| refused("the trace buffer cannot be read", source))?;
            cpus.push(CpuFile { cpu: ring.cpu, bytes, file });
        }
        self.captures.push_back(Capture { cpus });
        let mut later: u64 = self.captures.iter().skip(1).map(Capture::bytes).sum();
        while self.captures.len() > 1 && later >= self.ring_bytes {
            self.captures.pop_front();
            later -= self.captures.front().map_or(0, Capture::bytes);
        }
        Ok(())
    }

    /// The pages of an interval, by CPU, and the number of their events.
    fn cut(&mut self, interval: ClockInterval) -> io::Result<(Vec<CpuFile>, u64)> {
        let (mut files, mut events) = (Vec::new(), 0);
        let mut page = vec![0; self.page_bytes];
        for number in 0..self.rings.len() {
            let mut out = BufWriter::new(nameless(&self.settings.folder)?);
            let mut bytes = 0;
            for capture in &mut self.captures {
                let captured = &mut capture.cpus[number];
                captured.file.rewind()?;
                let mut pages = BufReader::with_capacity(1 << 16, &mut captured.file);
                for _ in 0..captured.bytes / self.page_bytes as u64 {
                    pages.read_exact(&mut page)?;
                    let in_page = cut_page(&mut page, interval);
                    if in_page > 0 {
                        out.write_all(&page)?;
                        bytes += page.len() as u64;
                        events += in_page;
                    }
                }
            }
            let mut file = out.into_inner()?;
            file.rewind()?;
            files.push(CpuFile { cpu: self.rings[number].cpu, bytes, file });
        }
        Ok((files, events))
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        // A buffer whose pages are open cannot be removed.
        self.rings.clear();
        // Changes that cannot be undone now are undone at the next start.
        self.restorer.restore();
    }
}

fn rings(buffer: &Buffer) -> Result<Vec<Ring>, RecordError> {
    let mut rings = Vec::new();
    for cpu in 0..facts::cpu_count() {
        rings.extend(open_pages(buffer, cpu)?.map(|pages| Ring { cpu, pages }));
    }
    Ok(rings)
}

/// Where copying ends although there are further pages.
#[derive(Clone, Copy)]
struct PageLimit {
    /// After a page that begins later, in nanoseconds of the trace clock.
    time_ns: u64,
    /// Fails after a number of pages.
    pages: u64,
}

/// Copies pages to a file; how many bytes that were.
fn copy_pages(ring: &mut File, page_bytes: usize, limit: PageLimit, file: File) -> io::Result<(u64, File)> {
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let mut page = vec![0; page_bytes];
    let mut copied = 0;
    while copied < limit.pages && read_page(ring, &mut page)? {
        out.write_all(&page)?;
        copied += 1;
        if page_time(&page) > limit.time_ns {
            break;
        }
    }
    Ok((copied * page_bytes as u64, out.into_inner()?))
}
