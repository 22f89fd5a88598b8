//! Requests that workers read, or of windows that hold more than fits in memory: those are counted first, then taken within a limit of
//! calls.

use super::spans::TenantQueries;
use crate::api::jobs::Progress;
use crate::api::problem::ApiError;
use crate::operations::{QUESTION_BYTES, ServerIssueKind};
use laggard_engine::{Count, CountedKinds, Levels, Requests, StartRange, Take};
use laggard_model::Timestamp;
use laggard_params::Window;
use laggard_store::StoredUnits;
use laggard_system::now;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Which requests are left out where there are too many.
#[derive(Clone, Copy)]
pub(super) enum LeftOut {
    /// Those of frequent kinds; those taken instead have weights.
    OfFrequentKinds,
    /// Of all kinds alike.
    OfAllKinds,
}

impl LeftOut {
    fn levels(self, counts: &CountedKinds, calls_max: u64) -> Levels {
        match self {
            LeftOut::OfFrequentKinds => counts.levels(calls_max),
            LeftOut::OfAllKinds => counts.level_of_all(calls_max),
        }
    }
}

/// Requests that were taken of some windows.
pub(super) struct LastSelection {
    windows: Vec<Window>,
    requests: Arc<Requests>,
}

impl TenantQueries {
    /// The requests of some windows, and the spans of those that the question is about. If one of them may have more calls than are
    /// compared, requests are left out.
    pub(super) fn requests_or_sample(
        &self,
        windows: &[Window],
        (asked, left_out): (&[Window], LeftOut),
        progress: &Progress,
    ) -> Result<Arc<Requests>, ApiError> {
        let view = self.views.newest();
        let spans = windows.iter().map(|window| view.spans_within(window.since, window.until));
        let all_fit = spans.clone().all(|spans| spans <= self.calls_max);
        let is_for_workers = !self.workers_failed() && spans.sum::<u64>() >= self.workers_spans_min;
        let workers = self.workers.clone().filter(|_| is_for_workers);
        if workers.is_none() && all_fit {
            return self.requests(windows, progress);
        }
        if let Some(known) = self.last_selection(windows) {
            return Ok(known);
        }
        let at_workers = workers.is_some();
        let mut units = view.units(ranges(windows)).at(workers);
        let read = match all_fit {
            true => self.in_one_round(&mut units, progress),
            false => self.in_two_rounds(&mut units, windows, (asked, left_out), progress),
        };
        match units.workers_failure() {
            Some(failure) => self.note_failed_workers(failure),
            // What was canceled says nothing about them.
            None if at_workers && read.is_ok() => self.issues.set(ServerIssueKind::Workers, false, now()),
            None => {}
        }
        let requests = Arc::new(read?);
        let last = LastSelection { windows: windows.to_vec(), requests: Arc::clone(&requests) };
        *self.last_selection.lock().expect("no thread panics while it holds the lock") = Some(last);
        Ok(requests)
    }

    fn note_failed_workers(&self, failure: &str) {
        tracing::warn!(failure, "the workers failed; this server reads the store itself");
        self.issues.set(ServerIssueKind::Workers, true, now());
        self.workers_failed.store(true, Ordering::Relaxed);
    }

    /// Whether this process reads requests although there are workers.
    pub(super) fn workers_failed(&self) -> bool {
        self.workers_failed.load(Ordering::Relaxed)
    }

    /// What was taken before for the same question.
    fn last_selection(&self, windows: &[Window]) -> Option<Arc<Requests>> {
        let mut selected = self.last_selection.lock().expect("no thread panics while it holds the lock");
        if selected.as_ref().is_some_and(|last| last.windows != windows) {
            *selected = None;
        }
        selected.as_ref().map(|last| Arc::clone(&last.requests))
    }

    /// All requests of windows that fit into memory, read by workers: whole units, as threads read them.
    fn in_one_round(&self, units: &mut StoredUnits, progress: &Progress) -> Result<Requests, ApiError> {
        let take = Take { read: vec![Timestamp::MIN..=Timestamp::MAX], levels: Levels::everything() };
        progress.stage("reading requests", 0)?;
        let taking =
            async { Ok(units.fold_with_progress(take, &|done, all| progress.part(done, all)).await?) };
        let mut selected = progress.wait_for(&self.handle, taking)?;
        units.facts().for_each(|facts| selected.add_facts(facts));
        let slices: Vec<_> = selected.into_slices().into_iter().map(Arc::new).collect();
        self.reserve(QUESTION_BYTES.of(&slices), progress)?;
        progress.stage("assembling", 0)?;
        Ok(Requests::from_slices(slices, self.threads))
    }

    fn in_two_rounds(
        &self,
        units: &mut StoredUnits,
        windows: &[Window],
        (asked, left_out): (&[Window], LeftOut),
        progress: &Progress,
    ) -> Result<Requests, ApiError> {
        let read = ranges(windows);
        progress.stage("counting requests", 0)?;
        let count = Count { read: read.clone(), windows: ranges(asked) };
        let counting = async {
            Ok(units.fold_with_progress(count.clone(), &|done, all| progress.part(done, all)).await?)
        };
        let counts = progress.wait_for(&self.handle, counting)?;
        let take = Take { read, levels: left_out.levels(&counts, self.calls_max) };
        self.reserve(QUESTION_BYTES.of_selected(counts.selected(&take.levels)), progress)?;
        progress.stage("reading requests", 0)?;
        let taking = async {
            Ok(units.fold_with_progress(take.clone(), &|done, all| progress.part(done, all)).await?)
        };
        let mut selected = progress.wait_for(&self.handle, taking)?;
        units.facts().for_each(|facts| selected.add_facts(facts));
        progress.stage("assembling", 0)?;
        Ok(Requests::from_selected(selected, &take, (&count, &counts), self.threads))
    }
}

/// Windows as starts of requests; both ends belong to them.
fn ranges(windows: &[Window]) -> Vec<StartRange> {
    windows.iter().map(|window| window.since..=window.until).collect()
}
