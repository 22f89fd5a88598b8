//! The span table and the fold engine.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod folds;
mod limits;
mod slices;
mod units;
