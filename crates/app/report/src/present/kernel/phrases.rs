//! Phrases about kernel traces.

use crate::names::quoted;
use crate::{
    CpuUser, KernelDiagnosis, OtherThread, SetOfExecutions, StepGroup, StepKind, WaitCause, rfc3339,
};
use crate::{names, numbers};
use laggard_model::Timestamp;

/// Facts about one or several waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitFacts<'a> {
    /// How often.
    pub count: u64,
    /// Nanoseconds together.
    pub total_ns: u64,
    /// Who ended the wait by a packet.
    pub waker: Option<&'a str>,
    /// The interrupt, device or CPU.
    pub resource: Option<&'a str>,
    /// Who used the CPU that was waited for, the longest first.
    pub cpu_users: &'a [CpuUser],
    /// The system call in which the thread waited.
    pub call: Option<&'a str>,
    /// The other thread that was waited for; the cause is that thread's.
    pub other: Option<&'a OtherThread>,
    /// Whether the reason is that of most of the time only.
    pub is_mostly: bool,
}

/// A wait in words, as what follows a thread's name:
/// `was kept from running 14 times for 9.80 ms by a CPU quota`. Names stand in backticks.
pub fn wait_words(cause: WaitCause, facts: WaitFacts<'_>) -> String {
    let call = facts.call.map_or_else(String::new, |call| format!(" in {}", call_words(call)));
    let mostly = if facts.is_mostly { ", mostly" } else { "" };
    let often = format!("{}for {}{call}{mostly}", times(facts.count), numbers::time(facts.total_ns));
    if let Some(other) = facts.other {
        return other_words(other, &often, cause, facts);
    }
    let waker = facts.waker.map_or_else(String::new, |name| format!(", ended by {}", quoted(name)));
    let resource = facts.resource.map_or_else(String::new, |name| format!(" ({})", quoted(name)));
    match cause {
        WaitCause::CpuQuota => format!("was kept from running {often} by a CPU quota"),
        WaitCause::CpuBusy => format!("waited {often} for a CPU that {}", cpu_users(facts)),
        WaitCause::CpuWakeUp => format!("waited {often} for a CPU that was idle"),
        WaitCause::OtherThread => format!("waited {often} for other threads, which ran"),
        WaitCause::Disk => format!("waited {often} for a disk{resource}"),
        WaitCause::Network => format!("waited {often} for the network{resource}{waker}"),
        WaitCause::Timer => format!("waited {often} for a timer: a sleep or a timeout"),
        WaitCause::Lock if facts.resource.is_some() => {
            format!("waited {often} for a lock or a condition, until a timeout")
        }
        WaitCause::Lock => format!("waited {often} for a lock or a condition"),
        WaitCause::Interrupt => format!("was stopped {often} by interrupts{resource}"),
        WaitCause::Person => format!("waited {often} for a person{resource}"),
        WaitCause::Unresolved => {
            format!("was blocked {often}{resource}{waker}; the trace does not say on what")
        }
        WaitCause::Unknown => format!("is not in the trace {often}"),
        WaitCause::Computing => format!("computed {often}"),
    }
}

/// A wait for another thread, and what that thread did meanwhile.
fn other_words(other: &OtherThread, often: &str, cause: WaitCause, facts: WaitFacts<'_>) -> String {
    let resource = facts.resource.map_or_else(String::new, |name| format!(" ({})", quoted(name)));
    let sender = facts.waker.map_or_else(String::new, |name| format!(" from {}", quoted(name)));
    // The interrupt side of a CPU is no thread: paths come to it by packets only.
    if other.thread == "interrupts" && other.tid.is_none() && cause == WaitCause::Unknown {
        return format!("waited {often} for a packet whose origin is not in the trace");
    }
    let did = match cause {
        WaitCause::CpuQuota => "a CPU quota kept from running".to_owned(),
        WaitCause::CpuBusy => format!("waited for a CPU that {}", cpu_users(facts)),
        WaitCause::CpuWakeUp => "waited for a CPU that was idle".to_owned(),
        WaitCause::OtherThread | WaitCause::Computing => "ran".to_owned(),
        WaitCause::Disk => format!("waited for a disk{resource}"),
        WaitCause::Network => format!("waited for the network{resource}{sender}"),
        WaitCause::Timer => "itself waited for a timer: a sleep or a timeout".to_owned(),
        WaitCause::Lock => "itself waited for a lock or a condition".to_owned(),
        WaitCause::Interrupt => format!("was stopped by interrupts{resource}"),
        WaitCause::Person => format!("waited for a person{resource}"),
        WaitCause::Unresolved => format!("was blocked{resource}; the trace does not say on what"),
        WaitCause::Unknown => "is not in the trace meanwhile".to_owned(),
    };
    format!("waited {often} for {}, which {did}", other_thread(other))
}

