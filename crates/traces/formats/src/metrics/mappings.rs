//! Which metric is which measure: OpenTelemetry's semantic conventions, and the user's rules before them.

use super::attributes::NameSpec;
use crate::columns::shorten;
use crate::format::FormatError;
use crate::measures::{EXAMPLES, MeasuredAs, find_word, time_factor};
use laggard_model::Measure;
use std::collections::HashMap;
use std::sync::Arc;

/// Subject of the numbers of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MetricOrigin {
    /// The resource's service and replica.
    Service,
    /// The resource's host.
    Host,
    /// The service of a span, which the point's attributes name; its kind distinguishes transactions from calls.
    Spans,
}

/// Handling of a metric.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Mapping {
    /// Of distributions and counters with names without `Total`.
    pub(super) measure: Measure,
    pub(super) origin: MetricOrigin,
    /// Whether the numbers are cores in use, from which CPU time is made.
    pub(super) is_cores_in_use: bool,
    pub(super) transaction: NameSpec,
    pub(super) callee: NameSpec,
    /// From the number to the measure's unit when the metric has no unit.
    factor: f64,
}

impl Mapping {
    pub(super) const fn is_of_cpu(&self) -> bool {
        matches!(self.measure, Measure::Utilization | Measure::CpuSecondsTotal)
    }

    /// Whether points of several processors belong together.
    pub(super) const fn sums_processors(&self) -> bool {
        self.is_of_cpu()
    }

    /// From a metric's unit to the measure's.
    pub(super) fn factor(&self, unit: &str) -> f64 {
        use Measure::{
            CallSeconds, CallTime, CpuSecondsTotal, DiskUtilization, MemoryUtilization, NetworkUtilization,
            ResponseSeconds, ResponseTime, Utilization,
        };
        match self.measure {
            CallSeconds | CallTime | ResponseSeconds | ResponseTime => {
                time_factor(unit).unwrap_or(self.factor)
            }
            CpuSecondsTotal if !self.is_cores_in_use => time_factor(unit).unwrap_or(self.factor),
            Utilization | MemoryUtilization | DiskUtilization | NetworkUtilization
                if matches!(unit, "%" | "percent") =>
            {
                0.01
            }
            _ => self.factor,
        }
    }
}

/// Mappings by name.
#[derive(Debug)]
pub(super) struct Mappings {
    /// `None` for a metric that a rule leaves out.
    by_name: HashMap<String, Option<Arc<Mapping>>>,
    /// Metric names that exporters for Prometheus change.
    prometheus: HashMap<String, Arc<Mapping>>,
}

impl Default for Mappings {
    fn default() -> Mappings {
        Mappings::new(&[])
    }
}

impl Mappings {
    pub(super) fn new(rules: &[MetricRule]) -> Mappings {
        let mut by_name = HashMap::new();
        for row in CONVENTIONS {
            by_name.insert(normal(row.name), Some(Arc::new(row.mapping())));
        }
        for rule in rules.iter().rev() {
            by_name.insert(normal(&rule.name), rule.mapping.clone().map(Arc::new));
        }
        let prometheus = PROMETHEUS.iter().map(|row| (normal(row.name), Arc::new(row.mapping()))).collect();
        Mappings { by_name, prometheus }
    }

