//! Records of the simulated CPUs, in time order.

use laggard_model::{ContextFlags, Cpu, EventKind, KernelEvent, KernelTexts, KernelTime, TextId, Tid};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Minimum distance of two records of one CPU, in nanoseconds.
const RECORD_NS: u64 = 150;

/// The context a record is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventContext {
    Thread,
    HardInterrupt,
    SoftInterrupt,
}

impl EventContext {
    fn flags(self) -> ContextFlags {
        ContextFlags(match self {
            EventContext::Thread => 0,
            EventContext::HardInterrupt => ContextFlags::HARD_IRQ,
            EventContext::SoftInterrupt => ContextFlags::SOFT_IRQ,
        })
    }
}

/// A record that waits for earlier ones of other CPUs.
struct LogRecord {
    time: u64,
    number: u64,
    event: KernelEvent,
}

impl PartialEq for LogRecord {
    fn eq(&self, other: &LogRecord) -> bool {
        (self.time, self.number) == (other.time, other.number)
    }
}

impl Eq for LogRecord {}

impl PartialOrd for LogRecord {
    fn partial_cmp(&self, other: &LogRecord) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LogRecord {
    fn cmp(&self, other: &LogRecord) -> std::cmp::Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

/// Hands records on in time order.
pub(super) struct Log<F> {
    pub(super) texts: KernelTexts,
    /// The last record of each CPU.
    last: Vec<u64>,
    waiting: BinaryHeap<Reverse<LogRecord>>,
    number: u64,
    each: F,
}

impl<F: FnMut(&KernelEvent, &KernelTexts)> Log<F> {
    pub(super) fn new(cpus: usize, each: F) -> Log<F> {
        Log {
            texts: KernelTexts::default(),
            last: vec![0; cpus],
            waiting: BinaryHeap::new(),
            number: 0,
            each,
        }
    }

    pub(super) fn name(&mut self, text: &str) -> TextId {
        self.texts.intern(text)
    }

    /// Writes a record at `now` or, when the CPU has just written one, a little later; the time it got.
    pub(super) fn write(
        &mut self,
        now: u64,
        cpu: usize,
        writer: u32,
        context: EventContext,
        kind: EventKind,
    ) -> u64 {
        let time = now.max(self.last[cpu] + RECORD_NS);
        self.last[cpu] = time;
        self.number += 1;
        let event = KernelEvent {
            time: KernelTime::from_ns(time),
            cpu: Cpu(cpu as u16),
            flags: Some(context.flags()),
            recorded: Some(Tid(writer)),
            kind,
        };
        self.waiting.push(Reverse(LogRecord { time, number: self.number, event }));
        time
    }

    /// The time of a CPU's last record.
    pub(super) fn last_of(&self, cpu: usize) -> u64 {
        self.last[cpu]
    }

    /// Hands on what no later record can precede: everything before `now`.
    pub(super) fn flush(&mut self, now: u64) {
        while let Some(Reverse(record)) = self.waiting.peek() {
            if record.time >= now {
                return;
            }
            if let Some(Reverse(record)) = self.waiting.pop() {
                (self.each)(&record.event, &self.texts);
            }
        }
    }

    /// Hands on the rest; the number of all records, and their texts.
    pub(super) fn finish(mut self) -> (u64, KernelTexts) {
        self.flush(u64::MAX);
        (self.number, self.texts)
    }
}
