//! Rounds over units that other processes compute.
//!
//! ```text
//! root                                          worker
//! plan of the units ── SentRound (segments, ──► the same plan of the units
//!                      times, fold)             reads a unit ─► encoded partial result
//! Gathering ◄────────── parts ─────────────────┘
//! ```
//!
//! A round names the segments that it is about: a worker plans from them, not from what is newest in the store, so that both have the
//! same units while the store is written.

use crate::segments::{JOIN, Manifest, SegmentError, SegmentsInner, UnitPlan};
use crate::{StoreError, StoreReader, View};
use async_trait::async_trait;
use laggard_engine::{Count, StartRange, Take, UnitFold, UnitId, put_ranges, read_ranges};
use laggard_wire::{Malformed, PackedReader, put_text, put_varint};
use std::sync::Arc;

/// First byte of every round; differs between versions of the program that encode differently.
const VERSION: u8 = 1;

/// Processes that compute partial results of units.
#[async_trait]
pub trait UnitWorkers: Send + Sync {
    /// Passes the encoded partial result of each unit to `deliver`, in any order. Returns the units that workers could not read, and
    /// why; they are not delivered.
    ///
    /// # Errors
    /// When units do not arrive, or one arrives twice; what `deliver` returns.
    async fn compute(
        &self,
        round: Arc<[u8]>,
        units: &[UnitId],
        deliver: &mut (dyn FnMut(Vec<u8>) -> Result<(), String> + Send),
    ) -> Result<Vec<(UnitId, String)>, String>;
}

/// Workers that read the same store as this process.
#[derive(Clone)]
pub struct StoreWorkers {
    /// The processes.
    pub workers: Arc<dyn UnitWorkers>,
    /// Folders of the store, relative to the location that each process was configured with: one for each writer, in the order in
    /// which they are combined.
    pub folders: Arc<[String]>,
    /// What happens when they fail.
    pub when_they_fail: WhenWorkersFail,
}

/// What happens to a question when workers fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenWorkersFail {
    /// It fails as well.
    Fail,
    /// This process computes all units: the answer is the same, later ([`StoredUnits::workers_failure`]).
    ///
    /// [`StoredUnits::workers_failure`]: crate::StoredUnits::workers_failure
    ComputeHere,
}

/// What a worker is sent: enough to compute any unit of a round.
pub struct SentRound {
    folders: Vec<String>,
    fold: SentFold,
    times: Vec<StartRange>,
    /// With the segments that the round is about, and no others.
    manifest: Manifest,
}

enum SentFold {
    Units(UnitsFold),
    /// What the sender does with rows: the store does not read it.
    Rows(Vec<u8>),
}

/// Distinguishes rounds over rows from those of folds ([`UnitFold::KIND`]).
const ROWS_KIND: u8 = 255;

impl SentRound {
    /// A round as bytes.
    pub(crate) fn encode<F: UnitFold>(
        folders: &[String],
        fold: &F,
        times: &[StartRange],
        manifest: &Manifest,
    ) -> Result<Arc<[u8]>, StoreError> {
        SentRound::encode_kind(folders, F::KIND, |out| fold.encode_fold(out), times, manifest)
    }

    fn encode_kind(
        folders: &[String],
        kind: u8,
        encode_fold: impl FnOnce(&mut Vec<u8>),
        times: &[StartRange],
        manifest: &Manifest,
    ) -> Result<Arc<[u8]>, StoreError> {
        let mut out = vec![VERSION, kind];
        put_varint(&mut out, folders.len() as u64);
        folders.iter().for_each(|folder| put_text(&mut out, folder));
        encode_fold(&mut out);
        put_ranges(&mut out, times);
        let manifest = serde_json::to_string(manifest)
            .map_err(|error| StoreError::new(format!("a round cannot be sent: {error}")))?;
        put_text(&mut out, &manifest);
        Ok(out.into())
    }

    /// Reads a round.
    ///
    /// # Errors
    /// When another version of the program encoded it, or it is damaged.
    pub fn decode(bytes: &[u8]) -> Result<SentRound, StoreError> {
        match bytes.first() {
            Some(&VERSION) => {}
            Some(other) => {
                return Err(StoreError::new(format!(
                    "a round has version {other} of the encoding; this program reads {VERSION}"
                )));
            }
            None => return Err(damaged()),
        }
        SentRound::decode_contents(&mut PackedReader::new(&bytes[1..]))
            .unwrap_or_else(|Malformed| Err(damaged()))
    }

