//! The columns of a request table: a few that are known by name, all others are operations.

use crate::columns::{Column, Header, TimeColumn, comparable};
use crate::delimited::RecordFields;
use crate::format::FormatError;
use crate::time_text::{TimeFormat, TimeUnit};

const TRACE: Column = Column { name: "trace_id", synonyms: &["requestid", "request", "trace", "id"] };
const SERVICE: Column = Column { name: "service", synonyms: &["service.name", "servicename"] };
const OPERATION: Column = Column { name: "operation", synonyms: &["operationname", "endpoint", "url"] };

/// Total latency in milliseconds, if there is no column `latency_us` or similar.
const LATENCY: Column = Column { name: "latency", synonyms: &["duration", "total", "responsetime"] };

/// Columns with labels of a request, not durations.
const LABELS: [&str; 5] = ["anomaly", "label", "class", "cause", "index"];

/// Positions of the columns; the default is that of no table and is replaced by the header.
pub(super) struct RequestColumns {
    pub(super) latency: TimeColumn,
    pub(super) id: Option<usize>,
    pub(super) start: Option<TimeColumn>,
    pub(super) service: Option<usize>,
    pub(super) operation: Option<usize>,
    pub(super) operations: Vec<usize>,
}

impl Default for RequestColumns {
    fn default() -> RequestColumns {
        RequestColumns {
            latency: milliseconds(0),
            id: None,
            start: None,
            service: None,
            operation: None,
            operations: Vec::new(),
        }
    }
}

const fn milliseconds(index: usize) -> TimeColumn {
    TimeColumn { index, format: TimeFormat::Decimal(TimeUnit::Milliseconds) }
}

impl RequestColumns {
    /// Finds the columns in a header.
    ///
    /// # Errors
    /// No column is the latency, or none is an operation.
    pub(super) fn find(header: &Header, titles: &RecordFields<'_>) -> Result<RequestColumns, FormatError> {
        let number = |stem: &str| {
            let column = header.find_time(stem, &[]);
            column.filter(|column| column.format != TimeFormat::Rfc3339)
        };
        let named = || header.find(&LATENCY).map(milliseconds);
        let Some(latency) = number("latency").or_else(|| number("duration")).or_else(named) else {
            return Err(header.lacks(&["duration_ms (or latency, duration, total, response_time)"], NEEDED));
        };
        let start = header.find_time("start", &[]).or_else(|| header.find_time("time", &[]));
        let (id, service, operation) = (header.find(&TRACE), header.find(&SERVICE), header.find(&OPERATION));
        let known = [Some(latency.index), start.map(|column| column.index), id, service, operation];
        let is_operation = |&(index, title): &(usize, &str)| {
            let name = comparable(title);
            let is_known = known.contains(&Some(index)) || header.is_mapped(index);
            !name.is_empty() && !is_known && !LABELS.contains(&name.as_str())
        };
        let operations: Vec<usize> =
            titles.iter().enumerate().filter(is_operation).map(|(index, _)| index).collect();
        if operations.is_empty() {
            return Err(FormatError::new(format!(
                "the table has no column of an operation besides those known by name. Needed are {NEEDED}."
            )));
        }
        Ok(RequestColumns { latency, id, start, service, operation, operations })
    }
}

const NEEDED: &str = "a latency and one column in milliseconds for each operation";
