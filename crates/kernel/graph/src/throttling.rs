//! CPU quotas: when a control group was kept from running until its next period.
//!
//! The kernel hands out the next period's time in the function of a timer, one for each group. A thread of a group that used up
//! its quota is runnable and does not run until this timer expires. On a busy machine it waits for other threads as well, before
//! and after.
//!
//! Where the recording has the quotas, the time of each period is accounted for as the kernel does it. A wait during which the timer
//! expires was throttling if the group had used most of its quota before and the thread's last run was only the
//! kernel's check (since Linux 6.18 a thread is throttled when it returns to user mode, so it runs for some microseconds), or if
//! the CPU was idle. Of other such waits the recorded totals of the kernel decide. Where the recording has no quotas, a wait that ends just
//! after the timer was throttling; but only if far more waits of the group end with that timer than chance explains, since other
//! threads wait for a CPU, too, while such timers expire.

use crate::graph::ExecutionGraph;
use crate::membership::GroupKey;
use crate::path::{Window, WorkerState};
use crate::quota_timers::{QuotaTimers, Throttling};
use crate::vertex::VertexRef;
use crate::worker::{HostId, WorkerId, WorkerKind};
use laggard_model::{Cpu, CpuQuota, KernelTime};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A thread runs at most this long after the timer that let it: measured on a machine that was busy all the time.
const RUNS_WITHIN_NS: u64 = 2_000_000;

/// Shorter waits for a CPU are turns of the scheduler.
const WAIT_NS_MIN: u64 = 1_000_000;

/// Number of waits that must end with a group's timer.
const MATCHES_MIN: u64 = 3;

/// Share of the quota that must be used before throttling: each CPU takes some milliseconds at a time and keeps what it does not
/// use.
const USED_SHARE: f64 = 0.6;

/// A thread that is only throttled runs for at most this long: 3 to 10 µs were measured, on Linux 6.18.
const CHECK_NS_MAX: u64 = 30_000;

/// Share of a group's waits, by time, that must end with its timer.
const MATCHED_SHARE: f64 = 0.2;

/// How many times as many waits must end with a timer as chance explains.
const CHANCE_FACTOR: f64 = 4.0;

/// Idle time of a CPU from which on a thread that waited for it was throttled, where timers have no names. A CPU that wakes
/// from its deepest idle state takes some hundred microseconds at most, a quota throttles for milliseconds.
const QUOTA_IDLE_NS: u64 = 500_000;

/// A wait of a runnable thread, from its beginning until it runs on a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunnableWait {
    pub(crate) worker: WorkerId,
    pub(crate) host: HostId,
    /// Where it runs in the end.
    pub(crate) cpu: Cpu,
    pub(crate) window: Window,
    /// How long it had run just before; `None` if it did not.
    pub(crate) last_run_ns: Option<u64>,
}

#[derive(Clone, Copy, Default)]
struct MatchSum {
    waits: u64,
    ns: u64,
    /// Of each wait, the probability that a timer expires just before its end by chance.
    expected: f64,
}

impl Throttling {
    fn from_graph(graph: &ExecutionGraph) -> Throttling {
        if graph.quota_timers.is_empty() {
            return Throttling::default();
        }
        let matches = Matches::from_graph(graph);
        let mut throttling = Throttling { limits: matches.limits(), ..Throttling::default() };
        for (group, control_group) in graph.quotas() {
            let (Some(expired), Some(quota)) = (matches.best_timer(graph, group), control_group.quota) else {
                continue;
            };
            throttling.known.insert(group);
            let periods = QuotaPeriods::new(graph, group, expired, quota);
            let counted_ns = control_group.during().map(|counts| counts.throttled_ns);
            for wait in periods.throttled(graph, group, counted_ns) {
                throttling.windows.entry(wait.worker).or_default().push(wait.window);
            }
        }
        throttling
    }
}

/// How many of the waits of each group end with each timer.
#[derive(Default)]
struct Matches {
    all: BTreeMap<GroupKey, MatchSum>,
    matched: BTreeMap<(GroupKey, u64), MatchSum>,
}

