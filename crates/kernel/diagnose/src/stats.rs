//! Statistics of kernel traces.

use crate::read::{KernelRun, input};
use crate::remarks;
use laggard_kernel_graph::ThreadUsage;
use laggard_report::{
    CpuTime, EventCount, KERNEL_STATS_SCHEMA_VERSION, KernelStatsReport, SwitchingThread, WakeupLatency,
    WakingPair, kernel_stats_headline,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of pairs in a report.
const PAIRS_LISTED_MAX: usize = 200;

/// Statistics of traces, and the delimiters that would give executions.
pub fn kernel_stats(runs: &[KernelRun]) -> KernelStatsReport {
    let mut report = KernelStatsReport {
        schema_version: KERNEL_STATS_SCHEMA_VERSION,
        report: "kernel-stats",
        headline: String::new(),
        input: input(runs),
        events: Vec::new(),
        cpus: Vec::new(),
        threads: Vec::new(),
        threads_left_out: 0,
        delays: Vec::new(),
        delays_left_out: 0,
        wakings: Vec::new(),
        delimiters: Vec::new(),
        cautions: remarks::cautions(runs),
    };
    let (mut events, mut delimiters): (BTreeMap<&str, u64>, Vec<EventCount>) = (BTreeMap::new(), Vec::new());
    let mut wakings: BTreeMap<(String, String), u64> = BTreeMap::new();
    for run in runs {
        let Some((summary, pairs)) = &run.statistics else { continue };
        let host = host(runs, run);
        summary.kinds.iter().for_each(|kind| *events.entry(kind.name).or_default() += kind.count);
        report.cpus.extend(summary.cpus.iter().map(|cpu| CpuTime {
            host: host.clone(),
            cpu: cpu.cpu.0,
            events: cpu.events,
            switches: cpu.switches,
            busy_ns: cpu.busy_ns,
            idle_ns: cpu.idle_ns,
        }));
        report.threads.extend(summary.most_running.iter().map(|thread| switching(thread, &host)));
        report.threads_left_out += summary.threads.saturating_sub(summary.most_running.len() as u64);
        report.delays.extend(summary.most_delayed.iter().filter_map(|thread| latency(run, thread, &host)));
        report.delays_left_out += summary.delayed.saturating_sub(summary.most_delayed.len() as u64);
        pairs
            .counts(&run.texts)
            .into_iter()
            .for_each(|(pair, count)| *wakings.entry(pair).or_default() += count);
        for proposal in &summary.proposals {
            let name = proposal.delimiter.to_string();
            match delimiters.iter_mut().find(|delimiter| delimiter.name == name) {
                Some(delimiter) => delimiter.count += proposal.executions,
                None => delimiters.push(EventCount { name, count: proposal.executions }),
            }
        }
    }
    report.events = ranked(events.into_iter().map(|(name, count)| (name.to_owned(), count)));
    report.delimiters = delimiters;
    let mut pairs: Vec<WakingPair> =
        wakings.into_iter().map(|((waker, woken), count)| WakingPair { waker, woken, count }).collect();
    pairs.sort_by_key(|pair| Reverse(pair.count));
    pairs.truncate(PAIRS_LISTED_MAX);
    report.wakings = pairs;
    report.threads.sort_by_key(|thread| (Reverse(thread.running_ns), thread.tid));
    report.delays.sort_by_key(|row| (Reverse(row.total_ns), row.tid));
    report.headline = kernel_stats_headline(&report);
    report
}

/// The name of a run's host, when there are several runs.
fn host(runs: &[KernelRun], run: &KernelRun) -> String {
    if runs.len() < 2 {
        String::new()
    } else {
        run.traces[0].host.clone().unwrap_or_else(|| run.traces[0].path.clone())
    }
}

fn name(thread: &ThreadUsage) -> String {
    if thread.name.is_empty() { "(without a name)".to_owned() } else { thread.name.clone() }
}

fn latency(run: &KernelRun, thread: &ThreadUsage, host: &str) -> Option<WakeupLatency> {
    let delays = thread.delays?;
    Some(WakeupLatency {
        thread: name(thread),
        tid: thread.tid.0,
        host: host.to_owned(),
        count: delays.count,
        total_ns: delays.total_ns,
        median_ns: delays.median_ns,
        p95_ns: delays.p95_ns,
        longest_ns: delays.longest_ns,
        longest_since_ns: delays.longest_from.ns(),
        longest_since: run.calendar_time(delays.longest_from),
    })
}

fn switching(thread: &ThreadUsage, host: &str) -> SwitchingThread {
    SwitchingThread {
        thread: name(thread),
        tid: thread.tid.0,
        host: host.to_owned(),
        running_ns: thread.running_ns,
        waiting_ns: thread.preempted_ns,
        switches: thread.switches_in,
        wakeups: thread.wakeups,
    }
}

fn ranked(counts: impl Iterator<Item = (String, u64)>) -> Vec<EventCount> {
    let mut counts: Vec<EventCount> = counts.map(|(name, count)| EventCount { name, count }).collect();
    counts.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    counts
}
