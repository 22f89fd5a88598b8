//! The stream of a perf.data file: turns its records (samples, and perf's own records) into kernel events.

use super::kinds;
use super::records::{NextRecord, PerfRecord, Records, following};
use super::round::ReorderBuffer;
use super::sample::{Sample, SampleKind, SampleLayouts, SampleOrigin};
use crate::bytes::{ByteOrder, until_zero};
use crate::format_text::{DecodedEvent, Decoder, StackAddresses};
use crate::trace::{EventBatch, EventStream, StreamState};
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTime, Loss, Tid};
use std::collections::BTreeSet;

/// Records read in one call.
const RECORDS_A_CALL: usize = 4096;

/// Which of perf's own records contain information that no recorded tracepoint contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RequestedEvents {
    /// `COMM`: neither `task_rename` nor `sched_process_exec` was recorded.
    pub(super) renames: bool,
    /// `FORK`: `sched_process_fork` was not.
    pub(super) forks: bool,
    /// `EXIT`: `sched_process_exit` was not.
    pub(super) exits: bool,
}

/// The events of a file.
pub(super) struct PerfStream {
    records: Records,
    order: ByteOrder,
    layouts: SampleLayouts,
    decoder: Decoder,
    wanted: RequestedEvents,
    round: ReorderBuffer,
    cpus: BTreeSet<u16>,
    /// Lost events recorded at the loss, and those recorded at the end.
    lost: u64,
    lost_in_all: u64,
}

impl PerfStream {
    pub(super) fn new(
        records: Records,
        order: ByteOrder,
        layouts: SampleLayouts,
        decoder: Decoder,
        requested: RequestedEvents,
        round: ReorderBuffer,
    ) -> PerfStream {
        PerfStream {
            records,
            order,
            layouts,
            decoder,
            wanted: requested,
            round,
            cpus: BTreeSet::new(),
            lost: 0,
            lost_in_all: 0,
        }
    }

    fn end(&mut self, loss: Option<Loss>, batch: &mut EventBatch) -> StreamState {
        self.round.end(&mut batch.events);
        if let Some(loss) = loss {
            batch.losses.add(loss, || "perf's records".to_owned());
        }
        let unreported = self.lost_in_all.saturating_sub(self.lost);
        batch
            .losses
            .add_many(Loss::LostEvents, unreported, || "counted at the end of the recording".to_owned());
        StreamState::Ended
    }
}

impl EventStream for PerfStream {
    fn read(&mut self, batch: &mut EventBatch) -> StreamState {
        for _ in 0..RECORDS_A_CALL {
            let next = match self.records.next() {
                Ok(NextRecord::PerfRecord(record)) => {
                    let mut reading = RecordContext {
                        order: self.order,
                        layouts: &self.layouts,
                        decoder: &mut self.decoder,
                        wanted: self.wanted,
                        round: &mut self.round,
                        cpus: &mut self.cpus,
                        lost: &mut self.lost,
                        lost_in_all: &mut self.lost_in_all,
                        batch,
                    };
                    reading.record(record);
                    following(record, self.order)
                }
                Ok(NextRecord::End) => return self.end(None, batch),
                Ok(NextRecord::Malformed) => return self.end(Some(Loss::MalformedRecord), batch),
                Ok(NextRecord::Corrupt) => return self.end(Some(Loss::CorruptCompression), batch),
                Ok(NextRecord::Truncated) | Err(_) => return self.end(Some(Loss::TruncatedInput), batch),
            };
            if next > 0 && !matches!(self.records.follow(next, |_| {}), Ok(Some(()))) {
                return self.end(Some(Loss::TruncatedInput), batch);
            }
        }
        StreamState::More
    }
}

/// Context for one record, separate from its source.
struct RecordContext<'a> {
    order: ByteOrder,
    layouts: &'a SampleLayouts,
    decoder: &'a mut Decoder,
    wanted: RequestedEvents,
    round: &'a mut ReorderBuffer,
    cpus: &'a mut BTreeSet<u16>,
    lost: &'a mut u64,
    lost_in_all: &'a mut u64,
    batch: &'a mut EventBatch,
}

