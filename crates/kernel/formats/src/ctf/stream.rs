//! One stream of a trace: packet after packet, file after file.

use super::class::{ALIGN_MAX, FieldRole};
use super::decoder::{Decoder, EventPlan, StreamPlan};
use super::kinds::RecordKind;
use super::meaning::{EventMeaning, FLAGS, PID_NS, RECORDED, STACKS, VTID};
use super::namespaces::{NamespaceContext, Namespaces};
use super::packet::{NoPacketHead, PacketHead, head};
use super::plan::{Cursor, PlanStop, Registers, advanced, role_slot};
use super::window::{FileWindow, FillResult};
use crate::format_text::{StackAddresses, StackNames, Symbols};
use crate::thread_names::ThreadNames;
use crate::trace::{EventBatch, EventStream, StreamState};
use laggard_model::{
    ContextFlags, Cpu, EventKind, KernelEvent, KernelTexts, KernelTime, Loss, Losses, TextId, Tid,
    UserFunctions,
};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum number of events per batch.
const EVENTS_MAX: usize = 8192;

/// Events that can have been discarded between two packets.
const DISCARDED_MAX: u64 = 1 << 40;

/// The counter of discarded events.
enum Discarded {
    /// So many since the packet before.
    Counted(u64),
    /// It went back, or too far on.
    Unbelievable,
}

/// One file of a stream.
#[derive(Clone, Debug)]
pub(super) struct StreamFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// The CPU, if packets do not contain it.
    pub(super) cpu: Cpu,
}

/// A packet being read.
#[derive(Debug)]
struct Packet {
    head: PacketHead,
    cpu: Cpu,
    /// Where it begins in the file.
    start: u64,
    /// Where the next one begins.
    next: u64,
    /// Bits from `start` to the end of its events.
    content: u64,
    /// The position from which `at` counts: `start` and a multiple of the largest alignment.
    origin: u64,
    /// Bits read.
    at: u64,
    /// See [`Cursor::effort`].
    effort: u64,
    /// Events discarded since the packet before.
    discarded: u64,
}

/// How far reading a packet has come.
enum StreamProgress {
    /// There is more of it.
    More,
    Done,
    /// The rest of it cannot be read.
    Damaged(Loss),
}

pub(super) struct CtfStream {
    decoder: Arc<Decoder>,
    files: VecDeque<StreamFile>,
    window: FileWindow,
    cpu: Cpu,
    /// Where the next packet begins.
    next: u64,
    packet: Option<Packet>,
    registers: Registers,
    names: ThreadNames,
    namespaces: Namespaces,
    stacks: StackNames,
    /// Handles of names of event classes, as far as they were needed; of the stream class of the last packet.
    class_names: Vec<Option<TextId>>,
    class: Option<u64>,
    clock: u64,
    discarded: Option<u64>,
    sequence: Option<u64>,
    lost: Option<LostAfter>,
}

/// Events discarded after the last one of a packet. Tracers count them when they close it, and close it when the next
/// one can begin; the packet's end is the clock of then, or a little later than the first event of the next.
#[derive(Debug)]
struct LostAfter {
    count: u64,
    cpu: Cpu,
    end: u64,
    frequency: u64,
}

impl CtfStream {
    /// A stream over files in the order of their packets.
    pub(super) fn new(decoder: Arc<Decoder>, files: Vec<StreamFile>) -> CtfStream {
        let registers = Registers::with_slots(decoder.slots);
        let mut stream = CtfStream {
            decoder,
            files: files.into(),
            window: FileWindow::new(&PathBuf::new(), 0),
            cpu: Cpu::default(),
            next: 0,
            packet: None,
            registers,
            names: ThreadNames::default(),
            namespaces: Namespaces::default(),
            stacks: StackNames::default(),
            class_names: Vec::new(),
            class: None,
            clock: 0,
            discarded: None,
            sequence: None,
            lost: None,
        };
        stream.next_file();
        stream
    }

    fn next_file(&mut self) -> bool {
        let Some(file) = self.files.pop_front() else { return false };
        self.window = FileWindow::new(&file.path, file.bytes);
        self.cpu = file.cpu;
        self.next = 0;
        true
    }

    fn position(&self, offset: u64) -> String {
        format!("{} at byte {offset}", self.window.path().display())
    }

