//! `laggard kernel diagnose`.

use crate::exit::{Failure, Status};
use crate::kernel::{KernelOutput, instant, setting, window};
use crate::kernel_read::{Reading, read_traces};
use crate::write::write_kernel_diagnosis;
use clap::{Args, ValueEnum};
use laggard_align::{AlignMode, AlignSettings};
use laggard_diagnose::{
    Instant, KernelDiagnosisQuestion, KernelSet, SequenceSettings, TimeWindow, diagnose_kernel,
};
use laggard_kernel::{AlphabetSettings, Delimiter, Encoding, Glob, SplitBy};
use laggard_report::{KernelVerdict, Setting};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  laggard kernel diagnose --normal good.dat --sample bad.dat --executions marker
  laggard kernel diagnose --normal mon.dat tue.dat --sample wed.dat --output html -o kernel.html
  laggard kernel diagnose trace.dat --normal-to +10s --sample-from +10s        one trace, two stretches of time
  laggard kernel diagnose trace.dat --normal-label 'GET v1*' --sample-label 'GET v2*'

Exit status: 0 it ran, 1 executions are slower (with --exit-code), 2 usage, 3 unreadable input, 4 too little data to say.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diagnose {
    /// Kernel traces that hold both sets, told apart by windows or labels
    #[arg(value_name = "TRACE", conflicts_with_all = ["normal", "sample"])]
    traces: Vec<PathBuf>,
    /// Kernel traces of normal executions; repeat for more
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    normal: Vec<PathBuf>,
    /// Kernel traces of the executions in question; repeat for more
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    sample: Vec<PathBuf>,
    // Not a doc comment: brackets are links there.
    #[arg(
        long,
        value_name = "DELIMITER",
        default_value = "auto",
        help = "What begins and ends executions: auto, marker[:NAME], marker:BEGIN,END, process[:NAME], \
                events:BEGIN[key=FIELD],END[key=FIELD], syscall:NAME, between:NAME or thread:NAME"
    )]
    executions: String,
    /// Normal executions from when: seconds of the trace's clock, +1.5s from its first event, or calendar time
    #[arg(long, value_name = "T", value_parser = instant)]
    normal_from: Option<Instant>,
    /// … until when
    #[arg(long, value_name = "T", value_parser = instant)]
    normal_to: Option<Instant>,
    /// Executions in question from when
    #[arg(long, value_name = "T", value_parser = instant)]
    sample_from: Option<Instant>,
    /// … until when
    #[arg(long, value_name = "T", value_parser = instant)]
    sample_to: Option<Instant>,
    /// Only normal executions with this label (* stands for anything)
    #[arg(long, value_name = "LABEL")]
    normal_label: Option<String>,
    /// Only executions in question with this label
    #[arg(long, value_name = "LABEL")]
    sample_label: Option<String>,
    /// Exit with status 1 when executions are slower
    #[arg(long)]
    exit_code: bool,
    /// Build graphs as the published reference does, without the corrections that current kernels need
    #[arg(long)]
    compat: bool,
    #[command(flatten)]
    thresholds: KernelThresholds,
    #[command(flatten)]
    output: KernelOutput,
}

