//! Converts traces to samples: counts and times of transactions by window, so that traces and one series of CPU
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

/// The result of converting spans to samples.
#[derive(Clone, Debug, Default)]
pub struct SpanSampling {
    /// Requests that were counted, before they were weighted.
    pub requests: u64,
    /// Limitations of the counts, as sentences.
    pub cautions: Vec<String>,
}

/// Counts requests by window and adds the counts to a table of samples. Counts of the samples are not replaced: neither
/// those of the system, if any sample counts transactions, nor those of servers with counts of their own.
pub fn add_span_samples(
    range: RequestRange<'_>,
    assumed_count: Option<AdjustedCount>,
    length: laggard_model::Nanos,
    table: &mut SampleTable,
    engine: LocalEngine,
) -> SpanSampling {
    let grid = table.grid(length);
    let requests = range.requests();
    let fold =
        SpanSampleFold { names: requests.names(), grid, assumed_count, thinning: requests.thinning_factor() };
    let counted = engine.fold(range, &fold);
    table.add_losses(requests.assembly_losses());
    let mut cautions = cautions(requests, &counted);
    let declared = table.counted_servers();
    if declared.any && counted.requests > 0 {
        cautions.push(
            "Samples contain transaction counts, so spans only add those of servers without such samples."
                .to_owned(),
        );
    }
    let partial = counted.windows_cut(grid);
    table.add_losses(&partial.losses);
    let writer = Writer { names: requests.names(), grid, counted: &counted, windows: partial.windows };
    writer.write(table, |point| match point {
        CountingPoint::System => !declared.any,
        CountingPoint::Replica { replica, .. } => {
            !declared.servers.contains(requests.names().replica_name(replica))
        }
    });
    SpanSampling { requests: counted.requests, cautions }
}

fn cautions(requests: &Requests, counted: &CountedRequests) -> Vec<String> {
    let mut cautions = Vec::new();
    let samplers: Vec<&str> = requests.tail_samplers().map(|(sampler, _)| sampler.name()).collect();
    if !samplers.is_empty() {
        cautions.push(format!(
            "Traces were sampled after they were complete (tail-based sampling; {}): counts are only as accurate as the \
             weights, and requests that the sampler never retains are missing.",
            samplers.join(", ")
        ));
    }
    if counted.unweighted > 0 && counted.weighted > 0 {
        cautions.push(format!(
            "{} of {} requests have no sampling weight and count as one, while others represent several requests.",
            counted.unweighted, counted.requests
        ));
    }
    cautions
}

/// Where transactions are counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CountingPoint {
    /// The whole system: requests of clients.
    System,
    /// One replica of a service.
    Replica {
        /// The service: the tier.
        service: ServiceId,
        /// The replica: the server.
        replica: ReplicaId,
    },
}

/// The key of a sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SampleKey {
    /// The window of the request's completion, by number in the grid.
    pub window: i64,
    /// The system, or a replica.
    pub point: CountingPoint,
    /// The transaction type: the requested operation.
    pub transaction: OperationId,
    /// The callee of outbound calls; `None` for the transactions themselves.
    pub callee: Option<Callee>,
}

/// Sums as exact integers, which do not depend on the order of addition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExactSums {
    /// Number of transactions or calls, in units of 2⁻²³.
    pub count: u128,
    /// Number of them with completely known times.
    pub timed: u128,
    /// Their total time in ns, in the same units.
    pub ns: u128,
}

/// One transaction or call in the unit of [`ExactSums`]; every adjusted count is an integer in this unit.
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
    /// Names of operations, services and replicas.
    pub names: &'a Names,
    /// The windows.
    pub grid: Grid,
    /// Weight of a request without a sampling weight.
    pub assumed_count: Option<AdjustedCount>,
    /// One in this number of traces was retained.
    pub thinning: u64,
}

/// The counted requests.
#[derive(Clone, PartialEq, Debug)]
pub struct CountedRequests {
    /// By window, point, type and callee.
    pub sums: HashMap<SampleKey, ExactSums>,
    /// Requests counted, one each.
    pub requests: u64,
    /// Requests with a sampling weight other than 1.
    pub weighted: u64,
    /// Requests without a sampling weight.
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
        let declared = request.adjusted_count().or(self.assumed_count);
        let weight = f64::from(request.weight(self.assumed_count)) * ONE;
        let weight = (weight as u128).saturating_mul(u128::from(self.thinning.max(1)));
        partial.requests += 1;
        partial.weighted += u64::from(declared.is_some_and(|count| count != AdjustedCount::ONE));
        partial.unweighted += u64::from(declared.is_none());
        partial.first = partial.first.min(completion);
        partial.last = partial.last.max(completion);
        for visit in visits(&request.call_tree(), self.names) {
            let replica = CountingPoint::Replica { service: visit.service, replica: visit.replica };
            for point in
                [Some(replica), visit.is_entry.then_some(CountingPoint::System)].into_iter().flatten()
            {
                let key = SampleKey { window, point, transaction: visit.operation, callee: None };
                self.add_visit(partial, key, &visit, weight, request);
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

/// The windows that traces cover completely.
struct WholeWindows {
    windows: std::ops::Range<i64>,
    losses: Losses,
}

impl CountedRequests {
    /// The start of the recording is unknown. The first window is used if it begins at most about three times the mean distance of
    /// requests before its first request, and the last likewise.
    fn windows_cut(&self, grid: Grid) -> WholeWindows {
        let mut losses = Losses::none();
        if self.requests == 0 {
            return WholeWindows { windows: 0..0, losses };
        }
        let spacing = self.last.since(self.first).ns() as f64 / self.requests as f64;
        let allowed = (3.0 * spacing).max(grid.length().ns() as f64 / 20.0);
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
    fn write(&self, table: &mut SampleTable, is_wanted: impl Fn(CountingPoint) -> bool) {
        let sorted: BTreeMap<&SampleKey, &ExactSums> = self.counted.sums.iter().collect();
        for (key, sums) in sorted {
            if !self.windows.contains(&key.window) || !is_wanted(key.point) {
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

    /// Calls of complete requests, scaled to all requests.
    fn calls(&self, table: &mut SampleTable, key: &SampleKey, callee: Callee, sums: &ExactSums) {
        let transaction_sums =
            self.counted.sums.get(&SampleKey { callee: None, ..*key }).copied().unwrap_or_default();
        if sums.timed == 0 || transaction_sums.timed == 0 {
            return;
        }
        let name = match callee {
            Callee::Service(service) => self.names.service_name(service),
            Callee::Operation(operation) => self.names.operation_key(operation).operation,
        };
        let calls = sums.timed as f64 / ONE * (transaction_sums.count as f64 / transaction_sums.timed as f64);
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
