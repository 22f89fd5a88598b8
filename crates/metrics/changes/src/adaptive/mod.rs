//! The default method, `adaptive`: finds changes with the noise level estimated from the data, so that no error has to be
//! allowed in advance; the signature and the regression check each other.
//!
//! The pipeline ([`changes`], `pipeline.rs`):
//!
//! 1. `design`: selects windows and types and sets up the regression (`regression`); `noise` estimates its variances.
//! 2. `binary_segmentation`: finds cuts, by score tests for steps of coefficients (`step_search`).
//! 3. `intervals`: classifies the intervals between cuts as normal, anomalous, or pending (`fit`).
//! 4. `service_events`: finds the rows at which service times change, from a series per type (`service_series`).
//! 5. `evidence`: what service times (`shift`) and counts say about a change.
//! 6. `timeline`: groups normal intervals by model (`relation`) and classifies the boundaries between groups; `balanced_regions`
//!    returns anomalous intervals to their group that used no additional CPU.
//! 7. `assemble`: dates boundaries exactly (`turning_point`) and assembles the [`Analysis`](crate::Analysis).
//!
//! `online` repeats the pipeline over the last windows of a series when `monitor` detects a deviation.

mod assemble;
mod balanced_regions;
mod binary_segmentation;
mod cost_comparison;
mod design;
mod evidence;
mod fit;
mod intervals;
mod load_steps;
mod monitor;
mod noise;
mod online;
mod pipeline;
mod proportions;
mod regression;
mod relation;
mod service_events;
mod service_series;
mod settings;
mod shift;
mod step_search;
mod sudden;
mod timeline;
mod turning_point;
mod verdict;

pub(crate) use fit::{Drift, DriftBounds};
pub use online::OnlineChanges;
pub use pipeline::changes;
pub(crate) use regression::{LinearFit, Regression};
pub use settings::ChangeSettings;
pub(crate) use step_search::steps_at;
