//! Events by name and fields.

use super::delimiter::EventPattern;
use super::fields::field;
use super::syscalls;
use super::threads::Threads;
use laggard_model::{EventKind, KernelEvent, KernelTexts, TextId, Tid};
use std::borrow::Cow;
use std::collections::HashMap;

/// An event that matches a pattern.
#[derive(Debug)]
pub(crate) struct EventMatch {
    pub(crate) tid: Tid,
    pub(crate) name: String,
    pub(crate) key: Option<String>,
}

/// Cached results of comparing event names with a pattern.
#[derive(Debug, Default)]
pub(crate) struct PatternCache {
    others: HashMap<TextId, bool>,
}

impl PatternCache {
    /// The match of an event whose thread is known. An event without the key's field does not match.
    pub(crate) fn find(
        &mut self,
        pattern: &EventPattern,
        event: &KernelEvent,
        texts: &KernelTexts,
        threads: &Threads,
    ) -> Option<EventMatch> {
        if let EventKind::Other { name, .. } = event.kind {
            let matches = || texts.text(name) == pattern.name;
            if !*self.others.entry(name).or_insert_with(matches) {
                return None;
            }
        } else if event_name(event, texts)? != pattern.name {
            return None;
        }
        let value = |name: &str| event_field(event, texts, name);
        for condition in &pattern.fields {
            if !condition.value.matches(&value(&condition.name)?) {
                return None;
            }
        }
        let key = match &pattern.key {
            Some(name) => Some(value(name)?.into_owned()),
            None => None,
        };
        let name = event_name(event, texts)?.into_owned();
        Some(EventMatch { tid: threads.acting(event)?, name, key })
    }
}

/// The name under which an event can be a delimiter; `None` for those that cannot.
fn event_name<'a>(event: &KernelEvent, texts: &'a KernelTexts) -> Option<Cow<'a, str>> {
    let call = |prefix: &str, number: u32, name: TextId| match name {
        TextId::EMPTY => syscalls::name_of(number).map(|name| Cow::Owned(format!("{prefix}_{name}"))),
        name => Some(Cow::Owned(format!("{prefix}_{}", texts.text(name)))),
    };
    match event.kind {
        EventKind::Other { name, .. } => Some(Cow::Borrowed(texts.text(name))),
        EventKind::Marker { .. } => Some(Cow::Borrowed("print")),
        EventKind::Fork { .. } => Some(Cow::Borrowed("sched_process_fork")),
        EventKind::Exec { .. } => Some(Cow::Borrowed("sched_process_exec")),
        EventKind::Exit { .. } => Some(Cow::Borrowed("sched_process_exit")),
        EventKind::Rename { .. } => Some(Cow::Borrowed("task_rename")),
        EventKind::SyscallEntry { number, name } => call("sys_enter", number, name),
        EventKind::SyscallExit { number, name, .. } => call("sys_exit", number, name),
        _ => None,
    }
}

fn event_field<'a>(event: &KernelEvent, texts: &'a KernelTexts, field_name: &str) -> Option<Cow<'a, str>> {
    let number = |tid: Tid| Some(Cow::Owned(tid.0.to_string()));
    match (event.kind, field_name) {
        (EventKind::Other { fields, .. }, _) => field(texts.text(fields), field_name).map(Cow::Borrowed),
        (EventKind::Marker { text }, "buf" | "text") => Some(Cow::Borrowed(texts.text(text))),
        (EventKind::Fork { parent, .. }, "pid" | "parent_pid") => number(parent),
        (EventKind::Fork { child, .. }, "child_pid") => number(child),
        (EventKind::Exec { filename, .. }, "filename") => Some(Cow::Borrowed(texts.text(filename))),
        (EventKind::Exec { tid, .. } | EventKind::Exit { tid } | EventKind::Rename { tid, .. }, "pid") => {
            number(tid)
        }
        (EventKind::Rename { name, .. }, "newcomm") => Some(Cow::Borrowed(texts.text(name))),
        (EventKind::SyscallExit { returned, .. }, "ret") => Some(Cow::Owned(returned.to_string())),
        _ => None,
    }
}
