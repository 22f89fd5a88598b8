//! Which traces a question about kernel traces is about.

use crate::{FilePart, TraceFile};
use clap::Args;
use std::fmt::Debug;
use std::path::PathBuf;

/// The traces of a question, by what they are to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelFiles {
    /// Those of a question about one set of executions; those that hold both sets.
    pub both: Vec<TraceFile>,
    /// Traces of normal executions.
    pub normal: Vec<TraceFile>,
    /// Traces of executions in question.
    pub sample: Vec<TraceFile>,
}

/// The traces of a question, by what they are called.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelSources {
    /// Those of a question about one set of executions; those that hold both sets.
    pub both: Vec<String>,
    /// Traces of normal executions.
    pub normal: Vec<String>,
    /// Traces of executions in question.
    pub sample: Vec<String>,
}

impl KernelFiles {
    /// Their sources.
    pub fn sources(&self) -> KernelSources {
        let [both, normal, sample] = [&self.both, &self.normal, &self.sample]
            .map(|files| files.iter().map(|file| file.name.clone()).collect());
        KernelSources { both, normal, sample }
    }

    /// All, in the order in which they are read.
    pub fn in_order(&self) -> Vec<TraceFile> {
        [self.both.as_slice(), &self.normal, &self.sample].concat()
    }
}

/// Which traces are named on the command line and uploaded on the page.
pub trait KernelTraces: Args + Debug + Send + Sync + 'static {
    /// Whether there can be two sets.
    const TWO_SETS: bool;
    /// Files that the page uploads.
    const UPLOADS: &'static [FilePart];

    /// The traces of the command line.
    fn files(&self) -> KernelFiles;
}

/// Traces of one set of executions.
#[derive(Args, Debug)]
#[group(skip)]
pub struct OneSet {
    /// Kernel traces (see `laggard formats`): files, or folders of CTF
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
}

/// Traces of normal executions and of those in question.
#[derive(Args, Debug)]
#[group(skip)]
pub struct TwoSets {
    /// Kernel traces that contain both sets, distinguished by windows or labels
    #[arg(value_name = "TRACE", conflicts_with_all = ["normal", "sample"])]
    traces: Vec<PathBuf>,
    /// Kernel traces of normal executions; repeat for more
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    normal: Vec<PathBuf>,
    /// Kernel traces of the executions in question; repeat for more
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    sample: Vec<PathBuf>,
}

fn at(paths: &[PathBuf]) -> Vec<TraceFile> {
    paths.iter().map(|path| TraceFile::at(path)).collect()
}

impl KernelTraces for OneSet {
    const TWO_SETS: bool = false;
    const UPLOADS: &'static [FilePart] = &[FilePart { part: "file", label: "Kernel trace", required: true }];

    fn files(&self) -> KernelFiles {
        KernelFiles { both: at(&self.traces), ..KernelFiles::default() }
    }
}

impl KernelTraces for TwoSets {
    const TWO_SETS: bool = true;
    const UPLOADS: &'static [FilePart] = &[
        FilePart { part: "normal", label: "Trace of normal executions", required: true },
        FilePart { part: "sample", label: "Trace of the executions in question", required: true },
    ];

    fn files(&self) -> KernelFiles {
        KernelFiles { both: at(&self.traces), normal: at(&self.normal), sample: at(&self.sample) }
    }
}
