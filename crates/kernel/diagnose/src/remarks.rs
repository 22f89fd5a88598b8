//! Sentences on the limitations of kernel reports, and on missing data.

use crate::names::{delimiter_text, quoted};
use crate::question::KernelPathQuestion;
use crate::read::KernelRun;
use laggard_align::{Caution, Diagnosis};
use laggard_kernel_graph::{DelimitedExecutions, Delimiter, DelimiterKind, Glob, Pairing, Scope};
use laggard_model::{Loss, Losses};
use laggard_report::{
    KernelDiagnosis, KernelPathReport, KernelTrace, KernelVerdict, StateAverage, WaitCause,
};

/// Minimum share of unresolved time for a caution.
const UNRESOLVED_SHARE: f64 = 0.1;

/// How executions are delimited, as a sentence.
pub(crate) fn question(runs: &[KernelRun]) -> String {
    let Some(delimited) = runs.iter().find_map(|run| run.executions.as_ref()) else { return String::new() };
    let why = if delimited.delimiter_reason.is_empty() {
        String::new()
    } else {
        format!(": {}", delimited.delimiter_reason)
    };
    format!("Executions by {}{why}.", quoted(&delimited.delimiter.to_string()))
}

/// Cautions about the traces.
pub(crate) fn cautions(runs: &[KernelRun]) -> Vec<String> {
    let mut losses = Losses::none();
    runs.iter().for_each(|run| losses.merge(&run.losses));
    let mut out = Vec::new();
    if losses.count(Loss::LostEvents) + losses.count(Loss::LostInterval) > 0 {
        out.push(
            "The tracer lost events: waits around the losses are unknown. Record with larger buffers."
                .to_owned(),
        );
    }
    if losses.count(Loss::MissingStream) > 0 {
        out.push("CPUs are missing in the trace: the threads that ran there, and those that they woke, are unknown.".to_owned());
    }
    if losses.count(Loss::CoarseTime) > 0 {
        out.push(
            "Times are rounded to microseconds: the order of events within one is lost. Record in a binary format."
                .to_owned(),
        );
    }
    out.extend(runs.iter().filter_map(|run| run.executions.as_ref()).filter_map(of_programs));
    out
}

/// The programs that executions belong to, where these may not be the intended ones.
fn of_programs(delimited: &DelimitedExecutions) -> Option<String> {
    let of_process = |name: &str| {
        let scope = Scope { pairing: Pairing::Process, only: Some(Glob::new(name)) };
        delimiter_text(&Delimiter { scope, ..delimited.delimiter.clone() }.to_string())
    };
    if delimited.of_other_processes > 0 {
        return Some(format!(
            "{} of other processes than the recorded one and its descendants left out; {} includes them.",
            executions(delimited.of_other_processes as usize),
            of_process("*"),
        ));
    }
    let (name, count) = delimited.programs.first()?;
    Some(format!(
        "Several programs wrote markers: {count} of {} are of {}, the others of {} more. {} selects these.",
        executions(delimited.executions.len()),
        quoted(name),
        delimited.programs.len() - 1,
        of_process(name),
    ))
}

/// Cautions of a report on paths.
pub(crate) fn path_cautions(runs: &[KernelRun], report: &KernelPathReport) -> Vec<String> {
    let mut out = cautions(runs);
    let share = |cause| report.causes.iter().find(|row| row.cause == cause).map_or(0.0, |row| row.share);
    let unknown = share(WaitCause::Unresolved) + share(WaitCause::Unknown);
    if unknown >= UNRESOLVED_SHARE {
        out.push(format!(
            "For {:.0} % of the time the trace does not show the reason for the wait: wake-ups are missing, or \
             interrupts without handler events ended the waits.",
            unknown * 100.0
        ));
    }
    out.extend(not_recorded(runs, &share));
    let segments = report.timelines.iter().flat_map(|row| &row.segments);
    let (inferred, all) = segments.fold((0_u64, 0_u64), |(inferred, all), segment| {
        let ns = segment.to_ns - segment.from_ns;
        (inferred + if segment.inferred { ns } else { 0 }, all + ns)
    });
    if inferred * 2 > all {
        out.push(
            "Most of the path depends on switches that the kernel did not record and that were inferred: their times are \
             estimates."
                .to_owned(),
        );
    }
    out.extend(report.input.traces.iter().filter_map(aligned));
    let waits = report.waits.iter().filter(|wait| wait.share >= UNRESOLVED_SHARE);
    if waits.into_iter().any(|wait| maybe_quota(wait.cause, wait.count, wait.total_ns)) {
        out.push(MAYBE_QUOTA.to_owned());
    }
    if report.executions_left_out > 0 {
        out.push(format!(
            "{} executions beyond the limit (executions-max) are not analyzed.",
            report.executions_left_out
        ));
    }
    out
}

