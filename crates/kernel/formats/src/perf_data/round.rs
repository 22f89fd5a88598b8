//! Rounds: `perf record` empties one CPU's buffer after the other and then writes a mark. What one round holds is not in
//! time order, but nothing after the next mark is earlier than what this round held.

use laggard_model::{KernelEvent, KernelTime};

/// Maximum number of buffered events: files without marks are sorted in chunks of half that.
pub(super) const EVENTS_MAX: usize = 1 << 21;

/// The same for files of one recording thread each, which have no marks: mostly one CPU's events, in order already.
pub(super) const THREAD_EVENTS_MAX: usize = 1 << 17;

/// Events of this round, and those of earlier ones that it may still precede.
#[derive(Debug)]
pub(super) struct ReorderBuffer {
    events: Vec<KernelEvent>,
    events_max: usize,
    /// Latest time before the last mark.
    previous: KernelTime,
    /// Latest time so far.
    latest: KernelTime,
}

impl ReorderBuffer {
    /// An empty buffer that holds at most this many events.
    pub(super) fn new(events_max: usize) -> ReorderBuffer {
        let start = KernelTime::default();
        ReorderBuffer { events: Vec::new(), events_max, previous: start, latest: start }
    }

    /// Adds an event; returns the earlier half if there are too many.
    pub(super) fn push(&mut self, event: KernelEvent, out: &mut Vec<KernelEvent>) {
        self.latest = self.latest.max(event.time);
        self.events.push(event);
        if self.events.len() >= self.events_max {
            self.sort();
            out.extend(self.events.drain(..self.events_max / 2));
        }
    }

    /// At a mark: returns, in order, the events that no later one can precede.
    pub(super) fn finish(&mut self, out: &mut Vec<KernelEvent>) {
        self.sort();
        let settled = self.events.partition_point(|event| event.time <= self.previous);
        out.extend(self.events.drain(..settled));
        self.previous = self.latest;
    }

    /// At the end: returns all events.
    pub(super) fn end(&mut self, out: &mut Vec<KernelEvent>) {
        self.sort();
        out.append(&mut self.events);
    }

    /// By time, then by CPU, then as they came.
    fn sort(&mut self) {
        self.events.sort_by_key(|event| (event.time, event.cpu));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::{Cpu, EventKind};

    fn event(ns: u64, cpu: u16) -> KernelEvent {
        KernelEvent {
            time: KernelTime::from_ns(ns),
            cpu: Cpu(cpu),
            flags: None,
            recorded: None,
            kind: EventKind::HrtimerExit,
        }
    }

    fn consumed(out: &mut Vec<KernelEvent>) -> Vec<u64> {
        out.drain(..).map(|event| event.time.ns()).collect()
    }

    #[test]
    fn a_round_waits_for_the_mark_after_the_next() {
        // The example of tools/perf's documentation of FINISHED_ROUND.
        let (mut round, mut out) = (ReorderBuffer::new(EVENTS_MAX), Vec::new());
        for (ns, cpu) in [(1, 0), (2, 0), (2, 1), (3, 1), (4, 1)] {
            round.push(event(ns, cpu), &mut out);
        }
        round.finish(&mut out);
        assert_eq!(consumed(&mut out), [0_u64; 0]);
        for (ns, cpu) in [(3, 0), (4, 0), (5, 0), (5, 1), (6, 1), (7, 1)] {
            round.push(event(ns, cpu), &mut out);
        }
        round.finish(&mut out);
        assert_eq!(consumed(&mut out), [1, 2, 2, 3, 3, 4, 4]);
        round.end(&mut out);
        assert_eq!(consumed(&mut out), [5, 5, 6, 7]);
    }

    #[test]
    fn without_marks_memory_is_bounded() {
        let (mut round, mut out) = (ReorderBuffer::new(EVENTS_MAX), Vec::new());
        let count = EVENTS_MAX + 10;
        for ns in 0..count as u64 {
            round.push(event(ns, 0), &mut out);
        }
        assert_eq!(out.len(), EVENTS_MAX / 2);
        round.end(&mut out);
        assert_eq!(out.len(), count);
        assert!(out.is_sorted_by_key(|event| event.time));
    }
}
