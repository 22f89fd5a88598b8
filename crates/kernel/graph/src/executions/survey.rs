//! Which delimiters would find executions in a trace.

use super::delimiter::{Delimiter, DelimiterKind, EventPattern, MarkerRule, SyscallName};
use super::marker;
use super::marks::Phase;
use super::seeker::Seeker;
use super::syscalls;
use super::threads::Threads;
use crate::worker::HostId;
use laggard_model::{EventKind, KernelEvent, KernelTexts, TextId};
use std::collections::{BTreeMap, HashMap};

/// Names of one kind that are told apart; further ones are counted in none.
const NAMES_MAX: usize = 10_000;

/// Pairs of events, and system calls, that are proposed.
const PROPOSALS_MAX: usize = 8;

/// A delimiter that would find something.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// The delimiter.
    pub delimiter: Delimiter,
    /// How many executions it would find; of system calls and pairs of events, at most.
    pub executions: u64,
    /// Beginnings and ends it would leave out.
    pub unfinished: u64,
}

/// Counts what could delimit executions.
#[derive(Debug)]
pub struct DelimiterSurvey {
    threads: Threads,
    markers: Seeker,
    programs: Seeker,
    calls: HashMap<(u32, TextId), u64>,
    others: HashMap<TextId, u64>,
}

impl Default for DelimiterSurvey {
    fn default() -> DelimiterSurvey {
        let seeker = |kind| Seeker::new(Delimiter::new(kind), HostId::default());
        DelimiterSurvey {
            threads: Threads::default(),
            markers: seeker(DelimiterKind::Markers(MarkerRule::Usual { name: None })),
            programs: seeker(DelimiterKind::Process { name: None }),
            calls: HashMap::new(),
            others: HashMap::new(),
        }
    }
}

impl DelimiterSurvey {
    /// Takes the next event.
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
    pub fn finish(self, texts: &KernelTexts) -> Vec<Proposal> {
        let mut proposals = Vec::new();
        for seeker in [self.markers, self.programs] {
            let (delimiter, paired) = seeker.finish(&self.threads);
            let executions = paired.executions.len() as u64;
            let unfinished = paired.unfinished.iter().map(|(_, found)| found.count).sum();
            proposals.extend((executions > 0).then_some(Proposal { delimiter, executions, unfinished }));
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

/// Events whose names differ in `begin` and `end` only.
fn event_pairs(others: &HashMap<TextId, u64>, texts: &KernelTexts) -> Vec<Proposal> {
    let mut begins: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    let mut ends: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    let mut names: Vec<(&str, u64)> =
        others.iter().map(|(&name, &count)| (texts.text(name), count)).collect();
    names.sort_unstable();
    for (name, count) in names {
        match marker::phase_of(name) {
            Some((Phase::Begin, stem)) if !stem.is_empty() => drop(begins.insert(stem, (name, count))),
            Some((Phase::End, stem)) if !stem.is_empty() => drop(ends.insert(stem, (name, count))),
            _ => {}
        }
    }
    let pair = |(stem, &(begin, begun)): (&&str, &(&str, u64))| {
        let &(end, ended) = ends.get(stem)?;
        let kind = DelimiterKind::Events { begin: EventPattern::named(begin), end: EventPattern::named(end) };
        let executions = begun.min(ended);
        Some(Proposal {
            delimiter: Delimiter::new(kind),
            executions,
            unfinished: begun.max(ended) - executions,
        })
    };
    let mut pairs: Vec<Proposal> = begins.iter().filter_map(pair).collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.executions));
    pairs.truncate(PROPOSALS_MAX);
    pairs
}

/// First the system calls that bring work, as what lies between them; then others.
fn calls(calls: &HashMap<(u32, TextId), u64>, texts: &KernelTexts) -> Vec<Proposal> {
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
    let proposal = |kind, executions| Proposal { delimiter: Delimiter::new(kind), executions, unfinished: 0 };
    let waits = waits.into_iter().take(PROPOSALS_MAX / 2);
    let others = others.into_iter().take(PROPOSALS_MAX / 2);
    waits
        .map(|(name, count)| proposal(DelimiterKind::Between { name }, count))
        .chain(others.map(|(name, count)| proposal(DelimiterKind::Syscall { name }, count)))
        .collect()
}