    /// As [`Mappings::find`], and by the names that exporters for Prometheus use.
    pub(super) fn find_prometheus(&self, name: &str) -> Option<Arc<Mapping>> {
        let name = normal(name);
        match self.by_name.get(&name) {
            Some(found) => found.clone(),
            None => self.prometheus.get(&name).cloned(),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Mapping>> {
        self.by_name.get(&normal(name)).cloned().flatten()
    }
}

/// A metric's name as it is compared: with dots for underscores, and without the units that Prometheus adds.
fn normal(name: &str) -> String {
    let mut name = name.replace('_', ".");
    for suffix in [".total", ".seconds", ".milliseconds", ".ratio"] {
        if let Some(bare) = name.strip_suffix(suffix) {
            name.truncate(bare.len());
        }
    }
    name
}

struct Convention {
    name: &'static str,
    measure: Measure,
    origin: MetricOrigin,
    transaction: &'static str,
    callee: &'static str,
    factor: f64,
}

impl Convention {
    fn mapping(&self) -> Mapping {
        Mapping {
            measure: self.measure,
            origin: self.origin,
            is_cores_in_use: false,
            transaction: NameSpec::parse(self.transaction),
            callee: NameSpec::parse(self.callee),
            factor: self.factor,
        }
    }
}

const fn cpu_convention(name: &'static str, measure: Measure, origin: MetricOrigin) -> Convention {
    Convention { name, measure, origin, transaction: "", callee: "", factor: 1.0 }
}

const fn storage(name: &'static str, measure: Measure) -> Convention {
    Convention {
        callee: "mountpoint|system.filesystem.mountpoint",
        ..cpu_convention(name, measure, MetricOrigin::Host)
    }
}

const fn served(name: &'static str, transaction: &'static str, factor: f64) -> Convention {
    let measure = Measure::ResponseSeconds;
    Convention { transaction, factor, ..cpu_convention(name, measure, MetricOrigin::Service) }
}

const fn called(name: &'static str, callee: &'static str, factor: f64) -> Convention {
    let measure = Measure::CallSeconds;
    Convention { callee, factor, ..cpu_convention(name, measure, MetricOrigin::Service) }
}

/// Of the connector that makes metrics of spans. It writes calls and times separately, and times only if configured, so
/// the calls alone are counted.
const fn span_convention(name: &'static str, measure: Measure) -> Convention {
    let factor = if matches!(measure, Measure::Transactions) { 1.0 } else { 1e-3 };
    let callee =
        "peer.service|server.address|net.peer.name|db.system.name|db.system|messaging.system|span.name";
    Convention {
        transaction: "span.name",
        callee,
        factor,
        ..cpu_convention(name, measure, MetricOrigin::Spans)
    }
}

const ROUTE: &str = "http.request.method|http.method+http.route|url.template|http.target";
const RPC: &str = "rpc.service+rpc.method";
const PEER: &str = "peer.service|server.address|net.peer.name|http.host|url.scheme";
const RPC_PEER: &str = "peer.service|rpc.service|server.address|net.peer.name|rpc.method";
const DB: &str = "peer.service|db.system.name|db.system|server.address";

/// The semantic conventions, new and old, and names in wide use beside them.
const CONVENTIONS: &[Convention] = &[
    cpu_convention("process.cpu.time", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("process.cpu.utilization", Measure::Utilization, MetricOrigin::Service),
    cpu_convention("jvm.cpu.time", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("jvm.cpu.recent_utilization", Measure::Utilization, MetricOrigin::Service),
    cpu_convention("jvm.cpu.count", Measure::Cores, MetricOrigin::Service),
    cpu_convention("dotnet.process.cpu.time", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("dotnet.process.cpu.count", Measure::Cores, MetricOrigin::Service),
    cpu_convention("process.runtime.jvm.cpu.utilization", Measure::Utilization, MetricOrigin::Service),
    cpu_convention("process.runtime.cpython.cpu_time", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("container.cpu.time", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("container.cpu.usage.total", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("k8s.pod.cpu.time", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("k8s.node.cpu.time", Measure::CpuSecondsTotal, MetricOrigin::Host),
    cpu_convention("k8s.pod.cpu_limit_utilization", Measure::Utilization, MetricOrigin::Service),
    cpu_convention("k8s.container.cpu_limit_utilization", Measure::Utilization, MetricOrigin::Service),
    cpu_convention("k8s.container.cpu_limit", Measure::Cores, MetricOrigin::Service),
    cpu_convention("k8s.container.cpu.limit", Measure::Cores, MetricOrigin::Service),
    cpu_convention("system.cpu.time", Measure::CpuSecondsTotal, MetricOrigin::Host),
    cpu_convention("system.cpu.utilization", Measure::Utilization, MetricOrigin::Host),
    cpu_convention("system.cpu.logical.count", Measure::Cores, MetricOrigin::Host),
    storage("system.memory.utilization", Measure::MemoryUtilization),
    storage("system.memory.limit", Measure::MemorySize),
    storage("system.linux.memory.available", Measure::MemoryAvailable),
    storage("system.filesystem.utilization", Measure::DiskUtilization),
    served("http.server.request.duration", ROUTE, 1.0),
    served("http.server.duration", ROUTE, 1e-3),
    served("rpc.server.call.duration", RPC, 1.0),
    served("rpc.server.duration", RPC, 1e-3),
    called("http.client.request.duration", PEER, 1.0),
    called("http.client.duration", PEER, 1e-3),
    called("rpc.client.call.duration", RPC_PEER, 1.0),
    called("rpc.client.duration", RPC_PEER, 1e-3),
    called("db.client.operation.duration", DB, 1.0),
    span_convention("traces.span.metrics.calls", Measure::Transactions),
    span_convention("traces.span.metrics.duration", Measure::ResponseSeconds),
    span_convention("traces.spanmetrics.calls", Measure::Transactions),
    span_convention("traces.spanmetrics.latency", Measure::ResponseSeconds),
    span_convention("calls", Measure::Transactions),
    span_convention("duration", Measure::ResponseSeconds),
];

/// Client libraries, node exporter, kube-state-metrics.
const PROMETHEUS: &[Convention] = &[
    cpu_convention("process_cpu_seconds_total", Measure::CpuSecondsTotal, MetricOrigin::Service),
    cpu_convention("node_cpu_seconds_total", Measure::CpuSecondsTotal, MetricOrigin::Host),
    cpu_convention("kube_pod_container_resource_limits", Measure::Cores, MetricOrigin::Service),
    storage("node_memory_MemAvailable_bytes", Measure::MemoryAvailable),
    storage("node_memory_MemTotal_bytes", Measure::MemorySize),
    storage("node_filesystem_avail_bytes", Measure::DiskAvailable),
    storage("node_filesystem_size_bytes", Measure::DiskSize),
    served("http_server_requests_seconds", "method+uri", 1.0),
    served("http_request_duration_seconds", "method+handler|route|path", 1.0),
];

/// The word for gauges of cores in use. None is known by name, because who exports one exports CPU time, too.
const CORES_IN_USE: &str = "cores_in_use";

/// How metrics of one name are read: `--metric NAME=MEASURE[:TRANSACTION[:CALLEE]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct MetricRule {
    name: String,
    /// `None` to leave them out.
    mapping: Option<Mapping>,
}

/// Reads one `--metric` argument. TRANSACTION and CALLEE name attributes: several joined by `+`, alternatives
/// by `|`.
///
/// # Errors
/// Text without `=`, and a MEASURE that is neither a measure nor `none`.
///
/// ```
/// assert!(laggard_formats::parse_metric_option("shop.orders=count:order.type").is_ok());
/// assert!(laggard_formats::parse_metric_option("jvm.cpu.recent_utilization=none").is_ok());
/// assert!(laggard_formats::parse_metric_option("shop.orders=speed").is_err());
/// ```
pub fn parse_metric_option(text: &str) -> Result<MetricRule, FormatError> {
    let error = |reason: String| {
        FormatError::new(format!(
            "--metric {}: {reason}. Give NAME=MEASURE[:TRANSACTION[:CALLEE]], for example \
             --metric shop.orders=count:order.type; measures are {EXAMPLES}, {CORES_IN_USE}; none leaves the metric out.",
            shorten(text)
        ))
    };
    let (name, rest) = text.split_once('=').ok_or_else(|| error("there is no =".to_owned()))?;
    let mut parts = rest.splitn(3, ':');
    let word = parts.next().unwrap_or_default();
    let (transaction, callee) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if name.is_empty() {
        return Err(error("the metric has no name".to_owned()));
    }
    if word == "none" {
        return Ok(MetricRule { name: name.to_owned(), mapping: None });
    }
    let is_cores_in_use = word == CORES_IN_USE;
    let cpu_time = MeasuredAs { measure: Measure::CpuSecondsTotal, factor: 1.0 };
    let found = if is_cores_in_use { Some(cpu_time) } else { find_word(word) };
    let measured = found.ok_or_else(|| error(format!("{:?} is no measure", shorten(word))))?;
    let mapping = Mapping {
        measure: without_total(measured.measure),
        origin: MetricOrigin::Service,
        is_cores_in_use,
        transaction: NameSpec::parse(transaction),
        callee: NameSpec::parse(callee),
        factor: measured.factor,
    };
    Ok(MetricRule { name: name.to_owned(), mapping: Some(mapping) })
}

/// The metric itself specifies whether it is a counter.
const fn without_total(measure: Measure) -> Measure {
    match measure {
        Measure::TransactionsTotal => Measure::Transactions,
        Measure::ResponseSecondsTotal => Measure::ResponseSeconds,
        Measure::CallsTotal => Measure::Calls,
        Measure::CallSecondsTotal => Measure::CallSeconds,
        other => other,
    }
}
