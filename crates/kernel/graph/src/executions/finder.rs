//! Finds executions in a stream of kernel events: the intervals between the events that a delimiter names as begin and end.

use super::delimiter::{Delimiter, DelimiterKind, MarkerRule};
use super::execution::{DelimitedExecutions, Execution};
use super::matcher::DelimiterMatcher;
use super::threads::Threads;
use crate::worker::HostId;
use laggard_model::{HostSnapshot, KernelEvent, KernelTexts, Losses, Tid};
use std::collections::{BTreeMap, HashSet};

/// Finds executions in a stream of events in time order.
///
/// Memory: the executions, and at most 2¹⁸ open beginnings.
#[derive(Debug)]
pub struct ExecutionFinder {
    requested: Delimiter,
    host: HostId,
    threads: Threads,
    /// One matcher, or for [`DelimiterKind::Auto`] one per candidate, in order of preference.
    matchers: Vec<DelimiterMatcher>,
    /// The processes that the trace was recorded for; empty for the whole machine.
    targets: HashSet<Tid>,
}

impl ExecutionFinder {
    /// A finder of the executions of a delimiter on host 0.
    pub fn new(delimiter: Delimiter) -> ExecutionFinder {
        ExecutionFinder::on_host(delimiter, HostId::default())
    }

    /// A finder for the trace of a host.
    pub fn on_host(delimiter: Delimiter, host: HostId) -> ExecutionFinder {
        let matchers = candidate_delimiters(&delimiter)
            .into_iter()
            .map(|candidate| DelimiterMatcher::new(candidate, host))
            .collect();
        ExecutionFinder {
            requested: delimiter,
            host,
            threads: Threads::default(),
            matchers,
            targets: HashSet::new(),
        }
    }

    /// The host assigned to its executions.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Adds the next event.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.threads.push(event, texts);
        for matcher in &mut self.matchers {
            matcher.push(event, texts, &self.threads);
        }
    }

    /// Adds what the recorder saw, after the last event. The system calls of a trace that was recorded for some processes delimit
    /// executions of these and their descendants only, unless the delimiter names a thread, process, or container.
    pub fn add_snapshot(&mut self, snapshot: &HostSnapshot) {
        for thread in &snapshot.threads {
            let group = snapshot.groups.get(thread.group as usize).map_or("", |group| group.path.as_str());
            self.threads.add_seen(thread, group);
        }
        self.targets = snapshot.targets.iter().copied().collect();
    }

    /// Returns the executions; beginnings and ends without a counterpart are added to `losses`.
    pub fn finish(mut self, losses: &mut Losses) -> DelimitedExecutions {
        let is_auto = self.requested.kind == DelimiterKind::Auto;
        for matcher in std::mem::take(&mut self.matchers) {
            let (delimiter, paired) = matcher.finish(&self.threads);
            if is_auto && paired.executions.is_empty() {
                continue;
            }
            losses.merge(&paired.unfinished);
            let unfinished = paired.unfinished.iter().map(|(_, loss)| loss.count).sum();
            let delimiter_reason = if is_auto { delimiter_reason(&delimiter) } else { String::new() };
            let found = paired.executions.len();
            let executions = self.of_targets(&delimiter, paired.executions);
            return DelimitedExecutions {
                of_other_processes: (found - executions.len()) as u64,
                programs: self.marking_programs(&delimiter, &executions),
                executions,
                delimiter,
                delimiter_reason,
                unfinished,
            };
        }
        DelimitedExecutions {
            executions: Vec::new(),
            delimiter: self.requested,
            delimiter_reason: "the trace contains neither paired markers nor programs from start to exit"
                .to_owned(),
            unfinished: 0,
            of_other_processes: 0,
            programs: Vec::new(),
        }
    }

    fn of_targets(&self, delimiter: &Delimiter, mut executions: Vec<Execution>) -> Vec<Execution> {
        let of_calls =
            matches!(delimiter.kind, DelimiterKind::Syscall { .. } | DelimiterKind::Between { .. });
        if of_calls && delimiter.scope.only.is_none() && !self.targets.is_empty() {
            executions.retain(|execution| self.threads.descends_from(execution.tid, &self.targets));
        }
        executions
    }

    /// The programs whose markers delimit executions, if there are several. Threads of unknown processes do not count: they may
    /// belong to one.
    fn marking_programs(&self, delimiter: &Delimiter, executions: &[Execution]) -> Vec<(String, u64)> {
        if !matches!(delimiter.kind, DelimiterKind::Markers(_)) {
            return Vec::new();
        }
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for execution in executions {
            let process = self.threads.known_process(execution.tid);
            let name = process.map_or("", |process| self.threads.name_of(process));
            if !name.is_empty() {
                *counts.entry(name).or_default() += 1;
            }
        }
        let mut programs: Vec<(String, u64)> =
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        programs.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        if programs.len() > 1 { programs } else { Vec::new() }
    }
}

/// The delimiters to try.
fn candidate_delimiters(requested: &Delimiter) -> Vec<Delimiter> {
    if requested.kind != DelimiterKind::Auto {
        return vec![requested.clone()];
    }
    [DelimiterKind::Markers(MarkerRule::Usual { name: None }), DelimiterKind::Process { name: None }]
        .map(|kind| Delimiter { kind, scope: requested.scope.clone() })
        .into()
}

fn delimiter_reason(delimiter: &Delimiter) -> String {
    match delimiter.kind {
        DelimiterKind::Markers(_) => "the trace contains paired markers".to_owned(),
        _ => "the trace contains no paired markers, but programs from start to exit".to_owned(),
    }
}
