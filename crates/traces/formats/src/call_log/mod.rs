//! Call log: CloudDiag's own records, one line for every start and every return of a call.

mod columns;
mod method;

use crate::columns::{Header, TraceIdReader};
use crate::delimited::{RecordError, RecordFields, guess_delimiter};
use crate::first_line::sniff_line;
use crate::format::{Format, FormatError, GroundTable, Reader, ReaderOptions, Recognizer, Sniff};
use crate::table::{FirstLine, Table, TableReader};
use columns::{CallColumns, parse_flag};
use laggard_model::{CallRecord, Loss, Sink, TraceId};
use method::split_method;

/// The row in [`FORMATS`](crate::FORMATS).
pub(crate) const FORMAT: Format = Format {
    name: "call-log",
    title: "call logs: one line for every start and return of a call",
    manual: "docs/manual/formats/call-log.md",
    fills: GroundTable::Spans,
    recognizer: Recognizer::Start(sniff),
    open,
};

fn open(options: &ReaderOptions) -> Box<dyn Reader> {
    Box::new(TableReader::new(CallTable::new(options)))
}

fn sniff(prefix: &[u8]) -> Sniff {
    sniff_line(prefix, |line| {
        let fields = line.split(char::from(guess_delimiter(line)));
        columns::names_call_log(fields.clone()) || columns::is_bare_record(fields)
    })
}

/// State of one call log.
struct CallTable {
    options: ReaderOptions,
    columns: CallColumns,
    /// Replaces a host column.
    file_host: Option<String>,
    request_ids: TraceIdReader,
}

impl CallTable {
    fn new(options: &ReaderOptions) -> CallTable {
        CallTable {
            file_host: options.source_name.as_deref().and_then(method::host_of_file),
            options: options.clone(),
            columns: CallColumns::bare(),
            request_ids: TraceIdReader::default(),
        }
    }
}

impl Table for CallTable {
    fn begin(&mut self, first: &RecordFields<'_>) -> Result<(FirstLine, Vec<String>), FormatError> {
        if self.options.columns.is_empty() && columns::is_bare_record(first.iter()) {
            return Ok((FirstLine::Record, columns::BARE_TITLES.map(str::to_owned).to_vec()));
        }
        let header = Header::new(first, &self.options.columns)?;
        self.columns = CallColumns::find(&header, self.file_host.is_some())?;
        Ok((FirstLine::Header, header.into_titles()))
    }

    fn fields_min(&self, width: usize) -> usize {
        self.columns.fields_min(width)
    }

    fn for_another_part(&self) -> Option<CallTable> {
        Some(CallTable {
            // The options have been applied to the header.
            options: ReaderOptions::default(),
            columns: self.columns.clone(),
            file_host: self.file_host.clone(),
            request_ids: TraceIdReader::default(),
        })
    }

    #[inline]
    fn row(&mut self, row: &RecordFields<'_>, _: &[String], sink: &mut dyn Sink) -> Result<(), RecordError> {
        let request_text = row.get(self.columns.request);
        let request = self.request_ids.read(request_text).ok_or(NO_REQUEST)?;
        let columns = &self.columns;
        let fragment = TraceId::parse_text(row.get(columns.fragment)).ok_or(NO_MID)?;
        let time = columns.time;
        let instant = crate::time_text::parse_instant(time.format, row.get(time.index))
            .ok_or(RecordError::field(time.index, time.format.expectation()))?;
        let flag = parse_flag(row.get(columns.flag)).ok_or(RecordError::field(columns.flag, BAD_FLAG))?;
        let method = split_method(row.get(columns.method));
        let service = columns.service.map_or("", |column| row.get(column));
        let host = columns.host.map_or("", |column| row.get(column));
        sink.call(&CallRecord {
            host: if host.is_empty() { self.file_host.as_deref().unwrap_or("unknown") } else { host },
            time: instant,
            request: request.id,
            request_text: (!request.is_canonical).then_some(request_text),
            fragment: fragment.id,
            service: if service.is_empty() { method.service } else { service },
            operation: if service.is_empty() { method.operation } else { method.full_name },
            flag,
            callee: columns.callee.and_then(|column| parse_callee(row.get(column))),
        });
        Ok(())
    }
}

const NO_REQUEST: RecordError = RecordError::record(Loss::InvalidId, "no request id");
const NO_MID: RecordError = RecordError::record(Loss::InvalidId, "no mid");
const BAD_FLAG: &str = "neither a start (E, enter, start, S) nor a return (X, exit, return, R)";

/// The announced fragment; words for "none" are not hexadecimal and cannot be meant as ids.
#[inline]
fn parse_callee(text: &str) -> Option<TraceId> {
    const NONE: [&str; 6] = ["null", "none", "nil", "nan", "-", "-1"];
    if text.len() <= 4 && NONE.iter().any(|none| none.eq_ignore_ascii_case(text)) {
        return None;
    }
    TraceId::parse_text(text).map(|parsed| parsed.id)
}
