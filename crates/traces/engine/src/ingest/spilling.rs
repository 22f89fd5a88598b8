//! Tables with more rows than fit in memory: buckets go to a file, and come back one by one to be assembled.

use super::span_bucket::SpanBucket;
use super::{BUCKETS, Bucket, Ingest, IngestSettings};
use crate::handles::HandleMap;
use crate::requests::Requests;
use crate::slice_builder::SliceBuilder;
use crate::spill::{SpillError, SpillFile, SpilledBlock, put_rows, read_rows};
use crate::thin::hash;
use laggard_model::{CallRow, Losses, Names, SpanRow};
use laggard_parallel::parallel_map_owned;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Rows have at least this part of the memory, whatever texts and attributes of traces need, which stay in memory.
const ROWS_PART_MIN: usize = 4;

/// Rows in the file, in the order in which they were read.
#[derive(Debug)]
pub(super) struct SpilledRows {
    file: Arc<SpillFile>,
    runs: Vec<SpilledRun>,
}

/// Rows that were written at the same time: a block for each bucket that had some.
#[derive(Debug)]
struct SpilledRun {
    blocks: Vec<Option<SpilledBlock>>,
    /// From the handles that were written to those of the table; `None` if they are the same.
    handles: Option<Arc<HandleMap>>,
}

impl SpilledRun {
    /// Sorts and writes the rows of all buckets. Sorting here leaves only merging for later, and brings together what compresses.
    fn write(
        file: &SpillFile,
        spans: &[SpanBucket],
        calls: &mut [Vec<CallRow>],
    ) -> Result<SpilledRun, SpillError> {
        let mut blocks = Vec::with_capacity(BUCKETS);
        let mut bytes = Vec::new();
        for (spans, calls) in spans.iter().zip(calls) {
            if spans.is_empty() && calls.is_empty() {
                blocks.push(None);
                continue;
            }
            // Both are stable, as those of all rows are: what is equal stays in the order in which it was read.
            calls.sort_by_key(Bucket::call_key);
            bytes.clear();
            put_rows(&mut bytes, &spans.sorted_rows(), calls);
            blocks.push(Some(file.append(&bytes)?));
        }
        Ok(SpilledRun { blocks, handles: None })
    }
}

impl SpilledRows {
    /// The rows of a bucket before those that are still in memory. `own` maps the table's handles to themselves.
    fn read(&self, bucket: usize, own: &HandleMap, later: Bucket) -> Result<Bucket, SpillError> {
        let (mut spans, mut calls) = (SpanBucket::default(), Vec::new());
        let mut add = |row: SpanRow| spans.push(hash(row.trace), &row);
        for run in &self.runs {
            let Some(block) = run.blocks[bucket] else { continue };
            let bytes = self.file.read(block)?;
            let handles = run.handles.as_deref().unwrap_or(own);
            read_rows(&bytes, handles, &mut add, &mut calls).map_err(|_| self.file.damaged())?;
        }
        later.spans.rows().for_each(add);
        calls.extend(later.calls);
        Ok(Bucket { spans, calls, losses: later.losses })
    }

    fn bytes(&self) -> u64 {
        let blocks = self.runs.iter().flat_map(|run| run.blocks.iter().flatten());
        blocks.map(SpilledBlock::bytes).sum()
    }
}

impl Ingest {
    /// An empty table that writes what does not fit in memory to a file instead of dropping traces. Texts of trace ids and attributes stay
    /// in memory.
    pub fn with_spill(settings: IngestSettings, file: Arc<SpillFile>) -> Ingest {
        Ingest { spilled: Some(SpilledRows { file, runs: Vec::new() }), ..Ingest::new(settings) }
    }

