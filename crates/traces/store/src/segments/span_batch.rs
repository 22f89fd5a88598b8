//! Spans by column, for questions about few of their columns.

use super::columns::{self, DictionaryColumn};
use super::error::SegmentError;
use super::name_columns::{OperationReader, read_kinds, read_statuses, trace_at};
use super::table::Column;
use arrow_array::types::{Float32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, Float32Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::DataType;
use arrow_select::filter::filter_record_batch;
use laggard_model::TraceId;

/// A column of stored spans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SpanColumn {
    /// The id of its trace, 16 bytes, most significant first.
    Trace,
    /// That id as received, where its display text is another.
    TraceText,
    /// Its id.
    Span,
    /// The id of its caller; absent at a root.
    Parent,
    /// Start, nanoseconds since 1970.
    Start,
    /// End minus start, nanoseconds.
    Duration,
    /// The service.
    Service,
    /// The operation within the service.
    Operation,
    /// The name of its span kind.
    Kind,
    /// The instance of the service.
    Replica,
    /// The name of its outcome.
    Status,
    /// Whether it was rebuilt from a call log with something missing.
    Incomplete,
    /// How many spans it stands for, by sampling.
    AdjustedCount,
    /// Attributes of its trace, as [`attributes_in`](laggard_model::attributes_in) reads them. Early formats have no such column.
    Attributes,
    /// `thread.id`. Early formats have no such column.
    Thread,
}

impl SpanColumn {
    /// All of them, as they are stored.
    pub const ALL: [SpanColumn; 15] = [
        SpanColumn::Trace,
        SpanColumn::TraceText,
        SpanColumn::Span,
        SpanColumn::Parent,
        SpanColumn::Start,
        SpanColumn::Duration,
        SpanColumn::Service,
        SpanColumn::Operation,
        SpanColumn::Kind,
        SpanColumn::Replica,
        SpanColumn::Status,
        SpanColumn::Incomplete,
        SpanColumn::AdjustedCount,
        SpanColumn::Attributes,
        SpanColumn::Thread,
    ];

    const fn name(self) -> &'static str {
        match self {
            SpanColumn::Trace => "trace",
            SpanColumn::TraceText => "trace_text",
            SpanColumn::Span => "span",
            SpanColumn::Parent => "parent",
            SpanColumn::Start => "start_ns",
            SpanColumn::Duration => "inclusive_ns",
            SpanColumn::Service => "service",
            SpanColumn::Operation => "operation",
            SpanColumn::Kind => "kind",
            SpanColumn::Replica => "replica",
            SpanColumn::Status => "status",
            SpanColumn::Incomplete => "incomplete",
            SpanColumn::AdjustedCount => "adjusted_count",
            SpanColumn::Attributes => "attributes",
            SpanColumn::Thread => "thread",
        }
    }

    /// How it is stored.
    pub(crate) fn stored(self) -> Column {
        let name = self.name();
        match self {
            SpanColumn::Trace => Column::trace().dictionary(),
            SpanColumn::TraceText => Column::plain(name, DataType::Utf8).optional(),
            SpanColumn::Span => Column::plain(name, DataType::UInt64),
            SpanColumn::Parent => Column::plain(name, DataType::UInt64).optional(),
            SpanColumn::Start => Column::number(name, DataType::Int64),
            SpanColumn::Duration => Column::number(name, DataType::UInt64),
            SpanColumn::Service
            | SpanColumn::Operation
            | SpanColumn::Kind
            | SpanColumn::Replica
            | SpanColumn::Status => Column::text(name),
            SpanColumn::Incomplete => Column::plain(name, DataType::Boolean),
            SpanColumn::AdjustedCount => Column::plain(name, DataType::Float32).optional(),
            SpanColumn::Attributes => Column::plain(name, DataType::Utf8).optional().dictionary(),
            SpanColumn::Thread => Column::plain(name, DataType::UInt32).optional().dictionary(),
        }
    }
}

/// Some columns of consecutive spans, which are as they were written.
#[derive(Clone, Debug)]
pub struct SpanBatch(RecordBatch);

/// Why an accessor has its array: the batch was checked, and has the column.
const CHECKED: &str = "columns that are read are checked before";

impl SpanBatch {
    /// Checks the columns that were read.
    pub(super) fn new(batch: RecordBatch, read: &[SpanColumn]) -> Result<SpanBatch, SegmentError> {
        read.iter().try_for_each(|&column| check(&batch, column))?;
        Ok(SpanBatch(batch))
    }

