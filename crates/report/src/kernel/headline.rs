//! The answer in one to four sentences.

use super::words::{step_clause, thread};
use super::{KernelDiagnosis, KernelPathReport, KernelStatsReport, KernelVerdict, StepGroup, WaitCause};
use crate::comparison::quoted;
use crate::numbers;

/// Share of all time from which a second cause is told too.
const TOLD_SHARE: f64 = 0.2;

/// The answer of critical paths, from everything else in the report. Names stand in backticks.
///
/// ```text
/// 62 % of 31.0 ms of `worker` (tid 812) was pre-empted while its CPU stood idle: a CPU quota; 20 % its own computing.
/// ```
pub fn kernel_path_headline(report: &KernelPathReport) -> String {
    let Some(first) = report.causes.first() else {
        let missing = report.missing.first().map_or("", String::as_str);
        return format!("There is no path to tell of. {missing}").trim_end().to_owned();
    };
    let of = match report.executions.as_slice() {
        [one] => {
            format!("{} of {}", numbers::time(one.elapsed_ns), thread(&one.thread, Some(one.tid), &one.host))
        }
        several => {
            format!("{} of {}", numbers::time(report.total_ns), executions(several.len() as u64, report))
        }
    };
    let mut sentence = format!("{} of {of} was {}", numbers::share(first.share), first.cause.clause());
    if let Some(second) = report.causes.get(1).filter(|second| second.share >= TOLD_SHARE) {
        sentence.push_str(&format!("; {} was {}", numbers::share(second.share), second.cause.clause()));
    }
    sentence.push('.');
    if let Some(wait) = largest_wait(report) {
        sentence.push(' ');
        sentence.push_str(&wait);
    }
    sentence
}

fn executions(count: u64, report: &KernelPathReport) -> String {
    let mut elapsed: Vec<u64> = report.executions.iter().map(|one| one.elapsed_ns).collect();
    elapsed.sort_unstable();
    format!("{} (median {})", numbers::counted(count, "execution"), numbers::time(elapsed[elapsed.len() / 2]))
}

/// The wait with the largest sum, unless the first sentence says all of it.
fn largest_wait(report: &KernelPathReport) -> Option<String> {
    let told = |cause| matches!(cause, WaitCause::Computing | WaitCause::Unknown);
    let wait = report.waits.iter().find(|wait| !told(wait.cause) && wait.share >= 0.02)?;
    Some(format!("{} {}.", quoted(&wait.thread), wait.words))
}

/// The answer of a diagnosis, from everything else in the report. Names stand in backticks.
///
/// ```text
/// 12 of 50 executions are slower: 31.0 ms instead of 12.1 ms. At step 14 of 37, after `running`, `worker` was
/// pre-empted 168 times for 118 ms while its CPU stood idle: a CPU quota (83 % of the excess).
/// ```
pub fn kernel_diagnosis_headline(report: &KernelDiagnosis) -> String {
    match report.verdict {
        KernelVerdict::InsufficientData => {
            let missing = report.missing.first().map_or("", String::as_str);
            format!("Too little data to say. {missing}").trim_end().to_owned()
        }
        KernelVerdict::NothingFound => nothing(report),
        KernelVerdict::Slower => slower(report),
    }
}

fn nothing(report: &KernelDiagnosis) -> String {
    format!(
        "Nothing found: none of {} waits longer than the {} normal ones do (median {} and {}).",
        numbers::counted(report.sample.executions, "execution"),
        numbers::count(report.normal.executions),
        numbers::time(report.sample.elapsed_p50_ns),
        numbers::time(report.normal.elapsed_p50_ns),
    )
}

fn slower(report: &KernelDiagnosis) -> String {
    let many = report.anomalous.len() as u64;
    let all = report.sample.executions;
    let subject = match (many, all) {
        (1, _) => format!("1 of {} is slower", numbers::counted(all, "execution")),
        (many, all) if many == all => format!("All {} are slower", numbers::counted(all, "execution")),
        (many, all) => {
            format!("{} of {} are slower", numbers::count(many), numbers::counted(all, "execution"))
        }
    };
    let mut sentences = vec![format!("{subject}{}.", instead(report))];
    match report.steps.iter().filter(|step| step.excess_ns > 0).collect::<Vec<&StepGroup>>().as_slice() {
        [] => sentences.push("No single step stands out.".to_owned()),
        [first, rest @ ..] => {
            sentences.push(capitalised(&step(first)));
            let others = rest.iter().filter(|other| other.share >= 0.05 && other.cause != first.cause);
            sentences.extend(others.take(1).map(|other| capitalised(&step(other))));
        }
    }
    sentences.join(" ")
}

/// How long they take instead of how long.
fn instead(report: &KernelDiagnosis) -> String {
    let median = |mut values: Vec<u64>| {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    let elapsed = median(report.anomalous.iter().map(|one| one.elapsed_ns).collect());
    let expected = median(report.anomalous.iter().map(|one| one.expected_ns).collect());
    match elapsed > expected && expected > 0 {
        true => format!(": {} instead of {}", numbers::time(elapsed), numbers::time(expected)),
        false => String::new(),
    }
}

fn step(step: &StepGroup) -> String {
    format!(
        "{}, {} {} ({} of the excess).",
        step_clause(step),
        quoted(&step.thread),
        step.words,
        numbers::share(step.share)
    )
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a trace holds, in one to three sentences.
pub fn kernel_stats_headline(report: &KernelStatsReport) -> String {
    let events = report.input.traces.iter().map(|trace| trace.events).sum::<u64>();
    if events == 0 {
        return "There is no event in the trace.".to_owned();
    }
    let longest = report.input.traces.iter().map(|trace| trace.until_ns.saturating_sub(trace.since_ns)).max();
    let mut sentences = vec![format!(
        "{} over {} on {}.",
        numbers::counted(events, "event"),
        numbers::time(longest.unwrap_or(0)),
        numbers::counted(report.cpus.len() as u64, "CPU"),
    )];
    if let Some(first) = report.threads.first() {
        sentences.push(format!(
            "{} ran longest, {}.",
            thread(&first.thread, Some(first.tid), &first.host),
            numbers::time(first.running_ns)
        ));
    }
    if let Some(first) = report.delimiters.first() {
        let count = numbers::counted(first.count, "execution");
        sentences.push(format!("`--executions {}` gives {count}.", first.name.replace('`', "'")));
    }
    sentences.join(" ")
}
