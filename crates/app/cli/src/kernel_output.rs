//! What the commands about kernel traces share.

use crate::exit::CommandError;
use crate::output_form::{ColorWhen, OutputForm};
use crate::write::Destination;
use clap::Args;
use laggard_kernel_graph::Delimiter;
use laggard_params::{KernelReadSettings, ReadError, TraceFile};
use std::path::PathBuf;

/// Flags of output and resources that all kernel commands have.
#[derive(Args, Debug)]
pub(crate) struct KernelOutput {
    /// Format of the report
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    output: OutputForm,
    /// Write the report to a file instead of standard output
    #[arg(short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
    /// When to use colors
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto)]
    color: ColorWhen,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    /// Memory for execution graphs; events beyond it are dropped, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    pub(crate) memory: usize,
}

impl KernelOutput {
    pub(crate) fn destination(&self) -> Destination<'_> {
        Destination { form: self.output, file: self.file.as_deref(), color: self.color }
    }

    pub(crate) fn threads(&self) -> std::num::NonZeroUsize {
        self.threads.unwrap_or_else(laggard_system::available_threads)
    }

    /// Settings for reading traces into execution graphs.
    pub(crate) fn graph_settings(&self, delimiter: Delimiter, compat: bool) -> KernelReadSettings {
        KernelReadSettings {
            delimiter: Some(delimiter),
            graph: true,
            compat,
            statistics: false,
            memory: self.memory,
            threads: self.threads(),
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
