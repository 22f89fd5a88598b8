//! Traces of several hosts as one run, where packets between them show the offset of their clocks.

use crate::ParamsError;
use crate::kernel_read::{
    KernelReadSettings, REPORT_EVERY, ReadError, ReadProgress, TraceFile, ended, read_traces,
};
use laggard_kernel_diagnose::{KernelRun, TraceReading};
use laggard_kernel_formats::{KernelTrace, OpenOptions, open_with, read_together};
use laggard_kernel_graph::{ClockAlignment, ClockAlignmentError, ClockSide, PacketTimes};
use laggard_model::KernelTime;
use laggard_report::AlignedClock;

/// Runs, and why traces could not be joined, in sentences.
pub struct Hosts {
    /// Traces, or several of one time together.
    pub runs: Vec<KernelRun>,
    /// Why some could not be joined.
    pub remarks: Vec<String>,
}

/// A trace whose clock was brought to the first's.
struct Joined {
    file: TraceFile,
    alignment: ClockAlignment,
}

/// Reads traces. Those of other hosts than the first's are joined to it where packets show the offset of their clocks; the others
/// are runs of their own.
///
/// # Errors
/// The first trace that cannot be read.
pub fn read_hosts(
    files: &[TraceFile],
    reading: &KernelReadSettings,
    watch: &dyn ReadProgress,
) -> Result<Hosts, ReadError> {
    let [first, others @ ..] = files else { return Ok(Hosts { runs: Vec::new(), remarks: Vec::new() }) };
    let packets = if others.is_empty() { None } else { Some(packets_of_first(first)?) };
    let (mut joined, mut apart, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    for file in others {
        match packets.as_ref().map(|first| align(first, file)).transpose()?.flatten() {
            Some(Ok(alignment)) => joined.push(Joined { file: file.clone(), alignment }),
            Some(Err(why)) => {
                remarks.push(format!("The paths of `{}` end at its host: {why}.", file.name));
                apart.push(file.clone());
            }
            None => apart.push(file.clone()),
        }
    }
    if joined.is_empty() {
        return Ok(Hosts { runs: read_traces(files, reading, watch)?, remarks });
    }
    let mut runs = vec![read_joined(first, &joined, &Settings { reading, traces: files.len() }, watch)?];
    runs.extend(read_traces(&apart, reading, watch)?);
    Ok(Hosts { runs, remarks })
}

struct First {
    host: Option<String>,
    packets: PacketTimes,
}

fn packets_of_first(file: &TraceFile) -> Result<First, ReadError> {
    let trace = opened(file, &OpenOptions::default())?;
    let host = trace.facts.host.clone();
    let mut packets = PacketTimes::default();
    trace.read(|event, _| packets.push(ClockSide::First, event));
    Ok(First { host, packets })
}

/// How a trace's clock lies on the first's; nothing for another trace of the same host.
fn align(
    first: &First,
    file: &TraceFile,
) -> Result<Option<Result<ClockAlignment, ClockAlignmentError>>, ReadError> {
    let trace = opened(file, &OpenOptions::default())?;
    if trace.facts.host.is_some() && trace.facts.host == first.host {
        return Ok(None);
    }
    let is_known_other = trace.facts.host.is_some() && first.host.is_some();
    let mut packets = first.packets.clone();
    trace.read(|event, _| packets.push(ClockSide::Second, event));
    Ok(match packets.align() {
        // Perhaps two recordings that have nothing to do with each other.
        Err(ClockAlignmentError::NoPackets) if !is_known_other => None,
        aligned => Some(aligned),
    })
}

fn opened(file: &TraceFile, options: &OpenOptions) -> Result<KernelTrace, ReadError> {
    open_with(&file.path, options).map_err(|error| ReadError::unreadable(file, error))
}

/// What is made of each of some traces.
struct Settings<'a> {
    reading: &'a KernelReadSettings,
    traces: usize,
}

fn read_joined(
    first: &TraceFile,
    joined: &[Joined],
    settings: &Settings<'_>,
    watch: &dyn ReadProgress,
) -> Result<KernelRun, ReadError> {
    let files: Vec<&TraceFile> = std::iter::once(first).chain(joined.iter().map(|host| &host.file)).collect();
    let options = settings.reading.options();
    let opened: Vec<KernelTrace> =
        files.iter().map(|file| opened(file, &options)).collect::<Result<_, ReadError>>()?;
    let hosts =
        u16::try_from(files.len()).map_err(|_| ReadError::Params(ParamsError::new("too many traces")))?;
    let mut run = TraceReading::from_hosts(&settings.reading.settings(settings.traces), hosts);
    let mut unreported = 0;
    let on_first_clock = |index: usize, time: KernelTime| match index.checked_sub(1) {
        Some(index) => joined[index].alignment.clock.to_first(time),
        None => time,
    };
    let read = read_together(opened, on_first_clock, |index, event, texts| {
        run.push_from(index as u16, event, texts);
        unreported += 1;
        if unreported == REPORT_EVERY {
            watch.events(unreported);
            unreported = 0;
        }
    });
    let mut traces: Vec<_> = files.iter().zip(read).map(|(file, read)| ended(file, read)).collect();
    for (trace, host) in traces[1..].iter_mut().zip(joined) {
        trace.aligned = Some(AlignedClock {
            bound_ns: host.alignment.bound_ns,
            packets_from_first: host.alignment.packets_forward,
            packets_to_first: host.alignment.packets_backward,
        });
    }
    Ok(run.finish_hosts(traces))
}
