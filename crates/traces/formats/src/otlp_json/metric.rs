//! One metric of OTLP JSON.

use crate::attributes_json;
use crate::conventions::ResourceNames;
use crate::lax_json::{self, LaxText, Number};
use crate::metrics::{
    Attributes, Instrument, MetricHead, MetricPoint, MetricSamples, PointValue, Temporality,
};
use laggard_model::{Loss, Sink};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct MetricJson<'a> {
    #[serde(borrow, default)]
    name: LaxText<'a>,
    #[serde(borrow, default)]
    unit: LaxText<'a>,
    #[serde(borrow, default)]
    gauge: Option<PointsJson<'a>>,
    #[serde(borrow, default)]
    sum: Option<PointsJson<'a>>,
    #[serde(borrow, default)]
    histogram: Option<PointsJson<'a>>,
    #[serde(borrow, default, rename = "exponentialHistogram", alias = "exponential_histogram")]
    exponential_histogram: Option<PointsJson<'a>>,
    #[serde(borrow, default)]
    summary: Option<PointsJson<'a>>,
}

#[derive(Deserialize)]
struct PointsJson<'a> {
    #[serde(borrow, default, rename = "dataPoints", alias = "data_points")]
    points: Option<Vec<PointJson<'a>>>,
    #[serde(borrow, default, rename = "aggregationTemporality", alias = "aggregation_temporality")]
    temporality: LaxText<'a>,
    #[serde(borrow, default, rename = "isMonotonic", alias = "is_monotonic")]
    is_monotonic: LaxText<'a>,
}

#[derive(Deserialize)]
struct PointJson<'a> {
    #[serde(borrow, default)]
    attributes: Option<&'a RawValue>,
    #[serde(default, rename = "startTimeUnixNano", alias = "start_time_unix_nano")]
    start: Number,
    #[serde(default, rename = "timeUnixNano", alias = "time_unix_nano")]
    time: Number,
    #[serde(borrow, default, rename = "asDouble", alias = "as_double")]
    double: LaxText<'a>,
    #[serde(borrow, default, rename = "asInt", alias = "as_int")]
    int: LaxText<'a>,
    #[serde(borrow, default)]
    count: LaxText<'a>,
    #[serde(borrow, default)]
    sum: LaxText<'a>,
    #[serde(default)]
    flags: Number,
}

/// Reads a metric and emits its samples.
pub(super) fn read(
    value: &[u8],
    resource: &ResourceNames,
    metrics: &mut MetricSamples,
    repaired: &mut String,
    sink: &mut dyn Sink,
) {
    let metric = match lax_json::parse::<MetricJson<'_>>(value, repaired) {
        Ok(metric) => metric,
        Err(error) => return sink.lose(Loss::MalformedRecord, &|| format!("a metric: {error}")),
    };
    let name = metric.name.as_str();
    let Some((instrument, points)) = metric.points() else {
        return sink.lose(Loss::OtherSignal, &|| {
            format!("metric {:?} has no points", crate::columns::shorten(name))
        });
    };
    if !metrics.begin(&MetricHead { name, unit: metric.unit.as_str(), instrument }, sink) {
        return;
    }
    let is_distribution = matches!(instrument, Instrument::Distribution(_));
    for point in points.points.iter().flatten() {
        point.read(name, is_distribution, resource, metrics, sink);
    }
    metrics.end(sink);
}

impl<'a> MetricJson<'a> {
    fn points(&self) -> Option<(Instrument, &PointsJson<'a>)> {
        if let Some(points) = &self.gauge {
            return Some((Instrument::ReadMonitor, points));
        }
        if let Some(points) = &self.sum {
            let is_counter = points.is_monotonic.as_str() == "true";
            let counter = Instrument::Counter(points.temporality());
            return Some((if is_counter { counter } else { Instrument::ReadMonitor }, points));
        }
        let distribution = self.histogram.as_ref().or(self.exponential_histogram.as_ref());
        if let Some(points) = distribution {
            return Some((Instrument::Distribution(points.temporality()), points));
        }
        let summary = self.summary.as_ref()?;
        Some((Instrument::Distribution(Temporality::Cumulative), summary))
    }
}

impl PointsJson<'_> {
    fn temporality(&self) -> Temporality {
        let text = self.temporality.as_str();
        match text.strip_prefix("AGGREGATION_TEMPORALITY_").unwrap_or(text) {
            "1" | "DELTA" => Temporality::Delta,
            _ => Temporality::Cumulative,
        }
    }
}

impl PointJson<'_> {
    fn read(
        &self,
        name: &str,
        is_distribution: bool,
        resource: &ResourceNames,
        metrics: &mut MetricSamples,
        sink: &mut dyn Sink,
    ) {
        // A point with the "no recorded value" flag.
        if self.flags.scaled(1).is_some_and(|flags| flags & 1 == 1) {
            return;
        }
        let time_ns = self.time.scaled(1).filter(|&ns| ns > 0);
        let Some((time_ns, value)) = time_ns.zip(self.value(is_distribution)) else {
            return sink.lose(Loss::MalformedRecord, &|| {
                format!("a point of {:?} without time or value", crate::columns::shorten(name))
            });
        };
        let mut attributes = Attributes::default();
        if let Err(error) = attributes_json::read(self.attributes, &mut attributes) {
            sink.lose(Loss::MalformedRecord, &|| format!("attributes of a point: {error}"));
        }
        let start_ns = self.start.scaled(1).unwrap_or(0).max(0);
        metrics.point(&MetricPoint { start_ns, time_ns, value, attributes: &attributes }, resource);
    }

    fn value(&self, is_distribution: bool) -> Option<PointValue> {
        let number = |text: &LaxText<'_>| text.as_str().trim().parse::<f64>().ok();
        if is_distribution {
            // Protobuf does not distinguish zero from absent.
            let count = if self.count.as_str().is_empty() { 0.0 } else { number(&self.count)? };
            return Some(PointValue::Distribution { count, sum: number(&self.sum) });
        }
        number(&self.double).or_else(|| number(&self.int)).map(PointValue::Number)
    }
}
