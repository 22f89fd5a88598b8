//! The answer in one to four sentences.

use super::phrases::{call_words, row_name, step_clause, thread, thread_in};
use crate::names::quoted;
use crate::numbers;
use crate::{
    AbnormalWait, CallTime, EvaluatedExecution, ExecutionVerdict, KernelDiagnosis, KernelPathReport,
    KernelStatsReport, KernelVerdict, WaitCause,
};
use std::collections::BTreeMap;

/// Share of all time from which a second cause is mentioned too.
const SECOND_SHARE: f64 = 0.2;

/// Share of all time from which on the waits in one system call are mentioned.
const CALL_SHARE: f64 = 0.02;

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
    let subject = match report.executions.as_slice() {
        [execution] => {
            let thread = thread_in(
                &execution.thread,
                Some(execution.tid),
                &execution.host,
                execution.container.as_ref(),
            );
            format!("{} of {thread}", numbers::time(execution.elapsed_ns))
        }
        several => {
            format!("{} of {}", numbers::time(report.total_ns), executions(several.len() as u64, report))
        }
    };
    let mut sentence = format!("{} of {subject} was {}", numbers::share(first.share), first.cause.clause());
    if let Some(second) = report.causes.get(1).filter(|second| second.share >= SECOND_SHARE) {
        sentence.push_str(&format!("; {} was {}", numbers::share(second.share), second.cause.clause()));
    }
    sentence.push('.');
    if let Some(wait) = largest_call(report).or_else(|| largest_wait(report)) {
        sentence.push(' ');
        sentence.push_str(&wait);
    }
    sentence
}

fn executions(count: u64, report: &KernelPathReport) -> String {
    let mut elapsed: Vec<u64> = report.executions.iter().map(|execution| execution.elapsed_ns).collect();
    elapsed.sort_unstable();
    format!("{} (median {})", numbers::counted(count, "execution"), numbers::time(elapsed[elapsed.len() / 2]))
}

/// The system call with the most waiting time, and what that was for: `` `worker` was in `fsync` 31 times for 4.10 s (28 %), 3.90 s of
/// it waiting for a disk.``
fn largest_call(report: &KernelPathReport) -> Option<String> {
    let waited = |call: &CallTime| call.total_ns - call.ran_ns;
    let calls = report.calls.iter().filter(|call| !call.is_user_mode);
    let call = calls.max_by_key(|call| waited(call))?;
    let (of_it, wait) = (waited(call), call.waits.first()?);
    // If the excess is mostly something other than waits in calls, the headline names that.
    let main = report.waits.iter().filter(|wait| !is_trivial(wait.cause)).map(|wait| wait.total_ns);
    let main_ns = main.max().unwrap_or(0);
    let is_waiting = of_it * 2 >= call.total_ns;
    if !is_waiting || of_it < main_ns / 2 || (of_it as f64) < CALL_SHARE * report.total_ns as f64 {
        return None;
    }
    let mut threads: Vec<&str> =
        report.executions.iter().map(|execution| execution.thread.as_str()).collect();
    threads.sort_unstable();
    threads.dedup();
    let who = if let [thread] = threads.as_slice() { quoted(thread) } else { "They".to_owned() };
    let was = if threads.len() == 1 { "was" } else { "were" };
    let often =
        if call.count > 1 { format!(" {}", numbers::counted(call.count, "time")) } else { String::new() };
    let ended = match &call.waker {
        Some(waker) if wait.cause != WaitCause::Disk => format!(", ended by {}", quoted(waker)),
        _ => String::new(),
    };
    Some(format!(
        "{who} {was} in {}{often} for {} ({}), {} of it {}{ended}.",
        call_words(&call.call),
        numbers::time(call.total_ns),
        numbers::share(call.share),
        numbers::time(wait.total_ns),
        wait.cause.clause(),
    ))
}

const fn is_trivial(cause: WaitCause) -> bool {
    matches!(cause, WaitCause::Computing | WaitCause::Unknown)
}

