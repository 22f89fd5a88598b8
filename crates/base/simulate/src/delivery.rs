//! How records travel: when exporters flush, what is lost, repeated or late.

use crate::components::{COMPONENTS, NODES};
use crate::hosts::NodeIndex;
use crate::operations::OperationIndex;
use crate::random::{Random, Stream};
use crate::request::Request;
use crate::simulation::Simulation;
use crate::truth::RecordCounts;
use laggard_model::TraceId;
use std::sync::Arc;

/// Every process hands on its finished spans this often: the default of OpenTelemetry's batch span
/// processor (`OTEL_BSP_SCHEDULE_DELAY`).
const FLUSH_NS: i64 = 5_000_000_000;
/// How late the late host is.
const LATE_NS: i64 = 600_000_000_000;

/// A span on its way into a file. The order of the fields that start it is the order of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SpanRow {
    /// When it arrives, or the number of its request when the format groups spans by trace.
    pub(crate) arrives: i64,
    /// Component and node it comes from.
    pub(crate) process: u32,
    true_end: i64,
    /// Number of the request.
    pub(crate) request: u32,
    pub(crate) position: u32,
    pub(crate) trace_id: TraceId,
    pub(crate) span_id: u64,
    /// 0 for none.
    pub(crate) parent_id: u64,
    pub(crate) operation: OperationIndex,
    pub(crate) node: NodeIndex,
    /// On the host's clock.
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// How spans are arranged in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrangement {
    /// As exported by the processes: traces are split and interleaved.
    AsExported,
    ByTrace,
}

/// What becomes of a record.
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
    simulation: Arc<Simulation>,
    arrangement: Arrangement,
    late_host: Option<NodeIndex>,
    /// By process: when in the flush period it flushes.
    phases: Vec<i64>,
    pending: Vec<SpanRow>,
    requests: u32,
    pub(crate) counts: RecordCounts,
}

impl SpanQueue {
    pub(crate) fn new(simulation: &Arc<Simulation>, arrangement: Arrangement) -> SpanQueue {
        let phase = |process: usize| {
            let path = [process as u64];
            Random::new(simulation.settings.seed, Stream::Export, &path).below(FLUSH_NS as u64) as i64
        };
        SpanQueue {
            simulation: Arc::clone(simulation),
            arrangement,
            late_host: simulation.late_host(),
            phases: (0..COMPONENTS.len() * NODES).map(phase).collect(),
            pending: Vec::new(),
            requests: 0,
            counts: RecordCounts::default(),
        }
    }

    /// Takes the spans of a request.
    pub(crate) fn add(&mut self, request: &Request) {
        let mut deliveries = Deliveries::from_request(&self.simulation, request);
        for position in 0..request.calls.len() {
            let delivery = deliveries.next(&mut self.counts);
            if delivery == Delivery::Lost {
                continue;
            }
            let row = self.row(request, position);
            self.pending.push(row);
            if delivery == Delivery::Twice {
                let retried =
                    row.arrives + if self.arrangement == Arrangement::AsExported { FLUSH_NS } else { 0 };
                self.pending.push(SpanRow { arrives: retried, ..row });
            }
        }
        self.requests += 1;
    }

    /// Hands on, in order, the spans that arrive before the next request starts; all when there is none.
    pub(crate) fn drain(&mut self, next_start_ns: Option<i64>, emit: &mut dyn FnMut(&SpanRow)) {
        self.pending.sort_unstable();
        let ready = match (next_start_ns, self.arrangement) {
            (Some(horizon), Arrangement::AsExported) => {
                self.pending.partition_point(|row| row.arrives < horizon)
            }
            _ => self.pending.len(),
        };
        self.pending.drain(..ready).for_each(|row| emit(&row));
    }

    fn row(&self, request: &Request, position: usize) -> SpanRow {
        let call = &request.calls[position];
        let component = self.simulation.system.operations.get(call.operation).component;
        let process = component * NODES + usize::from(call.node);
        let true_end = call.true_end.unix_ns();
        let arrives = match self.arrangement {
            Arrangement::AsExported => self.arrival_ns(process, call.node, true_end),
            Arrangement::ByTrace => i64::from(self.requests),
        };
        let by_trace = self.arrangement == Arrangement::ByTrace;
        SpanRow {
            arrives,
            process: if by_trace { 0 } else { process as u32 },
            true_end,
            request: self.requests,
            position: position as u32,
            trace_id: request.trace_id,
            span_id: call.span_id.value(),
            parent_id: call.parent.map_or(0, |parent| request.calls[parent as usize].span_id.value()),
            operation: call.operation,
            node: call.node,
            start_ns: call.start.unix_ns(),
            end_ns: call.start.plus(call.inclusive).unix_ns(),
        }
    }

    /// The process's first flush after the span has ended.
    fn arrival_ns(&self, process: usize, node: NodeIndex, true_end: i64) -> i64 {
        let wait = (self.phases[process] - true_end).rem_euclid(FLUSH_NS);
        let late = if self.late_host == Some(node) { LATE_NS } else { 0 };
        true_end + wait + late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, Settings};

    fn arrivals(settings: &Settings) -> Vec<SpanRow> {
        let simulation = Arc::new(Simulation::new(settings).unwrap());
        let mut queue = SpanQueue::new(&simulation, Arrangement::AsExported);
        let mut rows = Vec::new();
        let all = simulation.arrivals();
        for (at, &arrival) in all.iter().enumerate() {
            queue.add(&Request::draw(&simulation, arrival));
            if at % 7 == 0 {
                queue.drain(all.get(at + 1).map(|next| next.start_ns), &mut |row| rows.push(*row));
            }
        }
        queue.drain(None, &mut |row| rows.push(*row));
        assert_eq!(rows.len() as u64, queue.counts.written);
        rows
    }

    #[test]
    fn the_order_is_that_of_arrival_however_often_it_is_drained() {
        let base = Settings { requests_per_service: 40, window_s: 30, ..Settings::new(Scenario::Quiet, 1) };
        for late_host in [false, true] {
            let rows = arrivals(&Settings { late_host, ..base.clone() });
            assert!(rows.is_sorted());
            let torn = rows.windows(2).filter(|pair| pair[0].request != pair[1].request).count();
            // Each trace is split into many parts.
            assert!(torn > 5 * 120, "{torn} of {}", rows.len());
            let last = rows.last().unwrap();
            assert_eq!(last.arrives - last.true_end > LATE_NS, late_host);
        }
    }
}
