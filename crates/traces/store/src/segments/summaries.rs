//! Summaries of slices, stored separately from the slices: charts over long times must not decode every call.

use super::late::{LateSpans, LocatedError, locate};
use super::manifest::Segment;
use super::reader::busy;
use super::shared::SegmentsInner;
use laggard_engine::{RequestSlice, SliceSummary, SummaryCell};
use laggard_model::Nanos;
use std::sync::Arc;

impl SegmentsInner {
    /// Summaries of the slices that answer for segments.
    pub(crate) async fn summaries_of(
        &self,
        late: &LateSpans,
        segments: &[Arc<Segment>],
        interval: Nanos,
    ) -> Result<Vec<Arc<SliceSummary>>, LocatedError> {
        let keys: Vec<_> = late.keys(segments).into_iter().map(|key| (key, interval)).collect();
        let known: Option<Vec<_>> = keys.iter().map(|key| self.summaries.get(key)).collect();
        if let Some(known) = known {
            return Ok(known);
        }
        let slices = self.slices_with_late(late, segments, 0).await?;
        let mut out = Vec::with_capacity(slices.len());
        for (key, slice) in keys.into_iter().zip(slices) {
            if let Some(known) = self.summaries.get(&key) {
                out.push(known);
                continue;
            }
            let about = segments.first().or(late.first()).expect("what has slices has segments");
            let made = locate(about, busy(move || Ok(summarize(&slice, interval))).await)?;
            self.summaries.put(key, Arc::clone(&made), bytes_of(&made));
            out.push(made);
        }
        Ok(out)
    }
}

fn summarize(slice: &RequestSlice, interval: Nanos) -> Arc<SliceSummary> {
    Arc::new(SliceSummary::from_slice(slice, interval))
}

/// Bytes of a summary in memory, about.
fn bytes_of(summary: &SliceSummary) -> usize {
    let cell = |cell: &SummaryCell| size_of::<SummaryCell>() + size_of_val(cell.latency.bins());
    let names = (summary.names.operations() + summary.names.replicas()) * 128;
    summary.cells.iter().map(cell).sum::<usize>() + size_of_val(&summary.homes[..]) + names + 1024
}
