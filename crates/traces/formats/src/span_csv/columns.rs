//! The columns of a span table.

use crate::columns::{Column, Header, TimeColumn, comparable};
use crate::delimited::RecordFields;
use crate::format::{FormatError, ReaderOptions};
use crate::sampling::WeightColumn;
use crate::time_text::{TimeFormat, TimeUnit};
use laggard_model::{Attribute, AttributeText, ReplicaSource, WeightSource};

const TRACE: Column = Column { name: "trace_id", synonyms: &["trace"] };
const SPAN: Column = Column { name: "span_id", synonyms: &["span"] };
const PARENT: Column = Column { name: "parent_span_id", synonyms: &["parentid", "parentspan", "parent"] };
const SERVICE: Column = Column { name: "service", synonyms: &["service.name", "servicename"] };
const OPERATION: Column = Column { name: "operation", synonyms: &["operationname", "spanname", "name"] };
const STATUS: Column = Column { name: "status", synonyms: &["statuscode"] };
const ADJUSTED_COUNT: Column = Column { name: "adjusted_count", synonyms: &[] };
const SAMPLING_PROBABILITY: Column = Column { name: "sampling_probability", synonyms: &[] };
const TRACE_STATE: Column = Column { name: "trace_state", synonyms: &[] };
const KIND: Column = Column { name: "kind", synonyms: &["spankind"] };

/// OpenTelemetry's protocol fields as column names.
const START_SYNONYMS: [&str; 1] = ["starttimeunixnano"];
const END_SYNONYMS: [&str; 1] = ["endtimeunixnano"];

/// Columns that may identify the replica, in order of preference, with the one that narrows them down.
const REPLICAS: [(&str, ReplicaSource, Option<&str>); 10] = [
    ("replica", ReplicaSource::Column, None),
    ("service.instance.id", ReplicaSource::ServiceInstanceId, None),
    ("k8s.pod.uid", ReplicaSource::PodUid, None),
    ("k8s.pod.name", ReplicaSource::PodName, Some("k8s.container.name")),
    ("podname", ReplicaSource::PodName, None),
    ("container.id", ReplicaSource::ContainerId, None),
    ("host.id", ReplicaSource::Host, Some("process.pid")),
    ("host.name", ReplicaSource::Host, Some("process.pid")),
    ("hostname", ReplicaSource::Host, Some("process.pid")),
    ("ip", ReplicaSource::Address, None),
];

/// One column that may identify the replica.
#[derive(Clone)]
struct ReplicaColumn {
    index: usize,
    source: ReplicaSource,
    /// Joined to the value with `/`.
    narrower: Option<usize>,
}

/// How a table encodes a span's duration.
#[derive(Clone, Copy)]
pub(super) enum Length {
    Duration(TimeColumn),
    End(TimeColumn),
}

/// Positions of the columns; the default is that of no table and is replaced by the header.
#[derive(Clone)]
pub(super) struct SpanColumns {
    pub(super) trace: usize,
    pub(super) span: usize,
    pub(super) parent: usize,
    pub(super) service: usize,
    pub(super) operation: usize,
    pub(super) start: TimeColumn,
    pub(super) length: Length,
    pub(super) status: Option<usize>,
    pub(super) kind: Option<usize>,
    /// The column of the weight, and its encoding.
    pub(super) weight: Option<(usize, WeightColumn)>,
    replicas: Vec<ReplicaColumn>,
    attributes: Vec<AttributeColumn>,
}

/// A column of a selected attribute.
#[derive(Clone, Debug)]
struct AttributeColumn {
    index: usize,
    key: String,
    /// Whether it describes the span's service.
    of_service: bool,
}

impl Default for SpanColumns {
    fn default() -> SpanColumns {
        let time = TimeColumn { index: 0, format: TimeFormat::Decimal(TimeUnit::Nanoseconds) };
        SpanColumns {
            trace: 0,
            span: 0,
            parent: 0,
            service: 0,
            operation: 0,
            start: time,
            length: Length::Duration(time),
            status: None,
            kind: None,
            weight: None,
            replicas: Vec::new(),
            attributes: Vec::new(),
        }
    }
}

/// Whether a header has the two ids without which a table is none of spans.
pub(super) fn names_ids<'a>(titles: impl Iterator<Item = &'a str> + Clone) -> bool {
    let has = |column: &Column| {
        let name = comparable(column.name);
        titles.clone().any(|title| comparable(title.trim().trim_matches('"')) == name)
    };
    has(&TRACE) && has(&SPAN)
}

