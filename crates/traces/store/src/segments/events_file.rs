//! The file of events: a row an event of a span, by trace, span, and time.

use super::columns;
use super::error::SegmentError;
use super::name_columns::{trace_at, trace_column};
use super::spans_file::TraceFilter;
use super::table::{self, BATCH_ROWS, Column, EncodedFile, FileRanges, TableWriter};
use super::trace_index::{self, TraceIndex};
use arrow_array::types::{Int64Type, UInt8Type, UInt64Type};
use arrow_array::{Int64Array, StringArray, UInt8Array, UInt64Array};
use arrow_schema::DataType;
use laggard_model::{Severity, SpanEvent, SpanId, Timestamp};
use std::sync::Arc;

fn event_columns() -> [Column; 7] {
    [
        Column::trace().dictionary(),
        Column::plain("span", DataType::UInt64).dictionary(),
        Column::number("time_ns", DataType::Int64),
        Column::plain("severity", DataType::UInt8).dictionary(),
        Column::plain("name", DataType::Utf8).dictionary(),
        Column::plain("body", DataType::Utf8),
        Column::plain("attributes", DataType::Utf8),
    ]
}

/// Memory that the events of a row group take, about: what one trace costs to read.
const GROUP_BYTES: usize = 1 << 20;

/// Writes events, which are sorted.
pub(crate) fn encode(events: &[SpanEvent]) -> Result<EncodedFile, SegmentError> {
    let bytes: usize = events.iter().map(SpanEvent::bytes).sum();
    let rows_per_group = (events.len() / bytes.div_ceil(GROUP_BYTES).max(1)).max(1);
    let properties = trace_index::properties(events.iter().map(|event| event.trace), rows_per_group);
    let mut writer = TableWriter::new(&event_columns(), properties)?;
    for events in events.chunks(BATCH_ROWS) {
        writer.write(vec![
            trace_column(events.iter().map(|event| event.trace))?,
            Arc::new(UInt64Array::from_iter_values(events.iter().map(|event| event.span.value()))),
            Arc::new(Int64Array::from_iter_values(events.iter().map(|event| event.time.unix_ns()))),
            Arc::new(UInt8Array::from_iter_values(events.iter().map(|event| event.severity.number()))),
            Arc::new(StringArray::from_iter_values(events.iter().map(|event| &*event.name))),
            Arc::new(StringArray::from_iter_values(events.iter().map(|event| &*event.body))),
            Arc::new(StringArray::from_iter_values(events.iter().map(|event| &*event.attributes))),
        ])?;
    }
    writer.finish()
}

/// Reads the requested events from the available row groups.
pub(crate) fn decode(
    ranges: FileRanges,
    index: &TraceIndex,
    groups: Vec<usize>,
    filter: TraceFilter<'_>,
) -> Result<Vec<SpanEvent>, SegmentError> {
    let mut out = Vec::new();
    for batch in table::batches(ranges, index.metadata.clone(), &event_columns(), Some(groups))? {
        let batch = batch?;
        let traces = columns::traces(&batch, "trace")?;
        let spans = columns::numbers::<UInt64Type>(&batch, "span")?;
        let times = columns::numbers::<Int64Type>(&batch, "time_ns")?;
        let severities = columns::numbers::<UInt8Type>(&batch, "severity")?;
        let names = columns::optional_texts(&batch, "name")?;
        let bodies = columns::optional_texts(&batch, "body")?;
        let attributes = columns::optional_texts(&batch, "attributes")?;
        for index in 0..batch.num_rows() {
            let trace = trace_at(traces, index);
            if !filter.has(trace) {
                continue;
            }
            let span = SpanId::new(spans[index]);
            out.push(SpanEvent {
                trace,
                span: span.ok_or_else(|| SegmentError::damaged("has an event without a span"))?,
                time: Timestamp::from_unix_ns(times[index]),
                severity: Severity::from_number(u64::from(severities[index])),
                name: names.value(index).into(),
                body: bodies.value(index).into(),
                attributes: attributes.value(index).into(),
            });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::TraceId;
    use std::collections::HashSet;

    #[test]
    fn events_survive_encoding_and_decoding() {
        let events: Vec<SpanEvent> = (1..200)
            .map(|number| SpanEvent {
                trace: TraceId::from_value(u128::MAX / number),
                span: SpanId::new(number as u64).unwrap(),
                time: Timestamp::from_unix_ns(number as i64 - 50),
                severity: Severity::from_number(number as u64 % 25),
                name: if number % 3 == 0 { "exception".into() } else { "".into() },
                body: "é".repeat(50 * number as usize).into(),
                attributes: if number % 5 == 0 { r#"{"n":1}"#.into() } else { "".into() },
            })
            .rev()
            .collect();
        let file = encode(&events).unwrap();
        let tail = file.bytes.slice(file.entry.tail as usize..);
        let index = TraceIndex::read(&file.entry, tail).unwrap();
        let read = |filter: TraceFilter<'_>| {
            let groups = index.groups(filter);
            let count = groups.len();
            (decode(FileRanges::from_bytes(file.bytes.clone()), &index, groups, filter).unwrap(), count)
        };
        let (all, groups) = read(TraceFilter::All);
        assert_eq!(all, events);
        assert!(groups > 1, "two megabytes of text are more than one row group");
        let one = &events[100];
        assert_eq!(read(TraceFilter::These(&HashSet::from([one.trace]))), (vec![one.clone()], 1));
    }
}