    /// Bytes of its rows in the file.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled.as_ref().map_or(0, SpilledRows::bytes)
    }

    /// Whether rows are in the file, or were lost on the way to it.
    pub(super) fn has_spilled(&self) -> bool {
        self.spilled
            .as_ref()
            .is_some_and(|spilled| !spilled.runs.is_empty() || spilled.file.failure().is_some())
    }

    /// Writes the rows in memory to the file where they are too many.
    pub(super) fn spill_beyond_limit(&mut self) {
        let (rows, limit) = (self.row_bytes(), self.settings.memory_bytes);
        if rows > limit.saturating_sub(self.text_bytes()).max(limit / ROWS_PART_MIN) {
            self.spill_rows();
        }
    }

    /// Writes all rows in memory to the file.
    fn spill_rows(&mut self) {
        let Some(spilled) = &mut self.spilled else { return };
        match SpilledRun::write(&spilled.file, &self.spans, &mut self.calls) {
            Ok(run) => spilled.runs.push(run),
            // The file remembers the error, which ends the question. Nothing more is stored until then.
            Err(SpillError { .. }) => self.is_full = true,
        }
        self.spans.iter_mut().for_each(|bucket| *bucket = SpanBucket::default());
        self.calls.iter_mut().for_each(Vec::clear);
    }

    /// Adds what a later table has in the file, after all rows of this one.
    pub(super) fn merge_spilled(&mut self, later: Option<SpilledRows>, map: &HandleMap) {
        let Some(later) = later.filter(|later| !later.runs.is_empty()) else { return };
        if self.row_bytes() > 0 {
            self.spill_rows();
        }
        let Some(spilled) = &mut self.spilled else {
            self.spilled = Some(SpilledRows { runs: renamed(later.runs, map), ..later });
            return;
        };
        spilled.runs.extend(renamed(later.runs, map));
    }
}

/// Runs with handles of the table that they are merged into. Those of one table share a map.
fn renamed(runs: Vec<SpilledRun>, map: &HandleMap) -> Vec<SpilledRun> {
    let own = Arc::new(map.clone());
    let mut last: Option<(Arc<HandleMap>, Arc<HandleMap>)> = None;
    let mut renamed = Vec::with_capacity(runs.len());
    for run in runs {
        let handles = match run.handles {
            None => Arc::clone(&own),
            Some(earlier) => match &last {
                Some((known, joined)) if Arc::ptr_eq(known, &earlier) => Arc::clone(joined),
                _ => {
                    let joined = Arc::new(HandleMap::clone(&earlier).then(map));
                    last = Some((earlier, Arc::clone(&joined)));
                    joined
                }
            },
        };
        renamed.push(SpilledRun { handles: Some(handles), ..run });
    }
    renamed
}

impl Requests {
    /// Requests of a table that was filled. Rows in its file are read bucket by bucket, as their traces are assembled: the result is the same
    /// as if all had been in memory.
    ///
    /// # Errors
    /// When rows could not be written to the file, or not be read back.
    pub fn from_ingest(ingest: Ingest, threads: NonZeroUsize) -> Result<Requests, SpillError> {
        let mut unfinished = ingest.into_unfinished();
        let spilled = unfinished.spilled.take();
        if let Some(failure) = spilled.as_ref().and_then(|spilled| spilled.file.failure()) {
            return Err(failure.clone());
        }
        let (names, attributes) = (&unfinished.table.names, &unfinished.table.attributes);
        let own = HandleMap::identity(names);
        let buckets: Vec<_> = std::mem::take(&mut unfinished.buckets).into_iter().enumerate().collect();
        let assembled = parallel_map_owned(buckets, threads, |(number, later)| {
            let mut bucket = match &spilled {
                Some(spilled) => spilled.read(number, &own, later)?,
                None => later,
            };
            bucket.close();
            let mut builder = SliceBuilder::with_capacity(bucket.spans.len());
            bucket.spans.for_each_trace(|rows| builder.add_trace(rows, attributes));
            Ok((builder.finish(Names::new()), bucket.losses))
        });
        let mut slices = Vec::with_capacity(assembled.len());
        let mut losses = Losses::none();
        for bucket in assembled {
            let (slice, lost) = bucket?;
            slices.push(slice);
            losses.merge(&lost);
        }
        Ok(Requests::from_table(unfinished.close(&losses), slices, threads))
    }
}
