//! Phrases about kernel traces.

use crate::names::quoted;
use crate::{CpuUser, KernelDiagnosis, SetOfExecutions, StepGroup, StepKind, WaitCause, rfc3339};
use crate::{names, numbers};
use laggard_model::Timestamp;

/// What is known of one or several waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitFacts<'a> {
    /// How often.
    pub count: u64,
    /// Nanoseconds together.
    pub total_ns: u64,
    /// Who is waited for, ended the wait, or used the CPU.
    pub waker: Option<&'a str>,
    /// The interrupt, device or CPU.
    pub resource: Option<&'a str>,
    /// Who used the CPU that was waited for, the longest first.
    pub cpu_users: &'a [CpuUser],
}

/// A wait in words, as what follows a thread's name:
/// `was kept from running 14 times for 9.80 ms by a CPU quota`. Names stand in backticks.
pub fn wait_words(cause: WaitCause, facts: WaitFacts<'_>) -> String {
    let often = format!("{}for {}", times(facts.count), numbers::time(facts.total_ns));
    let waker = |lead: &str| facts.waker.map_or_else(String::new, |name| format!("{lead}{}", quoted(name)));
    let resource = facts.resource.map_or_else(String::new, |name| format!(" ({})", quoted(name)));
    match cause {
        WaitCause::CpuQuota => format!("was kept from running {often} by a CPU quota"),
        WaitCause::CpuBusy => format!("waited {often} for a CPU that {}", cpu_users(facts)),
        WaitCause::CpuWakeUp => format!("waited {often} for a CPU that was idle"),
        WaitCause::OtherThread => match facts.waker {
            Some(name) => format!("waited {often} for {}, which ran", quoted(name)),
            None => format!("waited {often} for other threads, which ran"),
        },
        WaitCause::Disk => format!("waited {often} for a disk{resource}"),
        WaitCause::Network => format!("waited {often} for the network{resource}{}", waker(", ended by ")),
        WaitCause::Timer => format!("waited {often} for a timer: a sleep or a timeout"),
        WaitCause::Interrupt => format!("was stopped {often} by interrupts{resource}"),
        WaitCause::Person => format!("waited {often} for a person{resource}"),
        WaitCause::Unresolved => {
            format!("was blocked {often}{resource}{}; the trace does not say on what", waker(", ended by "))
        }
        WaitCause::Unknown => format!("is not in the trace {often}"),
        WaitCause::Computing => format!("computed {often}"),
    }
}

/// Who used a CPU: `` `video-encode` (tid 812, another process) used``, `others used, mostly …`. Who used it for less than half of
/// the time is not the reason of the wait.
fn cpu_users(facts: WaitFacts<'_>) -> String {
    let Some(first) =
        facts.cpu_users.first().filter(|user| user.total_ns.saturating_mul(2) >= facts.total_ns)
    else {
        return "others used".to_owned();
    };
    let tid = first.tid.map(|tid| format!("tid {tid}"));
    let container = first.container.as_ref().map(|container| format!("container {container}"));
    let kind = Some(first.kind.words()).filter(|words| !words.is_empty()).map(str::to_owned);
    let details: Vec<String> = [tid, container.or(kind)].into_iter().flatten().collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    format!("{}{details} used", quoted(&first.thread))
}

/// `` (once), `twice `, `14 times `.
fn times(count: u64) -> String {
    match count {
        0 | 1 => String::new(),
        2 => "twice ".to_owned(),
        count => format!("{} times ", numbers::count(count)),
    }
}

/// How a step deviates, in one word.
pub(crate) const fn step_word(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Unexpected => "unexpected",
        StepKind::Slow => "slow",
        StepKind::Missing => "missing",
    }
}

/// `step 14 of 37`, `steps 14 to 20 of 37`.
pub(crate) fn step_position(step: &StepGroup) -> String {
    let of = numbers::count(u64::from(step.steps));
    if step.step_last > step.step {
        format!("steps {} to {} of {of}", step.step, step.step_last)
    } else {
        format!("step {} of {of}", step.step)
    }
}

