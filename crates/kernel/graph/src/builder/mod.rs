//! Builds the execution graph from events.

mod calls;
mod close;
mod context;
mod first_events;
mod gaps;
mod host;
mod irq_names;
mod loss_counts;
mod packets;
mod published;
mod settings;
mod stack_records;
mod switch;
mod thread;
mod tracker;
mod wake;

use crate::graph::ExecutionGraph;
use crate::worker::HostId;
use first_events::FirstEvents;
use host::Host;
use laggard_model::{EventKind, KernelEvent, KernelTexts, Losses, TextId};
use tracker::StateTracker;

pub use host::WakeupKind;
pub use settings::{GraphMode, GraphSettings, IrqName};

/// Builds the graph of one host, or of several hosts whose events are merged in time order on one clock.
///
/// Cost per event: constant. Memory: the graph, a record per thread, the first events (see
/// [`GraphSettings::first_events_max`]), and at most 65,536 packets in flight.
#[derive(Debug)]
pub struct GraphBuilder {
    host: HostId,
    mode: GraphMode,
    first: Option<FirstEvents>,
    tracker: StateTracker,
}

impl GraphBuilder {
    /// A builder for the events of `host` (and of others by [`GraphBuilder::push_from`]).
    pub fn new(settings: GraphSettings, host: HostId) -> GraphBuilder {
        let first = Some(FirstEvents::new(settings.first_events_max));
        let mode = settings.mode;
        let tracker = match mode {
            GraphMode::Modern => StateTracker::new(settings),
            GraphMode::Compat => StateTracker::new_published(settings),
        };
        GraphBuilder { host, mode, first, tracker }
    }

    /// Adds the next event of the builder's host. Events must be in time order; `texts` is the table that the event's
    /// handles refer to and must be the same table in every call.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.push_from(self.host, event, texts);
    }

    /// Adds the next event of any host; each host has its own table of texts. The events of all hosts must be in one
    /// time order, on aligned clocks.
    ///
    /// # Panics
    /// With 2³² − 1 threads or more.
    pub fn push_from(&mut self, host: HostId, event: &KernelEvent, texts: &KernelTexts) {
        let host = self.host_index(host);
        let event = KernelEvent { kind: self.translate(host, event.kind, texts), ..*event };
        let Some(first) = &mut self.first else {
            self.follow(host, &event);
            return;
        };
        first.push(host, event);
        if first.is_full() {
            self.choose_wakeups();
        }
    }

    /// Returns the graph, and adds what could not be followed to `losses`.
    pub fn finish(mut self, losses: &mut Losses) -> ExecutionGraph {
        self.choose_wakeups();
        match self.mode {
            GraphMode::Modern => self.tracker.finish(losses),
            GraphMode::Compat => self.tracker.finish_published(losses),
        }
    }

    /// Selects each host's kind of wake-up event from the buffered events, then applies them.
    fn choose_wakeups(&mut self) {
        let Some(first) = self.first.take() else { return };
        for (host, kind) in first.best_kinds() {
            self.tracker.hosts[host as usize].wakeups = Some(kind);
        }
        for (host, event) in first.into_events() {
            self.follow(host, &event);
        }
    }

    /// Applies an event; a wake-up of a kind that was not selected counts only as a record of its writer.
    fn follow(&mut self, host: u32, event: &KernelEvent) {
        let Some(kind) = WakeupKind::from_event(&event.kind) else {
            self.apply(host, event);
            return;
        };
        let selected = *self.tracker.hosts[host as usize].wakeups.get_or_insert(kind);
        if kind > selected {
            self.tracker.losses.better_wakeups.add(event.time);
        }
        // The record still identifies the running thread.
        let event = if kind == selected { *event } else { other_event(event) };
        self.apply(host, &event);
    }

    fn apply(&mut self, host: u32, event: &KernelEvent) {
        match self.mode {
            GraphMode::Modern => self.tracker.follow(host, event),
            GraphMode::Compat => self.tracker.follow_published(host, event),
        }
    }

    fn host_index(&mut self, id: HostId) -> u32 {
        let hosts = &mut self.tracker.hosts;
        let known = hosts.iter().position(|host| host.id == id);
        let index = known.unwrap_or_else(|| {
            hosts.push(Host::new(id));
            hosts.len() - 1
        });
        u32::try_from(index).expect("at most 2^16 hosts")
    }

    /// Replaces the trace's text handles by the graph's, for the names that the graph uses.
    fn translate(&mut self, host: u32, mut kind: EventKind, texts: &KernelTexts) -> EventKind {
        let mut change = |id: &mut TextId| *id = self.text(host, *id, texts);
        match &mut kind {
            EventKind::Switch { prev_name, next_name, .. } => {
                change(prev_name);
                change(next_name);
            }
            EventKind::Waking { name, .. }
            | EventKind::Wakeup { name, .. }
            | EventKind::WakeupNew { name, .. }
            | EventKind::TryToWakeUp { name, .. }
            | EventKind::IrqEntry { name, .. }
            | EventKind::Fork { child_name: name, .. }
            | EventKind::Exec { filename: name, .. }
            | EventKind::Rename { name, .. }
            | EventKind::Statedump { name, .. }
            | EventKind::InterruptName { name, .. }
            | EventKind::SyscallEntry { name, .. }
            | EventKind::SyscallExit { name, .. } => change(name),
            EventKind::HrtimerEntry(timer) => change(&mut timer.function),
            EventKind::Stack { frames } => change(frames),
            _ => {}
        }
        kind
    }

    fn text(&mut self, host: u32, id: TextId, texts: &KernelTexts) -> TextId {
        if id == TextId::EMPTY {
            return id;
        }
        let StateTracker { hosts, graph, .. } = &mut self.tracker;
        let known = &mut hosts[host as usize].texts;
        if known.len() <= id.index() {
            known.resize(id.index() + 1, None);
        }
        *known[id.index()].get_or_insert_with(|| graph.text(texts.text(id)))
    }
}

/// The same record without its payload.
fn other_event(event: &KernelEvent) -> KernelEvent {
    KernelEvent { kind: EventKind::Other { name: TextId::EMPTY, fields: TextId::EMPTY }, ..*event }
}
