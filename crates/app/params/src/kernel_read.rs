//! Reads kernel traces, several at a time, in order.

use crate::ParamsError;
use laggard_kernel_diagnose::{EndedTrace, KernelRun, ReadingSettings, TraceReading, TraceSource};
use laggard_kernel_formats::{OpenOptions, ReadTrace, open_with};
use laggard_kernel_graph::{Delimiter, GraphMode, GraphSettings};
use laggard_parallel::parallel_map;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Bytes of a vertex of a graph.
const VERTEX_BYTES: usize = 24;

/// A trace on disk, with what it is called in reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name for people.
    pub name: String,
}

impl TraceFile {
    /// A trace that is called by its path.
    pub fn at(path: &Path) -> TraceFile {
        TraceFile { path: path.to_path_buf(), name: path.display().to_string() }
    }
}

/// Hears how reading goes on.
pub trait ReadProgress: Sync {
    /// So many more events were read.
    fn events(&self, more: u64);
}

/// Why traces were not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// A parameter is wrong.
    Params(ParamsError),
    /// A trace cannot be read; which and why.
    Unreadable(String),
}

impl ReadError {
    /// The reason by the name the file is known by, which need not be where it lies.
    pub(crate) fn unreadable(file: &TraceFile, reason: impl fmt::Display) -> ReadError {
        let path = file.path.display().to_string();
        ReadError::Unreadable(reason.to_string().replace(&path, &file.name))
    }
}

/// How often progress is reported, in events.
pub(crate) const REPORT_EVERY: u64 = 1 << 16;

/// Settings for reading kernel traces.
#[derive(Clone, Debug)]
pub struct KernelReadSettings {
    /// The delimiter of the executions whose graphs are built; `None` for statistics alone.
    pub delimiter: Option<Delimiter>,
    /// Whether graphs are those of the published reference.
    pub compat: bool,
    /// Bytes for all graphs together.
    pub memory: usize,
    /// Threads to read with.
    pub threads: NonZeroUsize,
}

impl KernelReadSettings {
    /// The kernel events of each trace.
    pub(crate) fn settings(&self, traces: usize) -> ReadingSettings {
        let mode = if self.compat { GraphMode::Compat } else { GraphMode::Modern };
        let vertices_max = self.memory / VERTEX_BYTES / traces.max(1);
        let graph = GraphSettings { mode, vertices_max, ..GraphSettings::default() };
        ReadingSettings {
            delimiter: self.delimiter.clone(),
            graph: self.delimiter.is_some().then_some(graph),
            statistics: self.delimiter.is_none(),
        }
    }

    /// Which events are read.
    pub(crate) fn options(&self) -> OpenOptions {
        let also = self.delimiter.as_ref().map_or_else(Vec::new, Delimiter::other_events);
        OpenOptions { also, ..OpenOptions::default() }
    }
}

/// Reads traces in order; `threads` at a time.
///
/// # Errors
/// The first trace, in order, that cannot be read.
pub fn read_traces(
    files: &[TraceFile],
    reading: &KernelReadSettings,
    watch: &dyn ReadProgress,
) -> Result<Vec<KernelRun>, ReadError> {
    let settings = reading.settings(files.len());
    let options = reading.options();
    let read = |file: &TraceFile| read(file, &settings, &options, watch);
    parallel_map(files, reading.threads, read).into_iter().collect()
}

fn read(
    file: &TraceFile,
    settings: &ReadingSettings,
    options: &OpenOptions,
    watch: &dyn ReadProgress,
) -> Result<KernelRun, ReadError> {
    let trace = open_with(&file.path, options).map_err(|error| ReadError::unreadable(file, error))?;
    let mut reading = TraceReading::new(settings);
    let mut unreported = 0;
    let read = trace.read(|event, texts| {
        reading.push(event, texts);
        unreported += 1;
        if unreported == REPORT_EVERY {
            watch.events(unreported);
            unreported = 0;
        }
    });
    Ok(reading.finish(ended(file, read)))
}

/// A trace that was read to its end.
pub(crate) fn ended(file: &TraceFile, read: ReadTrace) -> EndedTrace {
    let facts = read.facts;
    let source = TraceSource {
        path: file.name.clone(),
        format: facts.format,
        host: facts.host,
        kernel: facts.kernel,
        clock: facts.clock,
        calendar: facts.calendar,
        bytes: facts.bytes,
    };
    EndedTrace { source, texts: read.texts, losses: read.losses, snapshot: facts.snapshot, aligned: None }
}