/// `at step 14 of 37, after running`.
pub(crate) fn step_clause(step: &StepGroup) -> String {
    let after =
        if step.after.is_empty() { String::new() } else { format!(", after {}", quoted(&step.after)) };
    format!("at {}{after}", step_position(step))
}

/// A cell with a location in time: `+12.0 ms`.
pub(crate) fn offset(ns: u64) -> String {
    format!("+{}", numbers::time(ns))
}

/// An instant of the trace's clock in seconds: `1234.567890`.
pub(crate) fn clock_time(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

/// An instant: calendar time when it is known, else the trace's clock.
pub(crate) fn instant(since: Option<Timestamp>, since_ns: u64) -> String {
    since.map_or_else(|| clock_time(since_ns), rfc3339)
}

/// `` `worker` (tid 812)``, with the host when there are several.
pub(crate) fn thread(name: &str, tid: Option<u32>, host: &str) -> String {
    let location = if host.is_empty() { String::new() } else { format!(" on {}", quoted(host)) };
    match tid {
        Some(tid) => format!("{} (tid {tid}){location}", quoted(name)),
        None => format!("{}{location}", quoted(name)),
    }
}

/// `` `normal.dat`: 50 executions of 12.1 ms (median; 9.80 ms to 20.1 ms)``.
pub(crate) fn set_words(set: &SetOfExecutions) -> String {
    let more = match set.left_out {
        0 => String::new(),
        left => format!(", {} more beyond the limit", numbers::count(left)),
    };
    format!(
        "{}: {} of {} (median; {} to {}){more}",
        quoted(&set.source),
        numbers::counted(set.executions, "execution"),
        numbers::time(set.elapsed_p50_ns),
        numbers::time(set.elapsed_min_ns),
        numbers::time(set.elapsed_max_ns),
    )
}

/// The name of what a row compares.
pub(crate) fn row_name(report: &KernelDiagnosis, symbol: Option<u32>) -> String {
    symbol.map_or_else(|| "whole execution".to_owned(), |symbol| symbol_name(report, symbol))
}

/// The name of a symbol; empty when there is none.
pub(crate) fn symbol_name(report: &KernelDiagnosis, symbol: u32) -> String {
    report.alphabet.get(symbol as usize).map_or_else(String::new, |symbol| names::label(&symbol.name, 40))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuUserKind;

    #[test]
    fn waits_are_phrases() {
        let facts = WaitFacts { count: 14, total_ns: 9_800_000, ..WaitFacts::default() };
        assert_eq!(
            wait_words(WaitCause::CpuQuota, facts),
            "was kept from running 14 times for 9.80 ms by a CPU quota"
        );
        let encoder = CpuUser {
            thread: "video-encode".to_owned(),
            tid: Some(812),
            kind: CpuUserKind::OtherProcess,
            container: None,
            total_ns: 9_000_000,
        };
        let users = [encoder.clone()];
        assert_eq!(
            wait_words(WaitCause::CpuBusy, WaitFacts { cpu_users: &users, ..facts }),
            "waited 14 times for 9.80 ms for a CPU that `video-encode` (tid 812, another process) used"
        );
        let users = [CpuUser { total_ns: 4_000_000, ..encoder }];
        assert_eq!(
            wait_words(WaitCause::CpuBusy, WaitFacts { cpu_users: &users, ..facts }),
            "waited 14 times for 9.80 ms for a CPU that others used"
        );
        let disk = WaitFacts { count: 1, resource: Some("virtio1-req.0"), ..facts };
        assert_eq!(wait_words(WaitCause::Disk, disk), "waited for 9.80 ms for a disk (`virtio1-req.0`)");
        let other = WaitFacts { count: 2, waker: Some("post`gres"), ..facts };
        assert_eq!(
            wait_words(WaitCause::OtherThread, other),
            "waited twice for 9.80 ms for `post'gres`, which ran"
        );
    }

    #[test]
    fn instants_of_a_clock_have_microseconds() {
        assert_eq!(clock_time(12_000_345_678), "12.000345");
    }
}
