//! One request of an ordinary day, call by call.

use super::Day;
use super::settings::DayFaultKind;
use super::system::{Call, ITEMS_MAX, Times};
use super::target::TENANTS;
use crate::random::{Random, Stream};
use laggard_model::{
    Nanos, ReplicaSource, Sampling, SpanAttributes, SpanId, SpanKind, SpanRecord, Status, Timestamp, TraceId,
};

/// A request with its spans in the order in which they started. Lost spans are not in it.
#[derive(Clone, Debug)]
pub struct DayRequest {
    /// The trace of the request.
    pub trace_id: TraceId,
    /// Start of the entry's span, on a clock that does not err.
    pub start: Timestamp,
    /// The spans that were not lost.
    pub spans: Vec<DaySpan>,
    /// The spans that were lost.
    pub lost: Vec<DaySpan>,
    /// Whether a fault changed the request.
    pub is_hit: bool,
    pub(super) tenant: usize,
}

/// One span.
#[derive(Clone, Copy, Debug)]
pub struct DaySpan {
    /// Its number among all spans of the request, by start.
    pub(super) number: u32,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) operation: usize,
    pub(super) instance: u32,
    pub(super) kind: SpanKind,
    pub(super) status: Status,
    pub(super) start: i64,
    pub(super) end: i64,
    /// Time that a fault added to the span's self time.
    pub injected: Nanos,
    /// Whether a fault delayed it, made it fail, or made it return early.
    pub is_hit: bool,
}

/// The outcome of a call.
struct Served {
    end: i64,
    failed: bool,
}

/// Delay until a failed call is made again, nanoseconds.
const BACKOFF_NS: i64 = 10_000_000;
/// A failed call fails early.
const FAILING_SHARE: f64 = 0.2;

impl DayRequest {
    /// The span as a reader passes it on.
    pub fn record<'a>(&self, span: &DaySpan, day: &'a Day) -> SpanRecord<'a> {
        let instance = &day.schedule.instances[span.instance as usize];
        SpanRecord {
            trace_id: self.trace_id,
            trace_text: None,
            span_id: span.id,
            parent: span.parent,
            service: day.system.services[instance.service].name,
            replica: &instance.name,
            replica_source: ReplicaSource::ServiceInstanceId,
            operation: &day.system.operations[span.operation].name,
            kind: span.kind,
            status: span.status,
            start: Timestamp::from_unix_ns(span.start + instance.clock_ns),
            inclusive: Nanos::from_ns((span.end - span.start) as u64),
            sampling: Sampling::default(),
            attributes: SpanAttributes {
                resource: "",
                span: if span.parent.is_none() { day.tenants[self.tenant].as_str() } else { "" },
                thread: None,
            },
        }
    }
}

/// A request under construction.
pub(super) struct Drawing<'a> {
    day: &'a Day,
    random: Random,
    tenant: usize,
    spans: Vec<DaySpan>,
    is_hit: bool,
}

impl<'a> Drawing<'a> {
    /// Draws the request that enters at a time. `path` makes its random numbers its own.
    pub(super) fn draw(day: &'a Day, operation: Option<usize>, start: i64, path: &[u64]) -> DayRequest {
        let mut random = Random::new(day.settings.seed, Stream::DayRequest, path);
        let trace_id = TraceId::from_value(u128::from(random.bits()) << 64 | u128::from(random.bits()));
        let tenant = tenant(&mut random);
        let operation = operation.unwrap_or_else(|| day.entry(random.unit()));
        let mut drawing = Drawing { day, random, tenant, spans: Vec::with_capacity(16), is_hit: false };
        let service = day.system.operations[operation].service;
        let instance = drawing.balance(service, start);
        drawing.serve(operation, instance, None, start);
        let Drawing { mut random, mut spans, is_hit, tenant, .. } = drawing;
        let mut lost = Vec::new();
        if day.settings.lost_spans > 0.0 || day.settings.loss_onset.is_some() {
            let is_lost = |span: &mut DaySpan| random.chance(day.loss_at(span.instance, span.start));
            lost = spans.extract_if(.., is_lost).collect();
        }
        DayRequest { trace_id, start: Timestamp::from_unix_ns(start), spans, lost, is_hit, tenant }
    }

    /// An active instance of a service.
    fn balance(&mut self, service: usize, time: i64) -> u32 {
        let active = self.day.schedule.active(service, time);
        active[self.random.index(active.len())]
    }

    fn open(
        &mut self,
        operation: usize,
        kind: SpanKind,
        instance: u32,
        parent: Option<usize>,
        start: i64,
    ) -> usize {
        let parent = parent.map(|parent| self.spans[parent].id);
        let id = SpanId::new(self.random.bits() | 1).expect("the last bit is set");
        let status = Status::Unset;
        self.spans.push(DaySpan {
            number: self.spans.len() as u32,
            id,
            parent,
            operation,
            instance,
            kind,
            status,
            start,
            end: start,
            injected: Nanos::ZERO,
            is_hit: false,
        });
        self.spans.len() - 1
    }

