//! Finds the executions of one delimiter: turns events into marks and pairs them.

use super::delimiter::{Delimiter, DelimiterKind, EventPattern, MarkerRule, Pairing, Scope, SyscallName};
use super::events::{EventMatch, PatternCache};
use super::glob::Glob;
use super::lifetimes::ThreadLifetimes;
use super::marker::{self, MarkerText};
use super::marks::{ExecutionMark, MarkPhase, RepeatedBegin, UnmatchedEnd};
use super::pairs::{MarkPairing, PairedExecutions};
use super::template::Template;
use super::threads::Threads;
use crate::worker::HostId;
use laggard_model::{EventKind, KernelEvent, KernelTexts, Tid};

/// The name used to pair markers whose templates have no `{name}`.
const UNNAMED: &str = "execution";
/// The name used to pair the start and exit of programs.
const LIFE: &str = "program";

/// Finds the executions of one delimiter.
#[derive(Debug)]
pub(crate) struct DelimiterMatcher {
    delimiter: Delimiter,
    pairs: MarkPairing,
    lifetimes: ThreadLifetimes,
    begin_names: PatternCache,
    end_names: PatternCache,
    syscall_number: Option<u32>,
}

impl DelimiterMatcher {
    pub(crate) fn new(delimiter: Delimiter, host: HostId) -> DelimiterMatcher {
        // Kinds that are confined to one thread are never paired across threads.
        let pairing = match delimiter.kind {
            DelimiterKind::Markers(_) | DelimiterKind::Events { .. } => delimiter.scope.pairing,
            _ => Pairing::Thread,
        };
        let syscall_number = match &delimiter.kind {
            DelimiterKind::Syscall { name } | DelimiterKind::Between { name } => name.number(),
            _ => None,
        };
        DelimiterMatcher {
            pairs: MarkPairing::new(host, pairing),
            lifetimes: ThreadLifetimes::new(host),
            begin_names: PatternCache::default(),
            end_names: PatternCache::default(),
            syscall_number,
            delimiter,
        }
    }

    pub(crate) fn push(&mut self, event: &KernelEvent, texts: &KernelTexts, threads: &Threads) {
        if let EventKind::Lost { .. } = event.kind {
            self.pairs.record_loss(event.cpu, event.time);
        }
        if matches!(self.delimiter.kind, DelimiterKind::Thread { .. } | DelimiterKind::Tid { .. }) {
            return self.lifetimes.push(event, threads);
        }
        if !self.may_delimit(&event.kind) {
            return;
        }
        for mark in self.marks(event, texts, threads).into_iter().flatten() {
            if is_in_scope(&self.delimiter.scope, mark.tid, threads) {
                self.pairs.push(mark, threads);
            }
        }
    }

    pub(crate) fn finish(self, threads: &Threads) -> (Delimiter, PairedExecutions) {
        let paired = match &self.delimiter.kind {
            DelimiterKind::Thread { name } => {
                self.lifetimes.named(name, |tid| is_in_scope(&self.delimiter.scope, tid, threads), threads)
            }
            DelimiterKind::Tid { tid, window } => self.lifetimes.by_tid(*tid, *window, threads),
            _ => self.pairs.finish(),
        };
        (self.delimiter, paired)
    }

    /// Whether events of a kind can be marks; most events of a trace cannot.
    fn may_delimit(&self, kind: &EventKind) -> bool {
        use EventKind::{Exec, Exit, Fork, Marker, Other, Rename, SyscallEntry, SyscallExit};
        match &self.delimiter.kind {
            DelimiterKind::Markers(_) => matches!(kind, Marker { .. }),
            DelimiterKind::Process { .. } => matches!(kind, Exec { .. } | Exit { .. }),
            DelimiterKind::Syscall { .. } | DelimiterKind::Between { .. } => {
                matches!(kind, SyscallEntry { .. } | SyscallExit { .. })
            }
            DelimiterKind::Events { .. } => matches!(
                kind,
                Other { .. }
                    | Marker { .. }
                    | Exec { .. }
                    | Exit { .. }
                    | Fork { .. }
                    | Rename { .. }
                    | SyscallEntry { .. }
                    | SyscallExit { .. }
            ),
            DelimiterKind::Auto | DelimiterKind::Thread { .. } | DelimiterKind::Tid { .. } => false,
        }
    }

    /// The marks of an event: an end, a beginning, or both.
    fn marks(
        &mut self,
        event: &KernelEvent,
        texts: &KernelTexts,
        threads: &Threads,
    ) -> [Option<ExecutionMark>; 2] {
        match &self.delimiter.kind {
            DelimiterKind::Markers(rule) => [marker_mark(rule, event, texts, threads), None],
            DelimiterKind::Process { name } => [process_mark(name.as_ref(), event, texts), None],
            DelimiterKind::Syscall { name } => {
                [self.syscall_mark(name, MarkPhase::Begin, event, texts, threads), None]
            }
            DelimiterKind::Between { name } => {
                [self.syscall_mark(name, MarkPhase::End, event, texts, threads), None]
            }
            DelimiterKind::Events { begin, end } => {
                let ended = self.end_names.find(end, event, texts, threads);
                let begun = self.begin_names.find(begin, event, texts, threads);
                [
                    ended.map(|matched| event_mark(begin, MarkPhase::End, matched, event)),
                    begun.map(|matched| event_mark(begin, MarkPhase::Begin, matched, event)),
                ]
            }
            DelimiterKind::Auto | DelimiterKind::Thread { .. } | DelimiterKind::Tid { .. } => [None, None],
        }
    }

