//! Reads kernel traces, several at a time, in the order given.

use crate::exit::Failure;
use crate::progress::Meter;
use laggard_diagnose::{EndedTrace, KernelRun, ReadingSettings, TraceReading, TraceSource};
use laggard_kernel::{Delimiter, GraphMode, GraphSettings};
use laggard_kernel_formats::{OpenOptions, ReadTrace, open_with};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that a vertex of a graph takes.
const VERTEX_BYTES: usize = 24;

/// How often progress is told, in events.
pub(crate) const TOLD_EVERY: u64 = 1 << 16;

/// What is made of traces.
pub(crate) struct Reading {
    pub(crate) delimiter: Option<Delimiter>,
    pub(crate) graph: bool,
    pub(crate) compat: bool,
    pub(crate) statistics: bool,
    /// Bytes for all graphs together.
    pub(crate) memory: usize,
    pub(crate) threads: NonZeroUsize,
}

impl Reading {
    /// What is made of each of so many traces.
    pub(crate) fn settings(&self, traces: usize) -> ReadingSettings {
        let mode = if self.compat { GraphMode::Compat } else { GraphMode::Modern };
        let vertices_max = self.memory / VERTEX_BYTES / traces.max(1);
        let graph = GraphSettings { mode, vertices_max, ..GraphSettings::default() };
        ReadingSettings {
            delimiter: self.delimiter.clone(),
            graph: self.graph.then_some(graph),
            statistics: self.statistics,
        }
    }

    /// Which events are read.
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions { also: self.delimiter.as_ref().map_or_else(Vec::new, Delimiter::other_events) }
    }
}

/// Reads traces in the order given; `threads` at a time.
pub(crate) fn read_traces(paths: &[PathBuf], reading: &Reading) -> Result<Vec<KernelRun>, Failure> {
    let meter = Meter::of_events();
    let settings = reading.settings(paths.len());
    let options = reading.options();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<KernelRun, Failure>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..reading.threads.get().min(paths.len()) {
            scope.spawn(|| {
                while let Some((at, path)) = take(&next, paths) {
                    let read = read(path, &settings, &options, &meter);
                    done.lock().expect("no thread panics while it holds the lock").push((at, read));
                }
            });
        }
    });
    meter.done();
    let mut done = done.into_inner().expect("no thread panics while it holds the lock");
    done.sort_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, run)| run).collect()
}

fn take<'a>(next: &AtomicUsize, paths: &'a [PathBuf]) -> Option<(usize, &'a PathBuf)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    paths.get(at).map(|path| (at, path))
}

fn read(
    path: &Path,
    settings: &ReadingSettings,
    options: &OpenOptions,
    meter: &Meter,
) -> Result<KernelRun, Failure> {
    let trace = open_with(path, options).map_err(Failure::unreadable)?;
    let mut reading = TraceReading::new(settings);
    let mut untold = 0;
    let read = trace.read(|event, texts| {
        reading.push(event, texts);
        untold += 1;
        if untold == TOLD_EVERY {
            meter.spans(untold);
            untold = 0;
        }
    });
    Ok(reading.finish(ended(path, read)))
}

/// A trace that was read to its end.
pub(crate) fn ended(path: &Path, read: ReadTrace) -> EndedTrace {
    let facts = read.facts;
    let source = TraceSource {
        path: path.display().to_string(),
        format: facts.format,
        host: facts.host,
        kernel: facts.kernel,
        clock: facts.clock,
        calendar: facts.calendar,
        bytes: facts.bytes,
    };
    EndedTrace { source, texts: read.texts, losses: read.losses, aligned: None }
}