impl Matches {
    fn from_graph(graph: &ExecutionGraph) -> Matches {
        let mut matches = Matches::default();
        for wait in waits(graph).filter(|wait| wait.window.ns() >= WAIT_NS_MIN) {
            let Some(group) = graph.limited_group(wait.worker) else { continue };
            let sum = matches.all.entry(group).or_default();
            (sum.waits, sum.ns) = (sum.waits + 1, sum.ns + wait.window.ns());
            for (&(_, address), expired) in timers_of(&graph.quota_timers, wait.host) {
                let sum = matches.matched.entry((group, address)).or_default();
                sum.expected += chance(expired);
                if last_before_end(expired, wait.window).is_some() {
                    (sum.waits, sum.ns) = (sum.waits + 1, sum.ns + wait.window.ns());
                }
            }
        }
        matches
    }

    /// When the timer expired with which most waits of a group end.
    fn best_timer<'g>(&self, graph: &'g ExecutionGraph, group: GroupKey) -> Option<&'g [KernelTime]> {
        let of_group = self.matched.range((group, 0)..=(group, u64::MAX));
        let (&(_, address), _) = of_group.max_by_key(|((_, address), sum)| (sum.waits, Reverse(*address)))?;
        graph.quota_timers.get(&(group.host(), address)).map(Vec::as_slice)
    }

    fn limits(&self) -> BTreeSet<(GroupKey, u64)> {
        let is_limit = |((group, _), sum): &(&(GroupKey, u64), &MatchSum)| {
            let of_all = self.all.get(group).copied().unwrap_or_default();
            sum.waits >= MATCHES_MIN
                && sum.ns as f64 >= MATCHED_SHARE * of_all.ns as f64
                && sum.waits as f64 >= CHANCE_FACTOR * sum.expected
        };
        self.matched.iter().filter(is_limit).map(|(&limit, _)| limit).collect()
    }
}

/// The periods of one group's quota.
struct QuotaPeriods {
    quota: CpuQuota,
    /// When each ends.
    expired: Vec<KernelTime>,
    /// Use beyond the quota before each period, in nanoseconds: it is taken from the period's time.
    overdraft_ns: Vec<u64>,
    /// The runs of the group's threads on all CPUs, by their ends.
    runs: Vec<Window>,
}

/// A wait that may be throttling.
struct PossibleThrottling {
    wait: RunnableWait,
    is_certain: bool,
}

impl QuotaPeriods {
    fn new(graph: &ExecutionGraph, group: GroupKey, expired: &[KernelTime], quota: CpuQuota) -> QuotaPeriods {
        let is_member = |worker| graph.limited_group(worker) == Some(group);
        let runs = graph.cpu_runs().of_workers(group.host(), is_member);
        QuotaPeriods::from_runs(runs, expired, quota)
    }

    fn from_runs(mut runs: Vec<Window>, expired: &[KernelTime], quota: CpuQuota) -> QuotaPeriods {
        runs.sort_by_key(|run| (run.to, run.from));
        let mut periods =
            QuotaPeriods { quota, expired: expired.to_vec(), overdraft_ns: vec![0; expired.len()], runs };
        for index in 1..expired.len() {
            let used_ns = periods.used_ns(index - 1, expired[index - 1]);
            // Where the timer was off, nothing of the group ran, and nothing is owed any more.
            let was_off = expired[index].since(expired[index - 1]) > quota.period_ns * 3 / 2;
            if !was_off {
                periods.overdraft_ns[index] = used_ns.saturating_sub(quota.quota_ns);
            }
        }
        periods
    }

    /// Use of a period's quota until an instant, in nanoseconds.
    fn used_ns(&self, index: usize, until: KernelTime) -> u64 {
        let begin = self.expired[index].ns().saturating_sub(self.quota.period_ns * 3 / 2);
        let last = index.checked_sub(1).map_or(0, |last| self.expired[last].ns());
        let from = KernelTime::from_ns(begin.max(last));
        let first = self.runs.partition_point(|run| run.to <= from);
        let runs = self.runs[first..].iter().take_while(|run| run.to <= until);
        self.overdraft_ns[index] + runs.map(|run| run.to.since(run.from.max(from))).sum::<u64>()
    }