/// Another thread: its name, and what distinguishes it from the one that waits.
fn other_thread(other: &OtherThread) -> String {
    let container = other.container.as_ref().map(|container| format!("container {container}"));
    let kind = Some(other.kind.words()).filter(|words| !words.is_empty()).map(str::to_owned);
    let relation = container.or(kind);
    let tid = other.tid.filter(|_| other.is_namesake || relation.is_some()).map(|tid| format!("tid {tid}"));
    let details: Vec<String> = [tid, relation].into_iter().flatten().collect();
    match details.is_empty() {
        true if other.is_namesake => format!("{} (other threads of that name)", quoted(&other.thread)),
        true => quoted(&other.thread),
        false => format!("{} ({})", quoted(&other.thread), details.join(", ")),
    }
}

/// A system call in backticks; what it is called for where its name does not say so.
pub(crate) fn call_words(call: &str) -> String {
    if call.contains(' ') { format!("a {call}") } else { quoted(call) }
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
    let total = numbers::count(u64::from(step.steps));
    if step.step_last > step.step {
        format!("steps {} to {} of {total}", step.step, step.step_last)
    } else {
        format!("step {} of {total}", step.step)
    }
}

/// `3.00 ms into it, after running`: where a step begins, as times mean more than numbers of steps.
pub(crate) fn step_clause(step: &StepGroup) -> String {
    let after =
        if step.after.is_empty() { String::new() } else { format!(", after {}", quoted(&step.after)) };
    match step.offset_ns {
        Some(ns) => format!("{} into it{after}", numbers::time(ns)),
        None => format!("at {}{after}", step_position(step)),
    }
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

/// A thread as [`thread`], with its container if it is in one: `` `worker` (tid 812), container 4f5c2a9be1d0``.
pub(crate) fn thread_in(name: &str, tid: Option<u32>, host: &str, container: Option<&String>) -> String {
    let container = container.map_or_else(String::new, |name| format!(", container {}", quoted(name)));
    format!("{}{container}", thread(name, tid, host))
}

/// `` `normal.dat`: 50 executions of 12.1 ms (median; 9.80 ms to 20.1 ms)``.
pub(crate) fn set_words(set: &SetOfExecutions) -> String {
    let more = match set.left_out {
        0 => String::new(),
        omitted => format!(", {} more beyond the limit", numbers::count(omitted)),
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
    }

    #[test]
    fn waits_for_other_threads_name_their_activity() {
        let mut other = OtherThread {
            thread: "post`gres".to_owned(),
            tid: Some(812),
            is_namesake: false,
            kind: CpuUserKind::Unknown,
            container: None,
        };
        let facts = WaitFacts { count: 2, total_ns: 9_800_000, ..WaitFacts::default() };
        let words = |cause, other: &OtherThread, call| {
            wait_words(cause, WaitFacts { other: Some(other), call, ..facts })
        };
        assert_eq!(
            words(WaitCause::OtherThread, &other, None),
            "waited twice for 9.80 ms for `post'gres`, which ran"
        );
        assert_eq!(
            words(WaitCause::Timer, &other, Some("futex")),
            "waited twice for 9.80 ms in `futex` for `post'gres`, which itself waited for a timer: a sleep or a timeout"
        );
        other.is_namesake = true;
        assert_eq!(
            words(WaitCause::Disk, &other, None),
            "waited twice for 9.80 ms for `post'gres` (tid 812), which waited for a disk"
        );
        other.kind = CpuUserKind::OtherProcess;
        assert_eq!(
            words(WaitCause::OtherThread, &other, None),
            "waited twice for 9.80 ms for `post'gres` (tid 812, another process), which ran"
        );
        other.container = Some("4f5c2a9be1d0".to_owned());
        assert_eq!(
            words(WaitCause::OtherThread, &other, Some("page fault")),
            "waited twice for 9.80 ms in a page fault for `post'gres` (tid 812, container 4f5c2a9be1d0), which ran"
        );
    }

    #[test]
    fn a_lock_timeout_is_not_called_a_sleep() {
        let facts = WaitFacts { count: 3, total_ns: 5_000_000, call: Some("futex"), ..WaitFacts::default() };
        let timeout = WaitFacts { resource: Some("hrtimer"), ..facts };
        assert_eq!(
            wait_words(WaitCause::Lock, timeout),
            "waited 3 times for 5.00 ms in `futex` for a lock or a condition, until a timeout"
        );
        assert_eq!(
            wait_words(WaitCause::Lock, facts),
            "waited 3 times for 5.00 ms in `futex` for a lock or a condition"
        );
    }

    #[test]
    fn instants_of_a_clock_have_microseconds() {
        assert_eq!(clock_time(12_000_345_678), "12.000345");
    }
}
