//! Points of one metric that are one sample.

use super::mappings::{Mapping, MetricOrigin};
use super::{Attributes, MetricPoint, PointValue};
use crate::conventions::{ResourceNames, UNKNOWN, replace_ids};
use crate::measures::is_of_transactions;
use crate::text::char_boundary;
use laggard_model::{Measure, SampleRecord, Sink, Timestamp};
use std::collections::{BTreeSet, HashMap};

/// Longest name in bytes; longer ones are cut.
const NAME_BYTES_MAX: usize = 1_024;

/// The series of a point.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PointNames {
    pub(super) server: String,
    pub(super) tier: String,
    pub(super) transaction: String,
    pub(super) callee: String,
    /// The machine that the server runs on, if this is about its CPU; empty when unknown, or when it is the server.
    machine: String,
    /// Whether it is of an outbound call though the mapping speaks of transactions: a client's span.
    pub(super) is_call: bool,
}

impl PointNames {
    /// Emits a sample under these names.
    pub(super) fn emit(&self, time_ns: i64, measure: Measure, value: f64, sink: &mut dyn Sink) {
        sink.sample(&SampleRecord {
            time: Timestamp::from_unix_ns(time_ns),
            measure,
            server: &self.server,
            tier: &self.tier,
            transaction: &self.transaction,
            callee: &self.callee,
            value,
        });
    }

    /// Emits the machine that the server runs on, if it is known.
    pub(super) fn emit_machine(&self, time_ns: i64, sink: &mut dyn Sink) {
        if !self.machine.is_empty() {
            sink.sample(&SampleRecord {
                time: Timestamp::from_unix_ns(time_ns),
                measure: Measure::Machine,
                server: &self.server,
                tier: &self.tier,
                transaction: "",
                callee: &self.machine,
                value: 1.0,
            });
        }
    }

    /// Bytes of text.
    pub(super) fn bytes(&self) -> usize {
        self.server.len() + self.tier.len() + self.transaction.len() + self.callee.len() + self.machine.len()
    }

    /// The names of a point; `None` when it is none of the mapping's measure.
    pub(super) fn from_point(
        mapping: &Mapping,
        attributes: &Attributes<'_>,
        resource: &ResourceNames,
    ) -> Option<PointNames> {
        let (server, tier) = mapping.origin.server(attributes, resource);
        let mut names = PointNames {
            server: cut(server).to_owned(),
            tier: cut(tier).to_owned(),
            transaction: String::new(),
            callee: String::new(),
            machine: String::new(),
            is_call: false,
        };
        let runs_on_one = mapping.is_of_cpu() && mapping.origin == MetricOrigin::Service;
        if runs_on_one && !server.is_empty() && server != resource.host {
            cut(&resource.host).clone_into(&mut names.machine);
        }
        if mapping.origin == MetricOrigin::Spans {
            let kind = attributes.first(&["span.kind"]);
            match kind.strip_prefix("SPAN_KIND_").unwrap_or(kind) {
                "SERVER" | "CONSUMER" => names.transaction = template(mapping.transaction.name(attributes)),
                "CLIENT" | "PRODUCER" => {
                    names.is_call = true;
                    names.callee = template(mapping.callee.name(attributes));
                }
                _ => return None,
            }
            return Some(names);
        }
        if mapping.measure.is_of_storage() {
            let state = attributes.first(&["state", "system.memory.state", "system.filesystem.state"]);
            names.callee = cut(&mapping.callee.name(attributes)).to_owned();
            return matches!(state, "" | "used").then_some(names);
        }
        if is_of_transactions(mapping.measure) {
            names.transaction = template(mapping.transaction.name(attributes));
            names.callee = template(mapping.callee.name(attributes));
            let is_unnamed = names.transaction.is_empty() && names.callee.is_empty();
            if is_unnamed && !(mapping.transaction.is_empty() && mapping.callee.is_empty()) {
                let place =
                    if mapping.callee.is_empty() { &mut names.transaction } else { &mut names.callee };
                place.push_str(UNKNOWN);
            }
        }
        Some(names)
    }
}

/// At most [`NAME_BYTES_MAX`] bytes.
fn cut(name: &str) -> &str {
    &name[..char_boundary(name, NAME_BYTES_MAX)]
}

pub(super) fn template(name: String) -> String {
    let name = cut(&name);
    let mut out = String::with_capacity(name.len());
    replace_ids(name, &mut out);
    out
}

/// A point's numbers in the measure's units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Amount {
    /// The number, or the sum of a distribution; `None` when there is no sum.
    pub(super) value: Option<f64>,
    /// How many a distribution has.
    pub(super) count: f64,
}

impl Amount {
    pub(super) fn from_point(point: &MetricPoint<'_, '_>, factor: f64) -> Amount {
        match point.value {
            PointValue::Number(value) => Amount { value: Some(value * factor), count: 0.0 },
            PointValue::Distribution { count, sum } => Amount { value: sum.map(|sum| sum * factor), count },
        }
    }

    pub(super) fn nothing(self) -> Amount {
        Amount { value: Some(0.0), count: 0.0 }
    }
}

/// Points of one instant and the same names.
#[derive(Clone, Debug)]
pub(super) struct PointGroup {
    pub(super) names: PointNames,
    pub(super) time_ns: i64,
    /// The latest start of its points; 0 if none has one.
    pub(super) start_ns: i64,
    pub(super) amount: Amount,
    /// The processors that its points name.
    processors: BTreeSet<String>,
}

impl PointGroup {
    /// How many processors the points name; 0 when they name none.
    pub(super) fn processors(&self) -> usize {
        self.processors.len()
    }

    /// The value for a measure: utilization is the mean of the processors.
    pub(super) fn value(&self, measure: Measure) -> Option<f64> {
        let value = self.amount.value?;
        match measure {
            Measure::Utilization => Some(value / self.processors.len().max(1) as f64),
            _ => Some(value),
        }
    }
}

/// The groups of one metric, in the order in which they appeared.
#[derive(Debug, Default)]
pub(super) struct PointGroups {
    groups: Vec<PointGroup>,
    indices: HashMap<(i64, PointNames), usize>,
}

impl PointGroups {
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.indices.clear();
    }

    pub(super) fn add(
        &mut self,
        names: PointNames,
        point: &MetricPoint<'_, '_>,
        amount: Amount,
        processor: &str,
    ) {
        let next = self.groups.len();
        let index = *self.indices.entry((point.time_ns, names.clone())).or_insert(next);
        if index == next {
            let start = Amount { value: amount.value.map(|_| 0.0), count: 0.0 };
            let (time_ns, start_ns) = (point.time_ns, point.start_ns);
            self.groups.push(PointGroup {
                names,
                time_ns,
                start_ns,
                amount: start,
                processors: BTreeSet::new(),
            });
        }
        let group = &mut self.groups[index];
        group.start_ns = group.start_ns.max(point.start_ns);
        group.amount.count += amount.count;
        group.amount.value = group.amount.value.zip(amount.value).map(|(one, two)| one + two);
        if !processor.is_empty() && !group.processors.contains(processor) {
            group.processors.insert(processor.to_owned());
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PointGroup> {
        self.groups.iter()
    }
}