/// More about the largest wait: how often, for whom or for what.
fn largest_wait(report: &KernelPathReport) -> Option<String> {
    let first = report.causes.first()?.cause;
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
/// 12 of 50 executions are slower: 31.0 ms instead of 12.1 ms. `worker` was kept from running 168 times for 118 ms by a
/// CPU quota (83 % of the excess), mostly 3.00 ms into it, after `running`.
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
    let waits: Vec<&AbnormalWait> = report.waits.iter().filter(|wait| wait.excess_ns > 0).collect();
    let of_kinds = waits_by_kind(report, &waits);
    match waits.as_slice() {
        [] => sentences.push("No single step stands out.".to_owned()),
        [first, ..] if of_kinds.iter().any(|(_, wait)| wait == first) => {
            let row = |(kind, one): &(String, &AbnormalWait)| format!("Of {kind}: {}", wait(report, one));
            sentences.extend(of_kinds.iter().map(row));
        }
        [first, rest @ ..] => {
            sentences.push(wait(report, first));
            let others = rest.iter().filter(|other| other.share >= 0.1);
            sentences.extend(others.take(1).map(|other| wait(report, other)));
        }
    }
    sentences.join(" ")
}

/// With several kinds of slower executions: for each that is mentioned, the largest wait that is mostly theirs.
fn waits_by_kind<'a>(
    report: &'a KernelDiagnosis,
    waits: &[&'a AbnormalWait],
) -> Vec<(String, &'a AbnormalWait)> {
    let kinds = slow_kinds(report);
    if kinds.len() < 2 {
        return Vec::new();
    }
    let rows = kinds.into_iter().take(KINDS).filter_map(|kind| {
        let wait = waits.iter().find(|wait| main_kind(report, wait).as_ref() == Some(&kind.name))?;
        Some((kind.name, *wait))
    });
    rows.collect()
}

/// The kind of execution that has most of the excess of a wait.
fn main_kind(report: &KernelDiagnosis, wait: &AbnormalWait) -> Option<String> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for step in wait.steps.iter().filter_map(|&index| report.steps.get(index as usize)) {
        *kinds.entry(kind_name(report, step.cluster)).or_default() += step.excess_ns;
    }
    let sum: u64 = kinds.values().sum();
    let (kind, most) = kinds.into_iter().max_by_key(|(_, ns)| *ns)?;
    (most as f64 >= MOST_OF_KIND * sum as f64).then_some(kind)
}

/// Share of a wait's excess from which on it is that of one kind of executions.
const MOST_OF_KIND: f64 = 0.8;

/// `12 of 50 executions are slower`
fn who(report: &KernelDiagnosis) -> String {
    let all = numbers::counted(report.sample.executions, "execution");
    let many = report.anomalous.len() as u64;
    let new =
        report.anomalous.iter().filter(|execution| execution.verdict == ExecutionVerdict::NewKind).count()
            as u64;
    let slower =
        report.anomalous.iter().filter(|execution| execution.elapsed_ns > execution.expected_ns).count()
            as u64;
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

/// How long they take instead of how long, by kind of execution where there are several:
/// `: 10 take 32.1 ms instead of 2.20 ms, the others 2.40 ms instead of 2.20 ms`.
fn instead(report: &KernelDiagnosis) -> String {
    let kinds = slow_kinds(report);
    let all: u64 = kinds.iter().map(SlowKind::excess_ns).sum();
    let listed: Vec<&SlowKind<'_>> =
        kinds.iter().filter(|kind| kind.excess_ns() as f64 >= KIND_SHARE * all as f64).take(KINDS).collect();
    match listed.as_slice() {
        [] => String::new(),
        [only] if kinds.len() == 1 => match only.uneven() {
            None => format!(": {}", only.times(&only.executions)),
            Some((much, others)) => format!(
                ": {} take {}, the others {}",
                numbers::count(much.len() as u64),
                only.times(much),
                only.times(others)
            ),
        },
        several => {
            let mut words: Vec<String> = several.iter().map(|kind| kind.words()).collect();
            let omitted: usize = kinds.iter().map(|kind| kind.executions.len()).sum::<usize>()
                - several.iter().map(|kind| kind.executions.len()).sum::<usize>();
            words.extend((omitted > 0).then(|| format!("{} of other kinds", numbers::count(omitted as u64))));
            format!(": {}", words.join("; "))
        }
    }
}

/// Kinds of executions in a headline, and the share of all excess from which on one is mentioned.
const KINDS: usize = 3;
const KIND_SHARE: f64 = 0.1;

/// Share of a kind's excess that a few executions must have to be mentioned apart, the share of the kind that they may be, and how
/// many times as long the least excess of theirs must be as the largest of the others.
const UNEVEN_SHARE: f64 = 0.8;
const UNEVEN_MOST: f64 = 0.67;
const UNEVEN_TIMES: f64 = 3.0;

/// Slower executions of one kind, the largest excess first.
struct SlowKind<'a> {
    /// The delimiter's label of the kind's executions, else its number.
    name: String,
    executions: Vec<&'a EvaluatedExecution>,
}

