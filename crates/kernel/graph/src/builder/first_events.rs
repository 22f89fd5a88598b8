//! The first events of a trace, buffered until it is known which kind of wake-up event the trace has.

use super::host::WakeupKind;
use laggard_model::{EventKind, KernelEvent};
use std::collections::BTreeMap;

impl WakeupKind {
    /// The kind of a wake-up event; `None` for other events and for `sched_wakeup_new`, which is used with every kind.
    pub(super) fn from_event(kind: &EventKind) -> Option<WakeupKind> {
        match kind {
            EventKind::Wakeup { .. } => Some(WakeupKind::Wakeup),
            EventKind::Waking { .. } => Some(WakeupKind::Waking),
            EventKind::TryToWakeUp { .. } => Some(WakeupKind::TryToWakeUp),
            _ => None,
        }
    }
}

/// The buffered events with the indexes of their hosts.
#[derive(Debug)]
pub(super) struct FirstEvents {
    max: usize,
    events: Vec<(u32, KernelEvent)>,
}

impl FirstEvents {
    pub(super) fn new(max: usize) -> FirstEvents {
        FirstEvents { max, events: Vec::new() }
    }

    pub(super) fn push(&mut self, host: u32, event: KernelEvent) {
        self.events.push((host, event));
    }

    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= self.max
    }

    /// The most precise kind seen on each host.
    pub(super) fn best_kinds(&self) -> BTreeMap<u32, WakeupKind> {
        let mut best = BTreeMap::new();
        let seen = self
            .events
            .iter()
            .filter_map(|(host, event)| Some((*host, WakeupKind::from_event(&event.kind)?)));
        for (host, kind) in seen {
            let known = best.entry(host).or_insert(kind);
            *known = kind.max(*known);
        }
        best
    }

    pub(super) fn into_events(self) -> impl Iterator<Item = (u32, KernelEvent)> {
        self.events.into_iter()
    }
}
