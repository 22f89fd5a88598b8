//! What the tables are of.

use crate::bounds::Bounds;
use crate::error::SqlError;
use datafusion::error::DataFusionError;
use laggard_model::{Losses, Timestamp};
use laggard_store::{StoreWorkers, StoredRows, StoredSegment, UnreadableSegment, View};
use std::sync::{Arc, Mutex, MutexGuard};

/// What the tables are of: a view of a store, and what a server has detected in it.
pub struct StoredTables {
    view: View,
    incidents: Arc<[IncidentRow]>,
    /// Processes that read units instead of this one.
    workers: Option<StoreWorkers>,
    /// Losses in what was read, of each window once: a query may read several tables, or one several times.
    notes: Mutex<Vec<Losses>>,
    /// A segment that could not be read: the query ends, and is repeated without it.
    unreadable: Mutex<Option<UnreadableSegment>>,
}

impl StoredTables {
    /// Tables of a view.
    pub fn new(view: View, incidents: Vec<IncidentRow>) -> StoredTables {
        StoredTables::of(view, incidents.into(), None)
    }

    /// The same, read by workers.
    #[must_use]
    pub fn with_workers(self, workers: StoreWorkers) -> StoredTables {
        StoredTables { workers: Some(workers), ..self }
    }

    fn of(view: View, incidents: Arc<[IncidentRow]>, workers: Option<StoreWorkers>) -> StoredTables {
        StoredTables { view, incidents, workers, notes: Mutex::default(), unreadable: Mutex::default() }
    }

    /// The same without a segment; and what that held.
    pub(crate) async fn without(
        &self,
        unreadable: UnreadableSegment,
    ) -> Result<(StoredTables, Losses), SqlError> {
        let without = self.view.without(unreadable).await;
        let (view, lost) = without.map_err(|error| SqlError::Storage(error.to_string()))?;
        Ok((StoredTables::of(view, Arc::clone(&self.incidents), self.workers.clone()), lost))
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn has_workers(&self) -> bool {
        self.workers.is_some()
    }

    pub(crate) fn workers(&self) -> Option<&StoreWorkers> {
        self.workers.as_ref()
    }

    pub(crate) fn incidents(&self) -> Arc<[IncidentRow]> {
        Arc::clone(&self.incidents)
    }

    /// Segments with such rows, the largest first, so that threads end at about the same time.
    pub(crate) fn segments(&self, rows: StoredRows, bounds: &Bounds) -> Vec<Arc<StoredSegment>> {
        let mut found = self.view.segments(rows, bounds.window.clone(), bounds.traces.as_deref());
        found.sort_by_key(|segment| std::cmp::Reverse(segment.rows()));
        found.into_iter().map(Arc::new).collect()
    }

    pub(crate) fn note(&self, losses: &Losses) {
        let mut notes = lock(&self.notes);
        if !notes.contains(losses) {
            notes.push(losses.clone());
        }
    }

    /// What the answer lacks.
    pub(crate) fn notes(&self) -> Losses {
        let mut all = Losses::none();
        lock(&self.notes).iter().for_each(|losses| all.merge(losses));
        all
    }

    /// The segment for which the query ended.
    pub(crate) fn take_unreadable(&self) -> Option<UnreadableSegment> {
        lock(&self.unreadable).take()
    }

    /// The error that ends the query for a segment.
    pub(crate) fn end_for(&self, segment: UnreadableSegment) -> DataFusionError {
        let error = DataFusionError::External(segment.to_string().into());
        *lock(&self.unreadable) = Some(segment);
        error
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

/// An incident that a server has detected.
#[derive(Clone, PartialEq, Debug)]
pub struct IncidentRow {
    /// Sixteen hexadecimal digits.
    pub id: String,
    /// Open or closed.
    pub state: String,
    /// When it was opened, by the server's clock.
    pub opened: Timestamp,
    /// When it was closed.
    pub closed: Option<Timestamp>,
    /// Since when, by the clocks of the data.
    pub since: Timestamp,
    /// The class of the cause, if it was looked for.
    pub cause: Option<String>,
    /// Alerts of it.
    pub alerts: u64,
    /// Its verdict, a line for each clause; absent until it is known.
    pub verdict: Option<String>,
}