/// Minimum share of waits whose reason an additional event would reveal.
const WAIT_SHARE: f64 = 0.1;

/// Remarks on missing events that would explain the waits: `share` is the share of each cause in the time, 0..1.
fn not_recorded(runs: &[KernelRun], share: &impl Fn(WaitCause) -> f64) -> Vec<String> {
    use WaitCause::{Disk, Network, OtherThread, Timer, Unresolved};
    let mut out = Vec::new();
    let graphs: Vec<_> = runs.iter().filter_map(|run| run.graph.as_ref()).collect();
    let waits: f64 = [Disk, Network, OtherThread, Timer, Unresolved].into_iter().map(share).sum();
    if !graphs.iter().any(|graph| graph.has_calls()) && waits >= WAIT_SHARE {
        out.push(
            "System calls were not recorded (`laggard record --syscalls`): they would name the call of each wait, and tell locks \
             from sleeps."
                .to_owned(),
        );
    }
    if !graphs.iter().any(|graph| graph.has_packets()) && share(Network) >= WAIT_SHARE {
        out.push(
            "Packets were not recorded (`laggard record --network`): they would name a server on this machine that is waited for."
                .to_owned(),
        );
    }
    out
}

/// The possible error between the clocks of two hosts.
fn aligned(trace: &KernelTrace) -> Option<String> {
    let clock = trace.aligned?;
    let packets = clock.packets_from_first + clock.packets_to_first;
    Some(format!(
        "The clock of {} is aligned with the first trace's by {packets} packets; times of the two can be off by {} \
         from each other.",
        quoted(trace.host.as_deref().unwrap_or(&trace.path)),
        laggard_model::Nanos::from_ns(clock.bound_ns)
    ))
}

/// The data that is missing for a result; empty if there is one.
pub(crate) fn path_missing(
    runs: &[KernelRun],
    question: &KernelPathQuestion,
    delimited: usize,
    reported: usize,
) -> Vec<String> {
    if reported > 0 {
        return Vec::new();
    }
    if runs.iter().flat_map(|run| &run.traces).all(|trace| trace.events == 0) {
        return vec!["The trace has no event of a supported kind.".to_owned()];
    }
    if delimited > 0 {
        return vec![
            "The trace has no switches or wake-ups of these executions: record sched_switch and sched_waking."
                .to_owned(),
        ];
    }
    if !question.window.is_open() {
        return vec!["No execution is entirely within the window.".to_owned()];
    }
    let Some(delimited) = runs.iter().find_map(|run| run.executions.as_ref()) else { return Vec::new() };
    vec![match &delimited.delimiter.kind {
        DelimiterKind::Auto => format!(
            "Give a thread (--thread NAME or TID), or what begins and ends an execution (--executions); `laggard kernel \
             stats` lists what the trace contains. {} finds no executions: {}.",
            delimiter_text("auto"),
            delimited.delimiter_reason
        ),
        DelimiterKind::Thread { name } => {
            format!("The trace has no thread called {}.", quoted(&name.to_string()))
        }
        DelimiterKind::Tid { tid, .. } => format!("The trace has no thread {}.", tid.0),
        _ => format!(
            "{} finds no execution; `laggard kernel stats` lists what the trace contains.",
            delimiter_text(&delimited.delimiter.to_string())
        ),
    }]
}

/// `1 execution`, `7 executions`.
fn executions(count: usize) -> String {
    if count == 1 { "1 execution".to_owned() } else { format!("{count} executions") }
}

/// Minimum mean length of waits for busy CPUs, in nanoseconds, that is longer than time slices of the scheduler.
const LONG_TURN_NS: u64 = 20_000_000;

/// On a busy machine the CPU is never idle, so a quota looks like contention.
fn maybe_quota(cause: WaitCause, count: u64, total_ns: u64) -> bool {
    cause == WaitCause::CpuBusy && count > 0 && total_ns / count >= LONG_TURN_NS
}

const MAYBE_QUOTA: &str = "Waits for a CPU last tens of milliseconds each, longer than the scheduler's time slices: on a \
    busy machine this may also be a CPU quota. Check nr_throttled in the cgroup's cpu.stat.";

