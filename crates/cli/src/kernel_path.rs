//! `laggard kernel path` and `laggard kernel stats`.

use crate::exit::{Failure, Status};
use crate::kernel::{KernelOutput, instant, setting, window};
use crate::kernel_hosts::read_hosts;
use crate::kernel_read::{Reading, read_traces};
use crate::write::{write_kernel_path, write_kernel_stats};
use clap::Args;
use laggard_diagnose::{Instant, KernelPathQuestion, PathChoice, kernel_path, kernel_stats};
use laggard_kernel::Delimiter;
use laggard_report::Setting;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard kernel path trace.dat --thread nginx --from +1s --to +1.5s
  laggard kernel path trace.dat --thread 812 --output html -o path.html
  laggard kernel path trace.dat --executions marker                 what requests wait for, all together
  laggard kernel path trace.dat --executions marker --execution 17  one of them
  laggard kernel path trace.dat --executions between:accept4
  laggard kernel path client/ server/ --executions marker           across hosts, where their packets were recorded
  laggard kernel path trace.dat --traces spans.json --span 00f067aa0ba902b7

Exit status: 0 it ran, 2 usage, 3 unreadable input, 4 there is no such thread or execution.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Path {
    /// Kernel traces (see `laggard formats`): files, or folders of CTF
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// The thread: its number, or its name (* stands for anything)
    #[arg(long, value_name = "TID|NAME", conflicts_with = "executions")]
    thread: Option<String>,
    // Not a doc comment: brackets are links there.
    #[arg(
        long,
        value_name = "DELIMITER",
        help = "What begins and ends executions: auto, marker[:NAME], marker:BEGIN,END, process[:NAME], \
                events:BEGIN[key=FIELD],END[key=FIELD], syscall:NAME, between:NAME, thread:NAME or tid:NUMBER"
    )]
    executions: Option<String>,
    /// Only the execution of this number, from 1, in order of time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    execution: Option<u64>,
    /// From when: seconds of the trace's clock, +1.5s from its first event, or calendar time
    #[arg(long, value_name = "T", value_parser = instant)]
    from: Option<Instant>,
    /// Until when
    #[arg(long, value_name = "T", value_parser = instant)]
    to: Option<Instant>,
    /// Build the graph as the published reference does, without the corrections that current kernels need
    #[arg(long)]
    compat: bool,
    /// Executions at most; the first in time
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = crate::diagnose::at_least_one)]
    executions_max: usize,
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

pub(crate) fn run(arguments: &Path) -> Result<Status, Failure> {
    let asked = crate::kernel_join::asked(&arguments.join, arguments.thread.as_deref(), &arguments.output)?;
    let delimiter = delimiter(arguments)?;
    let reading = Reading {
        delimiter: Some(delimiter),
        graph: true,
        compat: arguments.compat,
        statistics: false,
        memory: arguments.output.memory,
        threads: arguments.output.threads(),
    };
    let hosts = read_hosts(&arguments.traces, &reading)?;
    let runs = hosts.runs;
    let given = match asked {
        Some(spans) => Some(crate::kernel_join::executions(&spans, &runs)?),
        None => None,
    };
    let question = KernelPathQuestion {
        window: window(arguments.from, arguments.to),
        choice: arguments.execution.map_or(PathChoice::All, PathChoice::Number),
        executions_max: arguments.executions_max,
        given,
        settings: settings(arguments),
    };
    let mut report = kernel_path(&runs, &question).map_err(Failure::usage)?;
    report.cautions.extend(hosts.remarks);
    write_kernel_path(&report, &arguments.output.destination())?;
    Ok(if report.executions.is_empty() { Status::TooLittle } else { Status::Done })
}

/// A thread is a delimiter too: its number, or all of a name.
fn delimiter(arguments: &Path) -> Result<Delimiter, Failure> {
    let text = match (&arguments.thread, &arguments.executions) {
        (_, None) if arguments.join.is_asked() => "marker".to_owned(),
        (Some(thread), _) if thread.bytes().all(|byte| byte.is_ascii_digit()) => format!("tid:{thread}"),
        (Some(thread), _) => format!("thread:{thread}"),
        (None, Some(executions)) => executions.clone(),
        (None, None) => "auto".to_owned(),
    };
    Delimiter::parse(&text).map_err(Failure::usage)
}

fn settings(arguments: &Path) -> Vec<Setting> {
    vec![
        setting("thread", arguments.thread.as_deref().unwrap_or("")),
        setting("executions", arguments.executions.as_deref().unwrap_or("")),
        setting("execution", arguments.execution.map_or_else(String::new, |number| number.to_string())),
        setting("compat", arguments.compat),
        setting("executions-max", arguments.executions_max),
    ]
}

pub(crate) fn stats(arguments: &Stats) -> Result<Status, Failure> {
    let reading = Reading {
        delimiter: None,
        graph: false,
        compat: false,
        statistics: true,
        memory: arguments.output.memory,
        threads: arguments.output.threads(),
    };
    let runs = read_traces(&arguments.traces, &reading)?;
    let report = kernel_stats(&runs);
    write_kernel_stats(&report, &arguments.output.destination())?;
    let events: u64 = report.input.traces.iter().map(|trace| trace.events).sum();
    Ok(if events == 0 { Status::TooLittle } else { Status::Done })
}
