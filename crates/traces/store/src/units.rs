//! Questions about more than fits in memory: folds over the units of a view, one round after the other.

use crate::segments::{UnitPlan, UnitsError};
use crate::view::{View, ViewReader};
use crate::{StoreError, StoreWorkers, WhenWorkersFail};
use laggard_engine::{SliceFacts, StartRange, UnitFold};
use std::sync::Arc;

/// The units of a view that hold requests of some times. The same for every round, save for segments that turn out to be damaged.
pub struct StoredUnits {
    reader: ViewReader,
    times: Vec<StartRange>,
    /// Made for the first round, and again when a segment was set aside.
    plan: Option<UnitPlan>,
    /// Who computes them; threads of this process if there are none.
    workers: Option<StoreWorkers>,
    /// Why workers were given up.
    workers_failure: Option<String>,
}

impl View {
    /// The units that hold requests of some times; they may hold others, too.
    pub fn units(&self, times: Vec<StartRange>) -> StoredUnits {
        let reader = ViewReader::over(self, &times);
        StoredUnits { reader, times, plan: None, workers: None, workers_failure: None }
    }
}

impl StoredUnits {
    /// The same, computed by workers if there are some.
    #[must_use]
    pub fn at(self, workers: Option<StoreWorkers>) -> StoredUnits {
        StoredUnits { workers, ..self }
    }

    /// Folds over all units. Only a few are in memory at a time. A segment that cannot be read is set aside, and the round begins
    /// again without it.
    ///
    /// # Errors
    /// When the storage does not answer; when workers fail, unless this process is to compute the units then.
    pub async fn fold<F: UnitFold + 'static>(&mut self, fold: F) -> Result<F::Partial, StoreError> {
        self.fold_with_progress(fold, &|_, _| {}).await
    }

    /// The same; `progress` is called with how many of how many units are done.
    ///
    /// # Errors
    /// As above.
    pub async fn fold_with_progress<F: UnitFold + 'static>(
        &mut self,
        fold: F,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<F::Partial, StoreError> {
        let fold = Arc::new(fold);
        loop {
            match self.round(&fold, progress).await {
                Ok(partial) => return Ok(partial),
                Err(UnitsError::Segment(failed)) => {
                    self.plan = None;
                    self.reader.continue_without(failed).await?;
                }
                Err(UnitsError::Gathering(error)) => return Err(StoreError::new(error.to_string())),
                Err(UnitsError::Workers(error)) => {
                    let workers = self.workers.take();
                    if !workers.is_some_and(|one| one.when_they_fail == WhenWorkersFail::ComputeHere) {
                        return Err(StoreError::new(error));
                    }
                    self.workers_failure = Some(error);
                }
            }
        }
    }

    async fn round<F: UnitFold + 'static>(
        &mut self,
        fold: &Arc<F>,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<F::Partial, UnitsError> {
        let plan = match self.plan.take() {
            Some(plan) => plan,
            None => self.reader.shared.plan_units(&self.reader.manifest, &self.times).await?,
        };
        let plan = self.plan.insert(plan);
        match &self.workers {
            None => self.reader.shared.fold_units(plan, fold, progress).await,
            Some(workers) => {
                let round = (&*plan, &*self.reader.manifest, self.times.as_slice());
                self.reader.shared.fold_units_at(workers, round, fold, progress).await
            }
        }
    }

    /// Why this process computes units although there are workers, if they failed ([`WhenWorkersFail::ComputeHere`]).
    pub fn workers_failure(&self) -> Option<&str> {
        self.workers_failure.as_deref()
    }

    /// Facts that belong to no unit: those of reading late spans, and what could not be read ([`Loss::CorruptSegment`]). To be asked
    /// for after the last round.
    ///
    /// [`Loss::CorruptSegment`]: laggard_model::Loss::CorruptSegment
    pub fn facts(&self) -> impl Iterator<Item = SliceFacts> + use<> {
        let notes = self.plan.as_ref().map(|plan| plan.late().notes()).unwrap_or_default();
        let lost = SliceFacts { losses: self.reader.lost.clone(), ..SliceFacts::default() };
        [notes, lost].into_iter().filter(|facts| *facts != SliceFacts::default())
    }
}
