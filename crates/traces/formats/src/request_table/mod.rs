//! Request table: one request a line, one operation a column, cumulative times.
//!
//! Such a table cannot be recognized by its contents, so it is read only if the format is specified.

mod columns;

use crate::delimited::{RecordError, RecordFields};
use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Sniff};
use crate::table::{FirstLine, Table, TableReader};
use crate::time_text::{TimeFormat, TimeUnit};
use columns::RequestColumns;
use laggard_model::{
    FingerprintBuilder, Loss, Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind,
    SpanRecord, Status, Timestamp, TraceId,
};

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "request-table",
    title: "request tables: CSV, one request a line, one operation a column (only with --format)",
    manual: "docs/manual/formats/request-table.md",
    fills: GroundTable::Spans,
    recognizer: Recognizer::Start(|_| Sniff::No),
    open,
};

/// Unit of the operations' columns.
const OPERATION_TIME: TimeFormat = TimeFormat::Decimal(TimeUnit::Milliseconds);

/// Requests without times are placed at this distance, so that they remain in order.
const SPACING_NS: i64 = 1_000_000_000;

/// Operation of the request itself, when no column names one.
const REQUEST: &str = "request";

fn open(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(TableReader::new(RequestTable::new(options)))
}

/// State of one request table.
struct RequestTable {
    options: ReaderOptions,
    columns: RequestColumns,
    /// Nanoseconds in the operations' columns of one row; `None` where the operation was not called.
    times: Vec<Option<i64>>,
}

/// The request of a row.
struct RowRequest<'a> {
    trace_id: TraceId,
    trace_text: Option<&'a str>,
    start: Timestamp,
    service: &'a str,
    operation: &'a str,
}

impl RequestTable {
    fn new(options: &ReaderOptions) -> RequestTable {
        RequestTable { options: options.clone(), columns: RequestColumns::default(), times: Vec::new() }
    }

    fn request<'a>(&self, row: &RecordFields<'a>) -> Result<RowRequest<'a>, RecordError> {
        let id_text = self.columns.id.map(|column| row.get(column)).unwrap_or_default();
        let (trace_id, trace_text) = match TraceId::parse_text(id_text) {
            Some(id) => (id.id, (!id.is_canonical).then_some(id_text)),
            None => (self.trace_of_line(row.line), None),
        };
        let start = match self.columns.start {
            Some(column) => column.read(row)?,
            None => i64::try_from(row.line).unwrap_or(i64::MAX).saturating_mul(SPACING_NS),
        };
        let text = |column: Option<usize>, absent| {
            column.map(|index| row.get(index)).filter(|text: &&str| !text.is_empty()).unwrap_or(absent)
        };
        Ok(RowRequest {
            trace_id,
            trace_text,
            start: Timestamp::from_unix_ns(start),
            service: text(self.columns.service, "unknown"),
            operation: text(self.columns.operation, REQUEST),
        })
    }

    /// Lines of several files are different requests.
    fn trace_of_line(&self, line: u64) -> TraceId {
        let mut builder = FingerprintBuilder::new();
        builder.bytes(self.options.source_name.as_deref().unwrap_or_default().as_bytes());
        builder.word(line);
        TraceId::from_value(builder.finish().value())
    }

    fn read_times(&mut self, row: &RecordFields<'_>) -> Result<(), RecordError> {
        self.times.clear();
        for &column in &self.columns.operations {
            let text = row.get(column);
            if text.is_empty() {
                self.times.push(None);
                continue;
            }
            let time = OPERATION_TIME.parse_ns(text);
            self.times.push(Some(time.ok_or(RecordError::field(column, OPERATION_TIME.expectation()))?));
        }
        Ok(())
    }
}

impl Table for RequestTable {
    fn begin(&mut self, first: &RecordFields<'_>) -> Result<(FirstLine, Vec<String>), FormatError> {
        let header = crate::columns::Header::new(first, &self.options.columns)?;
        self.columns = RequestColumns::find(&header, first)?;
        Ok((FirstLine::Header, header.into_titles()))
    }

    fn reads_cut_lines(&self) -> bool {
        false
    }

    fn row(
        &mut self,
        row: &RecordFields<'_>,
        titles: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), RecordError> {
        let request = self.request(row)?;
        let latency_ns = self.columns.latency.read(row)?;
        self.read_times(row)?;
        let mut is_negative = latency_ns < 0;
        sink.span(&span(&request, request.operation, 0, latency_ns));
        for (index, (&column, time)) in self.columns.operations.iter().zip(&self.times).enumerate() {
            let Some(time) = *time else { continue };
            is_negative |= time < 0;
            sink.span(&span(&request, &titles[column], index + 1, time));
        }
        if is_negative {
            sink.lose(Loss::NegativeTime, &|| format!("line {}", row.line));
        }
        Ok(())
    }
}

/// The request's own span at 0, those of its operations from 1 on. All start at the same time: a cumulative time shows
/// how long, not when.
fn span<'a>(request: &RowRequest<'a>, operation: &'a str, index: usize, length_ns: i64) -> SpanRecord<'a> {
    let root = SpanId::new(1);
    SpanRecord {
        trace_id: request.trace_id,
        trace_text: request.trace_text,
        span_id: SpanId::new(index as u64 + 1).expect("one and more is not zero"),
        parent: if index == 0 { None } else { root },
        service: request.service,
        replica: "",
        replica_source: ReplicaSource::Unknown,
        operation,
        kind: SpanKind::Unspecified,
        status: Status::Unset,
        start: request.start,
        inclusive: Nanos::from_ns(u64::try_from(length_ns).unwrap_or(0)),
        sampling: Sampling::default(),
        attributes: SpanAttributes::default(),
    }
}
