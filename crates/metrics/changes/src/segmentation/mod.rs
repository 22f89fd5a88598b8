//! Optimal segmentation of time: each segment is described by one model, at the least total cost.
//!
//! ```text
//! Observations ──► WindowRegression ──► CostTable ──► PathSearch::cheapest ──► search_penalty
//!                   prefix sums          w1(a, b)      dynamic program               error budget
//! ```

mod path;
mod penalty_search;
mod refine;
mod regression;
mod table;

pub(crate) use path::{PathSearch, entropy_share};
pub(crate) use penalty_search::{ErrorBudget, SegmentErrors, Segmentation, search_penalty};
pub(crate) use refine::refine_cuts;
pub(crate) use regression::{WindowFit, WindowRegression, error_percent};
pub(crate) use table::CostTable;

#[cfg(test)]
mod tests;