    /// The waits in which the group's threads were throttled, cut at the end of throttling. `counted_ns` is the kernel's own total.
    fn throttled(
        &self,
        graph: &ExecutionGraph,
        group: GroupKey,
        counted_ns: Option<u64>,
    ) -> Vec<RunnableWait> {
        let mut candidates: Vec<PossibleThrottling> = waits(graph)
            .filter(|wait| graph.limited_group(wait.worker) == Some(group))
            .filter_map(|wait| self.candidate(graph, wait))
            .collect();
        let sum_ns = |certain_only: bool| {
            let mut windows: BTreeMap<Cpu, Vec<Window>> = BTreeMap::new();
            for candidate in candidates.iter().filter(|one| one.is_certain || !certain_only) {
                windows.entry(candidate.wait.cpu).or_default().push(candidate.wait.window);
            }
            windows.into_values().map(covered_ns).sum::<u64>()
        };
        let (certain_ns, all_ns) = (sum_ns(true), sum_ns(false));
        let is_nearer =
            counted_ns.is_none_or(|counted| all_ns.abs_diff(counted) < certain_ns.abs_diff(counted));
        candidates.retain(|candidate| candidate.is_certain || is_nearer);
        candidates.into_iter().map(|candidate| candidate.wait).collect()
    }

    /// The part of a wait that may be throttling.
    fn candidate(&self, graph: &ExecutionGraph, wait: RunnableWait) -> Option<PossibleThrottling> {
        let index = self.expired.partition_point(|&expiry| expiry <= wait.window.from);
        let expiry = *self.expired.get(index).filter(|&&expiry| expiry < wait.window.to)?;
        let window = Window { from: wait.window.from, to: expiry };
        let used_ns = self.used_ns(index, window.from);
        if (used_ns as f64) < USED_SHARE * self.quota.quota_ns as f64 {
            return None;
        }
        let is_certain = wait.last_run_ns.is_some_and(|ns| ns <= CHECK_NS_MAX)
            || graph.cpu_use_ns(wait.host, wait.cpu, window) < window.ns() / 2;
        Some(PossibleThrottling { wait: RunnableWait { window, ..wait }, is_certain })
    }
}

/// The time that windows cover together, in nanoseconds.
fn covered_ns(mut windows: Vec<Window>) -> u64 {
    windows.sort_by_key(|window| (window.from, window.to));
    let (mut sum, mut until) = (0, KernelTime::from_ns(0));
    for window in windows {
        sum += window.to.since(window.from.max(until));
        until = until.max(window.to);
    }
    sum
}

/// The timers of one host.
fn timers_of(
    timers: &QuotaTimers,
    host: HostId,
) -> impl Iterator<Item = (&(HostId, u64), &Vec<KernelTime>)> + '_ {
    timers.range((host, 0)..=(host, u64::MAX))
}

/// The probability that a timer expires within the last moments of a wait that has nothing to do with it.
fn chance(expired: &[KernelTime]) -> f64 {
    let [first, .., last] = expired else { return 0.0 };
    let between_ns = last.since(*first) as f64 / (expired.len() - 1) as f64;
    (RUNS_WITHIN_NS as f64 / between_ns.max(1.0)).min(1.0)
}

/// When a timer expired last within a wait, if that is just before the wait's end.
fn last_before_end(expired: &[KernelTime], wait: Window) -> Option<KernelTime> {
    let last = expired.partition_point(|&time| time <= wait.to).checked_sub(1)?;
    let time = expired[last];
    (time > wait.from && wait.to.since(time) <= RUNS_WITHIN_NS).then_some(time)
}

/// All waits of runnable threads.
fn waits(graph: &ExecutionGraph) -> impl Iterator<Item = RunnableWait> + '_ {
    let threads = graph.workers.iter().zip((0..).map(WorkerId));
    let threads = threads.filter(|(worker, _)| matches!(worker.kind, WorkerKind::Thread { .. }));
    threads.flat_map(move |(_, id)| {
        let chain = &graph.chains[id.0 as usize];
        let ends = (1..chain.len()).filter(|&end| chain[end].edge() == Some(WorkerState::Preempted));
        ends.map(move |end| graph.runnable_wait(VertexRef { worker: id.0, index: end as u32 }))
    })
}

impl ExecutionGraph {
    /// Which groups were throttled, and when; computed when it is first needed.
    fn throttling(&self) -> &Throttling {
        self.throttling.get_or_init(|| Throttling::from_graph(self))
    }

    /// The wait for a CPU that ends at a vertex.
    pub(crate) fn runnable_wait(&self, end: VertexRef) -> RunnableWait {
        let chain = &self.chains[end.worker as usize];
        let index = end.index as usize;
        let (from, to) = (&chain[index - 1], &chain[index]);
        let mut begin = index - 1;
        while begin > 0 && chain[begin].edge() == Some(WorkerState::Running) {
            begin -= 1;
        }
        RunnableWait {
            worker: WorkerId(end.worker),
            host: self.workers[end.worker as usize].host,
            cpu: to.cpu,
            window: Window { from: from.time, to: to.time },
            last_run_ns: (begin < index - 1).then(|| from.time.since(chain[begin].time)),
        }
    }

