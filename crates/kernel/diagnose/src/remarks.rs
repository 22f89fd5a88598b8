//! What limits trust in kernel reports, and what is missing, in sentences.

use crate::names::{delimiter_text, quoted};
use crate::question::KernelPathQuestion;
use crate::read::KernelRun;
use laggard_align::{Caution, Diagnosis};
use laggard_kernel_graph::DelimiterKind;
use laggard_model::{Loss, Losses};
use laggard_report::{
    AbnormalWait, CoarseRow, KernelDiagnosis, KernelPathReport, KernelTrace, KernelVerdict, WaitCause,
};

/// Share of unresolved time from which it is a caution.
const UNRESOLVED_SHARE: f64 = 0.1;

/// How executions are told, as a sentence.
pub(crate) fn question(runs: &[KernelRun]) -> String {
    let Some(found) = runs.iter().find_map(|run| run.found.as_ref()) else { return String::new() };
    let why = if found.delimiter_reason.is_empty() {
        String::new()
    } else {
        format!(": {}", found.delimiter_reason)
    };
    format!("Executions by {}{why}.", quoted(&found.delimiter.to_string()))
}

/// Cautions that concern traces as such.
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
        out.push("CPUs are missing in the trace: who ran there is not known, nor whom they woke.".to_owned());
    }
    if losses.count(Loss::CoarseTime) > 0 {
        out.push(
            "Times are in whole microseconds: the order of events within one is lost. Record in binary form."
                .to_owned(),
        );
    }
    out
}

/// Cautions of a report on paths.
pub(crate) fn path_cautions(runs: &[KernelRun], report: &KernelPathReport) -> Vec<String> {
    let mut out = cautions(runs);
    let share = |cause| report.causes.iter().find(|one| one.cause == cause).map_or(0.0, |one| one.share);
    let unknown = share(WaitCause::Unresolved) + share(WaitCause::Unknown);
    if unknown >= UNRESOLVED_SHARE {
        out.push(format!(
            "Of {:.0} % of the time the trace does not tell what it was waited for: wake-ups are missing, or interrupts \
             without handler events ended the waits.",
            unknown * 100.0
        ));
    }
    let resting = report.timelines.iter().flat_map(|one| &one.pieces);
    let (inferred, all) = resting.fold((0_u64, 0_u64), |(inferred, all), piece| {
        let ns = piece.to_ns - piece.from_ns;
        (inferred + if piece.inferred { ns } else { 0 }, all + ns)
    });
    if inferred * 2 > all {
        out.push(
            "Most of the path input rests on switches that the kernel did not record and that are implied: their \
             instants are estimates."
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
            "{} executions beyond the limit (executions-max) are not looked at.",
            report.executions_left_out
        ));
    }
    out
}

/// How far instants of two hosts can be wrong against each other.
fn aligned(trace: &KernelTrace) -> Option<String> {
    let clock = trace.aligned?;
    let packets = clock.packets_from_first + clock.packets_to_first;
    Some(format!(
        "The clock of {} is brought to the first trace's by {packets} packets; instants of the two can be wrong by {} \
         against each other.",
        quoted(trace.host.as_deref().unwrap_or(&trace.path)),
        laggard_model::Nanos::from_ns(clock.bound_ns)
    ))
}

/// What would have been needed for an answer; empty when there is one.
pub(crate) fn path_missing(
    runs: &[KernelRun],
    question: &KernelPathQuestion,
    found: usize,
    told: usize,
) -> Vec<String> {
    if told > 0 {
        return Vec::new();
    }
    if runs.iter().flat_map(|run| &run.traces).all(|trace| trace.events == 0) {
        return vec!["The trace has no event that is read here.".to_owned()];
    }
    if found > 0 {
        return vec![
            "The trace has no switches or wake-ups of these executions: record sched_switch and sched_waking."
                .to_owned(),
        ];
    }
    if !question.window.is_open() {
        return vec!["No execution lies in the window as a whole.".to_owned()];
    }
    let Some(asked) = runs.iter().find_map(|run| run.found.as_ref()) else { return Vec::new() };
    vec![match &asked.delimiter.kind {
        DelimiterKind::Auto => format!(
            "Give a thread (--thread NAME or TID), or what begins and ends an execution (--executions); `laggard kernel \
             stats` lists what the trace has. By itself {} finds nothing: {}.",
            delimiter_text("auto"),
            asked.delimiter_reason
        ),
        DelimiterKind::Thread { name } => {
            format!("The trace has no thread called {}.", quoted(&name.to_string()))
        }
        DelimiterKind::Tid { tid, .. } => format!("The trace has no thread {}.", tid.0),
        _ => format!(
            "{} finds no execution; `laggard kernel stats` lists what the trace has.",
            delimiter_text(&asked.delimiter.to_string())
        ),
    }]
}

/// `1 execution`, `7 executions`.
fn executions(count: usize) -> String {
    if count == 1 { "1 execution".to_owned() } else { format!("{count} executions") }
}

