//! `laggard kernel path` and `laggard kernel stats`.

use crate::exit::{CommandError, Status, Verdicts};
use crate::kernel_output::{KernelOutput, failure, files};
use crate::progress::Meter;
use clap::Args;
use laggard_kernel_diagnose::{kernel_path, kernel_stats};
use laggard_params::{KernelPathParams, KernelReadSettings, read_hosts, read_traces};
use laggard_report::DeclaredReport;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard kernel path trace.dat --thread nginx --from +1s --to +1.5s
  laggard kernel path trace.dat --thread 812 --output html -o path.html
  laggard kernel path trace.dat --executions marker                 what requests wait for, all together
  laggard kernel path trace.dat --executions marker --execution 17  one of them
  laggard kernel path trace.dat --executions between:accept4
  laggard kernel path client/ server/ --executions marker           across hosts, where their packets were recorded
  laggard kernel path trace.dat --traces spans.json --span 00f067aa0ba902b7

Exit status: 0 success, 2 invalid usage, 3 unreadable input, 4 there is no such thread or execution.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Path {
    /// Kernel traces (see `laggard formats`): files, or folders of CTF
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    question: KernelPathParams,
    #[command(flatten)]
    pub(crate) join: crate::kernel_join::SpanJoin,
    #[command(flatten)]
    output: KernelOutput,
}

#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// Kernel traces (see `laggard formats`): files, or folders of CTF
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    output: KernelOutput,
}

pub(crate) fn run(arguments: &Path) -> Result<Status, CommandError> {
    let question = &arguments.question;
    let spans =
        crate::kernel_join::requested_spans(&arguments.join, question.thread.as_deref(), &arguments.output)?;
    // The ids of spans may be in markers, whatever delimits executions otherwise.
    let delimiter = match arguments.join.is_requested() && question.executions.is_none() {
        true => KernelPathParams::default().delimiter("marker"),
        false => question.delimiter("auto"),
    };
    let delimiter = delimiter.map_err(CommandError::usage)?;
    let reading = arguments.output.graph_settings(delimiter, question.compat);
    let meter = Meter::without_total();
    let hosts = read_hosts(&files(&arguments.traces), &reading, &meter);
    meter.done();
    let hosts = hosts.map_err(failure)?;
    let runs = hosts.runs;
    let executions = match spans {
        Some(spans) => Some(crate::kernel_join::executions(&spans, &runs)?),
        None => None,
    };
    let mut report = kernel_path(&runs, &question.question(executions)).map_err(CommandError::usage)?;
    report.cautions.extend(hosts.remarks);
    arguments.output.run.write(&report)?;
    Ok(Verdicts::NONE.status(&report.verdict()))
}

pub(crate) fn stats(arguments: &Stats) -> Result<Status, CommandError> {
    let reading = KernelReadSettings {
        delimiter: None,
        graph: false,
        compat: false,
        statistics: true,
        memory: arguments.output.memory,
        threads: arguments.output.run.threads(),
    };
    let meter = Meter::without_total();
    let runs = read_traces(&files(&arguments.traces), &reading, &meter);
    meter.done();
    let runs = runs.map_err(failure)?;
    let report = kernel_stats(&runs);
    arguments.output.run.write(&report)?;
    Ok(Verdicts::NONE.status(&report.verdict()))
}
