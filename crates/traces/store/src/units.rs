//! Questions about more than fits in memory: folds over the units of a view, one round after the other.

use crate::segments::{UnitPlan, UnitsError};
use crate::view::{View, ViewReader};
use crate::{StoreError, StoreWorkers};
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
}

impl View {
    /// The units that hold requests of some times; they may hold others, too.
    pub fn units(&self, times: Vec<StartRange>) -> StoredUnits {
        StoredUnits { reader: ViewReader::over(self, &times), times, plan: None, workers: None }
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
    /// When the storage does not answer.
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
                Err(UnitsError::Workers(error)) => return Err(StoreError::new(error)),
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
