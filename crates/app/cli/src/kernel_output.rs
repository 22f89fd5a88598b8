//! Output shared by the commands about kernel traces.

use crate::exit::CommandError;
use crate::output::RunOptions;
use clap::Args;
use laggard_kernel_graph::Delimiter;
use laggard_params::{KernelReadSettings, ReadError, TraceFile};
use std::path::PathBuf;

/// Flags of output and resources that all kernel commands have.
#[derive(Args, Debug)]
pub(crate) struct KernelOutput {
    #[command(flatten)]
    pub(crate) run: RunOptions,
    /// Memory for execution graphs; events beyond it are dropped, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) memory: usize,
}

impl KernelOutput {
    /// Settings for reading traces into execution graphs.
    pub(crate) fn graph_settings(&self, delimiter: Delimiter, compat: bool) -> KernelReadSettings {
        KernelReadSettings {
            delimiter: Some(delimiter),
            graph: true,
            compat,
            statistics: false,
            memory: self.memory,
            threads: self.run.threads(),
        }
    }
}

/// Why traces were not read.
pub(crate) fn failure(error: ReadError) -> CommandError {
    match error {
        ReadError::Params(invalid) => CommandError::usage(invalid),
        ReadError::Unreadable(reason) => CommandError::unreadable(reason),
        ReadError::Stopped => CommandError::unreadable("reading was stopped"),
    }
}

/// Traces by their paths.
pub(crate) fn files(paths: &[PathBuf]) -> Vec<TraceFile> {
    paths.iter().map(|path| TraceFile::at(path)).collect()
}