    /// The mark of a system call's entry or exit; `at_entry` is the phase of the entry.
    fn syscall_mark(
        &self,
        pattern: &SyscallName,
        at_entry: MarkPhase,
        event: &KernelEvent,
        texts: &KernelTexts,
        threads: &Threads,
    ) -> Option<ExecutionMark> {
        let (phase, number, name) = match (event.kind, at_entry) {
            (EventKind::SyscallEntry { number, name }, phase) => (phase, number, name),
            (EventKind::SyscallExit { number, name, .. }, MarkPhase::Begin) => (MarkPhase::End, number, name),
            (EventKind::SyscallExit { number, name, returned }, MarkPhase::End)
                if pattern.brings_work(returned) =>
            {
                (MarkPhase::Begin, number, name)
            }
            _ => return None,
        };
        if !pattern.is(self.syscall_number, number, name, texts) {
            return None;
        }
        let mut mark = plain_mark(phase, threads.acting(event)?, event);
        mark.name.push_str(&pattern.text);
        if at_entry == MarkPhase::Begin {
            mark.label.clone_from(&pattern.text);
            return Some(mark);
        }
        mark.label = format!("after {}", pattern.text);
        // A call after one that returned no work.
        Some(ExecutionMark { unmatched: UnmatchedEnd::Nothing, ..mark })
    }
}

/// Whether a thread is in the scope.
fn is_in_scope(scope: &Scope, tid: Tid, threads: &Threads) -> bool {
    let Some(only) = &scope.only else { return true };
    only.matches(match scope.pairing {
        Pairing::Nearest | Pairing::Thread => threads.name_of(tid),
        Pairing::Process => threads.name_of(threads.process_of(tid)),
        Pairing::Container => threads.container_name(threads.container_of(tid)),
    })
}

fn plain_mark(phase: MarkPhase, tid: Tid, event: &KernelEvent) -> ExecutionMark {
    ExecutionMark {
        phase,
        time: event.time,
        cpu: event.cpu,
        tid,
        name: String::new(),
        key: None,
        label: String::new(),
        context: None,
        repeated: RepeatedBegin::Replaces,
        unmatched: UnmatchedEnd::Unfinished,
    }
}

fn marker_mark(
    rule: &MarkerRule,
    event: &KernelEvent,
    texts: &KernelTexts,
    threads: &Threads,
) -> Option<ExecutionMark> {
    let EventKind::Marker { text } = event.kind else { return None };
    let text = texts.text(text);
    let marker = match rule {
        MarkerRule::Usual { name } => {
            marker::parse(text).filter(|marker| is_wanted(name.as_ref(), &marker.name))?
        }
        MarkerRule::Templates { begin, end } => parse_with_templates(begin, end, text)?,
    };
    let mut mark = plain_mark(marker.phase, threads.acting(event)?, event);
    mark.label = match marker.further.as_str() {
        "" => marker.name.clone(),
        further => format!("{} {further}", marker.name),
    };
    Some(ExecutionMark {
        name: marker.name,
        key: marker.key,
        context: marker.context,
        repeated: RepeatedBegin::Nests,
        ..mark
    })
}

/// An end without a name ends the innermost beginning, so it matches every requested name.
fn is_wanted(pattern: Option<&Glob>, name: &str) -> bool {
    pattern.is_none_or(|pattern| name.is_empty() || pattern.matches(name))
}

fn parse_with_templates(begin: &Template, end: &Template, text: &str) -> Option<MarkerText> {
    let (phase, matched) = match (begin.matches(text), end.matches(text)) {
        (Some(matched), _) => (MarkPhase::Begin, matched),
        (None, Some(matched)) => (MarkPhase::End, matched),
        (None, None) => return None,
    };
    let name = if begin.has_name() && end.has_name() { matched.name } else { UNNAMED };
    let further = if name == UNNAMED { matched.name } else { "" };
    let key = (!matched.key.is_empty()).then(|| matched.key.to_owned());
    Some(MarkerText { phase, name: name.to_owned(), key, further: further.to_owned(), context: None })
}

/// A program's start and exit.
fn process_mark(pattern: Option<&Glob>, event: &KernelEvent, texts: &KernelTexts) -> Option<ExecutionMark> {
    match event.kind {
        EventKind::Exec { tid, filename } => {
            let path = texts.text(filename);
            let program = path.rsplit('/').next().unwrap_or(path);
            if !is_wanted(pattern, program) && !is_wanted(pattern, path) {
                return None;
            }
            let mut mark = plain_mark(MarkPhase::Begin, tid, event);
            mark.label = program.to_owned();
            let key = Some(tid.0.to_string());
            Some(ExecutionMark { name: LIFE.to_owned(), key, repeated: RepeatedBegin::Supersedes, ..mark })
        }
        EventKind::Exit { tid } => {
            let mark = plain_mark(MarkPhase::End, tid, event);
            let key = Some(tid.0.to_string());
            // Threads that are not programs exit too, and so do programs started before the trace.
            Some(ExecutionMark { name: LIFE.to_owned(), key, unmatched: UnmatchedEnd::Nothing, ..mark })
        }
        _ => None,
    }
}

fn event_mark(
    begin: &EventPattern,
    phase: MarkPhase,
    matched: EventMatch,
    event: &KernelEvent,
) -> ExecutionMark {
    let mut mark = plain_mark(phase, matched.tid, event);
    mark.name.push_str(&begin.name);
    mark.label = matched.name;
    let repeated = if matched.key.is_some() { RepeatedBegin::Replaces } else { RepeatedBegin::Nests };
    ExecutionMark { key: matched.key, repeated, ..mark }
}
