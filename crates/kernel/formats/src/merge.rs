//! Many streams to one sequence in time order.

use crate::trace::{EventBatch, EventStream, KernelTrace, ReadTrace, StreamState, TraceFacts};
use laggard_model::{KernelEvent, KernelTexts, KernelTime, Loss};
use laggard_parallel::check_canceled;
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

/// Events of one stream may come this much out of order (nanoseconds) and are sorted; beyond it they are moved.
pub const REORDER_WINDOW_NS: u64 = 1_000_000;

/// Events of one stream that wait for earlier ones: with more, the earliest no longer waits for its window.
const WAITING_MAX: usize = 1 << 16;

/// One stream with the events read but not yet passed on.
struct PendingEvent {
    stream: Box<dyn EventStream>,
    /// In time order; of one instant in the stream's order.
    waiting: VecDeque<KernelEvent>,
    newest: KernelTime,
    state: StreamState,
}

impl PendingEvent {
    fn new(stream: Box<dyn EventStream>) -> PendingEvent {
        PendingEvent {
            stream,
            waiting: VecDeque::new(),
            newest: KernelTime::default(),
            state: StreamState::More,
        }
    }

    /// Time of the earliest event, when none can come before it any more. Reads as far as that takes.
    fn front(&mut self, batch: &mut EventBatch) -> Option<KernelTime> {
        while self.state == StreamState::More && !self.settled() {
            check_canceled();
            self.state = self.stream.read(batch);
            for event in batch.events.drain(..) {
                self.newest = self.newest.max(event.time);
                insert(&mut self.waiting, event);
            }
        }
        self.waiting.front().map(|event| event.time)
    }

    #[inline]
    fn settled(&self) -> bool {
        let Some(front) = self.waiting.front() else { return false };
        self.newest.since(front.time) > REORDER_WINDOW_NS || self.waiting.len() > WAITING_MAX
    }
}

#[inline]
fn insert(waiting: &mut VecDeque<KernelEvent>, event: KernelEvent) {
    if waiting.back().is_none_or(|last| last.time <= event.time) {
        return waiting.push_back(event);
    }
    let index = waiting.partition_point(|other| other.time <= event.time);
    waiting.insert(index, event);
}

/// A trace that is read event by event.
struct Merged {
    facts: TraceFacts,
    batch: EventBatch,
    streams: Vec<PendingEvent>,
    /// Time of each stream's earliest event.
    heads: BinaryHeap<Reverse<(KernelTime, usize)>>,
    last: KernelTime,
}

impl Merged {
    fn new(trace: KernelTrace) -> Merged {
        let mut batch = EventBatch { losses: trace.losses, ..EventBatch::default() };
        let mut streams: Vec<PendingEvent> = trace.streams.into_iter().map(PendingEvent::new).collect();
        let mut heads = BinaryHeap::new();
        for (index, stream) in streams.iter_mut().enumerate() {
            heads.extend(stream.front(&mut batch).map(|time| Reverse((time, index))));
        }
        Merged { facts: trace.facts, batch, streams, heads, last: KernelTime::default() }
    }

    /// The next event in time order.
    #[inline]
    fn next(&mut self) -> Option<KernelEvent> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((_, index)) = *head;
        let stream = &mut self.streams[index];
        let mut event = stream.waiting.pop_front()?;
        match stream.front(&mut self.batch) {
            Some(time) => *head = Reverse((time, index)),
            None => {
                PeekMut::pop(head);
            }
        }
        if event.time < self.last {
            let what = || format!("CPU {} at {} ns", event.cpu.0, event.time.ns());
            self.batch.losses.add(Loss::TimeWentBack, what);
            event.time = self.last;
        }
        self.last = event.time;
        Some(event)
    }

    fn finish(self) -> ReadTrace {
        ReadTrace { facts: self.facts, texts: self.batch.texts, losses: self.batch.losses }
    }
}

pub(crate) fn read(trace: KernelTrace, mut each: impl FnMut(&KernelEvent, &KernelTexts)) -> ReadTrace {
    let mut merged = Merged::new(trace);
    while let Some(event) = merged.next() {
        each(&event, &merged.batch.texts);
    }
    merged.finish()
}

