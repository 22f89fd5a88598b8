//! Span CSV: one span a line, columns found by the header.

mod columns;

use crate::columns::TraceIdReader;
use crate::delimited::{RecordError, RecordFields, guess_delimiter};
use crate::first_line::sniff_line;
use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Sniff};
use crate::table::{FirstLine, Table, TableReader};
use columns::{Length, SpanColumns};
use laggard_model::{
    AttributeText, Loss, Nanos, ReplicaSource, Sampling, Sink, SpanAttributes, SpanId, SpanKind, SpanRecord,
    Status, Timestamp,
};

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "span-csv",
    title: "span tables: CSV with a header, one span a line",
    manual: "docs/manual/formats/span-csv.md",
    fills: GroundTable::Spans,
    recognizer: Recognizer::Start(sniff),
    open,
};

fn open(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(TableReader::new(SpanTable::new(options)))
}

/// A header with a trace id and a span id is recognized, even when something else is missing: the reader
/// can say what.
fn sniff(prefix: &[u8]) -> Sniff {
    sniff_line(prefix, |line| columns::names_ids(line.split(char::from(guess_delimiter(line)))))
}

/// State of one span table.
struct SpanTable {
    options: ReaderOptions,
    columns: SpanColumns,
    trace_ids: TraceIdReader,
    replica_text: String,
    /// The selected attributes of the last row.
    attributes: AttributeText,
}

impl SpanTable {
    fn new(options: &ReaderOptions) -> SpanTable {
        SpanTable {
            options: options.clone(),
            columns: SpanColumns::default(),
            trace_ids: TraceIdReader::default(),
            replica_text: String::new(),
            attributes: AttributeText::default(),
        }
    }
}

impl Table for SpanTable {
    fn begin(&mut self, first: &RecordFields<'_>) -> Result<(FirstLine, Vec<String>), FormatError> {
        let header = crate::columns::Header::new(first, &self.options.columns)?;
        self.columns = SpanColumns::find(&header, &self.options)?;
        Ok((FirstLine::Header, header.into_titles()))
    }

    fn for_another_part(&self) -> Option<SpanTable> {
        // The options have been applied to the header.
        Some(SpanTable { columns: self.columns.clone(), ..SpanTable::new(&ReaderOptions::default()) })
    }

    #[inline]
    fn row(&mut self, row: &RecordFields<'_>, _: &[String], sink: &mut dyn Sink) -> Result<(), RecordError> {
        let trace_text = row.get(self.columns.trace);
        let trace =
            self.trace_ids.read(trace_text).ok_or(RecordError::record(Loss::InvalidId, "no trace id"))?;
        let columns = &self.columns;
        let span_id = SpanId::parse_text(row.get(columns.span))
            .ok_or(RecordError::record(Loss::InvalidId, "no span id"))?;
        let times = read_times(columns, row)?;
        let (replica, replica_source) = columns.replica(row, &mut self.replica_text);
        let sampling = columns
            .weight
            .map_or_else(Sampling::default, |(index, column)| column.sampling(row.get(index), span_id, sink));
        columns.select(row, &mut self.attributes);
        sink.span(&SpanRecord {
            trace_id: trace.id,
            trace_text: (!trace.is_canonical).then_some(trace_text),
            span_id,
            parent: parse_parent(row.get(columns.parent)),
            service: or_unknown(row.get(columns.service)),
            replica,
            replica_source: if replica.is_empty() { ReplicaSource::Unknown } else { replica_source },
            operation: or_unknown(row.get(columns.operation)),
            kind: columns.kind.and_then(|column| SpanKind::parse(row.get(column))).unwrap_or_default(),
            status: columns.status.map(|column| parse_status(row.get(column))).unwrap_or_default(),
            start: times.start,
            inclusive: times.inclusive,
            sampling,
            attributes: SpanAttributes { span: self.attributes.as_str(), ..SpanAttributes::default() },
        });
        if times.is_negative {
            sink.lose(Loss::NegativeTime, &|| format!("line {}", row.line));
        }
        Ok(())
    }
}

struct RowTimes {
    start: Timestamp,
    inclusive: Nanos,
    is_negative: bool,
}

#[inline]
fn read_times(columns: &SpanColumns, row: &RecordFields<'_>) -> Result<RowTimes, RecordError> {
    let start = columns.start.read(row)?;
    let length = match columns.length {
        Length::Duration(column) => column.read(row)?,
        Length::End(column) => column.read(row)?.saturating_sub(start),
    };
    let inclusive = u64::try_from(length).map(Nanos::from_ns);
    Ok(RowTimes {
        start: Timestamp::from_unix_ns(start),
        is_negative: inclusive.is_err(),
        inclusive: inclusive.unwrap_or(Nanos::ZERO),
    })
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

/// The parent's id. Besides nothing at all, several words are in use for "no parent"; none of them is a
/// hexadecimal number, so none can be meant as an id.
#[inline]
fn parse_parent(text: &str) -> Option<SpanId> {
    const NONE: [&str; 7] = ["null", "none", "nil", "nan", "root", "-", "-1"];
    if text.len() <= 4 && NONE.iter().any(|none| none.eq_ignore_ascii_case(text)) {
        return None;
    }
    SpanId::parse_text(text)
}

/// OpenTelemetry's names and numbers, and HTTP status codes (server errors are errors).
fn parse_status(text: &str) -> Status {
    let bare = text.strip_prefix("STATUS_CODE_").unwrap_or(text);
    match bare {
        "1" => Status::Ok,
        "2" => Status::Error,
        _ if bare.eq_ignore_ascii_case("ok") => Status::Ok,
        _ if bare.eq_ignore_ascii_case("error") => Status::Error,
        _ if bare.len() == 3 && bare.starts_with('5') && bare.parse::<u16>().is_ok() => Status::Error,
        _ => Status::Unset,
    }
}