    /// The head of the next packet; none at the end of the stream.
    pub(super) fn next_head(&mut self, losses: &mut Losses) -> Option<PacketHead> {
        loop {
            if self.next >= self.window.file_bytes() {
                if !self.next_file() {
                    return None;
                }
                continue;
            }
            match head(&self.decoder, self.window.bytes(self.next), &mut self.registers) {
                Ok(head) => return Some(head),
                Err(NoPacketHead::Short) => {
                    if let Err(loss) = self.fill(self.next) {
                        losses.add(loss, || format!("{}: a packet's header", self.position(self.next)));
                        self.next = u64::MAX;
                    }
                }
                Err(NoPacketHead::Damaged(reason)) => {
                    losses.add(Loss::MalformedRecord, || {
                        format!("{}: no packet: {reason}", self.position(self.next))
                    });
                    self.next = self.search(self.next + 1);
                }
            }
        }
    }

    /// More bytes from `offset` on, or why there are none.
    fn fill(&mut self, offset: u64) -> Result<(), Loss> {
        match self.window.fill(offset) {
            Ok(FillResult::More) => Ok(()),
            Ok(FillResult::FileEnds) => Err(Loss::TruncatedInput),
            Ok(FillResult::TooLarge) => Err(Loss::OversizedRecord),
            Err(_) => Err(Loss::TruncatedInput),
        }
    }

    /// Where the next packet may begin, by its magic number.
    fn search(&mut self, from: u64) -> u64 {
        if !self.decoder.magic {
            return u64::MAX;
        }
        let mut from = from;
        loop {
            let bytes = self.window.bytes(from);
            let offset = [[0xc1, 0x1f, 0xfc, 0xc1], [0xc1, 0xfc, 0x1f, 0xc1]]
                .iter()
                .filter_map(|magic| memchr::memmem::find(bytes, magic))
                .min();
            if let Some(offset) = offset {
                return from + offset as u64;
            }
            // The last three bytes can be the beginning of one.
            from += bytes.len().saturating_sub(3) as u64;
            if self.fill(from).is_err() {
                return u64::MAX;
            }
        }
    }

    /// Makes the packet with this head the one being read.
    fn begin(&mut self, head: PacketHead, batch: &mut EventBatch) {
        let start = self.next;
        let remaining = self.window.file_bytes() - start;
        let packet_bytes = head.packet_bits.map_or(remaining, |bits| bits / 8);
        let content = head.content_bits.or(head.packet_bits).unwrap_or(remaining.saturating_mul(8));
        if self.class != Some(head.class) {
            self.class = Some(head.class);
            self.class_names = vec![None; self.decoder.streams[&head.class].events()];
        }
        self.report_losses(head.begin.unwrap_or(u64::MAX), batch);
        if let Some(begin) = head.begin {
            let bits = self.decoder.streams[&head.class].begin_bits;
            self.clock = advanced(self.clock, begin, bits);
        }
        let cpu = head.cpu.map_or(self.cpu, Cpu);
        let (discarded, jumped) = match self.newly_discarded(&head) {
            Discarded::Counted(count) => (count, false),
            Discarded::Unbelievable => (0, true),
        };
        batch.losses.add_many(Loss::LostEvents, discarded, || {
            format!("{}: {discarded} events discarded", self.position(start))
        });
        if jumped || self.has_gap(&head) {
            batch.losses.add(Loss::LostInterval, || {
                format!("{}: packets before it are missing or out of order", self.position(start))
            });
            let now = time(self.clock, self.decoder.streams[&head.class].frequency);
            batch.events.push(lost_event(now, cpu, None));
        }
        self.sequence = head.sequence;
        self.packet = Some(Packet {
            cpu,
            start,
            next: start.saturating_add(packet_bytes.max(1)),
            content,
            origin: start,
            at: head.events_at,
            effort: 1_000_000 + 4 * content.min(remaining.saturating_mul(8)),
            discarded,
            head,
        });
    }

    /// The counter covers the lifetime of a stream; for a part cut out of one, earlier losses do not count. A counter
    /// that goes back or jumps beyond reason is not believed.
    fn newly_discarded(&mut self, head: &PacketHead) -> Discarded {
        let Some(now) = head.discarded else { return Discarded::Counted(0) };
        let first = if head.sequence.is_some_and(|sequence| sequence > 0) { now } else { 0 };
        let before = self.discarded.unwrap_or(first);
        let bits = self.decoder.streams[&head.class].discarded_bits;
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let count = now.wrapping_sub(before) & mask;
        if count > DISCARDED_MAX.min(mask / 2) {
            return Discarded::Unbelievable;
        }
        self.discarded = Some(now);
        Discarded::Counted(count)
    }

