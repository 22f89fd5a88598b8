//! How records travel: when exporters flush, what is lost, repeated or late.

use crate::components::{COMPONENTS, NODES};
use crate::operations::OperationIndex;
use crate::random::{Random, Stream};
use crate::request::Request;
use crate::simulation::Simulation;
use crate::truth::RecordCounts;
use laggard_model::{SpanKind, Status, TraceId};

/// Every process exports its finished spans this often: the default of OpenTelemetry's batch span
/// processor (`OTEL_BSP_SCHEDULE_DELAY`).
const FLUSH_NS: i64 = 5_000_000_000;
/// How late the late host is.
const LATE_NS: i64 = 600_000_000_000;

/// A span on its way into a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanRow {
    /// The process it comes from.
    pub(crate) process: u32,
    /// The host it comes from.
    pub(crate) host: u32,
    /// Number of the request.
    pub(crate) request: u32,
    pub(crate) position: u32,
    pub(crate) trace_id: TraceId,
    pub(crate) span_id: u64,
    /// 0 for none.
    pub(crate) parent_id: u64,
    pub(crate) operation: OperationIndex,
    pub(crate) kind: SpanKind,
    pub(crate) status: Status,
    /// Number of the tenant, of spans that have the attribute.
    pub(crate) tenant: Option<u16>,
    pub(crate) true_end: i64,
    /// On the host's clock.
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// A span with its place in a file: when it arrives, or the number of its request when the format groups spans by trace.
#[derive(Clone, Copy, Debug)]
struct Pending {
    arrives: i64,
    row: SpanRow,
}

impl Pending {
    fn order(&self, arrangement: Arrangement) -> (i64, u32, i64, u32, u32) {
        let process = if arrangement == Arrangement::ByTrace { 0 } else { self.row.process };
        (self.arrives, process, self.row.true_end, self.row.request, self.row.position)
    }
}

/// How spans are arranged in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrangement {
    /// As exported by the processes: traces are split and interleaved.
    AsExported,
    ByTrace,
}

/// Fate of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivery {
    Lost,
    Once,
    Twice,
}

/// Decides what becomes of the records of one request, in their order.
pub(crate) struct Deliveries {
    random: Random,
    drop: f64,
    duplicate: f64,
}

impl Deliveries {
    pub(crate) fn from_request(simulation: &Simulation, request: &Request) -> Deliveries {
        let settings = &simulation.settings;
        let arrival = request.arrival;
        let path = [u64::from(settings.run), arrival.entry as u64, u64::from(arrival.index)];
        Deliveries {
            random: Random::new(settings.seed, Stream::Losses, &path),
            drop: settings.drop_records,
            duplicate: settings.duplicate_records,
        }
    }

    /// The next record's, counted.
    pub(crate) fn next(&mut self, counts: &mut RecordCounts) -> Delivery {
        let (drops, repeats) = (self.random.chance(self.drop), self.random.chance(self.duplicate));
        match (drops, repeats) {
            (true, _) => {
                counts.dropped += 1;
                Delivery::Lost
            }
            (false, true) => {
                counts.duplicated += 1;
                counts.written += 2;
                Delivery::Twice
            }
            (false, false) => {
                counts.written += 1;
                Delivery::Once
            }
        }
    }
}

/// Spans that have not arrived yet.
#[derive(Debug)]
pub(crate) struct SpanQueue {
    arrangement: Arrangement,
    /// By process: when in the flush period it flushes.
    phases: Vec<i64>,
    /// The host whose records come late.
    late_host: Option<u32>,
    pending: Vec<Pending>,
    pub(crate) counts: RecordCounts,
}

impl SpanQueue {
    pub(crate) fn new(
        seed: u64,
        processes: usize,
        late_host: Option<u32>,
        arrangement: Arrangement,
    ) -> SpanQueue {
        let phase = |process: usize| {
            Random::new(seed, Stream::Export, &[process as u64]).below(FLUSH_NS as u64) as i64
        };
        SpanQueue {
            arrangement,
            phases: (0..processes).map(phase).collect(),
            late_host,
            pending: Vec::new(),
            counts: RecordCounts::default(),
        }
    }

