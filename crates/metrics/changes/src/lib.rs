//! Finds changes of the CPU cost of transactions over time, and classifies them as anomaly, application change, or
//! workload change (Cherkasova et al. 2009).
//!
//! ```text
//! Observations ──► segmentation ──► segments, each with a TransactionModel
//!                                        │ anomalous regions, reconciliation
//!                                        ▼
//!                   signature ──────► Analysis: segments, changes, groups
//! ```
//!
//! Pure functions of numbers: this crate knows no names, files, or clocks. Windows are rows, transaction types are columns,
//! both by 0-based index; ranges of rows are half-open.

mod adaptive;
mod analysis;
mod cherkasova;
mod error;
mod excess;
mod fill_trend;
mod linear_algebra;
mod model;
mod naming;
mod observations;
mod online;
mod onset;
mod segmentation;
mod signature;

pub use adaptive::{ChangeSettings, OnlineChanges, changes};
pub use analysis::{
    Analysis, Change, ChangeKind, ChangedQuantity, CpuSplit, Group, Onset, Segment, SegmentKind,
    TransactionChange, TransactionModel,
};
pub use cherkasova::{CherkasovaMode, CherkasovaSettings, OnlineCherkasova, cherkasova};
pub use error::TooLittleDataError;
pub use excess::{CpuCause, CpuExcess, DemandStep, EXCESS_LENGTHS, ExcessSettings, KnownExcess, cpu_excess};
pub use fill_trend::{FillTrend, UsePoint, fill_trend};
pub use model::{
    CallCost, Candidate, Constant, ENTRY_LEVEL, Estimator, EstimatorChoice, FittedModel,
    IndistinguishableGroup, Interval, ModelReport, ModelSettings, StepwiseStep, fit_model,
    fit_model_of_calls, nnls_model, stepwise, stepwise_model,
};
pub use observations::Observations;
pub use online::{OnlineChange, OnlineShape, OnlineUpdate, OnlineWindow};
pub use onset::{PROFILE_DROP_95, onset};
pub use signature::{
    COUNT_MIN, LoadSlope, ServiceTime, ServiceTimeChange, SignatureTest, UTILIZATION_MAX, load_slope,
    service_time, service_time_at, signature, signature_changes, work_shares,
};
