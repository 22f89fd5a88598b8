//! Traces and memory, which all commands about kernel traces have.

use crate::exit::CommandError;
use crate::progress::Meter;
use clap::Args;
use laggard_kernel_graph::Delimiter;
use laggard_params::{Hosts, KernelQuestion, KernelReadSettings, KernelTraces, ReadError};
use std::num::NonZeroUsize;

/// Which traces, and how much memory they may take.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct KernelInput<T: KernelTraces> {
    #[command(flatten)]
    pub(crate) traces: T,
    /// Memory for execution graphs; events beyond it are dropped, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = crate::load::parse_size)]
    memory: usize,
}

impl<T: KernelTraces> KernelInput<T> {
    /// Reads the traces for a question.
    pub(crate) fn read<Q: KernelQuestion>(
        &self,
        question: &Q,
        delimiter: Option<Delimiter>,
        threads: NonZeroUsize,
    ) -> Result<Hosts, CommandError> {
        let reading =
            KernelReadSettings { delimiter, compat: question.compat(), memory: self.memory, threads };
        let meter = Meter::without_total();
        let hosts = Q::read(&self.traces.files().in_order(), &reading, &meter);
        meter.done();
        hosts.map_err(failure)
    }
}

/// Why traces were not read.
pub(crate) fn failure(error: ReadError) -> CommandError {
    match error {
        ReadError::Params(invalid) => CommandError::usage(invalid),
        ReadError::Unreadable(reason) => CommandError::unreadable(reason),
    }
}
