//! CloudDiag's call log, one file per node: a line for each start and each return of a call.

use super::text::{push, push_hex, push_time, push_trace_id};
use super::{TraceFile, TraceLog, Written, microseconds};
use crate::delivery::{Deliveries, Delivery};
use crate::hosts::NodeIndex;
use crate::operations::OperationIndex;
use crate::request::Request;
use crate::simulation::Simulation;
use crate::truth::RecordCounts;
use crate::{Compression, Error};
use laggard_model::{CallFlag, SpanKind, TraceId};
use std::path::Path;
use std::sync::Arc;

const HEADER: &str = "host,time_us,request_id,mid,method,flag,callee_mid\n";

pub(super) struct CallLog {
    simulation: Arc<Simulation>,
    /// By node.
    files: Vec<TraceFile>,
    pending: Vec<LogLine>,
    requests: u32,
    counts: RecordCounts,
}

/// A line on its way into its file. The fields that start it are the order of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct LogLine {
    true_ns: i64,
    request: u32,
    /// Number of the start or return within the request.
    order: u32,
    request_id: TraceId,
    /// The fragment; `None` for the entry's, which has the id of the request.
    fragment: Option<u64>,
    /// The fragment that a sent call invokes.
    callee: Option<u64>,
    local_ns: i64,
    operation: OperationIndex,
    node: NodeIndex,
    is_exit: bool,
}

impl CallLog {
    pub(super) fn create(
        simulation: Arc<Simulation>,
        folder: &Path,
        compression: Compression,
    ) -> Result<CallLog, Error> {
        let create = |name: &String| {
            let mut file = TraceFile::create(folder, &format!("{name}.log"), compression)?;
            push(&mut file.buffer, HEADER);
            Ok(file)
        };
        let files = simulation.system.hosts.names.iter().map(create).collect::<Result<Vec<_>, Error>>()?;
        Ok(CallLog { simulation, files, pending: Vec::new(), requests: 0, counts: RecordCounts::default() })
    }

    fn add_line(&mut self, delivery: Delivery, line: LogLine) {
        let copies = match delivery {
            Delivery::Lost => 0,
            Delivery::Once => 1,
            Delivery::Twice => 2,
        };
        self.pending.extend(std::iter::repeat_n(line, copies));
    }

    fn write_line(&mut self, line: &LogLine) -> Result<(), Error> {
        let operation = self.simulation.system.operations.get(line.operation);
        let file = &mut self.files[usize::from(line.node)];
        let out = &mut file.buffer;
        push(out, &self.simulation.system.hosts.names[usize::from(line.node)]);
        out.push(b',');
        push_time(out, microseconds(line.local_ns));
        out.push(b',');
        push_trace_id(out, line.request_id);
        out.push(b',');
        match line.fragment {
            None => push_trace_id(out, line.request_id),
            Some(fragment) => push_hex(out, fragment),
        }
        out.push(b',');
        push(out, operation.service());
        out.push(b'.');
        push(out, &operation.name);
        push(out, if line.is_exit { ",X," } else { ",E," });
        if let Some(callee) = line.callee {
            push_hex(out, callee);
        }
        out.push(b'\n');
        file.pass_on()
    }
}

impl TraceLog for CallLog {
    fn add(&mut self, request: &Request) {
        let mut deliveries = Deliveries::from_request(&self.simulation, request);
        let fragments = fragments(request);
        for (order, event) in events(request).into_iter().enumerate() {
            let call = &request.calls[event.position];
            let is_exit = event.flag == CallFlag::Exit;
            let line = LogLine {
                true_ns: if is_exit { call.true_end } else { call.true_start }.unix_ns(),
                request: self.requests,
                order: order as u32,
                request_id: request.trace_id,
                fragment: fragments[event.position],
                callee: callee(request, event.position),
                local_ns: if is_exit { call.start.plus(call.inclusive) } else { call.start }.unix_ns(),
                operation: call.operation,
                node: call.node,
                is_exit,
            };
            let delivery = deliveries.next(&mut self.counts);
            self.add_line(delivery, line);
        }
        self.requests += 1;
    }

    fn write_before(&mut self, next_start_ns: Option<i64>) -> Result<(), Error> {
        self.pending.sort_unstable();
        let ready = match next_start_ns {
            Some(horizon) => self.pending.partition_point(|line| line.true_ns < horizon),
            None => self.pending.len(),
        };
        let mut pending = std::mem::take(&mut self.pending);
        let outcome = pending.drain(..ready).try_for_each(|line| self.write_line(&line));
        self.pending = pending;
        outcome
    }

    fn finish(&mut self) -> Result<Written, Error> {
        self.write_before(None)?;
        let mut written = Written { records: self.counts, ..Written::default() };
        for file in self.files.drain(..) {
            written.bytes += file.finish()?;
            written.files += 1;
        }
        Ok(written)
    }
}

/// The start or the return of the call at a position.
struct Event {
    position: usize,
    flag: CallFlag,
}

/// All starts and returns in the order in which they happen.
fn events(request: &Request) -> Vec<Event> {
    let mut events = Vec::with_capacity(2 * request.calls.len());
    let mut open: Vec<usize> = Vec::new();
    for (position, call) in request.calls.iter().enumerate() {
        while let Some(&top) = open.last().filter(|top| call.parent != Some(**top as u32)) {
            events.push(Event { position: top, flag: CallFlag::Exit });
            open.pop();
        }
        events.push(Event { position, flag: CallFlag::Enter });
        open.push(position);
    }
    events.extend(open.into_iter().rev().map(|position| Event { position, flag: CallFlag::Exit }));
    events
}

/// By position: the fragment, named after the span that handles the remote call; `None` for the entry's.
fn fragments(request: &Request) -> Vec<Option<u64>> {
    let mut fragments = vec![None; request.calls.len()];
    for (index, call) in request.calls.iter().enumerate() {
        let Some(parent) = call.parent else { continue };
        let handles = request.kind(call) == SpanKind::Server;
        fragments[index] = if handles { Some(call.span_id.value()) } else { fragments[parent as usize] };
    }
    fragments
}

/// The fragment that a sent call invokes: its only callee.
fn callee(request: &Request, index: usize) -> Option<u64> {
    let sends = request.kind(&request.calls[index]) == SpanKind::Client;
    request.calls.get(index + 1).filter(|_| sends).map(|handle| handle.span_id.value())
}
