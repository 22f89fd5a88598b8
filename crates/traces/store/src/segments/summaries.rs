//! Slices in short, kept apart from the slices: charts over long times must not decode every call.

use super::late::{At, Late, at};
use super::manifest::Segment;
use super::reading::busy;
use super::shared::Shared;
use laggard_engine::{RequestSlice, SliceSummary, SummaryCell};
use laggard_model::Nanos;
use std::sync::Arc;

impl Shared {
    /// Summaries of the slices that answer for segments.
    pub(crate) async fn summaries_of(
        &self,
        late: &Late,
        segments: &[Arc<Segment>],
        stretch: Nanos,
    ) -> Result<Vec<Arc<SliceSummary>>, At> {
        let keys: Vec<_> = late.keys(segments).into_iter().map(|key| (key, stretch)).collect();
        let known: Option<Vec<_>> = keys.iter().map(|key| self.summaries.get(key)).collect();
        if let Some(known) = known {
            return Ok(known);
        }
        let slices = self.slices_with_late(late, segments).await?;
        let mut out = Vec::with_capacity(slices.len());
        for (key, slice) in keys.into_iter().zip(slices) {
            if let Some(known) = self.summaries.get(&key) {
                out.push(known);
                continue;
            }
            let about = segments.first().or(late.first()).expect("what has slices has segments");
            let made = at(about, busy(move || Ok(summarize(&slice, stretch))).await)?;
            self.summaries.put(key, Arc::clone(&made), bytes_of(&made));
            out.push(made);
        }
        Ok(out)
    }
}

fn summarize(slice: &RequestSlice, stretch: Nanos) -> Arc<SliceSummary> {
    Arc::new(SliceSummary::of(slice, stretch))
}

/// Bytes of a summary in memory, about.
fn bytes_of(summary: &SliceSummary) -> usize {
    let cell = |cell: &SummaryCell| size_of::<SummaryCell>() + size_of_val(cell.latency.bins());
    let names = (summary.names.operations() + summary.names.replicas()) * 128;
    summary.cells.iter().map(cell).sum::<usize>() + size_of_val(&summary.homes[..]) + names + 1024
}
