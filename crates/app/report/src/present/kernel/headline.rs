//! The answer in one to four sentences.

use super::phrases::{row_name, step_clause, thread};
use crate::names::quoted;
use crate::numbers;
use crate::{
    AbnormalWait, ExecutionVerdict, KernelDiagnosis, KernelPathReport, KernelStatsReport, KernelVerdict,
    WaitCause,
};

/// Share of all time from which a second cause is mentioned too.
const SECOND_SHARE: f64 = 0.2;

/// The answer of critical paths, from everything else in the report. Names stand in backticks.
///
/// ```text
/// 62 % of 31.0 ms of `worker` (tid 812) was preempted while its CPU was idle: a CPU quota; 20 % its own computing.
/// ```
pub fn kernel_path_headline(report: &KernelPathReport) -> String {
    let Some(first) = report.causes.first() else {
        let missing = report.missing.first().map_or("", String::as_str);
        return format!("There is no path to report. {missing}").trim_end().to_owned();
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
    if let Some(second) = report.causes.get(1).filter(|second| second.share >= SECOND_SHARE) {
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

/// What more there is to say of the largest wait: how often, for whom or for what.
fn largest_wait(report: &KernelPathReport) -> Option<String> {
    let first = report.causes.first()?.cause;
    let is_trivial = |cause| matches!(cause, WaitCause::Computing | WaitCause::Unknown);
    let wait = report.waits.iter().find(|wait| !is_trivial(wait.cause) && wait.share >= 0.02)?;
    if wait.cause != first || wait.waker.is_some() || wait.resource.is_some() {
        return Some(format!("{} {}.", quoted(&wait.thread), wait.description));
    }
    (wait.count > 1)
        .then(|| format!("{} times, {} at most.", numbers::count(wait.count), numbers::time(wait.longest_ns)))
}

/// The answer of a diagnosis, from everything else in the report. Names stand in backticks.
///
/// ```text
/// 12 of 50 executions are slower: 31.0 ms instead of 12.1 ms. `worker` was preempted 168 times for 118 ms while its
/// CPU was idle: a CPU quota (83 % of the excess), mostly at step 14 of 37, after `running`.
/// ```
pub fn kernel_diagnosis_headline(report: &KernelDiagnosis) -> String {
    match report.verdict {
        KernelVerdict::InsufficientData => {
            let missing = report.missing.first().map_or("", String::as_str);
            format!("Too little data to say. {missing}").trim_end().to_owned()
        }
        KernelVerdict::NothingFound => nothing(report),
        KernelVerdict::SlowerOverall => overall(report),
        KernelVerdict::FewSlower => few(report),
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

fn few(report: &KernelDiagnosis) -> String {
    format!("So few are slower that it may be chance. {}", slower(report))
}

fn slower(report: &KernelDiagnosis) -> String {
    let mut sentences = vec![format!("{}{}.", who(report), instead(report))];
    match report.waits.iter().filter(|wait| wait.excess_ns > 0).collect::<Vec<_>>().as_slice() {
        [] => sentences.push("No single step stands out.".to_owned()),
        [first, rest @ ..] => {
            sentences.push(wait(report, first));
            let others = rest.iter().filter(|other| other.share >= 0.1);
            sentences.extend(others.take(1).map(|other| wait(report, other)));
        }
    }
    sentences.join(" ")
}

/// `12 of 50 executions are slower`
fn who(report: &KernelDiagnosis) -> String {
    let all = numbers::counted(report.sample.executions, "execution");
    let many = report.anomalous.len() as u64;
    let new = report.anomalous.iter().filter(|one| one.verdict == ExecutionVerdict::NewKind).count() as u64;
    let slower = report.anomalous.iter().filter(|one| one.elapsed_ns > one.expected_ns).count() as u64;
    let what = match many {
        many if new == many => "of a kind not in the normal set",
        many if slower * 2 >= many => "slower",
        _ => "different",
    };
    match many {
        1 => format!("1 of {all} is {what}"),
        many if many == report.sample.executions => format!("All {all} are {what}"),
        many => format!("{} of {all} are {what}", numbers::count(many)),
    }
}

fn overall(report: &KernelDiagnosis) -> String {
    let fired =
        report.state_averages.iter().filter(|row| row.fired && row.measure == "time" && row.symbol.is_some());
    let most =
        fired.max_by(|a, b| (a.sample_mean - a.normal_mean).total_cmp(&(b.sample_mean - b.normal_mean)));
    let state = most.map_or_else(String::new, |row| {
        format!(
            ": {} takes {} instead of {} on average",
            quoted(&row_name(report, row.symbol)),
            numbers::time_float(row.sample_mean),
            numbers::time_float(row.normal_mean)
        )
    });
    format!("The sample as a whole is slower{state}. No single execution stands out.")
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

/// `` `worker` was preempted … (84 % of the excess), mostly at step 5 of 13, after `running`.``
fn wait(report: &KernelDiagnosis, wait: &AbnormalWait) -> String {
    let main = wait.steps.first().and_then(|&at| report.steps.get(at as usize));
    let location = match main {
        Some(step) if wait.steps.len() == 1 => format!(", {}", step_clause(step)),
        Some(step) if step.excess_ns >= wait.excess_ns / 2 => format!(", mostly {}", step_clause(step)),
        _ => format!(", at {}", numbers::counted(wait.steps.len() as u64, "step")),
    };
    format!(
        "{} {} ({} of the excess){location}.",
        quoted(&wait.thread),
        wait.description,
        numbers::share(wait.share)
    )
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