    /// Number of spans.
    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.0.get_array_memory_size()
    }

    /// A part of it: so many spans from one on.
    ///
    /// # Panics
    /// When it has no such part.
    #[must_use]
    pub fn part(&self, from: usize, rows: usize) -> SpanBatch {
        SpanBatch(self.0.slice(from, rows))
    }

    /// Some of its spans: whether each is selected.
    pub(super) fn only(&self, rows: Vec<bool>) -> Result<SpanBatch, SegmentError> {
        Ok(SpanBatch(filter_record_batch(&self.0, &BooleanArray::from(rows))?))
    }

    /// Ids of traces.
    ///
    /// # Panics
    /// When the column was not read; so do the others.
    pub fn traces(&self) -> impl Iterator<Item = TraceId> + '_ {
        let traces = self.trace_column();
        (0..traces.len()).map(|row| trace_at(traces, row))
    }

    pub(super) fn trace_column(&self) -> &FixedSizeBinaryArray {
        columns::traces(&self.0, SpanColumn::Trace.name()).expect(CHECKED)
    }

    /// Ids of traces as received, where their display text is another.
    pub fn trace_texts(&self) -> &StringArray {
        columns::optional_texts(&self.0, SpanColumn::TraceText.name()).expect(CHECKED)
    }

    /// Ids; none is 0.
    pub fn ids(&self) -> &[u64] {
        columns::numbers::<UInt64Type>(&self.0, SpanColumn::Span.name()).expect(CHECKED)
    }

    /// Ids of callers.
    pub fn parents(&self) -> &UInt64Array {
        columns::optional_numbers::<UInt64Type>(&self.0, SpanColumn::Parent.name()).expect(CHECKED)
    }

    /// Starts, nanoseconds since 1970.
    pub fn starts(&self) -> &[i64] {
        columns::numbers::<Int64Type>(&self.0, SpanColumn::Start.name()).expect(CHECKED)
    }

    /// Durations, nanoseconds.
    pub fn durations(&self) -> &[u64] {
        columns::numbers::<UInt64Type>(&self.0, SpanColumn::Duration.name()).expect(CHECKED)
    }

    /// A column of texts that are all there, as a dictionary.
    pub fn texts(&self, column: SpanColumn) -> &ArrayRef {
        columns::named(&self.0, column.name()).expect(CHECKED)
    }

    /// The same with its keys and values.
    pub(super) fn dictionary(&self, column: SpanColumn) -> DictionaryColumn<'_> {
        columns::texts(&self.0, column.name()).expect(CHECKED)
    }

    /// Operations of the rows, of the three columns that name them.
    pub(super) fn operations(&self) -> Result<OperationReader<'_>, SegmentError> {
        OperationReader::new(&self.0)
    }

    /// Whether each was rebuilt with something missing.
    pub fn incomplete(&self) -> &BooleanArray {
        columns::booleans(&self.0, SpanColumn::Incomplete.name()).expect(CHECKED)
    }

    /// Adjusted counts.
    pub fn adjusted_counts(&self) -> &Float32Array {
        columns::optional_numbers::<Float32Type>(&self.0, SpanColumn::AdjustedCount.name()).expect(CHECKED)
    }

    /// Attributes of traces.
    pub fn attributes(&self) -> Option<&StringArray> {
        columns::optional_texts_if_present(&self.0, SpanColumn::Attributes.name()).expect(CHECKED)
    }

    /// Ids of threads.
    pub fn threads(&self) -> Option<&UInt32Array> {
        columns::optional_numbers_if_present::<UInt32Type>(&self.0, SpanColumn::Thread.name()).expect(CHECKED)
    }
}

/// Whether a column is of its type, has what must be there, and nothing that is unknown.
fn check(batch: &RecordBatch, column: SpanColumn) -> Result<(), SegmentError> {
    let name = column.name();
    match column {
        SpanColumn::Trace => columns::traces(batch, name).map(drop),
        SpanColumn::TraceText => columns::optional_texts(batch, name).map(drop),
        SpanColumn::Span => match columns::numbers::<UInt64Type>(batch, name)?.contains(&0) {
            true => Err(SegmentError::damaged("has a span with id 0")),
            false => Ok(()),
        },
        SpanColumn::Parent => columns::optional_numbers::<UInt64Type>(batch, name).map(drop),
        SpanColumn::Start => columns::numbers::<Int64Type>(batch, name).map(drop),
        SpanColumn::Duration => columns::numbers::<UInt64Type>(batch, name).map(drop),
        SpanColumn::Service | SpanColumn::Operation | SpanColumn::Replica => {
            columns::texts(batch, name).map(drop)
        }
        SpanColumn::Kind => read_kinds(columns::texts(batch, name)?.values).map(drop),
        SpanColumn::Status => read_statuses(columns::texts(batch, name)?.values).map(drop),
        SpanColumn::Incomplete => columns::booleans(batch, name).map(drop),
        SpanColumn::AdjustedCount => columns::optional_numbers::<Float32Type>(batch, name).map(drop),
        SpanColumn::Attributes => columns::optional_texts_if_present(batch, name).map(drop),
        SpanColumn::Thread => columns::optional_numbers_if_present::<UInt32Type>(batch, name).map(drop),
    }
}

/// By batch, the spans with the id and start of the one before, which may be in the batch before.
pub(super) fn repeated_ids(batches: &[SpanBatch]) -> Vec<Vec<usize>> {
    let mut last = None;
    let of_batch = |batch: &SpanBatch| {
        let keys = || batch.ids().iter().zip(batch.starts()).map(|(&id, &start)| Some((id, start)));
        let before = [last].into_iter().chain(keys());
        let repeated = before.zip(keys()).enumerate().filter(|(_, (before, key))| before == key);
        let repeated = repeated.map(|(row, _)| row).collect();
        last = keys().next_back().unwrap_or(last);
        repeated
    };
    batches.iter().map(of_batch).collect()
}

/// Those among them that equal the span before in all columns.
pub(super) fn repeated_spans(batches: &[SpanBatch], repeated: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let last_before = |index: usize| {
        let batch = batches[..index].iter().rfind(|batch| batch.rows() > 0)?;
        Some((batch, batch.rows() - 1))
    };
    let is_copy = |index: usize, row: usize| {
        let batch = &batches[index];
        let before = row.checked_sub(1).map(|row| (batch, row)).or_else(|| last_before(index));
        before.is_some_and(|(before, last)| {
            let columns = before.0.columns().iter().zip(batch.0.columns());
            columns.into_iter().all(|(before, column)| before.slice(last, 1) == column.slice(row, 1))
        })
    };
    let copies = repeated.into_iter().enumerate();
    copies.map(|(index, rows)| rows.into_iter().filter(|&row| is_copy(index, row)).collect()).collect()
}
