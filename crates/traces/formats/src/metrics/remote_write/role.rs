//! The role of a Prometheus series: the measure by the name of its metric, server and transaction by its labels.

use super::joined::JoinKind;
use crate::conventions::{ResourceNames, UNKNOWN};
use crate::metrics::attributes::NameSpec;
use crate::metrics::groups::PointNames;
use crate::metrics::mappings::{Mapping, Mappings, MetricOrigin};
use crate::metrics::series::{count_measure, outbound_measure, summed};
use crate::metrics::{Attributes, is_idle};
use laggard_model::{AttributeText, Measure, ReplicaSource};
use std::sync::{Arc, LazyLock};

/// Labels of a server, of its tier and of a host, the first that is present: as queried by `--prometheus`.
const SERVER: [&str; 5] = ["pod", "kubernetes_pod_name", "instance", "node", "host"];
const TIER: [&str; 4] = ["job", "service_name", "service", "app"];
const HOST: [&str; 3] = ["node", "host", "instance"];

/// Transactions of client libraries that know no conventions.
static TRANSACTIONS: LazyLock<[NameSpec; 3]> = LazyLock::new(|| {
    ["method+route|uri|handler|path", "grpc_service+grpc_method", "transaction"].map(NameSpec::parse)
});
const CALLEE: [&str; 4] = ["callee", "peer_service", "db_system", "server_address"];

/// The role of a series.
#[derive(Debug)]
pub(super) struct SeriesRole {
    mapping: Arc<Mapping>,
    measure: Measure,
    pub(super) kind: JoinKind,
    /// From the number to the measure's unit.
    pub(super) factor: f64,
    /// Whether `job` is an exporter that reports on others, not the tier.
    is_of_exporter: bool,
}

/// Why a series has no role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RoleError {
    /// A part of a supported metric that is not needed: a bucket, a sum over others, idle time.
    MetricPart,
    /// The metric is unknown.
    Unknown,
}

/// Which part of a metric a series is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MetricPart {
    Single,
    Count,
    Sum,
    Unneeded,
}

/// The role of a series.
pub(super) fn find_role(
    mappings: &Mappings,
    name: &str,
    labels: &Attributes<'_>,
) -> Result<SeriesRole, RoleError> {
    let (mapping, part, base) = find_part(mappings, name).ok_or(RoleError::Unknown)?;
    let is_unneeded =
        part == MetricPart::Unneeded || is_sum_over_others(name, labels) || is_idle(&mapping, labels);
    // The connector counts calls in a metric of their own.
    if is_unneeded || (part == MetricPart::Count && mapping.origin == MetricOrigin::Spans) {
        return Err(RoleError::MetricPart);
    }
    let measure = match part {
        MetricPart::Count => count_measure(mapping.measure).ok_or(RoleError::MetricPart)?,
        MetricPart::Sum => summed(mapping.measure),
        _ => mapping.measure,
    };
    let factor = if part == MetricPart::Count { 1.0 } else { mapping.factor(unit(base)) };
    let kind = kind(measure, mapping.is_cores_in_use);
    let is_of_exporter = name.starts_with("kube_") || name.starts_with("container_");
    Ok(SeriesRole { mapping, measure, kind, factor, is_of_exporter })
}

fn find_part<'n>(mappings: &Mappings, name: &'n str) -> Option<(Arc<Mapping>, MetricPart, &'n str)> {
    let parts = [
        ("_count", MetricPart::Count),
        ("_sum", MetricPart::Sum),
        ("_bucket", MetricPart::Unneeded),
        ("_created", MetricPart::Unneeded),
    ];
    let of_distribution = parts.into_iter().find_map(|(suffix, part)| {
        let base = name.strip_suffix(suffix)?;
        Some((mappings.find_prometheus(base)?, part, base))
    });
    of_distribution.or_else(|| Some((mappings.find_prometheus(name)?, MetricPart::Single, name)))
}

/// The unit that Prometheus puts into names.
fn unit(name: &str) -> &'static str {
    let name = name.strip_suffix("_total").unwrap_or(name);
    match name {
        _ if name.ends_with("_milliseconds") => "ms",
        _ if name.ends_with("_seconds") => "s",
        _ => "",
    }
}

/// cAdvisor reports what a pod uses besides what each of its containers uses; kube-state-metrics reports limits of
/// memory, too.
fn is_sum_over_others(name: &str, labels: &Attributes<'_>) -> bool {
    match name {
        "container_cpu_usage_seconds_total" => matches!(labels.first(&["container"]), "" | "POD"),
        "kube_pod_container_resource_limits" => labels.first(&["resource"]) != "cpu",
        // Of memory, or of nothing but other file systems.
        "node_filesystem_avail_bytes" | "node_filesystem_size_bytes" => {
            matches!(labels.first(&["fstype"]), "tmpfs" | "devtmpfs" | "ramfs" | "overlay" | "squashfs")
        }
        _ => false,
    }
}

/// Prometheus counters start with a process.
const fn kind(measure: Measure, is_cores_in_use: bool) -> JoinKind {
    match measure {
        Measure::CpuSecondsTotal if is_cores_in_use => JoinKind::Rate,
        Measure::Utilization | Measure::ResponseTime | Measure::CallTime => JoinKind::Mean,
        Measure::Cores | Measure::Clients | Measure::TransactionRate => JoinKind::Sum,
        _ if measure.is_of_storage() || measure.is_of_memory_or_network() => JoinKind::Mean,
        _ => JoinKind::Counter,
    }
}

impl SeriesRole {
    /// Whose series of these labels is; `None` when it is none of the measure.
    pub(super) fn names(&self, labels: &Attributes<'_>) -> Option<PointNames> {
        let text = |names: &[&str]| labels.first(names).to_owned();
        let resource = ResourceNames {
            service: if self.is_of_exporter { String::new() } else { text(&TIER) },
            replica: text(&SERVER),
            replica_source: ReplicaSource::Unknown,
            host: text(&HOST),
            attributes: AttributeText::default(),
        };
        let mut names = PointNames::from_point(&self.mapping, labels, &resource)?;
        if names.transaction == UNKNOWN {
            let known = TRANSACTIONS.iter().map(|spec| spec.name(labels)).find(|name| !name.is_empty());
            names.transaction = known.map_or_else(|| UNKNOWN.to_owned(), crate::metrics::groups::template);
        }
        if names.callee == UNKNOWN && !labels.first(&CALLEE).is_empty() {
            names.callee = crate::metrics::groups::template(text(&CALLEE));
        }
        Some(names)
    }

    /// The measure of samples of these names.
    pub(super) fn measure_of(&self, names: &PointNames) -> Measure {
        if names.is_call { outbound_measure(self.measure) } else { self.measure }
    }

    /// The processor that a series of CPU time is of; empty when it is of all.
    pub(super) fn processor<'l>(&self, labels: &'l Attributes<'_>) -> &'l str {
        if !self.mapping.sums_processors() {
            return "";
        }
        match labels.first(&["cpu.logical.number", "system.cpu.logical.number", "cpu"]) {
            "total" => "",
            processor => processor,
        }
    }
}