    fn has_gap(&self, head: &PacketHead) -> bool {
        match (self.sequence, head.sequence) {
            (Some(before), Some(now)) => now != before.wrapping_add(1),
            _ => false,
        }
    }

    /// Says that events were lost after those of the packet before, which ended at `end` at the latest.
    fn report_losses(&mut self, end: u64, batch: &mut EventBatch) {
        let Some(lost) = self.lost.take() else { return };
        let clock = lost.end.min(end).max(self.clock);
        batch.events.push(lost_event(time(clock, lost.frequency), lost.cpu, Some(lost.count)));
    }

    /// Reads events of the packet as far as the bytes at hand go.
    fn events(&mut self, packet: &mut Packet, batch: &mut EventBatch) -> StreamProgress {
        let decoder = Arc::clone(&self.decoder);
        let plan = &decoder.streams[&packet.head.class];
        let bytes = self.window.bytes(packet.origin);
        let content = packet.content - 8 * (packet.origin - packet.start);
        let end = content.min(8 * bytes.len() as u64);
        let mut cursor = Cursor { bytes, at: packet.at, end, clock: self.clock, effort: packet.effort };
        let mut reading = EventContext {
            plan,
            old_states: decoder.old_states,
            cpu: packet.cpu,
            registers: &mut self.registers,
            names: &mut self.names,
            namespaces: &mut self.namespaces,
            symbols: &decoder.symbols,
            stacks: &mut self.stacks,
            class_names: &mut self.class_names,
        };
        let mut progress = StreamProgress::More;
        for _ in 0..EVENTS_MAX {
            if cursor.at >= content {
                progress = StreamProgress::Done;
                break;
            }
            let before = cursor;
            let result = reading.event(&mut cursor, batch);
            if result == Ok(()) && cursor.at > before.at {
                continue;
            }
            cursor = before;
            progress = match result {
                Err(PlanStop::Short) if end < content => StreamProgress::More,
                _ => StreamProgress::Damaged(Loss::MalformedRecord),
            };
            if matches!(progress, StreamProgress::More) {
                packet.at = cursor.at;
                self.clock = cursor.clock;
                return self.slide(packet);
            }
            break;
        }
        (packet.at, packet.effort) = (cursor.at, cursor.effort);
        self.clock = cursor.clock;
        progress
    }

    /// Moves the window on to where the packet is read.
    fn slide(&mut self, packet: &mut Packet) -> StreamProgress {
        let step = u64::from(ALIGN_MAX / 8);
        let moved = packet.at / 8 / step * step;
        match self.fill(packet.origin + moved) {
            Ok(()) => {
                packet.origin += moved;
                packet.at -= 8 * moved;
                StreamProgress::More
            }
            Err(loss) => StreamProgress::Damaged(loss),
        }
    }

    fn finish(&mut self, packet: &Packet) {
        if packet.discarded > 0 {
            self.lost = Some(LostAfter {
                count: packet.discarded,
                cpu: packet.cpu,
                end: packet.head.end.unwrap_or(0),
                frequency: self.decoder.streams[&packet.head.class].frequency,
            });
        }
        self.next = packet.next;
    }
}

impl EventStream for CtfStream {
    fn read(&mut self, batch: &mut EventBatch) -> StreamState {
        let Some(mut packet) = self.packet.take() else {
            let Some(head) = self.next_head(&mut batch.losses) else {
                self.report_losses(u64::MAX, batch);
                return StreamState::Ended;
            };
            self.begin(head, batch);
            return StreamState::More;
        };
        match self.events(&mut packet, batch) {
            StreamProgress::More => self.packet = Some(packet),
            StreamProgress::Done => self.finish(&packet),
            StreamProgress::Damaged(loss) => {
                let offset = packet.origin + packet.at / 8;
                batch.losses.add(loss, || {
                    format!("{}: an event; the rest of its packet is lost", self.position(offset))
                });
                let now = time(self.clock, self.decoder.streams[&packet.head.class].frequency);
                batch.events.push(lost_event(now, packet.cpu, None));
                self.finish(&packet);
            }
        }
        StreamState::More
    }
}

