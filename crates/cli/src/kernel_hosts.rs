//! Traces of several hosts as one run, where packets between them tell how their clocks lie.

use crate::exit::Failure;
use crate::kernel_read::{Reading, TOLD_EVERY, ended, read_traces};
use crate::progress::Meter;
use laggard_diagnose::{KernelRun, TraceReading};
use laggard_kernel::{ClockAlignment, NoAlignment, PacketTimes, Side};
use laggard_kernel_formats::{KernelTrace, OpenOptions, open_with, read_together};
use laggard_model::KernelTime;
use laggard_report::AlignedClock;
use std::path::{Path, PathBuf};

/// Runs, and why traces could not be joined, in sentences.
pub(crate) struct Hosts {
    pub(crate) runs: Vec<KernelRun>,
    pub(crate) remarks: Vec<String>,
}

/// A trace whose clock was brought to the first's.
struct Joined {
    path: PathBuf,
    alignment: ClockAlignment,
}

/// Reads traces. Those of other hosts than the first's are joined to it where packets tell how their clocks lie; the others
/// are runs of their own.
pub(crate) fn read_hosts(paths: &[PathBuf], reading: &Reading) -> Result<Hosts, Failure> {
    let [first, others @ ..] = paths else { return Ok(Hosts { runs: Vec::new(), remarks: Vec::new() }) };
    let packets = if others.is_empty() { None } else { Some(packets_of_first(first)?) };
    let (mut joined, mut apart, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    for path in others {
        match packets.as_ref().map(|first| align(first, path)).transpose()?.flatten() {
            Some(Ok(alignment)) => joined.push(Joined { path: path.clone(), alignment }),
            Some(Err(why)) => {
                remarks.push(format!("The paths of `{}` end at its host: {why}.", path.display()));
                apart.push(path.clone());
            }
            None => apart.push(path.clone()),
        }
    }
    if joined.is_empty() {
        return Ok(Hosts { runs: read_traces(paths, reading)?, remarks });
    }
    let mut runs = vec![read_joined(first, &joined, reading, paths.len())?];
    runs.extend(read_traces(&apart, reading)?);
    Ok(Hosts { runs, remarks })
}

struct First {
    host: Option<String>,
    packets: PacketTimes,
}

fn packets_of_first(path: &Path) -> Result<First, Failure> {
    let trace = opened(path, &OpenOptions::default())?;
    let host = trace.facts.host.clone();
    let mut packets = PacketTimes::default();
    trace.read(|event, _| packets.push(Side::First, event));
    Ok(First { host, packets })
}

/// How a trace's clock lies on the first's; nothing for another trace of the same host.
fn align(first: &First, path: &Path) -> Result<Option<Result<ClockAlignment, NoAlignment>>, Failure> {
    let trace = opened(path, &OpenOptions::default())?;
    if trace.facts.host.is_some() && trace.facts.host == first.host {
        return Ok(None);
    }
    let is_known_other = trace.facts.host.is_some() && first.host.is_some();
    let mut packets = first.packets.clone();
    trace.read(|event, _| packets.push(Side::Second, event));
    Ok(match packets.align() {
        // Perhaps two recordings that have nothing to do with each other.
        Err(NoAlignment::NoPackets) if !is_known_other => None,
        aligned => Some(aligned),
    })
}

fn opened(path: &Path, options: &OpenOptions) -> Result<KernelTrace, Failure> {
    open_with(path, options).map_err(Failure::unreadable)
}

fn read_joined(
    first: &Path,
    joined: &[Joined],
    reading: &Reading,
    traces: usize,
) -> Result<KernelRun, Failure> {
    let paths: Vec<&Path> =
        std::iter::once(first).chain(joined.iter().map(|one| one.path.as_path())).collect();
    let options = reading.options();
    let opened: Vec<KernelTrace> =
        paths.iter().map(|path| opened(path, &options)).collect::<Result<_, Failure>>()?;
    let hosts = u16::try_from(paths.len()).map_err(|_| Failure::usage("too many traces"))?;
    let mut run = TraceReading::of_hosts(&reading.settings(traces), hosts);
    let meter = Meter::of_events();
    let mut untold = 0;
    let on_first_clock = |at: usize, time: KernelTime| match at.checked_sub(1) {
        Some(at) => joined[at].alignment.clock.to_first(time),
        None => time,
    };
    let read = read_together(opened, on_first_clock, |at, event, texts| {
        run.push_from(at as u16, event, texts);
        untold += 1;
        if untold == TOLD_EVERY {
            meter.spans(untold);
            untold = 0;
        }
    });
    meter.done();
    let mut traces: Vec<_> = paths.iter().zip(read).map(|(path, read)| ended(path, read)).collect();
    for (trace, one) in traces[1..].iter_mut().zip(joined) {
        trace.aligned = Some(AlignedClock {
            bound_ns: one.alignment.bound_ns,
            packets_from_first: one.alignment.packets_forth,
            packets_to_first: one.alignment.packets_back,
        });
    }
    Ok(run.finish_hosts(traces))
}