/// How executions become sequences, and how those are judged.
#[derive(Args, Debug)]
#[command(next_help_heading = "Sequences and thresholds (docs/manual/kernel.md)")]
struct KernelThresholds {
    /// The robust rules, the paper's as its text has them, or as its listing prints them
    #[arg(long, value_enum, default_value_t = ModeName::Robust)]
    mode: ModeName,
    /// Letters: states alone, states with whose they are, by device too, or by other threads' names too
    #[arg(long, value_enum, default_value_t = AlphabetName::Whose)]
    alphabet: AlphabetName,
    /// Add steps shorter than this many microseconds to the step before
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    step_min: f64,
    /// Executions of a set at most; the first in time
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = crate::diagnose::at_least_one)]
    executions_max: usize,
    /// Steps of an execution at most; what comes later is left out
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = crate::diagnose::at_least_one)]
    steps_max: usize,
    /// Robust: probability of an alarm by chance, for each question asked of the sample [default: 0.01]
    #[arg(long, value_name = "P")]
    false_alarm: Option<f64>,
    /// Paper: standard deviations above the mean for the average rule (t1) [default: 1.5]
    #[arg(long, value_name = "X", visible_alias = "t1")]
    average_factor: Option<f64>,
    /// Paper: factor of the probability rule (t2) [default: 1.5]
    #[arg(long, value_name = "X", visible_alias = "t2")]
    probability_factor: Option<f64>,
    /// Paper: standard deviations above its kind's mean from which an execution stands out [default: 1.5]
    #[arg(long, value_name = "X")]
    outlier_sigma: Option<f64>,
    /// Executions that make a kind [default: 5]
    #[arg(long, value_name = "N")]
    cluster_min: Option<usize>,
    /// Steepness at which a kind ends [default: 0.05]
    #[arg(long, value_name = "X")]
    steepness: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ModeName {
    /// Rules changed where the published ones fail on plausible data
    Robust,
    /// The text of the paper
    Paper,
    /// The paper, with the probability rule as its listing prints it
    PaperPrinted,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum AlphabetName {
    /// A letter is a state
    State,
    /// A state of the execution's own thread is another letter than that of another
    Whose,
    /// As whose, and waits by device or interrupt
    Device,
    /// As whose, and other threads by their names
    Thread,
}

pub(crate) fn run(arguments: &Diagnose) -> Result<Status, Failure> {
    let delimiter = Delimiter::parse(&arguments.executions).map_err(Failure::usage)?;
    let paths = paths(arguments)?;
    let reading = Reading {
        delimiter: Some(delimiter),
        graph: true,
        compat: arguments.compat,
        statistics: false,
        memory: arguments.output.memory,
        threads: arguments.output.threads(),
    };
    let question = question(arguments)?;
    let runs = read_traces(&paths, &reading)?;
    let report = diagnose_kernel(&runs, &question).map_err(Failure::usage)?;
    write_kernel_diagnosis(&report, &arguments.output.destination())?;
    Ok(match report.verdict {
        KernelVerdict::Slower | KernelVerdict::SlowerOverall if arguments.exit_code => Status::Suspects,
        KernelVerdict::InsufficientData => Status::TooLittle,
        _ => Status::Done,
    })
}

/// The traces to read: those of both sets, or those that hold both.
fn paths(arguments: &Diagnose) -> Result<Vec<PathBuf>, Failure> {
    if !arguments.traces.is_empty() {
        let windows =
            [arguments.normal_from, arguments.normal_to, arguments.sample_from, arguments.sample_to];
        let labels = arguments.normal_label.is_some() || arguments.sample_label.is_some();
        if windows.iter().all(Option::is_none) && !labels {
            return Err(Failure::usage(
                "one set of traces holds both sets of executions: tell them apart by --normal-from, --normal-to, \
                 --sample-from and --sample-to, or by --normal-label and --sample-label; or give --normal TRACE... and \
                 --sample TRACE...",
            ));
        }
        return Ok(arguments.traces.clone());
    }
    if arguments.normal.is_empty() || arguments.sample.is_empty() {
        return Err(Failure::usage(
            "give --normal TRACE... and --sample TRACE..., or traces that hold both sets",
        ));
    }
    Ok([arguments.normal.as_slice(), arguments.sample.as_slice()].concat())
}

fn question(arguments: &Diagnose) -> Result<KernelDiagnosisQuestion, Failure> {
    let normals = arguments.normal.len();
    let (normal_runs, sample_runs): (Vec<usize>, Vec<usize>) = match arguments.traces.len() {
        0 => ((0..normals).collect(), (normals..normals + arguments.sample.len()).collect()),
        both => ((0..both).collect(), (0..both).collect()),
    };
    let normal = KernelSet {
        source: source("normal", &arguments.normal, arguments.normal_label.as_deref()),
        runs: normal_runs,
        window: window(arguments.normal_from, arguments.normal_to),
        label: arguments.normal_label.as_deref().map(Glob::new),
    };
    let sample = KernelSet {
        source: source("sample", &arguments.sample, arguments.sample_label.as_deref()),
        runs: sample_runs,
        window: window(arguments.sample_from, arguments.sample_to),
        label: arguments.sample_label.as_deref().map(Glob::new),
    };
    overlap(arguments, normal.window, sample.window)?;
    let align = align(&arguments.thresholds, arguments.output.threads());
    align.check().map_err(Failure::usage)?;
    let sequences = sequences(&arguments.thresholds)?;
    let settings = settings(arguments, &align);
    Ok(KernelDiagnosisQuestion { normal, sample, sequences, align, settings })
}

/// One trace whose sets are the same executions says nothing.
fn overlap(arguments: &Diagnose, normal: TimeWindow, sample: TimeWindow) -> Result<(), Failure> {
    let labels = (&arguments.normal_label, &arguments.sample_label);
    if !arguments.traces.is_empty() && normal == sample && labels.0 == labels.1 {
        return Err(Failure::usage("the normal executions and those in question are the same"));
    }
    Ok(())
}

fn source(what: &str, paths: &[PathBuf], label: Option<&str>) -> String {
    match (paths, label) {
        ([], Some(label)) => label.to_owned(),
        ([], None) => format!("{what} window"),
        ([one], _) => one.display().to_string(),
        ([first, rest @ ..], _) => format!("{} and {} more", first.display(), rest.len()),
    }
}

fn sequences(thresholds: &KernelThresholds) -> Result<SequenceSettings, Failure> {
    if !(0.0..=1e9).contains(&thresholds.step_min) {
        return Err(Failure::usage("--step-min is a number of microseconds, 0 to 1e9"));
    }
    let (encoding, split_by) = match thresholds.alphabet {
        AlphabetName::State => (Encoding::State, SplitBy::Nothing),
        AlphabetName::Whose => (Encoding::StateAndWorker, SplitBy::Nothing),
        AlphabetName::Device => (Encoding::StateAndWorker, SplitBy::Device),
        AlphabetName::Thread => (Encoding::StateAndWorker, SplitBy::Worker),
    };
    let alphabet = AlphabetSettings { encoding, split_by, min_ns: (thresholds.step_min * 1e3) as u64 };
    Ok(SequenceSettings {
        alphabet,
        executions_max: thresholds.executions_max,
        steps_max: thresholds.steps_max,
    })
}

fn align(thresholds: &KernelThresholds, threads: std::num::NonZeroUsize) -> AlignSettings {
    let default = AlignSettings::default();
    AlignSettings {
        mode: match thresholds.mode {
            ModeName::Robust => AlignMode::Robust,
            ModeName::Paper => AlignMode::Paper,
            ModeName::PaperPrinted => AlignMode::PaperPrinted,
        },
        average_factor: thresholds.average_factor.unwrap_or(default.average_factor),
        probability_factor: thresholds.probability_factor.unwrap_or(default.probability_factor),
        outlier_sigma: thresholds.outlier_sigma.unwrap_or(default.outlier_sigma),
        false_alarm: thresholds.false_alarm.unwrap_or(default.false_alarm),
        cluster_points_min: thresholds.cluster_min.unwrap_or(default.cluster_points_min),
        steepness: thresholds.steepness.unwrap_or(default.steepness),
        threads,
    }
}

fn settings(arguments: &Diagnose, align: &AlignSettings) -> Vec<Setting> {
    let alphabet = arguments.thresholds.alphabet.to_possible_value();
    vec![
        setting("executions", &arguments.executions),
        setting("mode", align.mode.name()),
        setting("alphabet", alphabet.map_or_else(String::new, |name| name.get_name().to_owned())),
        setting("step-min", arguments.thresholds.step_min),
        setting("executions-max", arguments.thresholds.executions_max),
        setting("steps-max", arguments.thresholds.steps_max),
        setting("false-alarm", align.false_alarm),
        setting("average-factor", align.average_factor),
        setting("probability-factor", align.probability_factor),
        setting("outlier-sigma", align.outlier_sigma),
        setting("cluster-min", align.cluster_points_min),
        setting("steepness", align.steepness),
        setting("compat", arguments.compat),
    ]
}
