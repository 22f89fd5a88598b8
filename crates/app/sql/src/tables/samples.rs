//! The table of samples.

use crate::bounds::Bounds;
use crate::column::{ColumnType, SqlColumn, numbers, texts, times};
use crate::names::Texts;
use crate::rows::{ReadOptions, TableRows, batches};
use crate::stored::StoredTables;
use async_trait::async_trait;
use datafusion::arrow::array::ArrayRef;
use laggard_engine::{SampleRow, Samples};
use laggard_store::{StoredRows, StoredSegment, UnreadableSegment, measure_name};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Some samples of a segment.
pub(crate) struct SampleRows {
    samples: Arc<(Samples, Texts)>,
    range: Range<usize>,
}

impl SampleRows {
    fn samples(&self) -> impl Iterator<Item = &SampleRow> {
        self.samples.0.rows[self.range.clone()].iter()
    }

    fn names(&self, number: impl Fn(&SampleRow) -> u32) -> ArrayRef {
        self.samples.1.column(self.samples().map(|row| number(row) as usize))
    }
}

#[async_trait]
impl TableRows<Arc<StoredSegment>> for SampleRows {
    const NAME: &'static str = "samples";
    const ABOUT: &'static str = "A sample of a metric.";
    const TIME: Option<&'static str> = Some("time");
    const COLUMNS: &'static [SqlColumn<Self>] = &[
        SqlColumn::new(
            "time",
            ColumnType::Time,
            "start of the interval that it covers, or the instant of reading",
            |rows: &Self| times(rows.samples().map(|row| row.time)),
        ),
        SqlColumn::new(
            "measure",
            ColumnType::Text,
            "what is measured, and with it the unit",
            |rows: &Self| texts(rows.samples().map(|row| measure_name(row.measure))),
        ),
        SqlColumn::new(
            "server",
            ColumnType::Text,
            "the server; empty for the entire system",
            |rows: &Self| rows.names(|row| row.server),
        ),
        SqlColumn::new("tier", ColumnType::Text, "its tier or service; may be empty", |rows: &Self| {
            rows.names(|row| row.tier)
        }),
        SqlColumn::new(
            "transaction",
            ColumnType::Text,
            "the transaction type; may be empty",
            |rows: &Self| rows.names(|row| row.transaction),
        ),
        SqlColumn::new(
            "callee",
            ColumnType::Text,
            "type of outbound call, mount point, or name of a machine; may be empty",
            |rows: &Self| rows.names(|row| row.callee),
        ),
        SqlColumn::new("value", ColumnType::Number, "the value; may be NaN or infinite", |rows: &Self| {
            numbers(rows.samples().map(|row| row.value))
        }),
    ];

    async fn parts(
        tables: &StoredTables,
        bounds: &Bounds,
    ) -> Result<Vec<Arc<StoredSegment>>, UnreadableSegment> {
        Ok(tables.segments(StoredRows::Samples, bounds))
    }

    async fn read(
        part: &Arc<StoredSegment>,
        options: &ReadOptions,
        _: &mut HashSet<String>,
    ) -> Result<(Vec<SampleRows>, usize), UnreadableSegment> {
        let samples = part.samples().await?;
        let bytes = size_of_val(&samples.rows[..]);
        let names = Texts::new(samples.texts.iter());
        let samples = Arc::new((samples, names));
        let rows = |range| SampleRows { samples: Arc::clone(&samples), range };
        Ok((batches(samples.0.rows.len(), options.batch_rows).map(rows).collect(), bytes))
    }

    fn rows(&self) -> usize {
        self.range.len()
    }
}
