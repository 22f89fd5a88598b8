//! From traces to samples: counts and times of transactions by window, so that traces and one series of CPU
//! utilization are enough.
//!
//! ```text
//! requests ─ visits to replicas ─ fold by window of completion ─► samples ─► SampleTable
//! ```

mod visits;

pub use visits::{Callee, OutboundCall, Visit, visits};

use laggard_engine::{Fold, LocalEngine, RequestRange, RequestView, Requests};
use laggard_model::{
    AdjustedCount, Loss, Losses, Measure, Names, OperationId, ReplicaId, SampleRecord, ServiceId, Sink,
    Timestamp,
};
use laggard_samples::{Grid, SampleTable};
use std::collections::{BTreeMap, HashMap};

/// What became of the spans.
#[derive(Clone, Debug, Default)]
pub struct SpanSampling {
    /// Requests that were counted, before they were weighted.
    pub requests: u64,
    /// What limits trust in the counts; whole sentences.
    pub cautions: Vec<String>,
}

/// Counts some requests by window and adds them to a table of samples. What the samples count
/// themselves stays as it is: of the whole system if any of them counts transactions, and of every server that
/// has counts of its own.
pub fn add_span_samples(
    range: RequestRange<'_>,
    assumed_count: Option<AdjustedCount>,
    length: laggard_model::Nanos,
    table: &mut SampleTable,
    engine: LocalEngine,
) -> SpanSampling {
    let grid = table.grid(length);
    let requests = range.requests();
    let fold = SpanSampleFold {
        names: requests.names(),
        grid,
        assumed_count,
        kept_one_in: requests.thinning_factor(),
    };
    let counted = engine.fold(range, &fold);
    table.add_losses(requests.assembly_losses());
    let mut cautions = cautions(requests, &counted);
    let told = table.counted_servers();
    if told.any && counted.requests > 0 {
        cautions.push(
            "Samples count transactions themselves, so spans only add what servers without such samples did."
                .to_owned(),
        );
    }
    let partial = counted.windows_cut(grid);
    table.add_losses(&partial.losses);
    let writer = Writer { names: requests.names(), grid, counted: &counted, windows: partial.windows };
    writer.write(table, |point| match point {
        CountingPoint::System => !told.any,
        CountingPoint::Replica { replica, .. } => {
            !told.servers.contains(requests.names().replica_name(replica))
        }
    });
    SpanSampling { requests: counted.requests, cautions }
}

fn cautions(requests: &Requests, counted: &CountedRequests) -> Vec<String> {
    let mut cautions = Vec::new();
    let samplers: Vec<&str> = requests.tail_samplers().map(|(sampler, _)| sampler.name()).collect();
    if !samplers.is_empty() {
        cautions.push(format!(
            "Traces were chosen after they were complete (tail-based sampling; {}): counts are right only as far as \
             weights are, and what the sampler never keeps is not seen.",
            samplers.join(", ")
        ));
    }
    if counted.unweighted > 0 && counted.weighted > 0 {
        cautions.push(format!(
            "{} of {} requests do not tell how many they stand for and count as one, beside others that stand for more.",
            counted.unweighted, counted.requests
        ));
    }
    cautions
}

/// Where transactions are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CountingPoint {
    /// The whole system: what clients asked for.
    System,
    /// One replica of a service.
    Replica {
        /// The service: the tier.
        service: ServiceId,
        /// The replica: the server.
        replica: ReplicaId,
    },
}

/// What a sum is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SampleKey {
    /// The window of the request's completion, by number in the grid.
    pub window: i64,
    /// Where.
    pub point: CountingPoint,
    /// The transaction type: the operation that was asked for.
    pub transaction: OperationId,
    /// The callee of outbound calls; `None` for the transactions themselves.
    pub callee: Option<Callee>,
}

/// ExactSums as exact integers, so that no order of adding changes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExactSums {
    /// How many, in units of 2⁻²³.
    pub count: u128,
    /// How many of them have times that are wholly known.
    pub timed: u128,
    /// Their time in ns, in the same units.
    pub ns: u128,
}

