//! One metric of OTLP protobuf.
//!
//! Field numbers: <https://github.com/open-telemetry/opentelemetry-proto>, `metrics/v1/metrics.proto`.

use super::message::{read_pair, read_value};
use crate::conventions::ResourceNames;
use crate::metrics::{
    Attributes, Instrument, MetricHead, MetricPoint, MetricSamples, PointValue, Temporality,
};
use laggard_model::{Loss, Sink};
use laggard_wire::{Fields, Value, WireError};

/// A metric's fields as they are on the wire.
#[derive(Default)]
struct MetricWire<'a> {
    name: &'a [u8],
    unit: &'a [u8],
    data: Option<(PointKind, &'a [u8])>,
}

/// Which of the five kinds of points a metric has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PointKind {
    ReadMonitor,
    Sum,
    Histogram,
    ExponentialHistogram,
    Summary,
}

/// Reads a metric and emits its samples.
pub(super) fn read(
    message: &[u8],
    resource: &ResourceNames,
    metrics: &mut MetricSamples,
    sink: &mut dyn Sink,
) {
    let Ok(wire) = read_wire(message) else {
        return sink.lose(Loss::MalformedRecord, &|| "a metric that is no message".to_owned());
    };
    let (name, unit) = (String::from_utf8_lossy(wire.name), String::from_utf8_lossy(wire.unit));
    let Some((data, points)) = wire.data else {
        return sink.lose(Loss::OtherSignal, &|| {
            format!("metric {:?} has no points", crate::columns::shorten(&name))
        });
    };
    let head = MetricHead { name: &name, unit: &unit, instrument: instrument(data, points) };
    if !metrics.begin(&head, sink) {
        return;
    }
    for field in Fields::new(points) {
        match field {
            Ok((1, Value::Bytes(point))) => read_point(data, point, &head, resource, metrics, sink),
            Ok(_) => {}
            Err(WireError) => lose_point(&head, sink),
        }
    }
    metrics.end(sink);
}

fn read_wire(message: &[u8]) -> Result<MetricWire<'_>, WireError> {
    let mut wire = MetricWire::default();
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(bytes)) => wire.name = bytes,
            (3, Value::Bytes(bytes)) => wire.unit = bytes,
            (5, Value::Bytes(bytes)) => wire.data = Some((PointKind::ReadMonitor, bytes)),
            (7, Value::Bytes(bytes)) => wire.data = Some((PointKind::Sum, bytes)),
            (9, Value::Bytes(bytes)) => wire.data = Some((PointKind::Histogram, bytes)),
            (10, Value::Bytes(bytes)) => wire.data = Some((PointKind::ExponentialHistogram, bytes)),
            (11, Value::Bytes(bytes)) => wire.data = Some((PointKind::Summary, bytes)),
            _ => {}
        }
    }
    Ok(wire)
}

/// The instrument, determined by fields that may come after the points.
fn instrument(data: PointKind, points: &[u8]) -> Instrument {
    let mut temporality = Temporality::Cumulative;
    let mut is_monotonic = false;
    for field in Fields::new(points).map_while(Result::ok) {
        match field {
            (2, Value::Varint(1)) => temporality = Temporality::Delta,
            (3, Value::Varint(value)) => is_monotonic = value != 0,
            _ => {}
        }
    }
    match data {
        PointKind::Sum if is_monotonic => Instrument::Counter(temporality),
        PointKind::ReadMonitor | PointKind::Sum => Instrument::ReadMonitor,
        PointKind::Histogram | PointKind::ExponentialHistogram => Instrument::Distribution(temporality),
        PointKind::Summary => Instrument::Distribution(Temporality::Cumulative),
    }
}

#[cold]
fn lose_point(head: &MetricHead<'_>, sink: &mut dyn Sink) {
    sink.lose(Loss::MalformedRecord, &|| {
        format!("a point of {:?} without time or value", crate::columns::shorten(head.name))
    });
}

fn read_point(
    data: PointKind,
    message: &[u8],
    head: &MetricHead<'_>,
    resource: &ResourceNames,
    metrics: &mut MetricSamples,
    sink: &mut dyn Sink,
) {
    let mut attributes = Attributes::default();
    let Ok(wire) = read_point_wire(data, message, &mut attributes) else { return lose_point(head, sink) };
    // A point with the "no recorded value" flag.
    if wire.flags & 1 == 1 {
        return;
    }
    let time_ns = i64::try_from(wire.time).ok().filter(|&ns| ns > 0);
    let Some((time_ns, value)) = time_ns.zip(wire.value(data)) else { return lose_point(head, sink) };
    let start_ns = i64::try_from(wire.start).unwrap_or(0);
    metrics.point(&MetricPoint { start_ns, time_ns, value, attributes: &attributes }, resource);
}

#[derive(Default)]
struct PointWire {
    start: u64,
    time: u64,
    number: Option<f64>,
    /// Of a distribution.
    count: u64,
    sum: Option<f64>,
    flags: u64,
}

impl PointWire {
    fn value(&self, data: PointKind) -> Option<PointValue> {
        match data {
            PointKind::ReadMonitor | PointKind::Sum => self.number.map(PointValue::Number),
            _ => Some(PointValue::Distribution { count: self.count as f64, sum: self.sum }),
        }
    }
}

/// All kinds of points have their times in the same fields, and the rest in others.
fn read_point_wire<'a>(
    data: PointKind,
    message: &'a [u8],
    attributes: &mut Attributes<'a>,
) -> Result<PointWire, WireError> {
    let (attributes_field, flags_field) = match data {
        PointKind::ReadMonitor | PointKind::Sum | PointKind::Summary => (7, 8),
        PointKind::Histogram => (9, 10),
        PointKind::ExponentialHistogram => (1, 10),
    };
    let is_number = matches!(data, PointKind::ReadMonitor | PointKind::Sum);
    let mut wire = PointWire::default();
    for field in Fields::new(message) {
        match field? {
            (2, Value::Fixed64(ns)) => wire.start = ns,
            (3, Value::Fixed64(ns)) => wire.time = ns,
            (4, Value::Fixed64(bits)) if is_number => wire.number = Some(f64::from_bits(bits)),
            (6, Value::Fixed64(bits)) if is_number => wire.number = Some(bits as i64 as f64),
            (4, Value::Fixed64(count)) => wire.count = count,
            (5, Value::Fixed64(bits)) if !is_number => wire.sum = Some(f64::from_bits(bits)),
            (field, Value::Bytes(pair)) if field == attributes_field => {
                let (key, value) = read_pair(pair).ok_or(WireError)?;
                attributes.add(String::from_utf8_lossy(key), read_value(value));
            }
            (field, Value::Varint(flags)) if field == flags_field => wire.flags = flags,
            _ => {}
        }
    }
    Ok(wire)
}
