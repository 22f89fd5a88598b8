//! A trace from its folder: metadata, plans, streams.

use super::decoder::Decoder;
use super::find::{METADATA, TRACES_MAX, traces};
use super::schema::{CtfClock, CtfVersion, Schema};
use super::stream::{CtfStream, StreamFile};
use super::{ctf2, tsdl};
use crate::error::KernelTraceError;
use crate::format_text::Symbols;
use crate::options::OpenOptions;
use crate::trace::{EventStream, KernelTrace, TraceFacts};
use laggard_model::{ClockMap, Cpu, Loss, Losses};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

// Limit: bytes of CTF metadata | error
/// Bytes of metadata that are read. LTTng's for a whole kernel are below one MiB.
const METADATA_BYTES_MAX: u64 = 64 << 20;

/// CPUs named in losses and facts.
const CPUS_MAX: u16 = 8192;

/// A trace whose metadata was read.
struct ScannedMetadata {
    folder: PathBuf,
    schema: Schema,
    decoder: Decoder,
}

impl ScannedMetadata {
    fn domain(&self) -> &str {
        self.schema.fact(&["domain"]).unwrap_or_default()
    }
}

/// Opens a folder, a session's folder, or a metadata file.
pub(super) fn open(path: &Path, options: &OpenOptions) -> Result<KernelTrace, KernelTraceError> {
    let unsupported =
        |reason: String| KernelTraceError::Unsupported { path: path.to_owned(), reason: short(reason) };
    let folders = traces(path);
    if folders.len() >= TRACES_MAX {
        return Err(unsupported(format!("holds {TRACES_MAX} CTF traces or more; give one of them")));
    }
    if let [folder] = &folders[..] {
        let described = describe(folder, options)?;
        if !described.decoder.wants_something() {
            return Err(unsupported(no_kernel_events(described.domain())));
        }
        return read_folder(described);
    }
    let mut described = Vec::new();
    for folder in &folders {
        described.push(describe(folder, options)?);
    }
    let (mut opened, others): (Vec<ScannedMetadata>, Vec<ScannedMetadata>) = described
        .into_iter()
        .partition(|trace| trace.decoder.wants_something() && matches!(trace.domain(), "kernel" | ""));
    let names = |traces: &[ScannedMetadata]| -> String {
        let names: Vec<String> = traces.iter().map(|trace| trace.folder.display().to_string()).collect();
        names.join(", ")
    };
    let kernel = match (opened.len(), opened.pop()) {
        (1, Some(kernel)) => kernel,
        (_, None) => {
            return Err(unsupported(format!(
                "holds CTF traces, but none of the kernel ({})",
                names(&others)
            )));
        }
        (_, Some(last)) => {
            opened.push(last);
            return Err(unsupported(format!(
                "holds several kernel traces ({}); give one of them",
                names(&opened)
            )));
        }
    };
    let mut trace = read_folder(kernel)?;
    trace.losses.add_many(Loss::SkippedBuffer, others.len() as u64, || short(names(&others)));
    Ok(trace)
}

