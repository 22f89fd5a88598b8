//! Events to marks, by one delimiter.

use super::delimiter::{Delimiter, DelimiterKind, EventPattern, MarkerRule, Pairing, Scope, SyscallName};
use super::events::{EventMatch, PatternCache};
use super::glob::Glob;
use super::lives::Lives;
use super::marker::{self, MarkerText};
use super::marks::{Lonely, Mark, Phase, Repeated};
use super::pairs::{Paired, Pairs};
use super::template::Template;
use super::threads::Threads;
use crate::worker::HostId;
use laggard_model::{EventKind, KernelEvent, KernelTexts, Tid};

/// The pairing name of markers whose forms have no place for one.
const UNNAMED: &str = "execution";
/// The pairing name of programs.
const LIFE: &str = "program";

/// Looks for the executions of one delimiter.
#[derive(Debug)]
pub(crate) struct Seeker {
    delimiter: Delimiter,
    pairs: Pairs,
    lives: Lives,
    begin_names: PatternCache,
    end_names: PatternCache,
    syscall_number: Option<u32>,
}

impl Seeker {
    pub(crate) fn new(delimiter: Delimiter, host: HostId) -> Seeker {
        // Whatever is of one thread by its nature is never paired across threads.
        let pairing = match delimiter.kind {
            DelimiterKind::Markers(_) | DelimiterKind::Events { .. } => delimiter.scope.pairing,
            _ => Pairing::Thread,
        };
        let syscall_number = match &delimiter.kind {
            DelimiterKind::Syscall { name } | DelimiterKind::Between { name } => name.number(),
            _ => None,
        };
        Seeker {
            pairs: Pairs::new(host, pairing),
            lives: Lives::new(host),
            begin_names: PatternCache::default(),
            end_names: PatternCache::default(),
            syscall_number,
            delimiter,
        }
    }

