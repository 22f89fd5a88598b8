//! `laggard kernel path`: the question, and that about the execution of a span.

use crate::exit::{CommandError, Status, Verdicts};
use crate::kernel_input::KernelInput;
use crate::kernel_join::SpanJoin;
use crate::output::RunOptions;
use clap::Args;
use laggard_params::{DeclaredQuestion, KernelPathParams, KernelQuestion, OneSet};
use laggard_report::DeclaredReport;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(about = KernelPathParams::DECLARATION.about, after_help = KernelPathParams::DECLARATION.examples)]
pub(crate) struct Path {
    #[command(flatten)]
    input: KernelInput<OneSet>,
    #[command(flatten)]
    question: KernelPathParams,
    /// Write the paths, their threads, and all CPUs to this file, too, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    #[command(flatten)]
    join: SpanJoin,
    #[command(flatten)]
    run: RunOptions,
}

pub(crate) fn run(arguments: &Path) -> Result<Status, CommandError> {
    let question = &arguments.question;
    let threads = arguments.run.threads();
    let spans = crate::kernel_join::requested_spans(&arguments.join, question.thread.as_deref(), threads)?;
    // The ids of spans may be in markers, whatever delimits executions otherwise.
    let delimiter = match arguments.join.is_requested() && question.executions.is_none() {
        true => KernelPathParams::default().delimiter_or("marker"),
        false => question.delimiter_or("auto"),
    };
    let delimiter = delimiter.map_err(CommandError::usage)?;
    let hosts = arguments.input.read(question, Some(delimiter), threads)?;
    let executions = match spans {
        Some(spans) => Some(crate::kernel_join::executions(&spans, &hosts.runs)?),
        None => None,
    };
    let settings = question.question(executions);
    let remark = match &arguments.perfetto {
        Some(file) => crate::perfetto_file::write(file, &hosts.runs, &settings)?,
        None => None,
    };
    let answered = KernelPathParams::answer(settings, hosts);
    let mut report = answered.map_err(CommandError::usage)?;
    report.cautions.extend(remark);
    arguments.run.write(&report)?;
    Ok(Verdicts::NONE.status(&report.verdict()))
}
