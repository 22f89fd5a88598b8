//! Closing traces: removing them from the open ones, in a way that replay can repeat.

use super::{Intake, NAMES_MAX, OpenTrace, TRACE_ROWS_MAX};
use crate::{ClosePoint, LogPosition};
use laggard_engine::{Origins, Samples};
use laggard_model::{Loss, Losses, Names, SpanEvent, TraceId};
use std::sync::Arc;
use std::time::Duration;

/// The table of names is rebuilt at most once in this time.
const TIDY_EVERY: Duration = Duration::from_secs(60);

/// Which traces to close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CloseCriteria {
    /// Traces whose last record is this or an earlier one are idle.
    pub(crate) idle_through: u64,
    /// Traces whose last record is this or an earlier one are closed although they are not idle.
    pub(crate) early_through: u64,
    /// Traces whose first record is this or an earlier one have been open for too long.
    pub(crate) old_through: u64,
    /// Approximate number of rows to close at once; the traces of one record may exceed it.
    pub(crate) rows_max: usize,
}

/// The traces and samples removed by one close.
#[derive(Debug)]
pub(crate) struct ClosedTraces {
    pub(super) names: Arc<Names>,
    pub(super) traces: Vec<(TraceId, OpenTrace)>,
    pub(super) samples: Samples,
    pub(super) events: Vec<SpanEvent>,
    pub(super) losses: Losses,
    pub(super) origins: Origins,
    pub(super) cut: Vec<TraceId>,
    pub(super) position: LogPosition,
    /// Memory that these used, in bytes, estimated.
    pub(crate) bytes: usize,
    /// Whether more traces matched the criteria, beyond `rows_max`.
    pub(crate) more: bool,
}

/// Maximum number of traces that a position lists individually. Beyond it, everything is closed.
const CUTS_MAX: usize = 10_000;

/// Closings that a position lists. Beyond it, everything is closed.
const CLOSINGS_MAX: usize = 10_000;

/// How far to close, by traces' last records.
struct CloseLimit {
    through: u64,
    more: bool,
}

impl Intake {
    /// Removes the traces that match, and everything that belongs to no trace; `None` when there is nothing to write.
    pub(crate) fn close(&mut self, criteria: &CloseCriteria) -> Option<ClosedTraces> {
        let mut close_limit = self.close_limit(criteria);
        let before = self.bytes;
        let (mut traces, mut remaining_from) = self.extract(close_limit.through, criteria.old_through);
        let named = traces.iter().filter(|(_, trace)| trace.last > close_limit.through).count();
        if self.position.closings.len() >= CLOSINGS_MAX || self.named() + named > CUTS_MAX {
            close_limit = CloseLimit { through: self.head, more: false };
            let (rest, _) = self.extract(self.head, 0);
            traces.extend(rest);
            remaining_from = self.head + 1;
        }
        if traces.is_empty() && self.samples.rows.is_empty() && self.events.is_empty() {
            return None;
        }
        traces.sort_unstable_by_key(|(id, _)| *id);
        self.oversized.clear();
        let cut = self.cut(&traces, criteria.idle_through);
        self.advance(&traces, close_limit.through, remaining_from);
        self.sample_texts.clear();
        let closed = ClosedTraces {
            names: self.names.names.clone(),
            traces,
            samples: std::mem::take(&mut self.samples),
            events: std::mem::take(&mut self.events),
            losses: std::mem::take(&mut self.losses),
            origins: std::mem::take(&mut self.origins),
            cut,
            position: self.position.clone(),
            bytes: 0,
            more: close_limit.more,
        };
        self.recount_after(&closed);
        self.tidy_names();
        Some(ClosedTraces { bytes: before - self.bytes, ..closed })
    }