/// One transaction or call in the unit of [`ExactSums`]: every adjusted count is a whole number of it.
const ONE: f64 = (1_u64 << 23) as f64;

impl ExactSums {
    fn add(&mut self, weight: u128, ns: Option<u64>) {
        self.count = self.count.saturating_add(weight);
        if let Some(ns) = ns {
            self.timed = self.timed.saturating_add(weight);
            self.ns = self.ns.saturating_add(weight.saturating_mul(u128::from(ns)));
        }
    }

    fn merge(&mut self, other: ExactSums) {
        self.count = self.count.saturating_add(other.count);
        self.timed = self.timed.saturating_add(other.timed);
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// Counts requests and visits by window.
pub struct SpanSampleFold<'a> {
    /// Names behind the rows' handles.
    pub names: &'a Names,
    /// The windows.
    pub grid: Grid,
    /// How many requests one stands for that does not tell it.
    pub assumed_count: Option<AdjustedCount>,
    /// One in so many traces was kept.
    pub kept_one_in: u64,
}

/// What was counted.
#[derive(Clone, PartialEq, Debug)]
pub struct CountedRequests {
    /// By window, point, type and callee.
    pub sums: HashMap<SampleKey, ExactSums>,
    /// Requests counted, one each.
    pub requests: u64,
    /// Requests that tell that they stand for more than one.
    pub weighted: u64,
    /// Requests that do not tell how many they stand for.
    pub unweighted: u64,
    /// Completion of the earliest request.
    pub first: Timestamp,
    /// Completion of the latest.
    pub last: Timestamp,
}

impl Fold for SpanSampleFold<'_> {
    type Partial = CountedRequests;
    type Output = CountedRequests;

    fn start(&self) -> CountedRequests {
        CountedRequests {
            sums: HashMap::new(),
            requests: 0,
            weighted: 0,
            unweighted: 0,
            first: Timestamp::MAX,
            last: Timestamp::MIN,
        }
    }

    fn add(&self, partial: &mut CountedRequests, request: &RequestView<'_>) {
        self.count(partial, request);
    }

    fn merge(&self, into: &mut CountedRequests, later: CountedRequests) {
        for (key, sums) in later.sums {
            into.sums.entry(key).or_default().merge(sums);
        }
        into.requests += later.requests;
        into.weighted += later.weighted;
        into.unweighted += later.unweighted;
        into.first = into.first.min(later.first);
        into.last = into.last.max(later.last);
    }

    fn finish(&self, partial: CountedRequests) -> CountedRequests {
        partial
    }
}

impl SpanSampleFold<'_> {
    fn count(&self, partial: &mut CountedRequests, request: &RequestView<'_>) {
        let completion = request.start().plus(request.latency());
        let window = self.grid.window_of(completion.unix_ns());
        let told = request.adjusted_count().or(self.assumed_count);
        let weight = f64::from(told.unwrap_or(AdjustedCount::ONE).get()) * ONE;
        let weight = (weight as u128).saturating_mul(u128::from(self.kept_one_in.max(1)));
        partial.requests += 1;
        partial.weighted += u64::from(told.is_some_and(|count| count != AdjustedCount::ONE));
        partial.unweighted += u64::from(told.is_none());
        partial.first = partial.first.min(completion);
        partial.last = partial.last.max(completion);
        for visit in visits(&request.call_tree(), self.names) {
            let point = CountingPoint::Replica { service: visit.service, replica: visit.replica };
            self.add_visit(
                partial,
                SampleKey { window, point, transaction: visit.operation, callee: None },
                &visit,
                weight,
                request,
            );
            if visit.is_entry {
                let point = CountingPoint::System;
                self.add_visit(
                    partial,
                    SampleKey { window, point, transaction: visit.operation, callee: None },
                    &visit,
                    weight,
                    request,
                );
            }
        }
    }

    fn add_visit(
        &self,
        partial: &mut CountedRequests,
        key: SampleKey,
        visit: &Visit,
        weight: u128,
        request: &RequestView<'_>,
    ) {
        let timed = |ns: u64| request.is_complete().then_some(ns);
        partial.sums.entry(key).or_default().add(weight, timed(visit.inclusive.ns()));
        for call in &visit.calls {
            let key = SampleKey { callee: Some(call.callee), ..key };
            partial.sums.entry(key).or_default().add(weight, timed(call.waited_ns));
        }
    }
}