    /// Runs an operation on an instance.
    fn serve(&mut self, operation: usize, instance: u32, parent: Option<usize>, start: i64) -> Served {
        let day = self.day;
        let own = &day.system.operations[operation];
        let span = self.open(operation, own.kind, instance, parent, start);
        let work_ns = self.work_ns(operation, instance, start, span);
        let (fails, returns_early) = self.stops(operation, start, span);
        let failed = fails || self.random.chance(own.failures);
        let calls: &[Call] = if failed || returns_early { &[] } else { &own.calls };
        let work_ns = if failed { work_ns * FAILING_SHARE } else { work_ns };
        // Equal parts of the work before, between, and after the calls.
        let part = (work_ns / (calls.len() + 1) as f64) as i64;
        let mut served = Served { end: day.schedule.end_of(instance, start, part), failed };
        for call in calls {
            if !self.random.chance(call.probability) {
                continue;
            }
            served = self.call(*call, operation, instance, span, served.end);
            if served.failed {
                break;
            }
            served.end = day.schedule.end_of(instance, served.end, part);
        }
        self.spans[span].end = served.end;
        if served.failed {
            self.spans[span].status = Status::Error;
        }
        served
    }

    /// The time that the operation itself takes, nanoseconds, with what a fault adds.
    fn work_ns(&mut self, operation: usize, instance: u32, start: i64, span: usize) -> f64 {
        let day = self.day;
        let own = &day.system.operations[operation];
        let drawn = own.work.draw(&mut self.random);
        if !own.work.is_busy() {
            return drawn;
        }
        let job = if own.by_jobs && day.schedule.has_job(start) { 1.6 } else { 1.0 };
        let usual = drawn * job * day.schedule.slowness(instance, start, &day.system);
        let Some((fault, target)) = day.fault_at(start) else { return usual };
        let here = target.operation == operation
            && target.slot.is_none_or(|slot| day.schedule.instances[instance as usize].slot == slot)
            && target.tenant.is_none_or(|tenant| tenant == self.tenant);
        let slows =
            matches!(fault.kind, DayFaultKind::Operation | DayFaultKind::Replica | DayFaultKind::Tenant);
        if !(here && slows) {
            return usual;
        }
        let extra = usual * (fault.factor - 1.0);
        self.inject(span, extra);
        usual + extra
    }

    fn inject(&mut self, span: usize, extra_ns: f64) {
        self.spans[span].injected = Nanos::from_ns(extra_ns as u64);
        self.hit(span);
    }

    fn hit(&mut self, span: usize) {
        self.spans[span].is_hit = true;
        self.is_hit = true;
    }

    /// Whether a fault makes this call fail, and whether it makes it return early.
    fn stops(&mut self, operation: usize, start: i64, span: usize) -> (bool, bool) {
        let Some((fault, target)) = self.day.fault_at(start) else { return (false, false) };
        if target.operation != operation || fault.kind.is_slow() || !self.random.chance(fault.share) {
            return (false, false);
        }
        self.hit(span);
        (fault.kind == DayFaultKind::Errors, fault.kind == DayFaultKind::EarlyReturn)
    }

    /// Makes a call as often as it is made.
    fn call(&mut self, call: Call, caller: usize, instance: u32, parent: usize, start: i64) -> Served {
        let items = if call.times == Times::Once { 1 } else { 1 + self.random.below(ITEMS_MAX) };
        let mut all = Served { end: start, failed: false };
        for _ in 0..items {
            let begin = if call.times == Times::AtOnce { start } else { all.end };
            let mut served = self.attempt(call.operation, caller, instance, parent, begin);
            if served.failed {
                served = self.attempt(call.operation, caller, instance, parent, served.end + BACKOFF_NS);
            }
            all = Served { end: all.end.max(served.end), failed: all.failed || served.failed };
            if all.failed {
                break;
            }
        }
        all
    }

    /// One call: in the same process, or of another service with the way there and back.
    fn attempt(
        &mut self,
        operation: usize,
        caller: usize,
        instance: u32,
        parent: usize,
        start: i64,
    ) -> Served {
        let day = self.day;
        let callee = &day.system.operations[operation];
        if callee.kind != SpanKind::Server {
            return self.serve(operation, instance, Some(parent), start);
        }
        let client = day
            .settings
            .profile
            .client_spans
            .then(|| self.open(operation, SpanKind::Client, instance, Some(parent), start));
        let network_ns = 0.3e6 * libm::exp(0.4 * self.random.normal());
        let slow_ns = self.edge_ns(caller, operation, start);
        if slow_ns > 0.0 {
            self.inject(client.unwrap_or(parent), slow_ns);
        }
        let arrival = start + ((network_ns + slow_ns) / 2.0) as i64;
        let target = self.balance(callee.service, arrival);
        let served = self.serve(operation, target, client.or(Some(parent)), arrival);
        let end = served.end + ((network_ns + slow_ns) / 2.0) as i64;
        if let Some(client) = client {
            self.spans[client].end = end;
            if served.failed {
                self.spans[client].status = Status::Error;
            }
        }
        Served { end, failed: served.failed }
    }

    /// Time that a fault adds to a call between two services, nanoseconds.
    fn edge_ns(&self, caller: usize, callee: usize, start: i64) -> f64 {
        let Some((fault, target)) = self.day.fault_at(start) else { return 0.0 };
        let services = |index: usize| self.day.system.operations[index].service;
        let here = fault.kind == DayFaultKind::Edge
            && services(target.operation) == services(callee)
            && target.caller.is_some_and(|from| services(from) == services(caller));
        if here { target.extra_ns } else { 0.0 }
    }
}

fn tenant(random: &mut Random) -> usize {
    let total: f64 = (1..=TENANTS).map(|rank| 1.0 / rank as f64).sum();
    let mut remaining = random.unit() * total;
    for tenant in 0..TENANTS {
        remaining -= 1.0 / (tenant + 1) as f64;
        if remaining <= 0.0 {
            return tenant;
        }
    }
    TENANTS - 1
}
