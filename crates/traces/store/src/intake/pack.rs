//! From closed traces to a flush batch: rebuilds calls, sorts rows, copies names. Needs no lock.

use super::close::ClosedTraces;
use super::naming::NameCopier;
use crate::FlushBatch;
use laggard_assembly::rebuild_calls;
use laggard_model::{Loss, Losses, SpanRow, ThreadRow, TraceId, tidy_events};
use std::sync::Arc;

/// Rows of equal start and id before a row that are compared with it to find copies. Assembly finds further copies.
const COPIES_SEARCHED: usize = 8;

impl ClosedTraces {
    /// Packs into a flush batch. `O(S log S)` for `S` rows.
    pub(crate) fn pack(self) -> FlushBatch {
        let mut renaming = NameCopier::new(Arc::clone(&self.names));
        let mut losses = self.losses;
        let (mut spans, mut texts, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
        let mut threads: Vec<ThreadRow> = Vec::new();
        spans.reserve(self.traces.iter().map(|(_, trace)| trace.rows()).sum());
        for (id, mut trace) in self.traces {
            if let Some(calls) = &mut trace.calls {
                let rebuilt = rebuild_calls(calls);
                trace.spans.extend(rebuilt.rows);
                losses.merge(&rebuilt.losses);
            }
            // Stable, so that the first of several copies of a span is the one that arrived first.
            trace.spans.sort_by_key(|row| (row.start, row.span));
            push_distinct(id, &trace.spans, &mut spans, &mut losses);
            texts.extend(trace.text.map(|text| (id, text)));
            let thread = |(start, span, tid)| ThreadRow { trace: id, start, span, tid };
            threads.extend(trace.threads.into_iter().map(thread));
            attributes.extend((!trace.attributes.is_empty()).then_some((id, trace.attributes)));
        }
        threads.sort_by_key(ThreadRow::key);
        threads.dedup_by_key(|row| row.key());
        for row in &mut spans {
            row.operation = renaming.operation(row.operation);
            row.replica = renaming.replica(row.replica);
        }
        let mut events = self.events;
        tidy_events(&mut events, &mut losses);
        FlushBatch {
            names: renaming.to,
            spans,
            texts,
            attributes,
            threads,
            samples: self.samples,
            events,
            losses,
            origins: self.origins,
            cut: self.cut,
            position: self.position,
        }
    }
}

/// Adds a trace's rows without duplicates: a sender repeats a batch that was not acknowledged.
fn push_distinct(id: TraceId, rows: &[SpanRow], out: &mut Vec<SpanRow>, losses: &mut Losses) {
    let start = out.len();
    for row in rows {
        let mut earlier = out[start..].iter().rev().take(COPIES_SEARCHED);
        let copy = earlier
            .by_ref()
            .take_while(|other| (other.start, other.span) == (row.start, row.span))
            .any(|other| other == row);
        if copy {
            losses.add(Loss::DuplicateSpan, || format!("trace {id}"));
        } else {
            out.push(*row);
        }
    }
}
