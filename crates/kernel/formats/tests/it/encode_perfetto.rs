//! Kernel events as a Perfetto trace. Field numbers are those of Perfetto's published schema.

use laggard_model::{EventKind, KernelEvent, KernelTexts, TextId};
use std::collections::BTreeMap;

/// Events of one bundle; real ones hold about a page of them.
const EVENTS_A_BUNDLE: usize = 100;

/// How switches and wakings are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheduling {
    /// As events in full.
    Full,
    /// In columns, as Android does.
    Compact,
}

/// A complete trace: bundles of the CPUs one after the other, each a packet.
pub(crate) fn perfetto(events: &[KernelEvent], texts: &KernelTexts, scheduling: Scheduling) -> Vec<u8> {
    let mut by_cpu: BTreeMap<u16, Vec<&KernelEvent>> = BTreeMap::new();
    for event in events {
        by_cpu.entry(event.cpu.0).or_default().push(event);
    }
    let mut out = Vec::new();
    for (cpu, events) in by_cpu {
        for events in events.chunks(EVENTS_A_BUNDLE) {
            let mut bundle = integer(1, u64::from(cpu));
            let mut columns = Columns::default();
            for event in events {
                let compact = scheduling == Scheduling::Compact && columns.take(event, texts);
                if !compact {
                    bundle.extend(full(event, texts));
                }
            }
            bundle.extend(columns.message());
            out.extend(bytes(1, &bytes(1, &bundle)));
        }
    }
    out
}

fn full(event: &KernelEvent, texts: &KernelTexts) -> Vec<u8> {
    let text = |number, id: TextId| bytes(number, texts.text(id).as_bytes());
    let woken = |tid: u32, name, target: Option<laggard_model::Cpu>| {
        let target = target.map_or(Vec::new(), |cpu| integer(5, u64::from(cpu.0)));
        [text(1, name), integer(2, u64::from(tid)), target].concat()
    };
    let (number, message) = match event.kind {
        EventKind::Switch { prev, prev_name, prev_state, next, next_name } => {
            let prev =
                [text(1, prev_name), integer(2, u64::from(prev.0)), integer(4, u64::from(prev_state.0))];
            (4, [prev.concat(), text(5, next_name), integer(6, u64::from(next.0))].concat())
        }
        EventKind::Wakeup { tid, name, target } => (17, woken(tid.0, name, target)),
        EventKind::Waking { tid, name, target } => (20, woken(tid.0, name, target)),
        EventKind::WakeupNew { tid, name, target } => (114, woken(tid.0, name, target)),
        EventKind::IrqEntry { irq, name } => (36, [integer(1, u64::from(irq)), text(2, name)].concat()),
        EventKind::IrqExit { irq } => (37, integer(1, u64::from(irq))),
        EventKind::SoftirqEntry { vector } => (24, integer(1, u64::from(vector))),
        EventKind::SoftirqExit { vector } => (25, integer(1, u64::from(vector))),
        EventKind::HrtimerEntry(_) => (553, Vec::new()),
        EventKind::HrtimerExit => (554, Vec::new()),
        EventKind::Marker { text: marker } => (3, text(2, marker)),
        EventKind::Exec { tid, filename } => {
            (237, [text(1, filename), integer(2, u64::from(tid.0))].concat())
        }
        EventKind::Exit { tid } => (238, integer(2, u64::from(tid.0))),
        EventKind::Fork { parent, child, child_name } => {
            let parent = integer(2, u64::from(parent.0));
            (239, [parent, text(3, child_name), integer(4, u64::from(child.0))].concat())
        }
        other => panic!("not written by this encoder: {other:?}"),
    };
    let flags = event.flags.map_or(Vec::new(), |flags| integer(5, u64::from(flags.0)));
    let recorded = event.recorded.map_or(Vec::new(), |tid| integer(2, u64::from(tid.0)));
    bytes(2, &[integer(1, event.time.ns()), recorded, flags, bytes(number, &message)].concat())
}

/// `CompactSched`.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    switches: [Vec<u64>; 4],
    wakings: [Vec<u64>; 5],
    last_switch: u64,
    last_waking: u64,
}

impl Columns {
    /// Adds a switch or waking; returns whether the event was one.
    fn take(&mut self, event: &KernelEvent, texts: &KernelTexts) -> bool {
        let time = event.time.ns();
        match event.kind {
            EventKind::Switch { prev_state, next, next_name, .. } => {
                let name = self.name(texts.text(next_name));
                let row = [time - self.last_switch, u64::from(prev_state.0), u64::from(next.0), name];
                self.last_switch = time;
                self.switches.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            }
            EventKind::Waking { tid, name, target } => {
                let name = self.name(texts.text(name));
                let target = target.map_or(0, |cpu| u64::from(cpu.0));
                let flags = event.flags.map_or(0, |flags| u64::from(flags.0));
                let row = [time - self.last_waking, u64::from(tid.0), target, name, flags];
                self.last_waking = time;
                self.wakings.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            }
            _ => return false,
        }
        true
    }

    fn name(&mut self, name: &str) -> u64 {
        let known = self.names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        index as u64
    }

    fn message(&self) -> Vec<u8> {
        let switches = [1, 2, 3, 6].into_iter().zip(&self.switches);
        let wakings = [7, 8, 9, 11, 12].into_iter().zip(&self.wakings);
        let columns = switches.chain(wakings).flat_map(|(number, column)| packed(number, column));
        let names = self.names.iter().flat_map(|name| bytes(5, name.as_bytes()));
        bytes(4, &columns.chain(names).collect::<Vec<_>>())
    }
}

pub(crate) fn bytes(number: u32, contents: &[u8]) -> Vec<u8> {
    let mut out = varint(u64::from(number) << 3 | 2);
    out.extend(varint(contents.len() as u64));
    out.extend(contents);
    out
}

fn integer(number: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(number) << 3), varint(value)].concat()
}

fn packed(number: u32, values: &[u64]) -> Vec<u8> {
    bytes(number, &values.iter().flat_map(|&value| varint(value)).collect::<Vec<_>>())
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
