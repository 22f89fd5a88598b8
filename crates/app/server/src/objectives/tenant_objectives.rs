//! The objectives of one tenant and their counts.

use super::block::{Block, BlockCounts, Count, blocks_of};
use super::burn::THREE_DAYS;
use super::count::Definition;
use super::figures::{ObjectiveFigures, figures};
use super::rules::evaluate;
use super::storage::{self, Measured, MeasuredByName};
use crate::alerts::{ObjectiveCause, ObjectiveEvaluation};
use crate::settings::ObjectiveSettings;
use laggard_model::{Nanos, Timestamp};
use laggard_store::View;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// BlockCounts are saved so often. What is counted after that is counted again after a crash: the store has it.
const SAVE_EVERY: Duration = Duration::from_secs(600);

/// Blocks so far in the future are counted: clocks of hosts differ.
const AHEAD: Nanos = Nanos::from_secs(3_600);

/// A block that is older never loses requests when it is counted again: the store deletes old data.
const FINAL_AFTER: Nanos = Nanos::from_secs(3_600);

/// The objectives of one tenant.
pub(crate) struct TenantObjectives {
    file: PathBuf,
    /// The configured objectives.
    settings: Vec<ObjectiveSettings>,
    state: Mutex<TenantState>,
}

struct TenantState {
    /// In the order of the settings.
    measured: Vec<MeasuredObjective>,
    /// When counts were saved last.
    saved: Option<Instant>,
    /// Whether they differ from those.
    is_changed: bool,
    /// Whether the last attempt to save them failed.
    is_unsaved: bool,
}

struct MeasuredObjective {
    measured: Measured,
    /// Explanation of the bad requests of the last hour.
    cause: Option<ObjectiveCause>,
}

/// A block to count, and the objectives that it is to be counted for, by their index.
pub(super) struct PendingBlock {
    pub(super) block: Block,
    pub(super) objectives: Vec<(usize, Definition)>,
}