/// Messages quote metadata, which can be anything.
fn short(mut text: String) -> String {
    const BYTES_MAX: usize = 1000;
    if let Some((end, _)) = text.char_indices().find(|(position, _)| *position >= BYTES_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn no_kernel_events(domain: &str) -> String {
    let what = match domain {
        "ust" => "a trace of user space (LTTng-UST)".to_owned(),
        "" => "a CTF trace".to_owned(),
        domain => format!("a CTF trace of the domain `{domain}`"),
    };
    format!(
        "{what} without kernel events; record the kernel too (`lttng enable-event --kernel sched_switch,sched_waking,…`) \
         or name the events to be read"
    )
}

fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> KernelTraceError {
    let path = path.to_owned();
    move |source| KernelTraceError::Io { path, source }
}

fn describe(folder: &Path, options: &OpenOptions) -> Result<ScannedMetadata, KernelTraceError> {
    let path = folder.join(METADATA);
    let damaged =
        |reason: String| KernelTraceError::Damaged { path: folder.to_owned(), reason: short(reason) };
    if std::fs::metadata(&path).map_err(io_error(&path))?.len() > METADATA_BYTES_MAX {
        return Err(damaged(format!("more than {} MiB of metadata", METADATA_BYTES_MAX >> 20)));
    }
    let schema = parse(std::fs::read(&path).map_err(io_error(&path))?).map_err(damaged)?;
    let mut decoder = Decoder::new(&schema, options).map_err(damaged)?;
    // Beside the trace, or in the folder of the session or what it was recorded to.
    decoder.symbols = Symbols::from_files(folder.ancestors().take(3).map(|folder| folder.join(KALLSYMS)));
    Ok(ScannedMetadata { folder: folder.to_owned(), schema, decoder })
}

fn parse(bytes: Vec<u8>) -> Result<Schema, String> {
    let text = if tsdl::is_packetized(&bytes) { tsdl::unpacketized(&bytes)? } else { bytes };
    if ctf2::is_json(&text) { ctf2::parse(&text) } else { tsdl::parse(&text) }
}

/// The name of a copy of `/proc/kallsyms` beside a trace: LTTng does not record the names of functions.
const KALLSYMS: &str = "kallsyms";

/// A file with the head of its first packet.
struct StartedStream {
    file: StreamFile,
    /// Identifies its stream: files of one stream continue each other.
    stream: Option<(u64, u64, u16)>,
    begin: u64,
}

fn read_folder(described: ScannedMetadata) -> Result<KernelTrace, KernelTraceError> {
    let ScannedMetadata { folder, schema, decoder } = described;
    let decoder = Arc::new(decoder);
    let mut losses = Losses::none();
    let mut facts = facts(&schema);
    let mut cpus = Cpus::default();
    let mut begun = Vec::new();
    for (index, path) in files(&folder)?.into_iter().enumerate() {
        let bytes = std::fs::metadata(&path).map_err(io_error(&path))?.len();
        facts.bytes += bytes;
        let named = number_at_end(&path);
        let fallback = Cpu(named.unwrap_or_else(|| u16::try_from(index).unwrap_or(0)));
        let file = StreamFile { path, bytes, cpu: fallback };
        let mut met = Losses::none();
        let head = CtfStream::new(Arc::clone(&decoder), vec![file.clone()]).next_head(&mut met);
        let Some(head) = head else {
            losses.merge(&met);
            cpus.empty.extend(named);
            continue;
        };
        let cpu = head.cpu.map_or(fallback, Cpu);
        cpus.seen(cpu.0, named);
        let stream = head.instance.map(|instance| (head.class, instance, cpu.0));
        begun.push(StartedStream { file, stream, begin: head.begin.unwrap_or(0) });
    }
    facts.cpus = cpus.count();
    let missing = cpus.missing();
    losses.add_many(Loss::MissingStream, missing.len() as u64, || {
        short(format!("{}: CPUs {missing:?}", folder.display()))
    });
    let streams = streams(begun)
        .into_iter()
        .map(|files| Box::new(CtfStream::new(Arc::clone(&decoder), files)) as Box<dyn EventStream>);
    Ok(KernelTrace { facts, losses, streams: streams.collect() })
}

/// Files of a trace beside its metadata; folders in it are indexes.
fn files(folder: &Path) -> Result<Vec<PathBuf>, KernelTraceError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io_error(folder))? {
        let entry = entry.map_err(io_error(folder))?;
        let name = entry.file_name();
        let hidden = name.to_string_lossy().starts_with('.');
        if !hidden && name != METADATA && name != KALLSYMS && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    files.sort_by_key(|path| (number_at_end(path), path.clone()));
    Ok(files)
}

/// `channel0_3` to 3.
fn number_at_end(path: &Path) -> Option<u16> {
    let name = path.file_name()?.to_str()?;
    name.rsplit_once('_')?.1.parse().ok()
}

/// Files that belong together, in the order of their packets; streams in the order of their first file.
fn streams(begun: Vec<StartedStream>) -> Vec<Vec<StreamFile>> {
    let mut streams: Vec<Vec<StartedStream>> = Vec::new();
    let mut known: BTreeMap<(u64, u64, u16), usize> = BTreeMap::new();
    for file in begun {
        let position = file.stream.and_then(|stream| known.get(&stream).copied());
        match position {
            Some(position) => streams[position].push(file),
            None => {
                known.extend(file.stream.map(|stream| (stream, streams.len())));
                streams.push(vec![file]);
            }
        }
    }
    streams
        .into_iter()
        .map(|mut files| {
            files.sort_by_key(|file| file.begin);
            files.into_iter().map(|file| file.file).collect()
        })
        .collect()
}

/// The CPUs of a trace.
#[derive(Default)]
struct Cpus {
    /// Those with packets.
    with_packets: BTreeSet<u16>,
    /// Numbers at the ends of the names of files without packets.
    empty: BTreeSet<u16>,
    /// Whether the number at the end of a file's name is not its CPU.
    named_otherwise: bool,
}

impl Cpus {
    fn seen(&mut self, cpu: u16, named: Option<u16>) {
        self.with_packets.insert(cpu);
        self.named_otherwise |= named != Some(cpu);
    }

    /// All that there should be.
    fn expected(&self) -> BTreeSet<u16> {
        let empty = self.empty.iter().filter(|_| !self.named_otherwise && !self.with_packets.is_empty());
        let named: BTreeSet<u16> =
            empty.chain(&self.with_packets).copied().filter(|cpu| *cpu < CPUS_MAX).collect();
        named.last().map(|last| (0..=*last).collect()).unwrap_or_default()
    }

    fn missing(&self) -> Vec<u16> {
        self.expected().difference(&self.with_packets).copied().collect()
    }

    fn count(&self) -> u32 {
        self.expected().union(&self.with_packets).count() as u32
    }
}

fn facts(schema: &Schema) -> TraceFacts {
    let stream = schema.streams.values().find_map(|stream| stream.clock.as_ref());
    let clock = stream.and_then(|name| schema.clocks.get(name)).or_else(|| schema.clocks.values().next());
    let is_lttng = schema.fact(&["tracer_name"]).is_some_and(|name| name.starts_with("lttng"));
    let version = match schema.version {
        CtfVersion::One => "CTF 1.8",
        CtfVersion::Two => "CTF 2",
    };
    TraceFacts {
        format: version.to_owned(),
        clock: clock.map_or(String::new(), |clock| clock.name.clone()),
        calendar: clock.and_then(|clock| calendar(clock, is_lttng)),
        host: schema.fact(&["hostname", "host"]).map(str::to_owned),
        kernel: schema.fact(&["kernel_release", "release"]).map(str::to_owned),
        ..TraceFacts::default()
    }
}

/// A clock's mapping to calendar time. perf's converter writes 0 for not known; LTTng's clocks are always mapped, also
/// where the metadata does not name the epoch.
fn calendar(clock: &CtfClock, is_lttng: bool) -> Option<ClockMap> {
    if !clock.calendar && !is_lttng {
        return None;
    }
    let cycles = (i128::from(clock.offset_cycles) * 1_000_000_000).div_euclid(i128::from(clock.frequency));
    let offset = i128::from(clock.offset_seconds) * 1_000_000_000 + cycles;
    i64::try_from(offset).ok().filter(|offset| *offset != 0).map(ClockMap::from_offset_ns)
}