/// The windows that traces tell wholly.
struct WholeWindows {
    windows: std::ops::Range<i64>,
    losses: Losses,
}

impl CountedRequests {
    /// Nobody tells when recording began. The first window counts when it begins about as long before its first
    /// request as requests are apart, and the last likewise.
    fn windows_cut(&self, grid: Grid) -> WholeWindows {
        let mut losses = Losses::none();
        if self.requests == 0 {
            return WholeWindows { windows: 0..0, losses };
        }
        let apart = self.last.since(self.first).ns() as f64 / self.requests as f64;
        let allowed = (3.0 * apart).max(grid.length().ns() as f64 / 20.0);
        let (mut first, mut last) =
            (grid.window_of(self.first.unix_ns()), grid.window_of(self.last.unix_ns()));
        let before = self.first.since(grid.start_of(first)).ns() as f64;
        let after = grid.start_of(last.saturating_add(1)).since(self.last).ns() as f64;
        if before > allowed {
            losses.add(Loss::PartialWindow, || "the first window of the traces".to_owned());
            first += 1;
        }
        if after > allowed {
            losses.add(Loss::PartialWindow, || "the last window of the traces".to_owned());
            last -= 1;
        }
        WholeWindows { windows: first..last.saturating_add(1), losses }
    }
}

/// Writes sums as samples.
struct Writer<'a> {
    names: &'a Names,
    grid: Grid,
    counted: &'a CountedRequests,
    windows: std::ops::Range<i64>,
}

impl Writer<'_> {
    fn write(&self, table: &mut SampleTable, wanted: impl Fn(CountingPoint) -> bool) {
        let sorted: BTreeMap<&SampleKey, &ExactSums> = self.counted.sums.iter().collect();
        for (key, sums) in sorted {
            if !self.windows.contains(&key.window) || !wanted(key.point) {
                continue;
            }
            match key.callee {
                None => self.transactions(table, key, sums),
                Some(callee) => self.calls(table, key, callee, sums),
            }
        }
    }

    fn transactions(&self, table: &mut SampleTable, key: &SampleKey, sums: &ExactSums) {
        self.sample(table, key, "", Measure::Transactions, sums.count as f64 / ONE);
        if sums.timed > 0 {
            self.sample(table, key, "", Measure::ResponseTime, sums.ns as f64 / sums.timed as f64 / 1e9);
        }
    }

    /// Calls of requests that are wholly known, as many as all requests made.
    fn calls(&self, table: &mut SampleTable, key: &SampleKey, callee: Callee, sums: &ExactSums) {
        let whole = self.counted.sums.get(&SampleKey { callee: None, ..*key }).copied().unwrap_or_default();
        if sums.timed == 0 || whole.timed == 0 {
            return;
        }
        let name = match callee {
            Callee::Service(service) => self.names.service_name(service),
            Callee::Operation(operation) => self.names.operation_key(operation).operation,
        };
        let calls = sums.timed as f64 / ONE * (whole.count as f64 / whole.timed as f64);
        self.sample(table, key, name, Measure::Calls, calls);
        self.sample(table, key, name, Measure::CallTime, sums.ns as f64 / sums.timed as f64 / 1e9);
    }

    fn sample(&self, table: &mut SampleTable, key: &SampleKey, callee: &str, measure: Measure, value: f64) {
        let operation = self.names.operation_key(key.transaction);
        let transaction = format!("{} {}", operation.service, operation.operation);
        let (server, tier) = match key.point {
            CountingPoint::System => ("", ""),
            CountingPoint::Replica { service, replica } => {
                (self.names.replica_name(replica), self.names.service_name(service))
            }
        };
        let time = self.grid.start_of(key.window);
        let transaction = transaction.as_str();
        table.sample(&SampleRecord { time, measure, server, tier, transaction, callee, value });
    }
}