    /// For how long threads ran on a CPU within a window, in nanoseconds.
    fn cpu_use_ns(&self, host: HostId, cpu: Cpu, window: Window) -> u64 {
        self.cpu_runs().within(host, cpu, window).map(|run| run.window.ns()).sum()
    }

    /// The parts of a runnable thread's wait in which its group was throttled, in time order. `idle_ns` is how long the CPU was idle
    /// meanwhile, which is what counts where the trace does not name the functions of timers.
    pub(crate) fn throttled(&self, wait: RunnableWait, idle_ns: u64) -> Vec<Window> {
        if !self.names_timers {
            let is_quota = idle_ns >= QUOTA_IDLE_NS && idle_ns >= wait.window.ns() / 2;
            return is_quota.then_some(wait.window).into_iter().collect();
        }
        let Some(group) = self.limited_group(wait.worker) else { return Vec::new() };
        if self.throttling().known.contains(&group) {
            let windows = self.throttling().windows.get(&wait.worker).map_or(&[][..], Vec::as_slice);
            let first = windows.partition_point(|window| window.to <= wait.window.from);
            let met = windows[first..].iter().take_while(|window| window.from < wait.window.to);
            let met = met.map(|window| Window {
                from: window.from.max(wait.window.from),
                to: window.to.min(wait.window.to),
            });
            return met.filter(|window| window.ns() > 0).collect();
        }
        self.throttled_by_end(wait, group).into_iter().collect()
    }

    /// The part of a wait that ends with a timer of the group: from when the last thread of the group stopped running on that
    /// CPU.
    fn throttled_by_end(&self, wait: RunnableWait, group: GroupKey) -> Option<Window> {
        if wait.window.ns() < WAIT_NS_MIN {
            return None;
        }
        let limits = &self.throttling().limits;
        let ended = timers_of(&self.quota_timers, wait.host)
            .filter(|((_, address), _)| limits.contains(&(group, *address)))
            .filter_map(|(_, expired)| last_before_end(expired, wait.window))
            .max()?;
        let before = Window { from: wait.window.from, to: ended };
        let is_member = |worker| self.limited_group(worker) == Some(group);
        let from = self.cpu_runs().last_end(wait.host, wait.cpu, before, is_member).unwrap_or(before.from);
        let throttled = Window { from, to: ended };
        (throttled.ns() >= WAIT_NS_MIN).then_some(throttled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> KernelTime {
        KernelTime::from_ns(ms * MS)
    }

    fn periods(runs: &[(u64, u64)], expired: &[u64]) -> QuotaPeriods {
        let runs = runs.iter().map(|&(from, to)| Window { from: at(from), to: at(to) }).collect();
        let expired: Vec<KernelTime> = expired.iter().map(|&ms| at(ms)).collect();
        QuotaPeriods::from_runs(runs, &expired, CpuQuota { quota_ns: 10 * MS, period_ns: 100 * MS })
    }

    #[test]
    fn the_quota_of_a_period_is_used_by_all_threads_of_the_group() {
        let periods = periods(&[(1000, 1006), (1030, 1034), (1032, 1035)], &[1000, 1100, 1200]);
        assert_eq!(periods.used_ns(1, at(1033)), 6 * MS);
        assert_eq!(periods.used_ns(1, at(1100)), 13 * MS);
        // 3 ms more than the quota are taken from the next period.
        assert_eq!(periods.used_ns(2, at(1101)), 3 * MS);
    }

    #[test]
    fn no_quota_is_charged_after_the_timer_was_off() {
        let periods = periods(&[(1000, 1014), (2000, 2006)], &[1000, 1100, 2100]);
        assert_eq!(periods.used_ns(2, at(2050)), 6 * MS);
    }

    #[test]
    fn windows_that_overlap_count_once() {
        let window = |from, to| Window { from: at(from), to: at(to) };
        assert_eq!(covered_ns(vec![window(30, 50), window(10, 20), window(40, 60)]), 40 * MS);
    }

    #[test]
    fn the_probability_is_the_share_of_the_period() {
        assert_eq!(chance(&[at(0), at(100), at(200)]), 0.02);
        assert_eq!(chance(&[at(7)]), 0.0);
    }
}