impl RecordContext<'_> {
    fn record(&mut self, record: PerfRecord<'_>) {
        match record.kind {
            kinds::SAMPLE => self.sample(record.body),
            kinds::FINISHED_ROUND => self.round.finish(&mut self.batch.events),
            kinds::LOST => self.lost(record.body, 8),
            kinds::LOST_SAMPLES => self.lost(record.body, 0),
            kinds::THROTTLE => self.throttled(record.body),
            kinds::COMM if self.wanted.renames => self.renamed(record.body),
            kinds::FORK if self.wanted.forks => self.forked(record.body),
            kinds::EXIT if self.wanted.exits => self.exited(record.body),
            _ => {}
        }
    }

    #[inline]
    fn sample(&mut self, body: &[u8]) {
        let sample = match self.layouts.sample(body) {
            SampleKind::Tracepoint(sample) => sample,
            SampleKind::Other => return,
            SampleKind::Malformed => return self.malformed(body),
        };
        let Some((time, cpu)) = instant(sample.origin) else { return self.malformed(body) };
        match self.decoder.decode(sample.raw, time, cpu, &mut self.batch.texts) {
            DecodedEvent::Event(event) => {
                self.push(event);
                self.stack(&event, sample);
            }
            DecodedEvent::Unwanted => {}
            DecodedEvent::Malformed => self.malformed(body),
        }
    }

    /// The call stack of a switch or a wake-up; of other events it is of no use.
    fn stack(&mut self, event: &KernelEvent, sample: Sample<'_>) {
        use EventKind::{Switch, TryToWakeUp, Wakeup, Waking};
        if sample.stack.is_empty()
            || !matches!(event.kind, Switch { .. } | Waking { .. } | Wakeup { .. } | TryToWakeUp { .. })
        {
            return;
        }
        let addresses = sample.stack.chunks_exact(8).filter_map(|bytes| self.order.u64(bytes, 0));
        let stack = StackAddresses::new(sample.process.unwrap_or(0), addresses);
        if let Some(kind) = self.decoder.stack(stack, event.time, &mut self.batch.texts) {
            self.push(KernelEvent { recorded: None, kind, ..*event });
        }
    }

    #[inline]
    fn push(&mut self, event: KernelEvent) {
        self.cpus.insert(event.cpu.0);
        self.round.push(event, &mut self.batch.events);
    }

    fn malformed(&mut self, body: &[u8]) {
        self.batch.losses.add(Loss::MalformedRecord, || format!("a sample of {} bytes", body.len()));
    }

    /// `LOST` has a number before the count, `LOST_SAMPLES` does not. Without a time it is the sum at the end.
    fn lost(&mut self, body: &[u8], count_at: usize) {
        let Some(count) = self.order.u64(body, count_at) else { return self.malformed(body) };
        let origin = self.layouts.trailer(body);
        let Some(time) = origin.time_ns.filter(|&ns| ns > 0).map(KernelTime::from_ns) else {
            *self.lost_in_all = self.lost_in_all.saturating_add(count);
            return;
        };
        *self.lost = self.lost.saturating_add(count);
        self.batch.losses.add_many(Loss::LostEvents, count, || format!("at {} ns", time.ns()));
        self.mark_loss(origin, time, Some(count));
    }

    /// The kernel stopped recording for a while because events came too fast.
    fn throttled(&mut self, body: &[u8]) {
        let origin = self.layouts.trailer(body);
        let Some(time) = self.order.u64(body, 0).map(KernelTime::from_ns) else {
            return self.malformed(body);
        };
        self.batch.losses.add(Loss::LostInterval, || format!("throttled at {} ns", time.ns()));
        self.mark_loss(origin, time, None);
    }

    /// Marks the loss on its CPU, or on all if the CPU is unknown.
    fn mark_loss(&mut self, origin: SampleOrigin, time: KernelTime, count: Option<u64>) {
        let cpu = origin.cpu.and_then(|cpu| u16::try_from(cpu).ok());
        let cpus: Vec<u16> = cpu.map_or_else(|| self.cpus.iter().copied().collect(), |cpu| vec![cpu]);
        for cpu in cpus {
            let kind = EventKind::Lost { count };
            self.push(KernelEvent { time, cpu: Cpu(cpu), flags: None, recorded: None, kind });
        }
    }

    /// Threads that existed when the recording began have no time: their names are collected separately.
    fn renamed(&mut self, body: &[u8]) {
        let origin = self.layouts.trailer(body);
        let (Some(tid), Some(name)) = (self.order.u32(body, 4), body.get(8..)) else {
            return self.malformed(body);
        };
        let name = self.batch.texts.intern(&String::from_utf8_lossy(until_zero(name)));
        self.push_own_record(origin, EventKind::Rename { tid: Tid(tid), name });
    }

    /// Process, parent process, thread, parent thread, time.
    fn forked(&mut self, body: &[u8]) {
        let origin = self.layouts.trailer(body);
        let (Some(child), Some(parent)) = (self.order.u32(body, 8), self.order.u32(body, 12)) else {
            return self.malformed(body);
        };
        let child_name = laggard_model::TextId::EMPTY;
        self.push_own_record(origin, EventKind::Fork { parent: Tid(parent), child: Tid(child), child_name });
    }

    fn exited(&mut self, body: &[u8]) {
        let origin = self.layouts.trailer(body);
        let Some(tid) = self.order.u32(body, 8) else { return self.malformed(body) };
        self.push_own_record(origin, EventKind::Exit { tid: Tid(tid) });
    }

    /// Adds one of perf's own records as an event, if it has a time and a CPU.
    fn push_own_record(&mut self, origin: SampleOrigin, kind: EventKind) {
        if let Some((time, cpu)) = instant(origin) {
            self.push(KernelEvent { time, cpu, flags: None, recorded: origin.tid.map(Tid), kind });
        }
    }
}

fn instant(origin: SampleOrigin) -> Option<(KernelTime, Cpu)> {
    let time = origin.time_ns.filter(|&ns| ns > 0).map(KernelTime::from_ns)?;
    Some((time, Cpu(u16::try_from(origin.cpu?).ok()?)))
}
