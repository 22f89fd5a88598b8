//! Columns: their types, and values as arrays.

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, StringViewBuilder, TimestampNanosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use laggard_model::{AdjustedCount, Nanos, SpanId, Timestamp, TraceId};
use laggard_store::SpanColumn;
use std::fmt::Write as _;
use std::sync::Arc;

/// A column of rows that are in an `R`.
pub(crate) struct SqlColumn<R> {
    pub(crate) name: &'static str,
    pub(crate) data: ColumnType,
    /// Whether values may be absent.
    pub(crate) optional: bool,
    /// Whether it needs the calls of requests, which are most of the data.
    pub(crate) needs_calls: bool,
    /// The columns of stored spans that it is made of.
    pub(crate) span_columns: &'static [SpanColumn],
    /// What it means, with the unit.
    pub(crate) about: &'static str,
    pub(crate) values: fn(&R) -> ArrayRef,
}

/// SQL types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnType {
    Text,
    /// UTC, with nanoseconds.
    Time,
    Integer,
    Number,
    Flag,
}

impl<R> SqlColumn<R> {
    /// A column whose values are always there.
    pub(crate) const fn new(
        name: &'static str,
        data: ColumnType,
        about: &'static str,
        values: fn(&R) -> ArrayRef,
    ) -> SqlColumn<R> {
        SqlColumn { name, data, optional: false, needs_calls: false, span_columns: &[], about, values }
    }

    pub(crate) const fn optional(self) -> SqlColumn<R> {
        SqlColumn { optional: true, ..self }
    }

    pub(crate) const fn with_calls(self) -> SqlColumn<R> {
        SqlColumn { needs_calls: true, ..self }
    }

    pub(crate) const fn with_span_columns(self, span_columns: &'static [SpanColumn]) -> SqlColumn<R> {
        SqlColumn { span_columns, ..self }
    }

    pub(crate) fn field(&self) -> Field {
        Field::new(self.name, self.data.arrow(), self.optional)
    }
}

/// The time zone of all times.
pub(crate) const UTC: &str = "UTC";

impl ColumnType {
    pub(crate) fn arrow(self) -> DataType {
        match self {
            ColumnType::Text => DataType::Utf8View,
            ColumnType::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
            ColumnType::Integer => DataType::Int64,
            ColumnType::Number => DataType::Float64,
            ColumnType::Flag => DataType::Boolean,
        }
    }

    /// Its name in SQL.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            ColumnType::Text => "text",
            ColumnType::Time => "timestamp",
            ColumnType::Integer => "bigint",
            ColumnType::Number => "double",
            ColumnType::Flag => "boolean",
        }
    }
}

pub(crate) fn times(values: impl Iterator<Item = Timestamp>) -> ArrayRef {
    let array = TimestampNanosecondArray::from_iter_values(values.map(Timestamp::unix_ns));
    Arc::new(array.with_timezone(UTC))
}

pub(crate) fn optional_times(values: impl Iterator<Item = Option<Timestamp>>) -> ArrayRef {
    let array: TimestampNanosecondArray = values.map(|time| time.map(Timestamp::unix_ns)).collect();
    Arc::new(array.with_timezone(UTC))
}

/// Signed, so that differences of durations are what people expect; longer than 292 years is as long as that.
pub(crate) fn durations(values: impl Iterator<Item = Nanos>) -> ArrayRef {
    integers(values.map(|duration| i64::try_from(duration.ns()).unwrap_or(i64::MAX)))
}

pub(crate) fn integers(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

pub(crate) fn optional_integers(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

pub(crate) fn numbers(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

pub(crate) fn optional_numbers(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<Float64Array>())
}

pub(crate) fn adjusted(count: Option<AdjustedCount>) -> Option<f64> {
    count.map(|count| f64::from(count.get()))
}

pub(crate) fn flags(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(values.map(Some).collect::<BooleanArray>())
}

pub(crate) fn texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    let mut builder = StringViewBuilder::new();
    values.for_each(|text| builder.append_value(text));
    Arc::new(builder.finish())
}

pub(crate) fn optional_texts<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    let mut builder = StringViewBuilder::new();
    values.for_each(|text| builder.append_option(text));
    Arc::new(builder.finish())
}

/// Ids of traces as they are shown everywhere, each with the text that was received if the id is not hexadecimal.
pub(crate) fn trace_ids<'a>(values: impl Iterator<Item = (TraceId, Option<&'a str>)>) -> ArrayRef {
    let (mut builder, mut text) = (StringViewBuilder::new(), String::new());
    for (trace, received) in values {
        match received {
            Some(received) => builder.append_value(received),
            None => {
                text.clear();
                // Nothing that writes to a string fails.
                let _ = write!(text, "{trace}");
                builder.append_value(&text);
            }
        }
    }
    Arc::new(builder.finish())
}

pub(crate) fn span_ids(values: impl Iterator<Item = Option<SpanId>>) -> ArrayRef {
    let (mut builder, mut text) = (StringViewBuilder::new(), String::new());
    for span in values {
        text.clear();
        if let Some(span) = span {
            // As above.
            let _ = write!(text, "{span}");
        }
        builder.append_option(span.map(|_| &text));
    }
    Arc::new(builder.finish())
}
