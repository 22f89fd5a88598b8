//! The file of samples: a row a sample, by time.

use super::columns;
use super::error::SegmentError;
use super::table::{self, BATCH_ROWS, Column, EncodedFile, FileRanges, TableWriter};
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow_schema::DataType;
use laggard_engine::{SampleRow, Samples};
use laggard_model::{Measure, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of one row group.
const ROWS_PER_GROUP: usize = 1 << 20;

fn sample_columns() -> [Column; 7] {
    [
        Column::number("time_ns", DataType::Int64),
        Column::text("measure"),
        Column::text("server"),
        Column::text("tier"),
        Column::text("transaction"),
        Column::text("callee"),
        Column::plain("value", DataType::Float64),
    ]
}

/// Measures by their names in files.
const MEASURES: [(Measure, &str); 24] = [
    (Measure::Utilization, "utilization"),
    (Measure::CpuSecondsTotal, "cpu_seconds_total"),
    (Measure::Cores, "cores"),
    (Measure::Completion, "completion"),
    (Measure::Transactions, "transactions"),
    (Measure::TransactionsTotal, "transactions_total"),
    (Measure::TransactionRate, "transaction_rate"),
    (Measure::ResponseTime, "response_time"),
    (Measure::ResponseSeconds, "response_seconds"),
    (Measure::ResponseSecondsTotal, "response_seconds_total"),
    (Measure::Calls, "calls"),
    (Measure::CallsTotal, "calls_total"),
    (Measure::CallTime, "call_time"),
    (Measure::CallSeconds, "call_seconds"),
    (Measure::CallSecondsTotal, "call_seconds_total"),
    (Measure::Clients, "clients"),
    (Measure::MemoryUtilization, "memory_utilization"),
    (Measure::MemoryAvailable, "memory_available"),
    (Measure::MemorySize, "memory_size"),
    (Measure::DiskUtilization, "disk_utilization"),
    (Measure::DiskAvailable, "disk_available"),
    (Measure::DiskSize, "disk_size"),
    (Measure::NetworkUtilization, "network_utilization"),
    (Measure::Machine, "machine"),
];

/// The name of a measure in stored files.
pub fn measure_name(measure: Measure) -> &'static str {
    MEASURES[measure as usize].1
}

/// Measures of the first version.
const MEASURES_AT_FIRST: usize = 16;

/// Writes samples, which are sorted by time.
pub(crate) fn encode(rows: &[SampleRow], texts: &[Box<str>]) -> Result<EncodedFile, SegmentError> {
    let mut writer = TableWriter::new(&sample_columns(), table::properties(ROWS_PER_GROUP))?;
    let texts: Arc<StringArray> = Arc::new(texts.iter().map(|text| Some(&**text)).collect());
    // No more names than are needed: earlier versions cannot read those that they do not know.
    let used = rows.iter().map(|row| row.measure as usize + 1).max().unwrap_or(0).max(MEASURES_AT_FIRST);
    let measures: Arc<StringArray> = Arc::new(MEASURES[..used].iter().map(|(_, name)| Some(*name)).collect());
    for rows in rows.chunks(BATCH_ROWS) {
        let column = |text: &dyn Fn(&SampleRow) -> u32| {
            columns::text_column(rows.iter().map(|row| text(row) as i32).collect(), &texts)
        };
        let kinds = rows.iter().map(|row| row.measure as i32).collect();
        writer.write(vec![
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.time.unix_ns()))),
            columns::text_column(kinds, &measures)?,
            column(&|row| row.server)?,
            column(&|row| row.tier)?,
            column(&|row| row.transaction)?,
            column(&|row| row.callee)?,
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.value))) as ArrayRef,
        ])?;
    }
    writer.finish()
}

/// Reads samples. Texts that were written twice are joined.
pub(crate) fn decode(ranges: FileRanges) -> Result<Samples, SegmentError> {
    let metadata = table::footer(&ranges)?;
    let mut out = Samples::default();
    let mut known: HashMap<String, u32> = HashMap::new();
    for batch in table::batches(ranges, metadata, &sample_columns(), None)? {
        let batch = batch?;
        let times = columns::numbers::<Int64Type>(&batch, "time_ns")?;
        let values = columns::numbers::<Float64Type>(&batch, "value")?;
        let measure = columns::texts(&batch, "measure")?;
        let measures = read_measures(measure.values)?;
        let mut column = |name| -> Result<Vec<u32>, SegmentError> {
            let texts = columns::texts(&batch, name)?;
            let call_nodes: Vec<u32> =
                texts.values.iter().flatten().map(|text| intern(&mut known, &mut out.texts, text)).collect();
            Ok(texts.keys.iter().map(|&key| call_nodes[key as usize]).collect())
        };
        let (server, tier) = (column("server")?, column("tier")?);
        let (transaction, callee) = (column("transaction")?, column("callee")?);
        out.rows.extend((0..batch.num_rows()).map(|index| SampleRow {
            time: Timestamp::from_unix_ns(times[index]),
            measure: measures[measure.keys[index] as usize],
            server: server[index],
            tier: tier[index],
            transaction: transaction[index],
            callee: callee[index],
            value: values[index],
        }));
    }
    Ok(out)
}

fn intern(known: &mut HashMap<String, u32>, texts: &mut Vec<Box<str>>, text: &str) -> u32 {
    if let Some(&found) = known.get(text) {
        return found;
    }
    let new = u32::try_from(texts.len()).expect("fewer texts than samples in memory");
    texts.push(text.into());
    known.insert(text.to_owned(), new);
    new
}

fn read_measures(values: &StringArray) -> Result<Vec<Measure>, SegmentError> {
    let measure = |name: &str| MEASURES.iter().find(|(_, known)| *known == name).map(|&(measure, _)| measure);
    let unknown = |name: &str| SegmentError::damaged(format!("has a measure {name:?}"));
    values.iter().flatten().map(|name| measure(name).ok_or_else(|| unknown(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_survive_encoding_and_decoding() {
        assert!(MEASURES.iter().enumerate().all(|(index, &(measure, _))| measure as usize == index));
        let texts: Vec<Box<str>> = vec!["".into(), "db-1".into(), "db".into(), "buy".into()];
        let rows: Vec<SampleRow> = (MEASURES.iter().enumerate())
            .map(|(index, &(measure, _))| SampleRow {
                time: Timestamp::from_unix_ns(index as i64 - 5),
                measure,
                server: index as u32 % 4,
                tier: 2,
                transaction: index as u32 % 3,
                callee: 0,
                value: if index == 3 { f64::INFINITY } else { index as f64 / 3.0 },
            })
            .collect();
        let file = encode(&rows, &texts).unwrap();
        let read = decode(FileRanges::from_bytes(file.bytes)).unwrap();
        let written = Samples { rows, texts };
        let records = |samples: &Samples| {
            samples.rows.iter().map(|row| format!("{:?}", samples.record(row))).collect::<Vec<_>>()
        };
        assert_eq!(records(&read), records(&written));
    }
}
