//! Many streams to one sequence in time order.

use crate::trace::{EventBatch, EventStream, KernelTrace, ReadTrace, StreamState};
use laggard_model::{KernelEvent, KernelTexts, KernelTime, Loss};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Events of one stream may come this much out of order (nanoseconds) and are sorted; beyond it they are moved.
pub const REORDER_WINDOW_NS: u64 = 1_000_000;

/// One stream with what was read of it and not yet handed on.
struct Ahead {
    stream: Box<dyn EventStream>,
    ready: VecDeque<KernelEvent>,
    state: StreamState,
}

impl Ahead {
    /// Reads until an event is ready or the stream has ended.
    fn fill(&mut self, batch: &mut EventBatch) {
        while self.ready.is_empty() && self.state == StreamState::More {
            self.state = self.stream.read(batch);
            self.ready.extend(batch.events.drain(..));
        }
    }
}

pub(crate) fn read(trace: KernelTrace, mut each: impl FnMut(&KernelEvent, &KernelTexts)) -> ReadTrace {
    let mut batch = EventBatch { losses: trace.losses, ..EventBatch::default() };
    let mut streams: Vec<Ahead> = trace
        .streams
        .into_iter()
        .map(|stream| Ahead { stream, ready: VecDeque::new(), state: StreamState::More })
        .collect();
    let mut heads = BinaryHeap::new();
    for (index, stream) in streams.iter_mut().enumerate() {
        stream.fill(&mut batch);
        heads.extend(stream.ready.front().map(|event| Reverse((event.time, index))));
    }
    let mut last = KernelTime::default();
    while let Some(Reverse((_, index))) = heads.pop() {
        let stream = &mut streams[index];
        if let Some(mut event) = stream.ready.pop_front() {
            if event.time < last {
                batch
                    .losses
                    .add(Loss::TimeWentBack, || format!("CPU {} at {} ns", event.cpu.0, event.time.ns()));
                event.time = last;
            }
            last = event.time;
            each(&event, &batch.texts);
        }
        stream.fill(&mut batch);
        heads.extend(stream.ready.front().map(|event| Reverse((event.time, index))));
    }
    ReadTrace { facts: trace.facts, texts: batch.texts, losses: batch.losses }
}