/// Slower executions by kind, the kind with the largest excess first. Those of a new kind have nothing to compare with.
fn slow_kinds(report: &KernelDiagnosis) -> Vec<SlowKind<'_>> {
    let mut kinds: Vec<SlowKind<'_>> = Vec::new();
    let slower = |execution: &&EvaluatedExecution| {
        execution.verdict == ExecutionVerdict::Slower
            && execution.elapsed_ns > execution.expected_ns
            && execution.expected_ns > 0
    };
    for execution in report.anomalous.iter().filter(slower) {
        let name = kind_name(report, execution.cluster);
        match kinds.iter_mut().find(|kind| kind.name == name) {
            Some(kind) => kind.executions.push(execution),
            None => kinds.push(SlowKind { name, executions: vec![execution] }),
        }
    }
    kinds
        .iter_mut()
        .for_each(|kind| kind.executions.sort_by_key(|execution| std::cmp::Reverse(excess_ns(execution))));
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.excess_ns()));
    kinds
}

/// The most frequent label of a normal kind; kinds with the same label count as one.
fn kind_name(report: &KernelDiagnosis, kind: Option<u32>) -> String {
    let number = kind.map_or_else(|| "no kind".to_owned(), |kind| format!("kind {kind}"));
    let clusters = report.clusters.iter().filter(|row| row.set == crate::ExecutionSet::Normal);
    let mut of_kind = clusters.filter(|row| Some(row.cluster) == kind);
    let label = of_kind.next().and_then(|row| row.labels.first()).filter(|label| !label.is_empty());
    label.map_or(number, |label| quoted(label))
}

fn excess_ns(execution: &EvaluatedExecution) -> u64 {
    execution.elapsed_ns.saturating_sub(execution.expected_ns)
}

impl SlowKind<'_> {
    fn excess_ns(&self) -> u64 {
        self.executions.iter().map(|execution| excess_ns(execution)).sum()
    }

    /// `32.1 ms instead of 2.20 ms`: medians.
    fn times(&self, executions: &[&EvaluatedExecution]) -> String {
        let median = |value: fn(&EvaluatedExecution) -> u64| {
            let mut values: Vec<u64> = executions.iter().map(|execution| value(execution)).collect();
            values.sort_unstable();
            numbers::time(values.get(values.len() / 2).copied().unwrap_or(0))
        };
        format!(
            "{} instead of {}",
            median(|execution| execution.elapsed_ns),
            median(|execution| execution.expected_ns)
        )
    }

    /// `` 10 of `exec type=read` take 1.64 s instead of 38.9 ms``.
    fn words(&self) -> String {
        let executions = self.uneven().map_or(self.executions.as_slice(), |(much, _)| much);
        let take = if executions.len() == 1 { "takes" } else { "take" };
        let count = numbers::count(executions.len() as u64);
        format!("{count} of {} {take} {}", self.name, self.times(executions))
    }

    /// The executions that are slower by far more than the others of the kind, and the others; `None` if all are alike.
    fn uneven(&self) -> Option<(&[&EvaluatedExecution], &[&EvaluatedExecution])> {
        let times = |index: usize| {
            excess_ns(self.executions[index - 1]) as f64 / excess_ns(self.executions[index]) as f64
        };
        let border = (1..self.executions.len()).max_by(|&a, &b| times(a).total_cmp(&times(b)))?;
        let (most, others) = self.executions.split_at(border);
        let sum: u64 = most.iter().map(|execution| excess_ns(execution)).sum();
        let is_most = sum as f64 >= UNEVEN_SHARE * self.excess_ns() as f64;
        let are_few = most.len() as f64 <= UNEVEN_MOST * self.executions.len() as f64;
        (is_most && are_few && times(border) >= UNEVEN_TIMES).then_some((most, others))
    }
}

/// `` `worker` was preempted … (84 % of the excess), mostly 5.00 ms into it, after `running`.``
fn wait(report: &KernelDiagnosis, wait: &AbnormalWait) -> String {
    let main = wait.steps.first().and_then(|&index| report.steps.get(index as usize));
    let location = match main {
        Some(step) if wait.steps.len() == 1 => format!(", {}", step_clause(step)),
        Some(step) if step.excess_ns >= wait.excess_ns / 2 => format!(", mostly {}", step_clause(step)),
        _ => format!(", in {} places", numbers::count(wait.steps.len() as u64)),
    };
    format!(
        "{} {} ({} of the excess){location}.",
        quoted(&wait.thread),
        wait.description,
        numbers::share(wait.share)
    )
}

/// The contents of a trace in one to three sentences.
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