/// Cautions about a diagnosis.
pub(crate) fn diagnosis_cautions(
    runs: &[KernelRun],
    report: &KernelDiagnosis,
    diagnosis: &Diagnosis,
) -> Vec<String> {
    let mut out = cautions(runs);
    out.extend(diagnosis.cautions.iter().filter_map(|caution| caution_text(*caution)));
    for set in [&report.normal, &report.sample] {
        if set.unresolved_share >= UNRESOLVED_SHARE {
            out.push(format!(
                "For {:.0} % of the time of {} the trace does not show the reason for the wait.",
                set.unresolved_share * 100.0,
                quoted(&set.source)
            ));
        }
        if set.left_out > 0 {
            out.push(format!(
                "{} executions of {} beyond the limit (executions-max) are not analyzed.",
                set.left_out,
                quoted(&set.source)
            ));
        }
    }
    let share = |cause| report.waits.iter().filter(|wait| wait.cause == cause).map(|wait| wait.share).sum();
    out.extend(not_recorded(runs, &share));
    if report.waits.iter().any(|wait| maybe_quota(wait.cause, wait.count, wait.total_ns)) {
        out.push(MAYBE_QUOTA.to_owned());
    }
    out
}

fn caution_text(caution: Caution) -> Option<String> {
    Some(match caution {
        Caution::NoNormalExecution | Caution::NoSampleExecution => return None,
        Caution::EmptyExecutions { normal, sample } => {
            format!("{} without a step are left out.", executions(normal + sample))
        }
        Caution::FewNormalExecutions { available, needed } => format!(
            "There are {available} normal executions; with fewer than {needed}, rare deviations cannot be distinguished from chance."
        ),
        Caution::FewSampleExecutions { available, needed } => format!(
            "The sample has {}; with fewer than {needed}, the total times of the sets are not compared.",
            executions(available)
        ),
        Caution::NormalNotClustered { available } => {
            format!(
                "{available} normal executions are too few to find kinds among them: all count as one kind."
            )
        }
        Caution::ComparedWithRareKind { executions: count } => format!(
            "Compared with a kind of only a few normal executions, so the result is less certain: {}.",
            executions(count)
        ),
        Caution::StepsNotCompared => {
            "Executions of some kind are so long that only the sums of their states were compared.".to_owned()
        }
        Caution::MixChanged => {
            "The shares of the kinds of executions differ between the sets; times are compared within kinds."
                .to_owned()
        }
        Caution::NoKindFound => {
            "Normal executions are so different from one another that no kinds were found: all count as one."
                .to_owned()
        }
    })
}

/// The data that is missing if there is too little.
pub(crate) fn diagnosis_missing(
    runs: &[KernelRun],
    report: &KernelDiagnosis,
    diagnosis: &Diagnosis,
) -> Vec<String> {
    if report.verdict != KernelVerdict::InsufficientData {
        return Vec::new();
    }
    let empty = [&report.normal, &report.sample].into_iter().find(|set| set.executions == 0);
    if let Some(set) = empty {
        let delimited = runs.iter().find_map(|run| run.executions.as_ref());
        let by = delimited.map_or_else(String::new, |delimited| {
            format!(" by {}", quoted(&delimited.delimiter.to_string()))
        });
        let why = delimited.map_or_else(String::new, |delimited| match delimited.delimiter_reason.as_str() {
            "" => String::new(),
            reason => format!(" ({reason})"),
        });
        return vec![format!(
            "There is no execution{by} in {}{why}; `laggard kernel stats` lists what a trace contains.",
            quoted(&set.source)
        )];
    }
    let few = diagnosis.cautions.iter().filter_map(|caution| caution_text(*caution));
    let few: Vec<String> = few.take(2).collect();
    match few.is_empty() {
        true => vec![format!(
            "There are {} normal executions and {} of the sample.",
            report.normal.executions, report.sample.executions
        )],
        false => few,
    }
}

/// States that take much time, but not more than normally.
pub(crate) fn ruled_out(report: &KernelDiagnosis) -> Vec<String> {
    const SHARE: f64 = 0.05;
    const TOLD: usize = 4;
    if report.verdict == KernelVerdict::InsufficientData {
        return Vec::new();
    }
    let all: f64 =
        report.state_averages.iter().filter(|row| row.symbol.is_none()).map(|row| row.sample_mean).sum();
    let is_steady = |row: &&StateAverage| {
        row.measure == "time" && row.symbol.is_some() && !row.fired && row.sample_mean >= SHARE * all
    };
    let mut rows: Vec<&StateAverage> = report.state_averages.iter().filter(is_steady).collect();
    rows.sort_by(|a, b| b.sample_mean.total_cmp(&a.sample_mean));
    let name = |row: &StateAverage| {
        row.symbol
            .and_then(|index| report.alphabet.get(index as usize))
            .map_or("", |symbol| symbol.name.as_str())
    };
    let reported = rows.iter().take(TOLD).map(|row| {
        format!(
            "Time in state {} is not raised: {} on average, {} normally.",
            quoted(name(row)),
            milliseconds(row.sample_mean),
            milliseconds(row.normal_mean)
        )
    });
    reported.collect()
}

fn milliseconds(ns: f64) -> String {
    laggard_model::Nanos::from_ns(ns.max(0.0) as u64).to_string()
}