impl SpanColumns {
    /// Finds the columns in a header.
    ///
    /// # Errors
    /// Columns that are needed are missing; the message lists all of them.
    pub(super) fn find(header: &Header, options: &ReaderOptions) -> Result<SpanColumns, FormatError> {
        let mut missing = Vec::new();
        let mut require = |column| header.require(column, &mut missing);
        let (trace, span, parent) = (require(&TRACE), require(&SPAN), require(&PARENT));
        let (service, operation) = (require(&SERVICE), require(&OPERATION));
        let start = header.find_time("start", &START_SYNONYMS);
        let duration =
            header.find_time("duration", &[]).filter(|column| column.format != TimeFormat::Rfc3339);
        let end = header.find_time("end", &END_SYNONYMS).map(Length::End);
        let length = duration.map(Length::Duration).or(end);
        if start.is_none() {
            missing.push("start_ns (or start_us, start_ms, start_s, or start for RFC 3339 text)");
        }
        if length.is_none() {
            missing.push("duration_ns (or duration_us, duration_ms, duration_s, or end_ns and so on)");
        }
        let (Some(start), Some(length), []) = (start, length, missing.as_slice()) else {
            return Err(header.lacks(&missing, NEEDED));
        };
        let (status, kind) = (header.find(&STATUS), header.find(&KIND));
        let (weight, replicas) = (find_weight(header, options), find_replicas(header));
        Ok(SpanColumns {
            trace,
            span,
            parent,
            service,
            operation,
            start,
            length,
            status,
            kind,
            weight,
            replicas,
            attributes: find_attributes(header, options),
        })
    }

    /// Writes the selected attributes of a row into `text`.
    #[inline]
    pub(super) fn select(&self, row: &RecordFields<'_>, text: &mut AttributeText) {
        text.clear();
        for column in &self.attributes {
            let service = if column.of_service { row.get(self.service) } else { "" };
            text.add(Attribute { key: &column.key, service, value: row.get(column.index) });
        }
    }

    /// What identifies the row's replica; `joined` is a buffer for values of two columns.
    #[inline]
    pub(super) fn replica<'a>(
        &self,
        row: &RecordFields<'a>,
        joined: &'a mut String,
    ) -> (&'a str, ReplicaSource) {
        for column in &self.replicas {
            let value = row.get(column.index);
            if value.is_empty() {
                continue;
            }
            let Some(narrower) = column.narrower.map(|index| row.get(index)).filter(|text| !text.is_empty())
            else {
                return (value, column.source);
            };
            joined.clear();
            joined.extend([value, "/", narrower]);
            return (joined, column.source);
        }
        ("", ReplicaSource::Unknown)
    }
}

const NEEDED: &str =
    "trace_id, span_id, parent_span_id, service, operation, a start and a duration or an end";

/// A column mapped by the user, else a known one.
fn find_weight(header: &Header, options: &ReaderOptions) -> Option<(usize, WeightColumn)> {
    let named = |name: &Option<String>| header.find_exactly(&comparable(name.as_deref()?));
    let count = |index| (index, WeightColumn::Count(WeightSource::Column));
    let probability = |index| (index, WeightColumn::Probability(WeightSource::Column));
    None.or_else(|| Some((named(&options.weight_attribute)?, WeightColumn::Count(WeightSource::Named))))
        .or_else(|| {
            Some((named(&options.probability_attribute)?, WeightColumn::Probability(WeightSource::Named)))
        })
        .or_else(|| header.find(&ADJUSTED_COUNT).map(count))
        .or_else(|| header.find(&SAMPLING_PROBABILITY).map(probability))
        .or_else(|| header.find(&TRACE_STATE).map(|index| (index, WeightColumn::TraceState)))
}

fn find_attributes(header: &Header, options: &ReaderOptions) -> Vec<AttributeColumn> {
    let selected = |(index, title): (usize, &String)| {
        let name = title.strip_prefix("attr.").unwrap_or(title);
        let (key, of_service) = options.attributes.column(name)?;
        Some(AttributeColumn { index, key: key.to_owned(), of_service })
    };
    header.titles().iter().enumerate().filter_map(selected).collect()
}

fn find_replicas(header: &Header) -> Vec<ReplicaColumn> {
    let find = |&(name, source, narrower): &(&str, ReplicaSource, Option<&str>)| {
        let index = header.find_exactly(name)?;
        Some(ReplicaColumn { index, source, narrower: narrower.and_then(|name| header.find_exactly(name)) })
    };
    REPLICAS.iter().filter_map(find).collect()
}