    /// How far to close, so that about `rows_max` rows are removed.
    fn close_limit(&self, criteria: &CloseCriteria) -> CloseLimit {
        let limit = criteria.idle_through.max(criteria.early_through);
        let closable = self.traces.values().filter(|trace| trace.last <= limit);
        let mut ends: Vec<(u64, usize)> = closable.map(|trace| (trace.last, trace.rows())).collect();
        let rows: usize = ends.iter().map(|(_, rows)| rows).sum();
        if rows <= criteria.rows_max {
            return CloseLimit { through: limit, more: false };
        }
        ends.sort_unstable();
        let mut removed = 0;
        let end = ends.iter().find(|(_, rows)| {
            removed += rows;
            removed >= criteria.rows_max
        });
        let through = end.map_or(limit, |&(last, _)| last);
        CloseLimit { through, more: ends.last().is_some_and(|&(last, _)| last > through) }
    }

    /// Removes traces by their last or first record, and oversized ones; returns the earliest record that the others
    /// have rows of, or the one after the head.
    fn extract(&mut self, through: u64, old_through: u64) -> (Vec<(TraceId, OpenTrace)>, u64) {
        let mut remaining_from = self.head + 1;
        let any_oversized = !self.oversized.is_empty();
        let filter = |trace: &OpenTrace| {
            trace.last <= through
                || trace.first <= old_through
                || (any_oversized && trace.rows() >= TRACE_ROWS_MAX)
        };
        let removed = self.traces.extract_if(|_, trace| {
            let removed = filter(trace);
            if !removed {
                remaining_from = remaining_from.min(trace.first);
            }
            removed
        });
        let removed = removed.collect();
        (removed, remaining_from)
    }

    /// The traces that were not idle, each counted as a loss.
    fn cut(&mut self, traces: &[(TraceId, OpenTrace)], idle_through: u64) -> Vec<TraceId> {
        let open = traces.iter().filter(|(_, trace)| trace.last > idle_through);
        let cut: Vec<TraceId> = open.map(|(id, _)| *id).collect();
        for id in &cut {
            self.losses.add(Loss::CutTrace, || format!("trace {id}"));
        }
        cut
    }

    /// Traces that closings in the position list individually.
    fn named(&self) -> usize {
        self.position.closings.iter().map(|closing| closing.cut.len()).sum()
    }

    /// Moves the position to after a closing.
    fn advance(&mut self, traces: &[(TraceId, OpenTrace)], through: u64, replay_from: u64) {
        let named = traces.iter().filter(|(_, trace)| trace.last > through);
        let cut = named.map(|(id, _)| *id).collect();
        let position = &mut self.position;
        position.settled = self.head;
        position.replay_from = replay_from;
        position.closings.push(ClosePoint { head: self.head, idle_through: through, cut });
        // The other closings concern only records that replay no longer reads.
        position.closings.retain(|closing| {
            closing.head >= replay_from && (closing.idle_through >= replay_from || !closing.cut.is_empty())
        });
        self.ages.forget(replay_from);
    }

    fn recount_after(&mut self, closed: &ClosedTraces) {
        self.spans -= closed.traces.iter().map(|(_, trace)| trace.rows()).sum::<usize>();
        let traces: usize = closed.traces.iter().map(|(_, trace)| trace.bytes()).sum();
        self.bytes -= traces + super::samples_bytes(&closed.samples) + super::events_bytes(&closed.events);
    }

    /// Drops names that no open trace uses and that were not used lately, if there are many.
    fn tidy_names(&mut self) {
        let is_full = self.names.len() >= NAMES_MAX / 2 || self.names.is_heavy();
        if !is_full || self.names.now < self.names_tidy_at {
            return;
        }
        let mut renaming = self.names.copier();
        for trace in self.traces.values_mut() {
            for row in &mut trace.spans {
                row.operation = renaming.operation(row.operation);
                row.replica = renaming.replica(row.replica);
            }
            for row in trace.calls.iter_mut().flat_map(|calls| calls.iter_mut()) {
                row.operation = renaming.operation(row.operation);
                row.host = renaming.replica(row.host);
            }
        }
        self.names.replace(renaming);
        self.names_tidy_at = self.names.now + TIDY_EVERY;
    }
}