/// Merges the traces of several hosts, in time order. `on_one_clock` maps the instants of each trace (by its index) to
/// a common clock; it must not decrease. `each` gets every event once, with its trace's index, on that clock, and with
/// the texts of its trace known so far.
pub fn read_together(
    traces: Vec<KernelTrace>,
    on_one_clock: impl Fn(usize, KernelTime) -> KernelTime,
    mut each: impl FnMut(usize, &KernelEvent, &KernelTexts),
) -> Vec<ReadTrace> {
    let mut traces: Vec<Merged> = traces.into_iter().map(Merged::new).collect();
    let next = |index: usize, trace: &mut Merged| {
        trace.next().map(|event| KernelEvent { time: on_one_clock(index, event.time), ..event })
    };
    let mut heads: Vec<Option<KernelEvent>> =
        traces.iter_mut().enumerate().map(|(index, trace)| next(index, trace)).collect();
    let earliest = |heads: &[Option<KernelEvent>]| {
        let known = heads.iter().enumerate().filter_map(|(index, head)| Some((head.as_ref()?.time, index)));
        known.min().map(|(_, index)| index)
    };
    while let Some(index) = earliest(&heads) {
        if let Some(event) = heads[index].take() {
            each(index, &event, &traces[index].batch.texts);
        }
        heads[index] = next(index, &mut traces[index]);
    }
    traces.into_iter().map(Merged::finish).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Cpu, EventKind, ExpiredTimer, Losses};
    use proptest::prelude::*;

    /// Returns events with the given times, a few at a time.
    struct EventHandoff {
        cpu: u16,
        times: VecDeque<u64>,
        batch_size: usize,
    }

    impl EventStream for EventHandoff {
        fn read(&mut self, batch: &mut EventBatch) -> StreamState {
            for ns in self.times.drain(..self.batch_size.min(self.times.len())) {
                batch.events.push(KernelEvent {
                    time: KernelTime::from_ns(ns),
                    cpu: Cpu(self.cpu),
                    flags: None,
                    recorded: None,
                    kind: EventKind::HrtimerEntry(ExpiredTimer::default()),
                });
            }
            if self.times.is_empty() { StreamState::Ended } else { StreamState::More }
        }
    }

    fn merged(streams: Vec<Vec<u64>>, batch_size: usize) -> (Vec<(u64, u16)>, Losses) {
        let streams = streams.into_iter().zip(0..).map(|(times, cpu)| {
            Box::new(EventHandoff { cpu, times: times.into(), batch_size }) as Box<dyn EventStream>
        });
        let trace =
            KernelTrace { facts: TraceFacts::default(), losses: Losses::none(), streams: streams.collect() };
        let mut order_read = Vec::new();
        let read = trace.read(|event, _| order_read.push((event.time.ns(), event.cpu.0)));
        (order_read, read.losses)
    }

    #[test]
    fn streams_are_merged_by_time_and_then_by_their_order() {
        let (order_read, losses) = merged(vec![vec![1, 5, 5, 9], vec![2, 5, 8], vec![]], 2);
        assert_eq!(order_read, [(1, 0), (2, 1), (5, 0), (5, 0), (5, 1), (8, 1), (9, 0)]);
        assert!(losses.is_empty());
    }

    #[test]
    fn disorder_within_the_window_is_sorted_and_beyond_it_moved() {
        let ms = REORDER_WINDOW_NS;
        let (order_read, losses) = merged(vec![vec![ms, 0, 3 * ms, 2 * ms + 1, 2 * ms, 9 * ms, ms + 7]], 1);
        let times: Vec<u64> = order_read.iter().map(|&(time, _)| time).collect();
        assert_eq!(times, [0, ms, 2 * ms, 2 * ms + 1, 3 * ms, 3 * ms, 9 * ms]);
        assert_eq!(losses.count(Loss::TimeWentBack), 1);
    }

    #[test]
    fn traces_are_read_together_on_one_clock() {
        let trace = |times: &[u64]| {
            let stream = EventHandoff { cpu: 0, times: times.iter().copied().collect(), batch_size: 2 };
            KernelTrace {
                facts: TraceFacts::default(),
                losses: Losses::none(),
                streams: vec![Box::new(stream)],
            }
        };
        let mut order_read = Vec::new();
        let traces = vec![trace(&[1, 5, 9]), trace(&[104, 105, 120]), trace(&[])];
        let on_one_clock =
            |index: usize, time: KernelTime| KernelTime::from_ns(time.ns() - 100 * index as u64);
        let read =
            read_together(traces, on_one_clock, |index, event, _| order_read.push((event.time.ns(), index)));
        assert_eq!(order_read, [(1, 0), (4, 1), (5, 0), (5, 1), (9, 0), (20, 1)]);
        assert_eq!(read.len(), 3);
    }

    proptest! {
        #[test]
        fn no_event_is_lost_and_small_disorder_is_sorted(
            steps in prop::collection::vec((0_u64..400_000, 0_u64..REORDER_WINDOW_NS), 0..300),
            batch_size in 1_usize..40,
        ) {
            let mut base = 0;
            let times: Vec<u64> = steps.iter().map(|(step, jitter)| { base += step; base + jitter }).collect();
            let (order_read, losses) = merged(vec![times.clone(), vec![700_000]], batch_size);
            let mut expected: Vec<(u64, u16)> = times.iter().map(|&time| (time, 0)).collect();
            expected.push((700_000, 1));
            expected.sort_unstable();
            prop_assert_eq!(order_read, expected);
            prop_assert!(losses.is_empty());
        }
    }
}
