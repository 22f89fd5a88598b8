//! From OpenTelemetry metrics to samples, independent of their encoding.
//!
//! ```text
//! metric ─► mapping by its name ─► points grouped by instant and names, summed ─► samples
//! ```
//!
//! A sample has no field for attributes that are not part of a name (status codes, CPU modes), so points that differ only
//! in those are added up. All points of one collection are in one metric, so that needs no memory.

mod attributes;
mod groups;
mod mappings;
pub(crate) mod remote_write;
mod series;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use attributes::Attributes;
pub use mappings::{MetricRule, parse_metric_option};

use crate::conventions::ResourceNames;
use groups::{Amount, PointGroups, PointNames};
use laggard_model::{Loss, Sink};
use mappings::{Mapping, Mappings, MetricOrigin};
use series::SeriesTable;
use std::sync::{Arc, LazyLock};
pub(crate) use waiting::WaitingMetrics;

/// Over which time a sum or a distribution counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Temporality {
    /// Since the start of the process.
    #[default]
    Cumulative,
    /// Since the point before.
    Delta,
}

/// Kind of a metric's instrument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Instrument {
    /// Gauges and sums that go up and down.
    ReadMonitor,
    Counter(Temporality),
    /// Histograms of both kinds and summaries.
    Distribution(Temporality),
}

/// Properties shared by all points of a metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricHead<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: &'a str,
    pub(crate) instrument: Instrument,
}

/// A point's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum PointValue {
    Number(f64),
    Distribution { count: f64, sum: Option<f64> },
}

/// One point of a metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricPoint<'p, 'a> {
    /// Nanoseconds since the Unix epoch; 0 when unknown.
    pub(crate) start_ns: i64,
    /// Nanoseconds since the Unix epoch; never 0.
    pub(crate) time_ns: i64,
    pub(crate) value: PointValue,
    pub(crate) attributes: &'p Attributes<'a>,
}

/// Converts metrics to samples. Keeps the state of each series across all messages of an input.
#[derive(Debug)]
pub(crate) struct MetricSamples {
    mappings: Arc<Mappings>,
    series: SeriesTable,
    groups: PointGroups,
    /// The mapping of the metric that is being read.
    current: Option<Current>,
    /// Whether any metric was read, so that there may be something to know.
    is_used: bool,
}

#[derive(Clone, Debug)]
struct Current {
    mapping: Arc<Mapping>,
    instrument: Instrument,
    /// From the metric's unit to that of the measure.
    factor: f64,
}

impl Default for MetricSamples {
    fn default() -> MetricSamples {
        static CONVENTIONS: LazyLock<Arc<Mappings>> = LazyLock::new(Arc::default);
        MetricSamples {
            mappings: Arc::clone(&CONVENTIONS),
            series: SeriesTable::default(),
            groups: PointGroups::default(),
            current: None,
            is_used: false,
        }
    }
}

impl MetricSamples {
    /// With the user's rules before those built in.
    pub(crate) fn new(rules: &[MetricRule]) -> MetricSamples {
        match rules {
            [] => MetricSamples::default(),
            _ => MetricSamples { mappings: Arc::new(Mappings::new(rules)), ..MetricSamples::default() },
        }
    }

    /// Begins a metric; `false`, and a loss, when it is of no interest.
    pub(crate) fn begin(&mut self, head: &MetricHead<'_>, sink: &mut dyn Sink) -> bool {
        self.current = self.mappings.find(head.name).map(|mapping| Current {
            factor: mapping.factor(head.unit),
            mapping,
            instrument: head.instrument,
        });
        if self.current.is_none() {
            sink.lose(Loss::OtherSignal, &|| {
                format!("metric {:?} is mapped to no measure", crate::columns::shorten(head.name))
            });
        }
        self.groups.clear();
        self.is_used |= self.current.is_some();
        self.current.is_some()
    }

    /// The same for another part of the input; `None` once there are metrics, because what one part says of a series is needed to
    /// read the next.
    pub(crate) fn for_another_part(&self) -> Option<MetricSamples> {
        let mappings = Arc::clone(&self.mappings);
        (!self.is_used).then(|| MetricSamples { mappings, ..MetricSamples::default() })
    }

    /// Adds a point of the current metric.
    pub(crate) fn point(&mut self, point: &MetricPoint<'_, '_>, resource: &ResourceNames) {
        let Some(current) = &self.current else { return };
        let Some(names) = PointNames::from_point(&current.mapping, point.attributes, resource) else {
            return;
        };
        let amount = Amount::from_point(point, current.factor);
        let amount = if is_idle(&current.mapping, point.attributes) { amount.nothing() } else { amount };
        let processor = match current.mapping.sums_processors() {
            true => point.attributes.first(&["cpu.logical.number", "cpu", "system.cpu.logical.number"]),
            false => "",
        };
        self.groups.add(names, point, amount, processor);
    }

    /// Ends the metric and emits its samples.
    pub(crate) fn end(&mut self, sink: &mut dyn Sink) {
        let Some(current) = self.current.take() else { return };
        for group in self.groups.iter() {
            self.series.emit(group, &current.mapping, current.instrument, sink);
        }
        self.groups.clear();
    }
}

/// Whether a point is idle CPU time.
fn is_idle(mapping: &Mapping, attributes: &Attributes<'_>) -> bool {
    const IDLE: [&str; 6] = ["idle", "iowait", "io_wait", "wait", "steal", "stolen"];
    let mode = || attributes.first(&["cpu.mode", "state", "system.cpu.state", "process.cpu.state", "mode"]);
    mapping.is_of_cpu() && IDLE.contains(&mode())
}

/// Whether a service name is present.
fn known_service(resource: &ResourceNames) -> &str {
    if resource.service == crate::conventions::UNKNOWN { "" } else { &resource.service }
}

impl MetricOrigin {
    /// Server and tier of a point.
    fn server<'n>(self, attributes: &'n Attributes<'_>, resource: &'n ResourceNames) -> (&'n str, &'n str) {
        match self {
            MetricOrigin::Service => (&resource.replica, known_service(resource)),
            MetricOrigin::Host if resource.host.is_empty() => (&resource.replica, ""),
            MetricOrigin::Host => (&resource.host, ""),
            // The resource is the Collector's, or the service's when the connector preserves it.
            MetricOrigin::Spans => match attributes.first(&["service.name"]) {
                "" => (&resource.replica, known_service(resource)),
                service if service == resource.service => (&resource.replica, service),
                service => {
                    (attributes.first(&["service.instance.id", "k8s.pod.uid", "k8s.pod.name"]), service)
                }
            },
        }
    }
}