    fn decode_contents(from: &mut PackedReader<'_>) -> Result<Result<SentRound, StoreError>, Malformed> {
        let kind = from.byte()?;
        let folders =
            (0..from.count(1)?).map(|_| from.text().map(str::to_owned)).collect::<Result<_, _>>()?;
        let fold = match kind {
            Count::KIND => SentFold::Units(UnitsFold::Count(Arc::new(Count::decode_fold(from)?))),
            Take::KIND => SentFold::Units(UnitsFold::Take(Arc::new(Take::decode_fold(from)?))),
            ROWS_KIND => SentFold::Rows(bytes(from)?),
            _ => return Err(Malformed),
        };
        let times = read_ranges(from)?;
        let Ok(manifest) = serde_json::from_str::<Manifest>(from.text()?) else { return Err(Malformed) };
        if !from.is_empty() {
            return Err(Malformed);
        }
        if !manifest.is_of_this_format() {
            return Ok(Err(SegmentError::ManifestVersion(manifest.format).into()));
        }
        Ok(Ok(SentRound { folders, fold, times, manifest }))
    }

    /// Folders of the store, as in [`StoreWorkers`].
    pub fn folders(&self) -> &[String] {
        &self.folders
    }
}

fn bytes(from: &mut PackedReader<'_>) -> Result<Vec<u8>, Malformed> {
    (0..from.count(1)?).map(|_| from.byte()).collect()
}

fn damaged() -> StoreError {
    StoreError::new("a round is damaged")
}

/// A round at a worker.
pub enum WorkerRound {
    /// A fold over units.
    Fold(FoldRound),
    /// Something to be done with the rows of a view, as it was encoded ([`View::round_of_rows`]).
    Rows(View, Vec<u8>),
}

/// A fold over units at a worker.
pub struct FoldRound {
    shared: Arc<SegmentsInner>,
    plan: UnitPlan,
    fold: UnitsFold,
}

enum UnitsFold {
    Count(Arc<Count>),
    Take(Arc<Take>),
}

impl StoreReader {
    /// Plans the units of a round that another process sent.
    ///
    /// # Errors
    /// When segments that all units need cannot be read.
    pub async fn worker_round(&self, sent: SentRound) -> Result<WorkerRound, StoreError> {
        let shared = self.shared();
        let fold = match sent.fold {
            SentFold::Units(fold) => fold,
            SentFold::Rows(job) => {
                return Ok(WorkerRound::Rows(View { shared, manifest: Arc::new(sent.manifest) }, job));
            }
        };
        let planned = shared.plan_units(&sent.manifest, &sent.times).await;
        let plan = planned.map_err(|failed| failed.into_store_error())?;
        Ok(WorkerRound::Fold(FoldRound { shared, plan, fold }))
    }
}

impl FoldRound {
    /// The encoded partial result of a unit.
    ///
    /// # Errors
    /// When the unit is not of the round, or cannot be read.
    pub async fn part(&self, unit: UnitId) -> Result<Vec<u8>, StoreError> {
        if !self.plan.has(unit) {
            return Err(StoreError::new(format!("{unit} is not part of the round")));
        }
        let part = match &self.fold {
            UnitsFold::Count(count) => self.shared.part(&self.plan, unit, count).await,
            UnitsFold::Take(take) => self.shared.part(&self.plan, unit, take).await,
        };
        part.map_err(|failed| failed.into_store_error())
    }
}

impl View {
    /// A round for [`UnitWorkers`] about rows of some times: workers get the view with the segments that may have some, and `job`.
    ///
    /// # Errors
    /// When the view cannot be encoded.
    pub fn round_of_rows(
        &self,
        folders: &[String],
        times: &StartRange,
        job: &[u8],
    ) -> Result<Arc<[u8]>, StoreError> {
        // There may be more of a trace nearby.
        let manifest = self.manifest.near(&(times.start().minus(JOIN)..=times.end().plus(JOIN)));
        let encode = |out: &mut Vec<u8>| {
            put_varint(out, job.len() as u64);
            out.extend_from_slice(job);
        };
        SentRound::encode_kind(folders, ROWS_KIND, encode, std::slice::from_ref(times), &manifest)
    }
}
