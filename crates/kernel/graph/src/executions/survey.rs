//! Proposes delimiters that would find executions in a trace.

use super::delimiter::{Delimiter, DelimiterKind, EventPattern, MarkerRule, SyscallName};
use super::marker;
use super::marks::MarkPhase;
use super::matcher::DelimiterMatcher;
use super::syscalls;
use super::threads::Threads;
use crate::worker::HostId;
use laggard_model::{EventKind, KernelEvent, KernelTexts, TextId};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of distinct names per kind; further names are not counted.
const NAMES_MAX: usize = 10_000;

/// Maximum number of proposed event pairs, and of proposed system calls.
const PROPOSALS_MAX: usize = 8;

/// A delimiter that would find executions.
#[derive(Clone, PartialEq, Debug)]
pub struct DelimiterProposal {
    /// The delimiter.
    pub delimiter: Delimiter,
    /// How many executions it would find; of system calls and pairs of events, at most.
    pub executions: u64,
    /// Number of beginnings and ends that would remain unpaired.
    pub unfinished: u64,
}

/// Counts what could delimit executions.
#[derive(Debug)]
pub struct DelimiterSurvey {
    threads: Threads,
    markers: DelimiterMatcher,
    programs: DelimiterMatcher,
    calls: HashMap<(u32, TextId), u64>,
    others: HashMap<TextId, u64>,
}

impl Default for DelimiterSurvey {
    fn default() -> DelimiterSurvey {
        let matcher = |kind| DelimiterMatcher::new(Delimiter::new(kind), HostId::default());
        DelimiterSurvey {
            threads: Threads::default(),
            markers: matcher(DelimiterKind::Markers(MarkerRule::Usual { name: None })),
            programs: matcher(DelimiterKind::Process { name: None }),
            calls: HashMap::new(),
            others: HashMap::new(),
        }
    }
}

impl DelimiterSurvey {
    /// Adds the next event.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.threads.push(event, texts);
        self.markers.push(event, texts, &self.threads);
        self.programs.push(event, texts, &self.threads);
        match event.kind {
            EventKind::SyscallExit { number, name, .. } => count(&mut self.calls, (number, name)),
            EventKind::Other { name, .. } => count(&mut self.others, name),
            _ => {}
        }
    }

    /// Delimiters that would find at least one execution: markers, programs, pairs of events, then system calls, the
    /// most frequent of each first.
    pub fn finish(self, texts: &KernelTexts) -> Vec<DelimiterProposal> {
        let mut proposals = Vec::new();
        for matcher in [self.markers, self.programs] {
            let (delimiter, paired) = matcher.finish(&self.threads);
            let executions = paired.executions.len() as u64;
            let unfinished = paired.unfinished.iter().map(|(_, loss)| loss.count).sum();
            proposals.extend((executions > 0).then_some(DelimiterProposal {
                delimiter,
                executions,
                unfinished,
            }));
        }
        proposals.extend(event_pairs(&self.others, texts));
        proposals.extend(calls(&self.calls, texts));
        proposals
    }
}

fn count<K: Eq + std::hash::Hash>(counts: &mut HashMap<K, u64>, key: K) {
    if counts.len() < NAMES_MAX || counts.contains_key(&key) {
        *counts.entry(key).or_default() += 1;
    }
}

/// Pairs of events whose names differ only in `begin` and `end`.
fn event_pairs(others: &HashMap<TextId, u64>, texts: &KernelTexts) -> Vec<DelimiterProposal> {
    let mut begins: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    let mut ends: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    let mut names: Vec<(&str, u64)> =
        others.iter().map(|(&name, &count)| (texts.text(name), count)).collect();
    names.sort_unstable();
    for (name, count) in names {
        match marker::phase_of(name) {
            Some((MarkPhase::Begin, stem)) if !stem.is_empty() => drop(begins.insert(stem, (name, count))),
            Some((MarkPhase::End, stem)) if !stem.is_empty() => drop(ends.insert(stem, (name, count))),
            _ => {}
        }
    }
    let pair = |(stem, &(begin, begun)): (&&str, &(&str, u64))| {
        let &(end, ended) = ends.get(stem)?;
        let kind = DelimiterKind::Events { begin: EventPattern::named(begin), end: EventPattern::named(end) };
        let executions = begun.min(ended);
        Some(DelimiterProposal {
            delimiter: Delimiter::new(kind),
            executions,
            unfinished: begun.max(ended) - executions,
        })
    };
    let mut pairs: Vec<DelimiterProposal> = begins.iter().filter_map(pair).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.executions));
    pairs.truncate(PROPOSALS_MAX);
    pairs
}

/// System calls that return work first, proposed as `between`; then other system calls.
fn calls(calls: &HashMap<(u32, TextId), u64>, texts: &KernelTexts) -> Vec<DelimiterProposal> {
    let mut by_name: BTreeMap<String, u64> = BTreeMap::new();
    for (&(number, name), &count) in calls {
        let name = match name {
            TextId::EMPTY => syscalls::name_of(number).map_or(number.to_string(), str::to_owned),
            name => texts.text(name).to_owned(),
        };
        *by_name.entry(name).or_default() += count;
    }
    let mut by_count: Vec<(String, u64)> = by_name.into_iter().collect();
    by_count.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let by_count = by_count.into_iter().map(|(name, count)| (SyscallName::new(&name), count));
    let (waits, others): (Vec<_>, Vec<_>) = by_count.partition(|(name, _)| name.waits_for_work());
    let proposal =
        |kind, executions| DelimiterProposal { delimiter: Delimiter::new(kind), executions, unfinished: 0 };
    let waits = waits.into_iter().take(PROPOSALS_MAX / 2);
    let others = others.into_iter().take(PROPOSALS_MAX / 2);
    waits
        .map(|(name, count)| proposal(DelimiterKind::Between { name }, count))
        .chain(others.map(|(name, count)| proposal(DelimiterKind::Syscall { name }, count)))
        .collect()
}
