//! Opening a perf.data.

use super::attributes::{Attribute, sample_bits};
use super::folder;
use super::head::PerfHead;
use super::mappings::Mappings;
use super::records::Records;
use super::round::{EVENTS_MAX, ReorderBuffer, THREAD_EVENTS_MAX};
use super::sample::SampleLayouts;
use super::stream::{PerfStream, RequestedEvents};
use crate::error::KernelTraceError;
use crate::format_text::{Decoder, EventFormat, Programs, Symbols};
use crate::options::OpenOptions;
use crate::source::SharedFile;
use crate::trace::{EventStream, KernelTrace, ThreadName, TraceFacts};
use laggard_model::{ClockMap, Loss, Losses};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A command that records what is needed, for messages.
const RECORD: &str = "`perf record -a -k mono -e sched:sched_switch,sched:sched_waking …`";

/// Opens a perf.data.
pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<KernelTrace, KernelTraceError> {
    let io_error = |source| KernelTraceError::Io { path: path.to_owned(), source };
    let damaged =
        |reason: &str| KernelTraceError::Damaged { path: path.to_owned(), reason: reason.to_owned() };
    let unsupported = |reason: String| KernelTraceError::Unsupported { path: path.to_owned(), reason };
    let file = Arc::new(SharedFile::open(&folder::main_file(path)).map_err(io_error)?);
    let mut head = PerfHead::read(&file)
        .map_err(io_error)?
        .ok_or_else(|| damaged("the head of this perf.data is damaged"))?;
    let layouts = SampleLayouts::new(&head.attributes, head.order)
        .ok_or_else(|| damaged("this perf.data does not list its events"))?;
    if !head.attributes.iter().any(|attribute| attribute.tracepoint) {
        return Err(unsupported(format!(
            "holds samples of counters or timers, no tracepoints: record with {RECORD}"
        )));
    }
    let Some(texts) = head.features.texts.take() else {
        return Err(damaged(if head.unfinished {
            "`perf record` did not end properly: the file lacks the format texts of its events"
        } else {
            "the format texts of its events are missing or damaged: the file was cut, or they were left out"
        }));
    };
    let mut losses = Losses::none();
    if head.unfinished || texts.truncated {
        losses.add(Loss::TruncatedInput, || "the head of the file".to_owned());
    }
    let symbols = if texts.symbols.is_empty() { symbols_beside(path) } else { texts.symbols };
    let programs: Arc<dyn Programs> = Arc::new(mappings(path, &file, &head, &layouts).map_err(io_error)?);
    let decoder = Decoder::new(&texts.formats, (symbols, programs), head.order, options);
    let requested = wanted(&head.attributes, &texts.formats);
    let stream = |records: Records, events_max: usize| {
        let round = ReorderBuffer::new(events_max);
        PerfStream::new(records, head.order, layouts.clone(), decoder.another(), requested, round)
    };
    let records = Records::new(Arc::clone(&file), head.order, head.records_from, head.records_end);
    let mut streams: Vec<Box<dyn EventStream>> = vec![Box::new(stream(records, EVENTS_MAX))];
    let mut bytes = file.bytes();
    for path in folder::thread_files(path) {
        let file = Arc::new(SharedFile::open(&path).map_err(io_error)?);
        let records = Records::new(Arc::clone(&file), head.order, 0, file.bytes());
        bytes += file.bytes();
        streams.push(Box::new(stream(records, THREAD_EVENTS_MAX)));
    }
    let earlier = texts.threads.into_iter().map(|(tid, name)| ThreadName { tid, name });
    let threads = earlier.chain(std::mem::take(&mut head.threads)).collect();
    Ok(KernelTrace { facts: facts(bytes, head, threads), losses, streams })
}

/// The mappings of programs, if samples have call stacks: reading them takes another pass over the file.
fn mappings(
    path: &Path,
    file: &Arc<SharedFile>,
    head: &PerfHead,
    layouts: &SampleLayouts,
) -> std::io::Result<Mappings> {
    let mut mappings = Mappings::new(&head.features.build_ids);
    let has_stack = |attribute: &Attribute| attribute.sample_type & sample_bits::CALLCHAIN != 0;
    if !head.attributes.iter().any(has_stack) {
        return Ok(mappings);
    }
    let records = Records::new(Arc::clone(file), head.order, head.records_from, head.records_end);
    mappings.add_file(records, head.order, layouts);
    for path in folder::thread_files(path) {
        let file = Arc::new(SharedFile::open(&path)?);
        let records = Records::new(Arc::clone(&file), head.order, 0, file.bytes());
        mappings.add_file(records, head.order, layouts);
    }
    Ok(mappings)
}

/// Functions of the kernel, which perf does not store in the file: a copy of `/proc/kallsyms` beside it, or that of `--kcore` in its
/// folder.
fn symbols_beside(path: &Path) -> Symbols {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".kallsyms");
    Symbols::from_files([PathBuf::from(beside), path.join("kcore_dir/kallsyms")].into_iter())
}

/// Which of perf's own records are needed.
fn wanted(attributes: &[Attribute], formats: &[EventFormat]) -> RequestedEvents {
    let recorded = |name: &str| {
        let ids = formats.iter().filter(|format| format.name == name).map(|format| u64::from(format.id));
        ids.into_iter().any(|id| attributes.iter().any(|event| event.tracepoint && event.config == id))
    };
    RequestedEvents {
        renames: !recorded("task_rename") && !recorded("sched_process_exec"),
        forks: !recorded("sched_process_fork"),
        exits: !recorded("sched_process_exit"),
    }
}

/// The name of a clock by its number (clock_gettime(2)), as trace-cmd writes it; perf's own is ftrace's `local`.
fn clock_name(clock: Option<u32>) -> &'static str {
    match clock {
        None => "local",
        Some(0) => "realtime",
        Some(1) => "mono",
        Some(4) => "mono_raw",
        Some(7) => "boot",
        Some(11) => "tai",
        Some(_) => "",
    }
}

fn facts(bytes: u64, head: PerfHead, threads: Vec<ThreadName>) -> TraceFacts {
    let clock = head.attributes.first().and_then(|attribute| attribute.clock);
    let calendar = match clock {
        Some(0) => Some(ClockMap::from_offset_ns(0)),
        _ => head.features.calendar,
    };
    TraceFacts {
        format: "perf.data".to_owned(),
        clock: clock_name(clock).to_owned(),
        calendar,
        host: head.features.host,
        kernel: head.features.kernel,
        cpus: head.features.cpus.unwrap_or(0),
        bytes,
        threads,
        snapshot: None,
    }
}
