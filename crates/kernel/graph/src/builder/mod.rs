//! From events to the execution graph.

mod close;
mod context;
mod first_events;
mod follow;
mod host;
mod irq_names;
mod loss;
mod packets;
mod settings;
mod switch;
mod tally;
mod thread;
mod wake;

use crate::graph::ExecutionGraph;
use crate::worker::HostId;
use first_events::FirstEvents;
use follow::Follower;
use host::Host;
use laggard_model::{EventKind, KernelEvent, KernelTexts, Losses, TextId};

pub use host::WakeupKind;
pub use settings::{GraphMode, GraphSettings, IrqName};

/// Builds the graph of one host, or of several whose events come merged in time on one clock.
///
/// Cost per event: constant. Memory: the graph, a record per thread, the first events (see
/// [`GraphSettings::first_events_max`]), and at most 65,536 packets on their way.
#[derive(Debug)]
pub struct GraphBuilder {
    host: HostId,
    first: Option<FirstEvents>,
    follower: Follower,
}

impl GraphBuilder {
    /// A builder for the events of `host` (and of others by [`GraphBuilder::push_from`]).
    pub fn new(settings: GraphSettings, host: HostId) -> GraphBuilder {
        let first = Some(FirstEvents::new(settings.first_events_max));
        GraphBuilder { host, first, follower: Follower::new(settings) }
    }

    /// Takes the next event of the builder's host. Events come in time order; `texts` is what the event's handles
    /// refer to, always the same growing table.
    pub fn push(&mut self, event: &KernelEvent, texts: &KernelTexts) {
        self.push_from(self.host, event, texts);
    }

    /// Takes the next event of any host; each host has a table of texts of its own. The events of all hosts come
    /// in one time order, their clocks aligned.
    ///
    /// # Panics
    /// Not with fewer than 2³² − 1 threads.
    pub fn push_from(&mut self, host: HostId, event: &KernelEvent, texts: &KernelTexts) {
        let host = self.host_index(host);
        let event = KernelEvent { kind: self.translate(host, event.kind, texts), ..*event };
        let Some(first) = &mut self.first else {
            self.follow(host, &event);
            return;
        };
        first.put(host, event);
        if first.is_full() {
            self.decide();
        }
    }

    /// The graph. Counts what could not be followed.
    pub fn finish(mut self, losses: &mut Losses) -> ExecutionGraph {
        self.decide();
        self.follower.close();
        self.follower.tally.tell(losses);
        self.follower.sketch.finish()
    }

    /// Chooses each host's kind of wake-up by its first events, and follows them.
    fn decide(&mut self) {
        let Some(first) = self.first.take() else { return };
        for (host, kind) in first.best_kinds() {
            self.follower.hosts[host as usize].wakeups = Some(kind);
        }
        for (host, event) in first.into_events() {
            self.follow(host, &event);
        }
    }

    /// Follows an event unless it is a wake-up of a kind that was not chosen.
    fn follow(&mut self, host: u32, event: &KernelEvent) {
        let Some(kind) = WakeupKind::of(&event.kind) else {
            self.follower.follow(host, event);
            return;
        };
        let chosen = *self.follower.hosts[host as usize].wakeups.get_or_insert(kind);
        if kind > chosen {
            self.follower.tally.better_wakeups.add(event.time);
        }
        // The record still tells which thread runs.
        let event = if kind == chosen { *event } else { other_event(event) };
        self.follower.follow(host, &event);
    }

    fn host_index(&mut self, id: HostId) -> u32 {
        let hosts = &mut self.follower.hosts;
        let known = hosts.iter().position(|host| host.id == id);
        let index = known.unwrap_or_else(|| {
            hosts.push(Host::new(id));
            hosts.len() - 1
        });
        u32::try_from(index).expect("at most 2^16 hosts")
    }

    /// The event with the graph's handles for the names that the graph needs.
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
            | EventKind::InterruptName { name, .. } => change(name),
            _ => {}
        }
        kind
    }

    fn text(&mut self, host: u32, id: TextId, texts: &KernelTexts) -> TextId {
        if id == TextId::EMPTY {
            return id;
        }
        let Follower { hosts, sketch, .. } = &mut self.follower;
        let known = &mut hosts[host as usize].texts;
        if known.len() <= id.index() {
            known.resize(id.index() + 1, None);
        }
        *known[id.index()].get_or_insert_with(|| sketch.text(texts.text(id)))
    }
}

/// The same record without what it says.
fn other_event(event: &KernelEvent) -> KernelEvent {
    KernelEvent { kind: EventKind::Other { name: TextId::EMPTY, fields: TextId::EMPTY }, ..*event }
}
