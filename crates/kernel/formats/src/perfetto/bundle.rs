//! `FtraceEventBundle`: the events of one CPU over a short time.

use super::events;
use crate::trace::EventBatch;
use laggard_model::{ContextFlags, Cpu, EventKind, KernelEvent, KernelTime, Loss, PrevState, TextId, Tid};
use laggard_wire::{Fields, Value, varint};

/// The thread that runs on a CPU, which compact records leave out; carried over from bundle to bundle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningThread {
    /// The thread that got the CPU last, and its name.
    thread: Option<(Tid, TextId)>,
}

/// Reads one bundle and appends its events in time order; returns whether it was complete.
pub(super) fn read(bundle: &[u8], cpu: Cpu, running: &mut RunningThread, batch: &mut EventBatch) -> bool {
    let first = batch.events.len();
    let mut is_complete = true;
    let (mut lost, mut compact) = (false, Vec::new());
    for field in Fields::new(bundle) {
        match field {
            Ok((2, Value::Bytes(event))) => is_complete &= events::read(event, cpu, batch),
            Ok((3, Value::Varint(flag))) => lost = flag != 0,
            Ok((4, Value::Bytes(bytes))) => compact.push(bytes),
            Ok(_) => {}
            Err(_) => is_complete = false,
        }
    }
    if lost {
        running.thread = None;
    }
    for bytes in compact {
        is_complete &= CompactSched::read(bytes).is_some_and(|columns| columns.append(cpu, running, batch));
    }
    batch.events[first..].sort_by_key(|event| event.time);
    update_running(&batch.events[first..], running);
    if lost {
        report_loss(cpu, first, batch);
    }
    is_complete
}

/// A bundle may hold full switches too; the latest one gives the running thread.
fn update_running(events: &[KernelEvent], running: &mut RunningThread) {
    let switch = events.iter().rev().find_map(|event| match event.kind {
        EventKind::Switch { next, next_name, .. } => Some((next, next_name)),
        _ => None,
    });
    running.thread = switch.or(running.thread);
}

fn report_loss(cpu: Cpu, first: usize, batch: &mut EventBatch) {
    let time = batch.events.get(first).map_or(KernelTime::default(), |event| event.time);
    batch.losses.add(Loss::LostInterval, || format!("CPU {} before {} ns", cpu.0, time.ns()));
    let kind = EventKind::Lost { count: None };
    batch.events.insert(first, KernelEvent { time, cpu, flags: None, recorded: None, kind });
}

/// `CompactSched`: columns, one value a record.
#[derive(Default)]
struct CompactSched<'a> {
    names: Vec<&'a [u8]>,
    switch_times: Vec<u64>,
    switch_states: Vec<u64>,
    switch_next: Vec<u64>,
    switch_names: Vec<u64>,
    waking_times: Vec<u64>,
    waking_threads: Vec<u64>,
    waking_targets: Vec<u64>,
    waking_names: Vec<u64>,
    waking_flags: Vec<u64>,
}

impl<'a> CompactSched<'a> {
    fn read(bytes: &'a [u8]) -> Option<CompactSched<'a>> {
        let mut columns = CompactSched::default();
        for field in Fields::new(bytes) {
            let (number, value) = field.ok()?;
            let column = match number {
                1 => &mut columns.switch_times,
                2 => &mut columns.switch_states,
                3 => &mut columns.switch_next,
                5 => {
                    let Value::Bytes(name) = value else { return None };
                    columns.names.push(name);
                    continue;
                }
                6 => &mut columns.switch_names,
                7 => &mut columns.waking_times,
                8 => &mut columns.waking_threads,
                9 => &mut columns.waking_targets,
                11 => &mut columns.waking_names,
                12 => &mut columns.waking_flags,
                _ => continue,
            };
            match value {
                Value::Bytes(packed) => unpack(packed, column)?,
                Value::Varint(single) => column.push(single),
                Value::Fixed64(_) | Value::Fixed32(_) => return None,
            }
        }
        Some(columns)
    }

    fn name(&self, index: Option<&u64>, batch: &mut EventBatch) -> TextId {
        let name = index.and_then(|&index| self.names.get(usize::try_from(index).ok()?));
        name.map_or(TextId::EMPTY, |name| batch.texts.intern(&String::from_utf8_lossy(name)))
    }

    /// Appends both kinds of records; whether all columns were equally long.
    fn append(&self, cpu: Cpu, running: &mut RunningThread, batch: &mut EventBatch) -> bool {
        self.append_switches(cpu, running, batch) & self.append_wakings(cpu, batch)
    }

    fn append_switches(&self, cpu: Cpu, running: &mut RunningThread, batch: &mut EventBatch) -> bool {
        let mut time = 0_u64;
        for (index, &step) in self.switch_times.iter().enumerate() {
            time = time.wrapping_add(step);
            let (Some(&state), Some(&next)) = (self.switch_states.get(index), self.switch_next.get(index))
            else {
                return false;
            };
            let next = Tid(next as u32);
            let next_name = self.name(self.switch_names.get(index), batch);
            let prev = running.thread.replace((next, next_name));
            // The record does not contain the thread that left the CPU; it is known only from the previous switch.
            let Some((prev, prev_name)) = prev else { continue };
            let prev_state = PrevState(state as u32);
            let kind = EventKind::Switch { prev, prev_name, prev_state, next, next_name };
            let time = KernelTime::from_ns(time);
            batch.events.push(KernelEvent { time, cpu, flags: None, recorded: Some(prev), kind });
        }
        true
    }

    fn append_wakings(&self, cpu: Cpu, batch: &mut EventBatch) -> bool {
        let mut time = 0_u64;
        for (index, &step) in self.waking_times.iter().enumerate() {
            time = time.wrapping_add(step);
            let Some(&thread) = self.waking_threads.get(index) else { return false };
            let target = self.waking_targets.get(index).and_then(|&cpu| u16::try_from(cpu).ok()).map(Cpu);
            let name = self.name(self.waking_names.get(index), batch);
            let flags = self.waking_flags.get(index).map(|&flags| ContextFlags(flags as u8));
            let kind = EventKind::Waking { tid: Tid(thread as u32), name, target };
            let time = KernelTime::from_ns(time);
            batch.events.push(KernelEvent { time, cpu, flags, recorded: None, kind });
        }
        true
    }
}

fn unpack(mut packed: &[u8], column: &mut Vec<u64>) -> Option<()> {
    while !packed.is_empty() {
        let (value, bytes) = varint(packed).ok()??;
        column.push(value);
        packed = &packed[bytes..];
    }
    Some(())
}