    pub(crate) fn push(&mut self, event: &KernelEvent, texts: &KernelTexts, threads: &Threads) {
        if let EventKind::Lost { .. } = event.kind {
            self.pairs.lost(event.cpu, event.time);
        }
        if matches!(self.delimiter.kind, DelimiterKind::Thread { .. } | DelimiterKind::Tid { .. }) {
            return self.lives.push(event, threads);
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

    pub(crate) fn finish(self, threads: &Threads) -> (Delimiter, Paired) {
        let paired = match &self.delimiter.kind {
            DelimiterKind::Thread { name } => {
                self.lives.named(name, |tid| is_in_scope(&self.delimiter.scope, tid, threads), threads)
            }
            DelimiterKind::Tid { tid, window } => self.lives.of(*tid, *window, threads),
            _ => self.pairs.finish(),
        };
        (self.delimiter, paired)
    }

    /// Whether events of a kind can be marks at all: nearly all of a trace cannot.
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
    fn marks(&mut self, event: &KernelEvent, texts: &KernelTexts, threads: &Threads) -> [Option<Mark>; 2] {
        match &self.delimiter.kind {
            DelimiterKind::Markers(rule) => [marker_mark(rule, event, texts, threads), None],
            DelimiterKind::Process { name } => [process_mark(name.as_ref(), event, texts), None],
            DelimiterKind::Syscall { name } => {
                [self.syscall_mark(name, Phase::Begin, event, texts, threads), None]
            }
            DelimiterKind::Between { name } => {
                [self.syscall_mark(name, Phase::End, event, texts, threads), None]
            }
            DelimiterKind::Events { begin, end } => {
                let ended = self.end_names.find(end, event, texts, threads);
                let begun = self.begin_names.find(begin, event, texts, threads);
                [
                    ended.map(|found| event_mark(begin, Phase::End, found, event)),
                    begun.map(|found| event_mark(begin, Phase::Begin, found, event)),
                ]
            }
            DelimiterKind::Auto | DelimiterKind::Thread { .. } | DelimiterKind::Tid { .. } => [None, None],
        }
    }

    /// A call's entry and exit; `at_entry` is what its entry does.
    fn syscall_mark(
        &self,
        wanted: &SyscallName,
        at_entry: Phase,
        event: &KernelEvent,
        texts: &KernelTexts,
        threads: &Threads,
    ) -> Option<Mark> {
        let (phase, number, name) = match (event.kind, at_entry) {
            (EventKind::SyscallEntry { number, name }, phase) => (phase, number, name),
            (EventKind::SyscallExit { number, name, .. }, Phase::Begin) => (Phase::End, number, name),
            (EventKind::SyscallExit { number, name, returned }, Phase::End)
                if wanted.brings_work(returned) =>
            {
                (Phase::Begin, number, name)
            }
            _ => return None,
        };
        if !wanted.is(self.syscall_number, number, name, texts) {
            return None;
        }
        let mut mark = plain_mark(phase, threads.acting(event)?, event);
        mark.name.push_str(&wanted.text);
        if at_entry == Phase::Begin {
            mark.label.clone_from(&wanted.text);
            return Some(mark);
        }
        mark.label = format!("after {}", wanted.text);
        // A call after one that brought nothing to do.
        Some(Mark { lonely: Lonely::Nothing, ..mark })
    }
}

/// Whether a thread is one of those asked for.
fn is_in_scope(scope: &Scope, tid: Tid, threads: &Threads) -> bool {
    let Some(wanted) = &scope.only else { return true };
    wanted.matches(match scope.pairing {
        Pairing::Nearest | Pairing::Thread => threads.name_of(tid),
        Pairing::Process => threads.name_of(threads.process_of(tid)),
        Pairing::Container => threads.container_name(threads.container_of(tid)),
    })
}

fn plain_mark(phase: Phase, tid: Tid, event: &KernelEvent) -> Mark {
    Mark {
        phase,
        time: event.time,
        cpu: event.cpu,
        tid,
        name: String::new(),
        key: None,
        label: String::new(),
        context: None,
        repeated: Repeated::Replaces,
        lonely: Lonely::Unfinished,
    }
}

fn marker_mark(
    rule: &MarkerRule,
    event: &KernelEvent,
    texts: &KernelTexts,
    threads: &Threads,
) -> Option<Mark> {
    let EventKind::Marker { text } = event.kind else { return None };
    let text = texts.text(text);
    let said = match rule {
        MarkerRule::Usual { name } => {
            marker::parse(text).filter(|said| is_wanted(name.as_ref(), &said.name))?
        }
        MarkerRule::Templates { begin, end } => by_template(begin, end, text)?,
    };
    let mut mark = plain_mark(said.phase, threads.acting(event)?, event);
    mark.label = match said.further.as_str() {
        "" => said.name.clone(),
        further => format!("{} {further}", said.name),
    };
    Some(Mark { name: said.name, key: said.key, context: said.context, repeated: Repeated::Nests, ..mark })
}

/// An end without a name ends whatever is innermost, so it counts whatever names are wanted.
fn is_wanted(wanted: Option<&Glob>, name: &str) -> bool {
    wanted.is_none_or(|wanted| name.is_empty() || wanted.matches(name))
}

fn by_template(begin: &Template, end: &Template, text: &str) -> Option<MarkerText> {
    let (phase, places) = match (begin.matches(text), end.matches(text)) {
        (Some(places), _) => (Phase::Begin, places),
        (None, Some(places)) => (Phase::End, places),
        (None, None) => return None,
    };
    let name = if begin.has_name() && end.has_name() { places.name } else { UNNAMED };
    let further = if name == UNNAMED { places.name } else { "" };
    let key = (!places.key.is_empty()).then(|| places.key.to_owned());
    Some(MarkerText { phase, name: name.to_owned(), key, further: further.to_owned(), context: None })
}

/// A program's start and exit.
fn process_mark(wanted: Option<&Glob>, event: &KernelEvent, texts: &KernelTexts) -> Option<Mark> {
    match event.kind {
        EventKind::Exec { tid, filename } => {
            let path = texts.text(filename);
            let program = path.rsplit('/').next().unwrap_or(path);
            if !is_wanted(wanted, program) && !is_wanted(wanted, path) {
                return None;
            }
            let mut mark = plain_mark(Phase::Begin, tid, event);
            mark.label = program.to_owned();
            let key = Some(tid.0.to_string());
            Some(Mark { name: LIFE.to_owned(), key, repeated: Repeated::Supersedes, ..mark })
        }
        EventKind::Exit { tid } => {
            let mark = plain_mark(Phase::End, tid, event);
            let key = Some(tid.0.to_string());
            // Threads exit too, and programs that were started before the trace.
            Some(Mark { name: LIFE.to_owned(), key, lonely: Lonely::Nothing, ..mark })
        }
        _ => None,
    }
}

fn event_mark(begin: &EventPattern, phase: Phase, found: EventMatch, event: &KernelEvent) -> Mark {
    let mut mark = plain_mark(phase, found.tid, event);
    mark.name.push_str(&begin.name);
    mark.label = found.name;
    let repeated = if found.key.is_some() { Repeated::Replaces } else { Repeated::Nests };
    Mark { key: found.key, repeated, ..mark }
}
