//! Names and ids as columns, and back.

use super::columns::{self, DictionaryColumn};
use super::error::SegmentError;
use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, StringArray};
use laggard_model::{Names, OperationId, OperationKey, ReplicaId, ServiceId, SpanKind, Status, TraceId};
use std::collections::HashMap;
use std::sync::Arc;

/// Names as the values of columns.
pub(crate) struct NameColumns {
    pub(crate) services: Arc<StringArray>,
    pub(crate) operations: Arc<StringArray>,
    pub(crate) replicas: Arc<StringArray>,
    pub(crate) kinds: Arc<StringArray>,
    pub(crate) statuses: Arc<StringArray>,
}

impl NameColumns {
    pub(crate) fn new(names: &Names) -> NameColumns {
        let operation = |index| names.operation_key(OperationId::from_index(index)).operation;
        let texts = |count: usize, text: &dyn Fn(usize) -> String| {
            Arc::new((0..count).map(|index| Some(text(index))).collect::<StringArray>())
        };
        NameColumns {
            services: texts(names.services(), &|index| {
                names.service_name(ServiceId::from_index(index)).to_owned()
            }),
            operations: texts(names.operations(), &|index| operation(index).to_owned()),
            replicas: texts(names.replicas(), &|index| {
                names.replica_name(ReplicaId::from_index(index)).to_owned()
            }),
            kinds: Arc::new(KINDS.map(|kind| Some(kind.name())).into_iter().collect()),
            statuses: Arc::new(STATUSES.map(|status| Some(status.name())).into_iter().collect()),
        }
    }
}

const KINDS: [SpanKind; 6] = [
    SpanKind::Unspecified,
    SpanKind::Internal,
    SpanKind::Server,
    SpanKind::Client,
    SpanKind::Producer,
    SpanKind::Consumer,
];

/// Outcomes in the order of their numbers.
const STATUSES: [Status; 3] = [Status::Unset, Status::Ok, Status::Error];

/// Trace ids as a column.
pub(crate) fn trace_column(traces: impl ExactSizeIterator<Item = TraceId>) -> Result<ArrayRef, SegmentError> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(traces.len(), 16);
    for trace in traces {
        builder.append_value(trace.value().to_be_bytes())?;
    }
    Ok(Arc::new(builder.finish()))
}

/// Texts of trace ids where there are any.
pub(crate) fn trace_text_column<T: AsRef<str>>(
    traces: impl ExactSizeIterator<Item = TraceId>,
    texts: &[(TraceId, T)],
) -> ArrayRef {
    if texts.is_empty() {
        return Arc::new(StringArray::new_null(traces.len()));
    }
    let mut builder = StringBuilder::new();
    // Spans of a trace follow each other.
    let mut last: Option<(TraceId, Option<&str>)> = None;
    for trace in traces {
        let text = match last {
            Some((known, text)) if known == trace => text,
            _ => {
                let position = texts.binary_search_by_key(&trace, |(known, _)| *known);
                position.ok().map(|index| texts[index].1.as_ref())
            }
        };
        last = Some((trace, text));
        builder.append_option(text);
    }
    Arc::new(builder.finish())
}

/// The id in a row of a column of trace ids.
pub(crate) fn trace_at(traces: &FixedSizeBinaryArray, index: usize) -> TraceId {
    let bytes = traces.value(index).try_into().expect("the column's values have 16 bytes");
    TraceId::from_bytes(bytes)
}

/// Kinds by their names in files.
pub(crate) fn read_kinds(values: &StringArray) -> Result<Vec<SpanKind>, SegmentError> {
    let kind = |name: &str| KINDS.into_iter().find(|kind| kind.name() == name);
    let unknown = |name: &str| SegmentError::damaged(format!("has a span kind {name:?}"));
    values.iter().flatten().map(|name| kind(name).ok_or_else(|| unknown(name))).collect()
}

/// Outcomes by their names in files.
pub(crate) fn read_statuses(values: &StringArray) -> Result<Vec<Status>, SegmentError> {
    let status = |name: &str| STATUSES.into_iter().find(|status| status.name() == name);
    let unknown = |name: &str| SegmentError::damaged(format!("has a status {name:?}"));
    values.iter().flatten().map(|name| status(name).ok_or_else(|| unknown(name))).collect()
}

/// Operations out of three columns of names.
pub(crate) struct OperationReader<'a> {
    services: DictionaryColumn<'a>,
    operations: DictionaryColumn<'a>,
    kinds: DictionaryColumn<'a>,
    kind_values: Vec<SpanKind>,
    known: HashMap<(i32, i32, i32), OperationId>,
    last: Option<((i32, i32, i32), OperationId)>,
}

impl<'a> OperationReader<'a> {
    pub(crate) fn new(batch: &'a RecordBatch) -> Result<OperationReader<'a>, SegmentError> {
        let kinds = columns::texts(batch, "kind")?;
        Ok(OperationReader {
            services: columns::texts(batch, "service")?,
            operations: columns::texts(batch, "operation")?,
            kind_values: read_kinds(kinds.values)?,
            kinds,
            known: HashMap::new(),
            last: None,
        })
    }

    pub(crate) fn at(&mut self, index: usize, names: &mut Names) -> Result<OperationId, SegmentError> {
        let key = (self.services.keys[index], self.operations.keys[index], self.kinds.keys[index]);
        if let Some((_, found)) = self.last.filter(|(last, _)| *last == key) {
            return Ok(found);
        }
        let found = *self.known.entry(key).or_insert_with(|| {
            names.operation(OperationKey {
                service: self.services.values.value(key.0 as usize),
                operation: self.operations.values.value(key.1 as usize),
                kind: self.kind_values[key.2 as usize],
            })
        });
        self.last = Some((key, found));
        Ok(found)
    }
}