/// Context for decoding one event.
struct EventContext<'a> {
    plan: &'a StreamPlan,
    old_states: bool,
    cpu: Cpu,
    registers: &'a mut Registers,
    names: &'a mut ThreadNames,
    namespaces: &'a mut Namespaces,
    symbols: &'a Symbols,
    stacks: &'a mut StackNames,
    class_names: &'a mut [Option<TextId>],
}

impl EventContext<'_> {
    #[inline]
    fn event(&mut self, cursor: &mut Cursor<'_>, batch: &mut EventBatch) -> Result<(), PlanStop> {
        let registers = &mut *self.registers;
        registers.forget_from(role_slot(FieldRole::EventClass));
        cursor.run(&self.plan.event_header, registers)?;
        let class = registers.get(role_slot(FieldRole::EventClass)).unwrap_or(0);
        let position = self.plan.position(class).ok_or(PlanStop::Malformed)?;
        let event = self.plan.event(position);
        cursor.run(&self.plan.common_context, registers)?;
        cursor.run(&event.context, registers)?;
        if event.what == EventMeaning::Unwanted {
            return cursor.run(&event.payload, registers);
        }
        registers.forget_text();
        cursor.run(&event.payload, registers)?;
        self.push(event, position, cursor, batch);
        Ok(())
    }

    fn push(&mut self, event: &EventPlan, position: usize, cursor: &Cursor<'_>, batch: &mut EventBatch) {
        let name = self.name(&event.what, position, &mut batch.texts);
        let record =
            RecordKind { registers: self.registers, bytes: cursor.bytes, old_states: self.old_states };
        let time = time(cursor.clock, self.plan.frequency);
        let Some(kind) = record.kind(&event.what, name, self.names, &mut batch.texts) else {
            let cpu = self.cpu.0;
            batch.losses.add(Loss::MalformedRecord, || {
                format!("an event on CPU {cpu} at {} ns lacks a field that its kind needs", time.ns())
            });
            return;
        };
        let flags = self.registers.get(FLAGS).map(|flags| ContextFlags(flags as u8));
        let recorded = self.registers.get(RECORDED).and_then(|tid| u32::try_from(tid).ok()).map(Tid);
        let number = |slot| self.registers.get(slot);
        let context = NamespaceContext { pid_ns: number(PID_NS), vtid: number(VTID), recorded };
        batch.events.extend(self.namespaces.event(time, self.cpu, context, &kind));
        batch.events.push(KernelEvent { time, cpu: self.cpu, flags, recorded, kind });
        if let Some(frames) = self.stack(&kind, time, cursor.bytes, &mut batch.texts) {
            let kind = EventKind::Stack { frames };
            batch.events.push(KernelEvent { time, cpu: self.cpu, flags, recorded: None, kind });
        }
    }

    /// The call stack of a switch or a wake-up, from its contexts. Programs' functions have addresses only: a kernel trace does not
    /// say which files they are in.
    fn stack(
        &mut self,
        kind: &EventKind,
        time: KernelTime,
        bytes: &[u8],
        texts: &mut KernelTexts,
    ) -> Option<TextId> {
        use EventKind::{Switch, TryToWakeUp, Wakeup, Waking};
        if !matches!(kind, Switch { .. } | Waking { .. } | Wakeup { .. } | TryToWakeUp { .. }) {
            return None;
        }
        let addresses = STACKS.iter().flat_map(|&slot| self.registers.array(slot, bytes));
        let stack = StackAddresses::new(0, addresses);
        let programs = UserFunctions::default();
        let frames = self.stacks.frames(stack, time, (self.symbols, &programs), texts);
        (frames != TextId::EMPTY).then_some(frames)
    }

    fn name(&mut self, what: &EventMeaning, position: usize, texts: &mut KernelTexts) -> TextId {
        match what {
            EventMeaning::Syscall { name, .. } | EventMeaning::Other { name } => {
                *self.class_names[position].get_or_insert_with(|| texts.intern(name))
            }
            _ => TextId::EMPTY,
        }
    }
}

fn lost_event(time: KernelTime, cpu: Cpu, count: Option<u64>) -> KernelEvent {
    KernelEvent { time, cpu, flags: None, recorded: None, kind: EventKind::Lost { count } }
}

/// Cycles to nanoseconds, exactly and rounded down.
#[inline]
fn time(clock: u64, frequency: u64) -> KernelTime {
    if frequency == 1_000_000_000 {
        return KernelTime::from_ns(clock);
    }
    let ns = u128::from(clock) * 1_000_000_000 / u128::from(frequency.max(1));
    KernelTime::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}