/// Mean length of waits for busy CPUs, in nanoseconds, from which they are longer than a scheduler's turns.
const LONG_TURN_NS: u64 = 20_000_000;

/// On a busy machine the CPU never stands idle, so a quota looks like contention.
fn maybe_quota(cause: WaitCause, count: u64, total_ns: u64) -> bool {
    cause == WaitCause::CpuBusy && count > 0 && total_ns / count >= LONG_TURN_NS
}

const MAYBE_QUOTA: &str = "Waits for a CPU last tens of milliseconds each, longer than a scheduler's turns: on a machine \
    where others always run this may be a CPU quota as well. A cgroup's cpu.stat tells (nr_throttled).";

/// What limits trust in a diagnosis.
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
                "Of {:.0} % of the time of {} the trace does not tell what it was waited for.",
                set.unresolved_share * 100.0,
                quoted(&set.source)
            ));
        }
        if set.left_out > 0 {
            out.push(format!(
                "{} executions of {} beyond the limit (executions-max) are not looked at.",
                set.left_out,
                quoted(&set.source)
            ));
        }
    }
    if report.waits.iter().any(|wait| maybe_quota(wait.cause, wait.count, wait.total_ns)) {
        out.push(MAYBE_QUOTA.to_owned());
    }
    let busy = |wait: &AbnormalWait| wait.cause == WaitCause::CpuBusy && wait.share >= 0.1;
    if report.waits.iter().any(busy) {
        out.push(
            "Waiting for CPUs that others used may be the load beside the sample, not the program: record normal and \
             sample under the same conditions."
                .to_owned(),
        );
    }
    out
}

fn caution_text(caution: Caution) -> Option<String> {
    Some(match caution {
        Caution::NoNormalExecution | Caution::NoSampleExecution => return None,
        Caution::EmptyExecutions { normal, sample } => {
            format!("{} without a step are left out.", executions(normal + sample))
        }
        Caution::FewNormalExecutions { given, wanted } => format!(
            "There are {given} normal executions; with fewer than {wanted}, rare deviations cannot be told from chance."
        ),
        Caution::FewSampleExecutions { given, wanted } => format!(
            "The sample has {}; with fewer than {wanted}, the sets are not compared as wholes.",
            executions(given)
        ),
        Caution::NormalNotClustered { given } => {
            format!("{given} normal executions are too few to find kinds among them: all count as one kind.")
        }
        Caution::ComparedWithRareKind { executions: count } => format!(
            "Compared with a kind that only few normal executions are of, which is weak: {}.",
            executions(count)
        ),
        Caution::StepsNotCompared => {
            "Executions of some kind are so long that they were judged by the sums of their states alone."
                .to_owned()
        }
        Caution::MixChanged => {
            "The two sets have other shares of the kinds of executions; times are compared within kinds."
                .to_owned()
        }
        Caution::NoKindFound => {
            "Normal executions are so different from one another that no kinds were found: all count as one."
                .to_owned()
        }
    })
}

/// With too little data: what would have been needed.
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
        let found = runs.iter().find_map(|run| run.found.as_ref());
        let by =
            found.map_or_else(String::new, |found| format!(" by {}", quoted(&found.delimiter.to_string())));
        let why = found.map_or_else(String::new, |found| match found.delimiter_reason.as_str() {
            "" => String::new(),
            chosen => format!(" ({chosen})"),
        });
        return vec![format!(
            "There is no execution{by} in {}{why}; `laggard kernel stats` lists what a trace has.",
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

/// States that take much time and as long as they do normally.
pub(crate) fn ruled_out(report: &KernelDiagnosis) -> Vec<String> {
    const SHARE: f64 = 0.05;
    const TOLD: usize = 4;
    if report.verdict == KernelVerdict::InsufficientData {
        return Vec::new();
    }
    let all: f64 = report.coarse.iter().filter(|row| row.letter.is_none()).map(|row| row.sample_mean).sum();
    let calm = |row: &&CoarseRow| {
        row.measure == "time" && row.letter.is_some() && !row.fired && row.sample_mean >= SHARE * all
    };
    let mut rows: Vec<&CoarseRow> = report.coarse.iter().filter(calm).collect();
    rows.sort_by(|a, b| b.sample_mean.total_cmp(&a.sample_mean));
    let name = |row: &CoarseRow| {
        row.letter.and_then(|at| report.alphabet.get(at as usize)).map_or("", |letter| letter.name.as_str())
    };
    let told = rows.iter().take(TOLD).map(|row| {
        format!(
            "Time in state {} is not raised: {} on average, {} normally.",
            quoted(name(row)),
            milliseconds(row.sample_mean),
            milliseconds(row.normal_mean)
        )
    });
    told.collect()
}

fn milliseconds(ns: f64) -> String {
    laggard_model::Nanos::from_ns(ns.max(0.0) as u64).to_string()
}