    /// Takes a span.
    pub(crate) fn push(&mut self, row: SpanRow, delivery: Delivery) {
        if delivery == Delivery::Lost {
            return;
        }
        let arrives = match self.arrangement {
            Arrangement::AsExported => self.arrival_ns(&row),
            Arrangement::ByTrace => i64::from(row.request),
        };
        self.pending.push(Pending { arrives, row });
        if delivery == Delivery::Twice {
            let retried = arrives + if self.arrangement == Arrangement::AsExported { FLUSH_NS } else { 0 };
            self.pending.push(Pending { arrives: retried, row });
        }
    }

    /// Hands on, in order, the spans that arrive before the next request starts; all when there is none.
    pub(crate) fn drain(&mut self, next_start_ns: Option<i64>, emit: &mut dyn FnMut(&SpanRow)) {
        self.pending.sort_unstable_by_key(|pending| pending.order(self.arrangement));
        let ready = match (next_start_ns, self.arrangement) {
            (Some(horizon), Arrangement::AsExported) => {
                self.pending.partition_point(|pending| pending.arrives < horizon)
            }
            _ => self.pending.len(),
        };
        self.pending.drain(..ready).for_each(|pending| emit(&pending.row));
    }

    /// The process's first flush after the span has ended.
    fn arrival_ns(&self, row: &SpanRow) -> i64 {
        let wait = (self.phases[row.process as usize] - row.true_end).rem_euclid(FLUSH_NS);
        let late = if self.late_host == Some(row.host) { LATE_NS } else { 0 };
        row.true_end + wait + late
    }
}

/// The spans of a request of a scenario, each with what becomes of it.
pub(crate) fn deliver(simulation: &Simulation, request: &Request, number: u32, queue: &mut SpanQueue) {
    let mut deliveries = Deliveries::from_request(simulation, request);
    for (position, call) in request.calls.iter().enumerate() {
        let delivery = deliveries.next(&mut queue.counts);
        let operation = simulation.system.operations.get(call.operation);
        let row = SpanRow {
            process: (operation.component * NODES + usize::from(call.node)) as u32,
            host: u32::from(call.node),
            request: number,
            position: position as u32,
            trace_id: request.trace_id,
            span_id: call.span_id.value(),
            parent_id: call.parent.map_or(0, |parent| request.calls[parent as usize].span_id.value()),
            operation: call.operation,
            kind: operation.kind,
            status: Status::Unset,
            tenant: None,
            true_end: call.true_end.unix_ns(),
            start_ns: call.start.unix_ns(),
            end_ns: call.start.plus(call.inclusive).unix_ns(),
        };
        queue.push(row, delivery);
    }
}

/// Processes that a scenario can have.
pub(crate) const PROCESSES: usize = COMPONENTS.len() * NODES;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, Settings};
    use std::sync::Arc;

    fn arrivals(settings: &Settings) -> Vec<SpanRow> {
        let simulation = Arc::new(Simulation::new(settings).unwrap());
        let late_host = simulation.late_host().map(u32::from);
        let mut queue = SpanQueue::new(settings.seed, PROCESSES, late_host, Arrangement::AsExported);
        let mut rows = Vec::new();
        let all = simulation.arrivals();
        for (index, &arrival) in all.iter().enumerate() {
            deliver(&simulation, &Request::draw(&simulation, arrival), index as u32, &mut queue);
            if index % 7 == 0 {
                queue.drain(all.get(index + 1).map(|next| next.start_ns), &mut |row| rows.push(*row));
            }
        }
        queue.drain(None, &mut |row| rows.push(*row));
        assert_eq!(rows.len() as u64, queue.counts.written);
        rows
    }

    #[test]
    fn records_are_in_order_of_arrival_however_often_drained() {
        let base = Settings { requests_per_service: 40, window_s: 30, ..Settings::new(Scenario::Quiet, 1) };
        for late_host in [false, true] {
            let rows = arrivals(&Settings { late_host, ..base.clone() });
            let torn = rows.windows(2).filter(|pair| pair[0].request != pair[1].request).count();
            // Each trace is split into many parts.
            assert!(torn > 5 * 120, "{torn} of {}", rows.len());
            // Spans of a process come in the order of their ends, with at most a flush between two of any.
            let disorder = rows.windows(2).map(|pair| pair[0].true_end - pair[1].true_end).max().unwrap();
            assert_eq!(disorder > FLUSH_NS, late_host, "{disorder}");
        }
    }
}