impl TenantObjectives {
    /// BlockCounts of objectives that are no longer configured, or are now about other requests, are forgotten.
    pub(super) fn load(file: PathBuf, settings: Vec<ObjectiveSettings>) -> TenantObjectives {
        let mut stored = if settings.is_empty() { MeasuredByName::new() } else { storage::load(&file) };
        let measured = settings.iter().map(|objective| {
            let definition = Definition::new(objective);
            let known = stored.remove(&objective.name).filter(|known| known.definition == definition);
            MeasuredObjective { measured: known.unwrap_or_else(|| Measured::new(definition)), cause: None }
        });
        let state =
            TenantState { measured: measured.collect(), saved: None, is_changed: false, is_unsaved: false };
        TenantObjectives { file, settings, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, TenantState> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }

    /// The configured objectives.
    pub(crate) fn settings(&self) -> &[ObjectiveSettings] {
        &self.settings
    }

    /// The figures of an objective, by its index, and what explains its bad requests.
    pub(crate) fn figures(&self, index: usize, at: Timestamp) -> (ObjectiveFigures, Option<ObjectiveCause>) {
        let state = self.state();
        let MeasuredObjective { measured, cause } = &state.measured[index];
        let mut figures = figures(&self.settings[index], &measured.counts, at);
        figures.uncounted = measured.pending.len() as u64;
        (figures, cause.clone())
    }

    /// Notes which blocks are to be counted: those of segments that were written since the last time. Forgets blocks before
    /// the period.
    pub(super) fn note_written(&self, view: &View, at: Timestamp) {
        let mut state = self.state();
        let mut is_changed = false;
        for (objective, MeasuredObjective { measured, .. }) in self.settings.iter().zip(&mut state.measured) {
            let written = view.written_since(&measured.seen);
            is_changed |= written.seen != measured.seen;
            measured.seen = written.seen;
            let first = Block::at(at).plus(-blocks_of(objective.period().max(THREE_DAYS)));
            let last = Block::at(at.plus(AHEAD));
            for (since, until) in written.extents {
                let blocks = Block::at(since).max(first)..=Block::at(until).min(last);
                measured.pending.extend(Block::range(blocks));
            }
            measured.pending = measured.pending.split_off(&first);
            measured.counts = measured.counts.split_off(&first);
        }
        state.is_changed |= is_changed;
    }

    /// The latest block that is to be counted for any objective.
    pub(super) fn next_pending(&self) -> Option<PendingBlock> {
        let state = self.state();
        let all = || state.measured.iter().map(|objective| &objective.measured);
        let block = *all().filter_map(|measured| measured.pending.last()).max()?;
        let wanting = all().enumerate().filter(|(_, measured)| measured.pending.contains(&block));
        let objectives = wanting.map(|(index, measured)| (index, measured.definition.clone()));
        Some(PendingBlock { block, objectives: objectives.collect() })
    }

    /// Replaces the count of a block, which is no longer pending. `None` where it cannot be counted.
    pub(super) fn replace(&self, index: usize, block: Block, count: Option<Count>, at: Timestamp) {
        let mut state = self.state();
        state.is_changed = true;
        let Measured { pending, counts, .. } = &mut state.measured[index].measured;
        pending.remove(&block);
        let Some(count) = count else { return };
        let all = |count: &Count| count.requests + count.incomplete;
        let known = counts.get(&block).map_or(0, all);
        let is_final = block.until().plus(FINAL_AFTER) < at;
        if is_final && all(&count) < known {
            return;
        }
        match count.is_empty() {
            true => counts.remove(&block),
            false => counts.insert(block, count),
        };
    }

    /// Blocks with bad requests since a time, and how many of them there are, by the index of the objective.
    pub(super) fn bad_since(&self, since: Timestamp) -> Vec<u64> {
        let state = self.state();
        let bad = |counts: &BlockCounts| counts.range(Block::at(since)..).map(|(_, count)| count.bad).sum();
        state.measured.iter().map(|objective| bad(&objective.measured.counts)).collect()
    }

    /// The definition of an objective, by its index.
    pub(super) fn definition(&self, index: usize) -> Definition {
        self.state().measured[index].measured.definition.clone()
    }

    /// Sets what explains the bad requests of an objective.
    pub(super) fn set_cause(&self, index: usize, cause: Option<ObjectiveCause>) {
        self.state().measured[index].cause = cause;
    }

    /// Evaluates all objectives at a time.
    pub(super) fn evaluate(&self, at: Timestamp) -> ObjectiveEvaluation {
        let state = self.state();
        let mut all = ObjectiveEvaluation::default();
        for (objective, MeasuredObjective { measured, cause }) in self.settings.iter().zip(&state.measured) {
            let evaluated = evaluate(objective, &measured.counts, cause.as_ref(), at);
            all.burning.extend(evaluated.burning);
            all.healthy.extend(evaluated.healthy);
        }
        all
    }

    /// Saves counts that changed, if that is some time ago. Blocks.
    pub(super) fn save_sometimes(&self) {
        if self.state().saved.is_none_or(|saved| saved.elapsed() >= SAVE_EVERY) {
            self.save();
        }
    }

    /// Saves counts that changed; blocks. Only the first of several failures is logged, and the next save tries again.
    pub(super) fn save(&self) {
        let measured: MeasuredByName = {
            let mut state = self.state();
            if !state.is_changed {
                return;
            }
            state.is_changed = false;
            state.saved = Some(Instant::now());
            let names = self.settings.iter().map(|objective| objective.name.clone());
            names.zip(state.measured.iter().map(|objective| objective.measured.clone())).collect()
        };
        let result = storage::save(&self.file, &measured);
        let mut state = self.state();
        if let Err(error) = result {
            if !state.is_unsaved {
                tracing::error!(file = %self.file.display(), %error, "counts of objectives cannot be saved");
            }
            (state.is_unsaved, state.is_changed) = (true, true);
        } else {
            state.is_unsaved = false;
        }
    }
}
