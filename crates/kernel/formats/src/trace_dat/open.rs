//! Opening: the head, and a stream a CPU.

use super::chunks::Compression;
use super::head::{CpuBuffers, CpuPages, Preamble, TraceHead};
use super::sections::{SectionedStart, Sections};
use super::sequential;
use super::stream::{CpuStream, PageSource, TimeScale};
use crate::error::KernelTraceError;
use crate::format_text::{Decoder, Programs, Symbols};
use crate::options::OpenOptions;
use crate::ring_buffer::PageLayout;
use crate::source::SharedFile;
use crate::trace::{EventStream, KernelTrace, ThreadName, TraceFacts};
use laggard_model::{ClockMap, Loss, Losses};
use std::path::Path;
use std::sync::Arc;

/// Number of bytes that contain the preamble.
const START_BYTES: usize = 1024;

/// Clocks that do not count nanoseconds, nor cycles.
const OTHER_CLOCKS: &[&str] = &["counter", "uptime"];

/// Why a header is rejected, without the file's path.
enum HeaderError {
    Io(std::io::Error),
    Damaged(&'static str),
    Unsupported(String),
}

impl From<std::io::Error> for HeaderError {
    fn from(source: std::io::Error) -> HeaderError {
        HeaderError::Io(source)
    }
}

/// Opens a trace.dat.
pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<KernelTrace, KernelTraceError> {
    open_file(path, options).map_err(|refusal| {
        let path = path.to_owned();
        match refusal {
            HeaderError::Io(source) => KernelTraceError::Io { path, source },
            HeaderError::Damaged(reason) => KernelTraceError::Damaged { path, reason: reason.to_owned() },
            HeaderError::Unsupported(reason) => KernelTraceError::Unsupported { path, reason },
        }
    })
}

fn open_file(path: &Path, options: &OpenOptions) -> Result<KernelTrace, HeaderError> {
    let file = Arc::new(SharedFile::open(path)?);
    let mut start = Vec::new();
    file.read_at(0, START_BYTES, &mut start)?;
    let preamble =
        Preamble::parse(&start).ok_or(HeaderError::Damaged("the head of this trace.dat is damaged"))?;
    let (head, compression) = match preamble.version.as_str() {
        "6" => (sequential::read(&file, &preamble)?, Compression::None),
        "7" => {
            let (head, compression) = sectioned(&file, &start, &preamble)?;
            (Some(head), compression)
        }
        version => {
            return Err(HeaderError::Unsupported(format!(
                "trace.dat version {version} is not read, only 6 and 7: `trace-cmd convert` makes one of 7"
            )));
        }
    };
    let head = head.ok_or(HeaderError::Damaged("the file ends inside its head: there are no events"))?;
    assemble(file, &preamble, head, compression, options)
}

fn sectioned(
    file: &SharedFile,
    start: &[u8],
    preamble: &Preamble,
) -> Result<(TraceHead, Compression), HeaderError> {
    let beginning = SectionedStart::parse(start, preamble)
        .ok_or(HeaderError::Damaged("the head of this trace.dat is damaged"))?;
    let name = &beginning.compression;
    let compression = Compression::named(name.as_bytes()).ok_or_else(|| {
        HeaderError::Unsupported(format!(
            "compressed with {name}, which is not read: `trace-cmd convert -c none`"
        ))
    })?;
    let head = Sections { file, order: preamble.order, compression }.read(&beginning)?;
    Ok((head, compression))
}

/// Index of the buffer to read: the top one, or when that is empty the first that is not.
fn choose(buffers: &[CpuBuffers]) -> Option<usize> {
    let filled = |buffer: &CpuBuffers| buffer.cpus.iter().any(|cpu| cpu.bytes > 0);
    let top = buffers.iter().position(|buffer| buffer.name.is_empty());
    let first_filled = buffers.iter().position(filled);
    top.filter(|&top| filled(&buffers[top])).or(first_filled).or(top)
}

fn assemble(
    file: Arc<SharedFile>,
    preamble: &Preamble,
    mut head: TraceHead,
    compression: Compression,
    options: &OpenOptions,
) -> Result<KernelTrace, HeaderError> {
    let Some(chosen) = choose(&head.buffers) else { return Err(without_pages(&head)) };
    let buffer = &head.buffers[chosen];
    let clock = clock_name(buffer, &head);
    refuse_clock(&clock, &head)?;
    let page_bytes = buffer.page_bytes.unwrap_or(preamble.page_bytes) as usize;
    let layout = PageLayout::parse(&head.header_page, preamble.order, page_bytes)
        .ok_or(HeaderError::Damaged("the layout of its pages (header_page) is missing or makes no sense"))?;
    let scale = TimeScale { cycles: head.options.cycles, shift_ns: head.options.shift_ns };
    let pages_are = pages_are(&file, preamble, buffer, compression)?;
    let names: (Symbols, Arc<dyn Programs>) =
        (std::mem::take(&mut head.symbols), Arc::new(std::mem::take(&mut head.options.programs)));
    let decoder = Decoder::new(&head.formats, names, preamble.order, options);
    let mut losses = Losses::none();
    for other in head.buffers.iter().enumerate().filter(|&(index, _)| index != chosen).map(|(_, other)| other)
    {
        losses.add(Loss::SkippedBuffer, || format!("buffer {:?}", other.name));
    }
    if head.truncated {
        losses.add(Loss::TruncatedInput, || "the head of the file".to_owned());
    }
    let (filled, empty): (Vec<CpuPages>, Vec<CpuPages>) = buffer.cpus.iter().partition(|cpu| cpu.bytes > 0);
    if !filled.is_empty() {
        losses.add_many(Loss::MissingStream, empty.len() as u64, || format!("CPU {}", empty[0].cpu));
    }
    let (disjoint, overlapping) = disjoint(filled);
    losses.add_many(Loss::MalformedRecord, overlapping, || "CPUs whose pages are another CPU's".to_owned());
    let streams = disjoint
        .into_iter()
        .map(|pages| {
            let (file, decoder) = (Arc::clone(&file), decoder.another());
            Box::new(CpuStream::new(file, layout, pages_are, scale, decoder, pages)) as Box<dyn EventStream>
        })
        .collect();
    let facts = facts(&file, preamble, head, clock);
    Ok(KernelTrace { facts, losses, streams })
}

/// Removes CPUs whose pages overlap another's, and returns their number: a damaged table would repeat events.
fn disjoint(mut cpus: Vec<CpuPages>) -> (Vec<CpuPages>, u64) {
    let before = cpus.len();
    cpus.sort_by_key(|cpu| (cpu.offset, cpu.cpu));
    let mut end = 0;
    cpus.retain(|cpu| {
        let is_disjoint = cpu.offset >= end;
        end = if is_disjoint { cpu.offset.saturating_add(cpu.bytes) } else { end };
        is_disjoint
    });
    let overlapping = before - cpus.len();
    cpus.sort_by_key(|cpu| cpu.cpu);
    (cpus, overlapping as u64)
}

fn without_pages(head: &TraceHead) -> HeaderError {
    if head.latency_text {
        return HeaderError::Unsupported(
            "holds the text of a latency tracer, no events: `trace-cmd report` prints it; record with \
             `trace-cmd record -e sched …`"
                .to_owned(),
        );
    }
    HeaderError::Damaged("the file ends before the table of its events; the recording did not end properly")
}

fn pages_are(
    file: &SharedFile,
    preamble: &Preamble,
    buffer: &CpuBuffers,
    compression: Compression,
) -> Result<PageSource, HeaderError> {
    let Some(offset) = buffer.section else { return Ok(PageSource::Plain) };
    let head = Sections { file, order: preamble.order, compression }.head(offset)?;
    let compressed = head.is_some_and(|head| head.compressed());
    Ok(if compressed { PageSource::Chunks(compression) } else { PageSource::Plain })
}

/// The clock's name: the word in brackets of the file `trace_clock`, or the whole of a single word.
fn clock_name(buffer: &CpuBuffers, head: &TraceHead) -> String {
    let clock = Some(&buffer.clock).filter(|clock| !clock.is_empty()).or(head.options.clock.as_ref());
    let clock = clock.map_or("", String::as_str);
    let chosen = clock.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let single = || Some(clock.trim()).filter(|clock| !clock.contains(char::is_whitespace));
    chosen.or_else(single).unwrap_or_default().to_owned()
}

fn refuse_clock(clock: &str, head: &TraceHead) -> Result<(), HeaderError> {
    let cycles = clock.ends_with("tsc") && head.options.cycles.is_none();
    if cycles || OTHER_CLOCKS.contains(&clock) {
        return Err(HeaderError::Unsupported(format!(
            "its clock `{clock}` does not count nanoseconds and the file has no conversion factor: record with \
             `trace-cmd record -C mono`"
        )));
    }
    Ok(())
}

fn facts(file: &SharedFile, preamble: &Preamble, head: TraceHead, clock: String) -> TraceFacts {
    let mut uname = head.options.uname.as_deref().unwrap_or_default().split_whitespace().skip(1);
    let host = uname.next().map(str::to_owned);
    let kernel = uname.next().map(str::to_owned);
    let threads = head.threads.into_iter().map(|(tid, name)| ThreadName { tid, name }).collect();
    TraceFacts {
        format: format!("trace.dat v{}", preamble.version),
        clock,
        calendar: head
            .options
            .calendar_ns
            .map(|ns| ClockMap::from_offset_ns(ns.saturating_sub(head.options.shift_ns))),
        host,
        kernel,
        cpus: head.options.cpus.unwrap_or(0),
        bytes: file.bytes(),
        threads,
        snapshot: head.options.snapshot,
    }
}
