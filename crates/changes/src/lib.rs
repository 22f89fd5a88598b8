//! Where the CPU cost of transactions changes over time, and whether that is an anomaly, a change of the
//! application or only another workload (Cherkasova et al. 2009).
//!
//! ```text
//! Observations ──► segmentation ──► segments, each with a TransactionModel
//!                                        │ anomalous regions, reconciliation
//!                                        ▼
//!                   signature ──────► Analysis: segments, changes, groups
//! ```
//!
//! Pure functions of numbers: nothing here knows names, files or clocks. Windows are rows, transaction types
//! columns, both by 0-based index; ranges of rows are half-open.

mod analysis;
mod model;
mod observations;

pub use analysis::{
    Analysis, Change, ChangeKind, Group, Onset, Segment, SegmentKind, TransactionChange, TransactionModel,
};
pub use model::{
    Candidate, Constant, ENTRY_LEVEL, Estimator, EstimatorChoice, FittedModel, IndistinguishableGroup,
    Interval, ModelReport, ModelSettings, Step, TooFewWindows, fit_model, nnls_model, stepwise,
    stepwise_model,
};
pub use observations::Observations;
