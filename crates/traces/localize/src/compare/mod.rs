//! Differences between two sets of requests: pure functions over counts, sums and samples.
//!
//! ```text
//! categories of both sets ─ mean_change ─► mix moved, same requests slower, new shapes, vanished shapes
//! times of an operation   ─ compare_operations ─► shift with interval, stratified rank test
//! times at a call path    ─ compare_histograms ─► rank test on binned times
//! shapes of both sets     ─ fisher_exact, nearest ─► new and vanished shapes, and the path that distinguishes them
//! ```
//!
//! None of it names a culprit: it describes the difference. Formulas are in the manual,
//! `docs/manual/compare.md`.

mod counts;
mod histogram;
mod mean_change;
mod moments;
mod operations;
mod replicas;
mod shapes;
mod stratified;

pub use counts::fisher_exact;
pub use histogram::{TimeHistogram, compare_histograms};
pub use mean_change::{CategoryPair, CategoryShare, Estimate, MeanChange, mean_change};
pub use moments::Moments;
pub use operations::{
    Measure, OperationObservation, OperationPair, OperationShift, Strata, compare_operations,
};
pub use replicas::{ReplicaShift, compare_replicas};
pub use shapes::{Nearest, PathCalls, PathDifference, ShapeProfile, nearest};
pub use stratified::{Shift, StratifiedTest, Stratum, stratified_shift, stratified_test};
